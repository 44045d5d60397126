"""Invariant: any bytes either decode or raise `KafkaFormatError`, never anything else, and never allocate
past the stated bound; no reader goes beyond their end, and none takes long.

A target makes an input and hands it to a reader; it returns a word for what came of it. Whatever it raises is
a finding. Those of generated modules are found by looking which modules there are: a new schema has targets
as soon as it has vectors. A new reader of the runtime is one more line in `READERS`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import BytesIO
from random import Random
from typing import Any

from construct import ConstructError
from kaitaistruct import KaitaiStream, KaitaiStructError
from tests.codegen.test_any_bytes_generated import visit
from tests.codegen.trees import python_class
from tests.construct.trees import parse, tree_of
from tests.construct.values import hooks
from tests.fuzz import (
    beside,
    checks,
    disks,
    inputs,
    parts,
    seeds,
    small,
    splits,
    walks,
)
from tests.fuzz.guard import place
from tests.made.edits import edited
from tests.made.payloads import WRITERS_OF, mutate, some_content

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.core import formats
from kafka_segments.core.codecs import CODEC_NAMES, decompress
from kafka_segments.core.codecs.literals import trace
from kafka_segments.core.formats.control_records import decode_control
from kafka_segments.core.segment.records.batch_records import open_records
from kafka_segments.errors import KafkaFormatError, UnknownFormatError
from kafka_segments_generated import columns, construct, kaitai

LONGS = [0, 1, -1, 7, 1_700_000_000_000, (1 << 63) - 1, -(1 << 63)]


@dataclass(frozen=True)
class Target:
    """A reader under fuzz.

    Attributes:
        name: `family` or `family:member`.
        go: makes the input of this generator and has it read; returns what came of it, and whether the input
            was damaged under a right checksum, None where there are no checksums.
    """

    name: str
    go: Callable[[Random], tuple[str, bool | None]]


def _of_segments(name: str, read: Callable[[Random, bytes], str]) -> Target:
    def go(dice: Random) -> tuple[str, bool | None]:
        made = inputs.segment(dice)
        try:
            return read(dice, made.data), made.is_sealed
        except KafkaFormatError as error:  # on opening: another program's format
            assert type(error).__name__ == "UnknownFormatError", error
            return type(error).__name__, made.is_sealed

    return Target(name, go)


READERS: dict[str, Callable[[Random, bytes], str]] = {
    "columnar": checks.columnar,
    "headers": checks.headers,
    "events": checks.events,
    "steps": checks.steps,
    "unreadable": checks.unreadable,
    "ranges": parts.ranges,
    "stretches": parts.stretches,
    "walks": walks.walks,
    "entry_records": small.entry_records,
    "search": disks.search,
    "verify": disks.verify,
    "like_kafka": disks.like_kafka,
    "salvage": disks.salvage,
}
"""Public ways to read a segment."""


def _modules(package: Any) -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return [name for name in names if not name.startswith("_")]


def damaged_vector(dice: Random, stem: str) -> tuple[tuple[Any, ...], bytes]:
    """Parameters and bytes of a vector of a schema, damaged; its parameters too, now and then."""
    vectors = seeds.vectors()[stem]
    params, data = vectors[dice.randrange(len(vectors))]
    if dice.randrange(20) == 0:
        data = dice.randbytes(dice.randrange(200))
    elif dice.randrange(20):
        data = edited(dice, data, others=[vectors[dice.randrange(len(vectors))][1]])
    if params and dice.randrange(8) == 0:
        at = dice.randrange(len(params))
        is_flag = isinstance(params[at], bool)
        value: Any = dice.randrange(2) == 1 if is_flag else dice.choice(LONGS)
        params = (*params[:at], value, *params[at + 1 :])
    return params, data


def _of_kaitai(stem: str) -> Target:
    cls = python_class(stem)

    def go(dice: Random) -> tuple[str, None]:
        params, data = damaged_vector(dice, stem)
        try:
            found = cls(*params, KaitaiStream(BytesIO(data)))
        except (KaitaiStructError, EOFError) as error:
            return type(error).__name__, None
        visit(found)
        return "parsed", None

    return Target(f"kaitai:{stem}", go)


def _of_construct(stem: str) -> Target:
    def go(dice: Random) -> tuple[str, None]:
        params, data = damaged_vector(dice, stem)
        try:
            tree_of(parse(stem, params, data, **({"codecs": hooks()} if _has_codecs(stem) else {})))
        except ConstructError as error:
            return type(error).__name__, None
        return "parsed", None

    return Target(f"construct:{stem}", go)


@cache
def _has_codecs(stem: str) -> bool:
    return stem == "kafka_log_segment"


def _of_codec(name: str) -> Target:
    writers = WRITERS_OF[name]

    def go(dice: Random) -> tuple[str, None]:
        payload, another = (
            writers[dice.randrange(len(writers))](some_content(dice)[: 1 << dice.randrange(14)]) for _ in "ab"
        )
        data = mutate(dice, payload, another) if payload and dice.randrange(2) else edited(dice, payload)
        bound, magic = 1 << dice.choice((4, 12, 16)), dice.choice((0, 2))
        followed = trace(name, data, magic, bound)
        try:
            plain = decompress(name, checks.GUARD.place(data), max_size=bound, magic=magic)
        except KafkaFormatError as error:
            return type(error).__name__, None
        assert len(plain) <= bound
        assert not followed.runs or plain.startswith(followed.content)
        return "decompressed", None

    return Target(f"codec:{name}", go)


def _records(dice: Random) -> tuple[str, None]:
    """Payloads that nobody has looked at, under a sound header."""
    all_entries = seeds.entries()
    anatomy = all_entries[dice.randrange(len(all_entries))]
    batch = next(iter(open_segment(anatomy.data).iter_entries()))
    start = formats.LEN_HEAD if batch.magic >= 2 else formats.LEN_LOG_OVERHEAD
    payload = edited(dice, anatomy.data, anatomy.fields, (), start)[start:]
    try:
        _batch, records = open_records(batch, payload, max_decompressed=checks.MAX_DECOMPRESSED)
        for _record in records:
            pass
    except KafkaFormatError as error:
        return type(error).__name__, None
    return "sound", None


def _magic3(dice: Random) -> tuple[str, None]:
    """Segments with the experimental magic 3: each byte is of an entry, of damage or of padding.

    Both ways read as many records.
    """
    data, check_crc = damaged_vector(dice, "kafka_log_segment_experimental")[1], dice.randrange(2) == 0
    position = num_damaged = 0
    with open_segment(data, check_crc=check_crc, experimental_magic3=True) as segment:
        for entry in segment.iter_entries(on_damage="skip"):
            assert entry.position == position, (entry, position)
            num_damaged += isinstance(entry, Damage)
            if not isinstance(entry, Batch) or entry.crc_valid is not False:
                position = entry.end_position
        num_records, is_control = 0, False
        for event in segment.iter_events(on_damage="skip"):
            is_control = event.is_control if isinstance(event, Batch) else is_control
            num_records += isinstance(event, Record) and not is_control
        columns = dice.choice((None, ("offset",), parts.COLUMNS))
        num_rows = segment.read_batches(columns, on_damage="skip").read_all().num_rows
    assert (position, num_rows) == (len(data), num_records)
    return f"{min(num_records, 9)} records, {min(num_damaged, 1)} damaged", None


def _control(dice: Random) -> tuple[str, None]:
    key = damaged_vector(dice, "kafka_control_record_key")[1]
    value = damaged_vector(dice, "kafka_control_record_value")[1]
    if dice.randrange(2):
        key = bytes((0, 0, 0, dice.randrange(8)))
    return decode_control(key, value if dice.randrange(9) else None).type, None


def _of_file(family: str, stem: str, read: Callable[[Any], Any]) -> Target:
    def go(dice: Random) -> tuple[str, None]:
        data = damaged_vector(dice, stem)[1]
        if stem == "kafka_producer_snapshot" and dice.randrange(2):
            data = beside.resealed(data)
        if dice.randrange(2):
            data = data[: len(data) - len(data) % beside.len_entry(stem)]
        try:
            found = read(data)
        except KafkaFormatError as error:
            return type(error).__name__, None
        return "nothing" if found is None else "read", None

    return Target(f"{family}:{stem}", go)


FOREIGN: dict[str, Callable[[bytes], Any]] = {
    "kafka_offset_checkpoint": formats.read_offset_checkpoint,
    "kafka_message_0_7": formats.read_message_0_7,
    "redpanda_batch_header": formats.read_redpanda_header,
    "aiven_chunk_sizes": splits.read_chunk_sizes,
}
"""Files that are no segments of today's Kafka, by their schemas."""


