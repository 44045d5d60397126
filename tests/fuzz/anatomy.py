"""Where the fields of an entry are: asked of the generated scanners and decoders, which have it from schemas.

Strategy: generated functions are plain Python, so they can be bound to other building blocks. With blocks
that take notes, a sound entry is scanned and decoded once, and every load tells where a field is and how
wide. What a byte of the header means is learned by changing it, and seeing which columns of the scanner's
table change.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from kafka_segments_generated.columns import kafka_log_segment, kafka_message_legacy, kafka_record, support

DECODERS = {content.decoder: at for at, content in enumerate(kafka_log_segment.CONTENTS)}
MODULES = {kafka_message_legacy: DECODERS["kafka_message_legacy"], kafka_record: DECODERS["kafka_record"]}
LOADS = re.compile(r"load_[us]([1248])(be|le)?")
COLUMN = {name: at for at, name in enumerate(kafka_log_segment.BATCH_COLUMNS)}
STATE = 64


@dataclass(frozen=True)
class Field:
    """A field: where it is, how many bytes it has now, and whether that depends on its value."""

    at: int
    width: int
    is_varint: bool = False


@dataclass(frozen=True)
class Anatomy:
    """An entry of a segment, and where things are in it.

    Attributes:
        data: its bytes.
        content: number in `kafka_log_segment.CONTENTS`.
        codec: number of its codec.
        row: the scanner's, with positions from the entry's beginning.
        fields: all that the scanner and the decoder read, in the order of their reading.
        payload: where the bytes begin and end that the codec is of.
        crc_at: where the checksum is.
        crc_start: where the region begins that it is of; it ends with the entry.
        len_at: where the length is.
        codec_at: the byte that has the codec's number in its lowest bits.
    """

    data: bytes
    content: int
    codec: int
    row: tuple[int, ...]
    fields: tuple[Field, ...]
    payload: tuple[int, int]
    crc_at: int
    crc_start: int
    len_at: int
    codec_at: int

    @property
    def len_overhead(self) -> int:
        """Bytes that the length does not count."""
        return len(self.data) - self.row[COLUMN["len_body"]]


def rebound(function: FunctionType, blocks: dict[str, Any], done: dict[Any, Any] | None = None) -> Any:
    """A generated function with other building blocks, by name; so are the functions that it calls."""
    done = {} if done is None else done
    if function not in done:
        names: dict[str, Any] = dict(function.__globals__)
        done[function] = FunctionType(function.__code__, names, function.__name__)
        done[function].__kwdefaults__ = function.__kwdefaults__
        for name, value in function.__globals__.items():
            if isinstance(value, FunctionType) and value.__module__.startswith("kafka_segments"):
                own = blocks.get(value.__name__) if value.__module__.endswith("support") else None
                names[name] = own or rebound(value, blocks, done)
    return done[function]


@dataclass
class Notes:
    """What a run of generated functions over some bytes has read."""

    fields: list[Field] = field(default_factory=list)
    regions: list[tuple[int, int]] = field(default_factory=list)
    is_within: bool = False

    def blocks(self) -> dict[str, Any]:
        """Building blocks that note what they are asked for."""
        blocks: dict[str, Any] = {name: self._region(name) for name in ("crc32", "crc32c")}
        for name in support.__all__:
            match = LOADS.fullmatch(name)
            if match:
                blocks[name] = self._load(getattr(support, name), int(match[1]))
        return blocks

    def _load(self, block: Callable[[Any, int], int], width: int) -> Callable[[Any, int], int]:
        def load(data: Any, at: int) -> int:
            if not self.is_within:
                self.fields.append(Field(at, width))
            return block(data, at)

        return load

    def _region(self, name: str) -> Callable[[Any, int, int], int]:
        def checksum(data: Any, start: int, end: int) -> int:
            self.regions.append((start, end))
            return int(getattr(support, name)(data, start, end))

        return checksum

    @contextmanager
    def varints(self, names: dict[str, Any]) -> Iterator[None]:
        """Have functions that read numbers of several bytes noted as a whole."""
        readers = {name: value for name, value in names.items() if name.startswith("read_kafka_var")}

        def noting(read: Any) -> Any:
            def whole(data: Any, at: int, end: int) -> tuple[int, int]:
                self.is_within = True
                value, behind = read(data, at, end)
                self.is_within = False
                if behind <= end:
                    self.fields.append(Field(at, behind - at, is_varint=True))
                return value, behind

            return whole

        names.update({name: noting(read) for name, read in readers.items()})
        yield
        names.update(readers)


def scanned(data: bytes, notes: Notes | None = None, *, check_crc: bool = True) -> tuple[int, ...] | None:
    """The scanner's row of the entry that `data` is; None if it is not sound."""
    blocks = (notes or Notes()).blocks()
    scan = rebound(kafka_log_segment.scanner, blocks)(check_crc=check_crc, whole=True)
    state, table = np.zeros(STATE, np.int64), np.zeros(kafka_log_segment.WIDTH, np.int64)
    state[support.MAX_ROWS], state[support.FILE] = 1, -1
    state[support.SIZE] = state[support.LEN_WINDOW] = len(data)
    scan(np.frombuffer(data, np.uint8), state, table)
    return tuple(table.tolist()) if state[support.ROW] == 1 and state[support.AT] == len(data) else None


