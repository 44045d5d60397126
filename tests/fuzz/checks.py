"""What must hold for any bytes, of the public ways to read a segment. Each says what came of it in a word."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

from tests.fuzz import seeds
from tests.fuzz.guard import FILE, GUARD, place
from tests.made.segments import row, rows, told
from tests.ways import compiled, interpreted

from kafka_segments import Damage, Padding, Record, Segment, open_segment
from kafka_segments.cli import jsonl, text
from kafka_segments.core.io.storage import BLOCK_SIZE, open_source
from kafka_segments.core.segment.segment import fast_rows
from kafka_segments.core.segment.transactions.markers import iter_steps
from kafka_segments.core.segment.transactions.state import Step, Transactions
from kafka_segments.errors import KafkaFormatError, ReadError, UnknownFormatError

MAX_DECOMPRESSED = 1 << 20
"""Bytes that a payload may decompress to here: bombs are among the inputs."""

IS_CHECKED = os.environ.get("KAFKA_SEGMENTS_CHECK_BOUNDS") == "1"
COLUMNS = (
    (None,)
    if IS_CHECKED
    else (
        None,
        None,
        None,
        None,
        None,
        ("offset",),
        ("value", "key"),
        ("headers", "timestamp"),
        ("sequence", "key"),
    )
)
PROJECTIONS = (("value",), ("offset", "key"), ("headers", "timestamp"))
RANGES = (None, None, None, None, None, None, (2, 9), (8, None))


ON_DAMAGE = (None, None, None, None, None, None, "skip", "raise")

COMPARED: Counter[str] = Counter()
"""Inputs that went both ways, and the records that both found."""


def word(damage: list[Any]) -> str:
    """What came of an input: what is wrong first in it."""
    return type(damage[0].error).__name__ if damage else "sound"


def columnar(dice: Random, data: bytes) -> str:
    """`read_batches`, with any of its options; now and then compared with the slow way."""
    check_crc = dice.randrange(4) != 0
    columns, offsets = dice.choice(COLUMNS), dice.choice(RANGES)
    damage: list[Damage] = []
    on_damage: Any = dice.choice(ON_DAMAGE) or damage.append
    source = place(dice, data)
    with open_segment(source, check_crc=check_crc, max_decompressed=MAX_DECOMPRESSED) as segment:
        try:
            for batch in segment.read_batches(columns=columns, offsets=offsets, on_damage=on_damage):
                assert batch.num_rows > 0
        except KafkaFormatError as error:
            assert on_damage == "raise"
            return type(error).__name__
    if dice.randrange(40) == 0:
        compare(data, check_crc=check_crc)
    return word(damage)


def compare(data: bytes, *, check_crc: bool = True) -> None:
    """The fast way, from memory and from a file, and the slow one: the same rows, the same damage.

    And some of the columns are those of all.
    """
    guarded = GUARD.place(data)
    options: dict[str, Any] = {"check_crc": check_crc, "max_decompressed": MAX_DECOMPRESSED}
    slow: list[Any] = []
    slow_damage: list[Any] = []
    try:
        with open_segment(guarded, **options) as segment:
            for event in segment.iter_events(on_damage="skip"):
                if isinstance(event, Damage):
                    slow_damage.append(_unnamed(event))
                elif isinstance(event, Record) and event.control is None:
                    slow.append(row(event))
    except UnknownFormatError:
        return
    for source in (guarded, FILE.place(data)):
        quick: list[Damage] = []
        with open_segment(source, **options) as segment:
            fast = rows(segment.read_batches(on_damage=quick.append))
        assert fast == slow
        assert [_unnamed(each) for each in quick] == slow_damage
    columns = PROJECTIONS[len(data) % len(PROJECTIONS)]
    with open_segment(guarded, **options) as segment:
        whole = segment.read_batches(on_damage="skip").read_all()
        assert segment.read_batches(columns, on_damage="skip").read_all().equals(whole.select(columns))
    COMPARED.update(inputs=1, records=len(slow))


def _unnamed(damage: Damage) -> tuple[Any, ...]:
    """What is told of damage, but for the name of the source in its words."""
    return tuple(one.replace(str(damage.path), "") if isinstance(one, str) else one for one in told(damage))


def headers(dice: Random, data: bytes) -> str:
    """`read_headers`: entries that do not overlap, in their order."""
    damage: list[Damage] = []
    with open_segment(place(dice, data)) as segment:
        table = segment.read_headers(on_damage=damage.append)
    table.validate(full=True)
    ends = [0, *table.column("end_position").to_pylist()]
    assert all(end <= start for end, start in zip(ends, table.column("position").to_pylist(), strict=False))
    assert ends[-1] <= len(data)
    return word(damage)


def events(dice: Random, data: bytes) -> str:
    """`iter_events` raises nothing, and what it yields covers every byte once."""
    kind = dice.randrange(8)
    options: dict[str, Any] = {"check_crc": kind != 0, "headers_only": kind == 1}
    way = fast_rows() if kind == 2 else None
    with open_segment(place(dice, data), max_decompressed=MAX_DECOMPRESSED, **options) as segment:
        return tiles(segment, len(data), way, is_printed=kind == 3)


def tiles(segment: Segment, size: int, way: Any = None, *, is_printed: bool = False) -> str:
    """Entries, damage and padding lie one behind the other, from the first byte to the last."""
    damage: list[Damage] = []
    position, batch = 0, None
    for event in segment.iter_events(on_damage="skip", rows=way):
        if is_printed:
            json.loads(jsonl.line(event, "x.log"))
            assert text.line(event).endswith(b"\n")
        if isinstance(event, Record):
            assert batch is not None and event.position == batch.position
            continue
        if isinstance(event, Damage):
            damage.append(event)
            assert isinstance(event.error, KafkaFormatError)
            region = (event.position, event.end_position)
            if batch is not None and region == (batch.position, batch.end_position) and position == region[1]:
                continue  # what is wrong inside a batch that was framed soundly
        elif isinstance(event, Padding):
            batch = None
        else:
            batch = event
            if event.crc_valid is False:
                continue  # its damage follows, with a region of its own
        assert event.position == position < event.end_position
        position = event.end_position
    assert position == size
    return word(damage)


class _Flaky:
    """Bytes of which some blocks cannot be read."""

    descriptor = -1
    is_memory = False

    def __init__(self, data: bytes, bad: set[int], len_block: int) -> None:
        self._source = open_source(data)
        self.name, self.size = self._source.name, len(data)
        self._bad, self._len_block = bad, len_block

    def read(self, position: int, size: int) -> bytes | memoryview:
        for block in range(position // self._len_block, -(-(position + size) // self._len_block)):
            if block in self._bad:
                at = max(position, block * self._len_block)
                raise ReadError("a bad block", position=at, path=self.name, errno=5)
        return self._source.read(position, size)

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        buffer[:size] = self.read(position, size)
        return buffer[:size]

    def close(self) -> None:
        self._source.close()


def unreadable(dice: Random, data: bytes) -> str:
    """The same in a file of many blocks, some of which cannot be read; a length may claim any of them."""
    lie = bytearray(seeds.entries()[0].data)
    at = seeds.entries()[0].len_at
    lie[at : at + 4] = dice.randrange(20 * BLOCK_SIZE).to_bytes(4, "big")
    filler = dice.choice((b"", bytes(dice.randrange(3 * BLOCK_SIZE)), bytes(lie), bytes(lie) + bytes(60_000)))
    data = b"".join((data, filler, data, filler, data))
    blocks = -(-len(data) // BLOCK_SIZE)
    bad = {dice.randrange(blocks + 1) for _ in range(dice.randrange(3))}
    source = _Flaky(data, bad, BLOCK_SIZE)
    segment = Segment(source, check_crc=dice.randrange(4) != 0, headers_only=False, max_decompressed=1 << 20)
    if dice.randrange(4) == 0:
        damage: list[Damage] = []
        for _ in segment.read_batches(on_damage=damage.append):
            pass
        return word(damage)
    return tiles(segment, len(data))


def _plain(one: Any) -> tuple[Any, ...]:
    """A transaction's values; damage in what is told of it, for errors are not equal."""
    values = (getattr(one, name) for name in one.__slots__)
    return tuple(told(value) if isinstance(value, Damage) else value for value in values)


def _state(steps: Iterable[Step]) -> tuple[Any, ...]:
    state = Transactions()
    state.follow(steps)
    lists = ([_plain(one) for one in each] for each in (state.aborted, state.doubtful, state.open()))
    return *lists, state.end_offset, state.bare_aborts


def steps(dice: Random, data: bytes) -> str:
    """What a segment shows of transactions: the same compiled and interpreted."""
    options: dict[str, Any] = {"check_crc": dice.randrange(4) != 0, "max_decompressed": MAX_DECOMPRESSED}
    source = open_source(GUARD.place(data))
    with interpreted():
        slow = _state(iter_steps(source, **options))
    with compiled():
        assert _state(iter_steps(source, **options)) == slow
    return "doubtful" if slow[1] else "open" if slow[2] else "aborted" if slow[0] else "none"