OTHER_LOGS = ("kafka_message_0_7", "redpanda_batch_header")


def _foreign_log(dice: Random) -> tuple[str, None]:
    """A log of another program, or what damage has made of one, opened as a segment."""
    stem = dice.choice(OTHER_LOGS)
    data = dice.choice(seeds.vectors()[stem])[1] if dice.randrange(2) else damaged_vector(dice, stem)[1]
    data += b"" if dice.randrange(2) else dice.choice(seeds.entries()).data
    try:
        with open_segment(place(dice, data)) as segment:
            return checks.tiles(segment, len(data)), None
    except UnknownFormatError as error:
        return type(error).__name__, None


def _of_varint(name: str) -> Target:
    """The varints of the columns target as plain Python, against the Kaitai class."""
    import numpy as np

    module, cls = import_module(f"{columns.__name__}.{name}"), python_class(name)

    def go(dice: Random) -> tuple[str, None]:
        data = bytes(dice.choice((0x80, 0xFF, dice.randrange(256))) for _ in range(dice.randrange(12)))
        end = len(data)
        found = module.read(np.frombuffer(data, np.uint8), 0, end)
        assert getattr(module, "read_size", module.read)(np.frombuffer(data, np.uint8), 0, end) == found
        stream = KaitaiStream(BytesIO(data))
        try:
            expected = cls(stream).value
        except (KaitaiStructError, EOFError):
            assert found == (0, end + 1)
            return "refused", None
        assert found == (expected, stream.pos())
        return "read", None

    return Target(f"varint:{name}", go)


@cache
def all_targets() -> dict[str, Target]:
    """Every target by its name."""
    found = [_of_segments(name, read) for name, read in READERS.items()]
    found += [_of_kaitai(stem) for stem in _modules(kaitai)]
    found += [_of_construct(stem) for stem in _modules(construct)]
    found += [_of_codec(name) for name in CODEC_NAMES]
    found += [
        Target("records", _records),
        Target("control", _control),
        Target("magic3", _magic3),
        Target("partition", beside.partition),
    ]
    found += [Target("foreign:log", _foreign_log)]
    found += [Target("names", small.names), Target("frames", small.frames)]
    found += [Target("split", splits.split), Target("manifest", splits.manifest)]
    found += [
        Target("messages", small.messages),
        Target("meta_properties", small.meta_properties),
    ]
    found += [_of_file("foreign", stem, read) for stem, read in FOREIGN.items()]
    found += [_of_file("beside", stem, read) for stem, read in beside.readers().items()]
    varints = [
        name for name in _modules(columns) if hasattr(import_module(f"{columns.__name__}.{name}"), "read")
    ]
    found += [_of_varint(name) for name in varints]
    return {target.name: target for target in found}