def record_fields(content: int, payload: bytes, row: tuple[int, ...]) -> list[Field]:
    """The fields of records, or of a message, up to what is damaged."""
    notes = Notes()
    module = next(each for each, number in MODULES.items() if number == content)
    factory = rebound(module.decoder, notes.blocks())
    with notes.varints(factory.__globals__):
        decode = factory(**dict.fromkeys(inspect.signature(module.decoder).parameters, False))
        state = np.zeros(STATE, np.int64)
        state[[support.NUM_BATCHES, support.RECORD_MAX_ROWS, support.MAX_BYTES]] = 1, 1 << 20, 1 << 30
        spans = np.array([0, len(payload), 0])
        nothing = [np.zeros(0, np.int64)] * (decode.__code__.co_argcount - 4)
        decode(np.frombuffer(payload, np.uint8), spans, np.array(row), state, *nothing)
    return notes.fields


def dissect(data: bytes) -> Anatomy | None:
    """The anatomy of a sound entry; None if it is not one."""
    notes = Notes()
    row = scanned(data, notes)
    if row is None:
        return None
    start, end = row[support.PAYLOAD], row[support.END_PAYLOAD]
    content, codec = row[support.CONTENT], row[support.CODEC]
    fields = list(notes.fields)
    if codec == 0:
        inner = record_fields(content, data[start:end], row)
        fields += [Field(start + each.at, each.width, each.is_varint) for each in inner]
    (region,) = notes.regions
    places = header_places(data[: region[0] + 64], content)
    return Anatomy(
        data=data,
        content=content,
        codec=codec,
        row=row,
        fields=tuple(dict.fromkeys(fields)),
        payload=(start, end),
        crc_at=places["crc"],
        crc_start=region[0],
        len_at=_length_place()[0],
        codec_at=places["compression"],
    )


_places: dict[tuple[int, int], dict[str, int]] = {}


def header_places(head: bytes, content: int) -> dict[str, int]:
    """For each column of the table, the first byte that it depends on."""
    magic = head[magic_place()]
    key = content, magic
    if key not in _places:
        _places[key] = _learn(magic, len(head))
    return _places[key]


def _learn(magic: int, size: int) -> dict[str, int]:
    """Change byte after byte of an entry of zeros with this magic, and see what becomes of it."""
    zeros = bytearray(size + 64)
    zeros[magic_place()] = magic
    plain = _row_of(zeros)
    found: dict[str, int] = {}
    for at in range(size):
        changed = bytearray(zeros)
        changed[at] = 1
        for name, before, after in zip(kafka_log_segment.BATCH_COLUMNS, plain, _row_of(changed), strict=True):
            if before != after:
                found.setdefault(name, at)
    return found


def _row_of(data: bytearray) -> tuple[int, ...]:
    """What the scanner notes of a header, sound or not; the length is made to fit for it."""
    state, table = np.zeros(STATE, np.int64), np.zeros(kafka_log_segment.WIDTH, np.int64)
    state[support.MAX_ROWS], state[support.FILE] = 1, -1
    state[support.SIZE] = 1 << 40
    state[support.LEN_WINDOW] = len(data)
    scan = kafka_log_segment.scanner(check_crc=False, whole=False)
    for at in _length_place():
        data[at] |= 1  # 0x01010101: long enough for any header
    scan(np.frombuffer(data, np.uint8), state, table)
    return tuple(table.tolist())


@cache
def _length_place() -> tuple[int, ...]:
    from kafka_segments.core import formats

    return tuple(range(formats.OFS_LEN_BODY, formats.LEN_LOG_OVERHEAD))


@cache
def magic_place() -> int:
    """The byte of an entry that says its format."""
    from kafka_segments.core import formats

    return formats.OFS_MAGIC
