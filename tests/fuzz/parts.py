"""Parts of a segment hold what the whole does: ranges of offsets, ranges of bytes, columns, headers.

The whole is read by the slow way, from Kaitai's classes. What is expected of a part follows from that here,
in plain Python. A header may lie about the offsets inside; such records come at most once, all others once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from random import Random
from typing import Any, Literal

import pyarrow as pa
from tests.fuzz import checks, seeds
from tests.fuzz.guard import GUARD
from tests.timestamps import stored

from kafka_segments import Batch, Damage, Record, Segment, open_segment
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.columnar.arrow_schema import FURTHER, NONE, SCHEMA, copied_schema
from kafka_segments.core.segment.columnar.entry_counts import EntryCounts
from kafka_segments.core.segment.columnar.fitted_values import MAX_MILLIS, fit_timestamps, header_lists
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.core.segment.columnar.read_range import ReadRange
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.transactions.excluded import ExcludedBatches
from kafka_segments.errors import TimestampRangeError
from kafka_segments.query.read.segment_finder import begin

COLUMNS = [*SCHEMA.names, *FURTHER.names]
TIMESTAMP_TYPES = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}
HIGHEST = (1 << 63) - 1
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

Row = tuple[Any, ...]
Place = tuple[int, int, str]


@dataclass
class Entry:
    """A sound entry, opened if it can be, and the rows of it that are sound.

    Attributes:
        head: as its header has it.
        batch: the same, opened.
        rows: what is to come of it.
    """

    head: Batch
    batch: Batch
    rows: list[Row] = field(default_factory=list)

    @property
    def last_offset(self) -> int:
        """By its header; see `entry_scan`."""
        return last_offset(self.head)

    @property
    def is_wrapper(self) -> bool:
        """Whether only what is inside tells where it begins."""
        return self.head.magic < 2 and self.head.compression_id != 0

    @property
    def is_honest(self) -> bool:
        """Whether its header is right about the offsets of its records."""
        first, last = self.batch.base_offset, self.head.highest_offset
        return first is not None and all(first <= row[0] <= last for row in self.rows)


def last_offset(batch: Batch) -> int:
    """The highest offset of a batch by its header; the first where what it says of the last cannot be."""
    return batch.last_offset if batch.base_offset is None else max(batch.base_offset, batch.last_offset)


def first_offset(batch: Batch) -> int | None:
    """The lowest offset of a batch or message by its header; None for a wrapper."""
    return batch.last_offset if batch.magic < 2 and batch.compression_id == 0 else batch.base_offset


def longer(dice: Random, data: bytes) -> bytes:
    """The segment with more entries around it, most often with offsets that ascend as they do in a log."""
    around = [seeds.entries()[dice.randrange(len(seeds.entries()))].data for _ in range(dice.randrange(6))]
    if around and dice.randrange(3):
        around = [one for one in around for _ in range(1 + dice.randrange(4))]
    at = dice.randrange(len(around) + 1)
    data = b"".join((*around[:at], data, *around[at:]))
    return ascending(dice, data) if dice.randrange(4) else data


def ascending(dice: Random, data: bytes) -> bytes:
    """The same with entries one behind the other in offsets, which no checksum covers; some are missing."""
    with open_segment(data) as segment:
        entries = [one for one in segment.iter_entries("skip") if isinstance(one, Batch)]
    out, offset = bytearray(data), dice.choice((0, 5, 1 << 40))
    for entry in entries:
        # A wrapper has its last message's: there may be so many as that in it, if not more.
        width = 16 if entry.base_offset is None else entry.highest_offset - entry.base_offset + 1
        first = offset + width - 1 if entry.base_offset is None else offset
        if 0 < width < 1 << 31:
            if dice.randrange(40) == 0:  # below 0, where no offset of a log is
                first = dice.choice((-1, -width, -(1 << 40)))
            out[entry.position : entry.position + 8] = first.to_bytes(8, "big", signed=True)
            offset += width + dice.choice((0, 0, 0, 3))
    return bytes(out)


def slow_rows(batch: Batch, record: Record) -> Row:
    """A record with all columns there are."""
    own = (batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch, record.sequence)
    kind = TIMESTAMP_TYPES[record.timestamp_type]
    known = (record.offset, record.timestamp, kind, record.key, record.value, record.headers)
    return *known, *(None if number == NONE else number for number in own)


def fast_rows(arrow: pa.RecordBatch) -> list[Row]:
    """Rows of an arrow batch in the same form."""
    arrow.validate(full=True)
    assert arrow.num_rows > 0
    columns = {name: arrow.column(name) for name in COLUMNS}
    lists = {name: column.to_pylist() for name, column in columns.items() if name != "timestamp"}
    lists = {name: lists[name] if name in lists else stored(columns[name]) for name in COLUMNS}
    lists["headers"] = [tuple((one["key"], one["value"]) for one in row) for row in lists["headers"]]
    return list(zip(*lists.values(), strict=True))


def slowly(segment: Segment, data: bytes | memoryview) -> tuple[list[Entry], list[Damage], list[Place]]:
    """What there is, entry by entry; the damage between entries; and where any damage is."""
    scan = Scan(open_source(data), headers_only=True)
    entries: list[Entry] = []
    between, places = [], []
    for event in segment.iter_events(on_damage="skip"):
        if isinstance(event, Damage):
            places.append(_place(event))
            if not entries or event.position >= entries[-1].head.end_position:
                between.append(event)
        elif isinstance(event, Batch) and event.crc_valid is not False:
            entries.append(Entry(scan.batch_at(event.position), event))
        elif isinstance(event, Record) and event.control is None:
            entries[-1].rows.append(slow_rows(entries[-1].batch, event))
    return entries, between, places


def _place(damage: Damage) -> Place:
    return damage.position, damage.end_position, type(damage.error).__name__


def is_ascending(entries: Iterable[Entry]) -> bool:
    """Whether offsets grow from entry to entry, as a log's do, by headers and by what is inside."""
    bounds = [(one.batch.base_offset, one.head.last_offset, one.head.highest_offset) for one in entries]
    if any(first is None or last < first or last != highest for first, last, highest in bounds):
        return False
    return all(one[1] < other[0] for one, other in pairwise(bounds))  # type: ignore[operator]


def cuts(dice: Random, entries: list[Entry]) -> list[int | None]:
    """Bounds of ranges that are all offsets together; somewhere in entries, at their edges, or between."""
    offsets = [row[0] for one in entries for row in one.rows] + [one.head.last_offset for one in entries]
    near = [offset + dice.choice((-1, 0, 0, 1, 2)) for offset in offsets or [0]]
    chosen = {near[dice.randrange(len(near))] for _ in range(dice.choice((0, 1, 2, 4)))}
    return [None, *sorted(offset for offset in chosen if 0 < offset < HIGHEST), None]


def some_void(dice: Random, entries: list[Entry]) -> list[tuple[int, int, int]]:
    """Ranges of base offsets by producer, which nobody is to be given; most often none."""
    own = [one.head for one in entries if one.head.is_transactional and one.head.base_offset is not None]
    if not own or dice.randrange(2):
        return []
    found = []
    for _ in range(1 + dice.randrange(3)):
        batch = own[dice.randrange(len(own))]
        first = batch.base_offset or 0
        last = min(first + dice.choice((-1, 0, 30)), (1 << 63) - 1)
        found.append((batch.producer_id, max(first - dice.randrange(3), -1 << 63), last))
    return found


def is_void(batch: Batch, void: list[tuple[int, int, int]]) -> bool:
    """Whether a batch is in one of them."""
    if not batch.is_transactional or batch.is_control or batch.base_offset is None:
        return False
    return any(who == batch.producer_id and first <= batch.base_offset <= last for who, first, last in void)


@dataclass
class Part:
    """What came of the reading of a part."""

    rows: Counter[Row]
    places: list[Place]


def read(
    segment: Segment,
    offsets: tuple[int | None, int | None],
    void: Any,
    read_range: Any,
    columns: Sequence[str] = COLUMNS,
    binary: Literal["copy", "view"] = "copy",
) -> Part:
    """Read a part of a segment by columns."""
    part = Part(Counter(), [])
    for event in segment.iter_columnar(columns, offsets, void, read_range, binary):
        if isinstance(event, pa.RecordBatch):
            assert event.schema.names == columns
            event.validate(full=True)
            rows = event.cast(copied_schema(event.schema))
            part.rows.update(fast_rows(rows))
            convert(rows)
        elif isinstance(event, Damage):
            part.places.append(_place(event))
    return part


def convert(batch: pa.RecordBatch) -> None:
    """Convert columns as readers do that have text in place of bytes, and microseconds."""
    lists = header_lists(batch.column("headers"), HEADERS)
    assert len(lists) == batch.num_rows
    millis = batch.column("timestamp").view("int64").fill_null(-1).to_numpy()
    try:
        fit_timestamps(batch, millis, "error")
    except TimestampRangeError as error:
        assert error.timestamp is not None and abs(error.timestamp) > MAX_MILLIS


def ranges(dice: Random, data: bytes) -> str:
    """However offsets are cut, each record of the whole comes once, with all of its columns."""
    data = longer(dice, data)
    check_crc = dice.randrange(4) != 0
    options: dict[str, Any] = {"check_crc": check_crc, "max_decompressed": checks.MAX_DECOMPRESSED}
    placed = GUARD.place(data)
    with open_segment(placed, **options) as segment:
        entries, between, places = slowly(segment, placed)
        # Of a batch that a part passes over, nobody looks what its records are; what it says of its offsets
        # counts then, when the next sound entry is looked for behind damage.
        is_hidden = bool(between) and len(places) > len(between)
        void_ranges = some_void(dice, entries)
        void = ExcludedBatches.of(void_ranges) if void_ranges else None
        shown = [one for one in entries if not is_void(one.head, void_ranges)]
        is_shared, is_log = dice.randrange(2) == 0, is_ascending(entries)
        bounds, found = cuts(dice, entries), Counter[Row]()
        for start, end in pairwise(bounds):
            read_range = None
            if is_shared:
                is_damaged = bool(between)
                read_range = _read_range(dice, placed, start, entries, is_log=is_log, is_damaged=is_damaged)
                read_range = replace(read_range, counts=EntryCounts(start, end))
            columns = dice.sample(COLUMNS, len(COLUMNS))
            part = read(segment, (start, end), void, read_range, columns, dice.choice(("copy", "view")))
            assert is_hidden or set(part.places) <= set(places)
            if not is_shared:
                assert all(_holds(start, end, row[0]) for row in part.rows)
            found += part.rows
        whole = Counter(row for one in shown for row in one.rows)
        honest = Counter(row for one in shown if one.is_honest for row in one.rows)
        assert is_hidden or found <= whole, f"{found - whole} too many"
        assert is_hidden or honest <= found, f"{honest - found} are missing"
        if len(bounds) == 2 and not (is_hidden and void_ranges):
            assert found == whole
    return "log" if is_log else "no log"


def _holds(start: int | None, end: int | None, offset: int) -> bool:
    return (start is None or offset >= start) and (end is None or offset < end)


def _read_range(
    dice: Random,
    data: bytes | memoryview,
    start: int | None,
    entries: list[Entry],
    *,
    is_log: bool,
    is_damaged: bool,
) -> ReadRange:
    """Where a range may be read: from a hint on, right or wrong, to another one."""
    if not is_log or start is None:
        return ReadRange(is_shared=True)
    hint = dice.choice([0, dice.randrange(len(data) or 1), *(one.head.position for one in entries)])
    base_offset = entries[0].batch.base_offset or 0 if entries else 0
    found = begin(open_source(data), start, base_offset, hint, checks.MAX_DECOMPRESSED)
    if found.position and not any(one.head.position == found.position for one in entries):
        assert found.is_hinted or is_damaged  # a log in a log: only a hint leads there, or headers that lie
        return ReadRange(is_shared=True)
    end_position = dice.choice((None, 0, dice.randrange(len(data) + 1)))
    return ReadRange(found.position, found.sound_offset, end_position, is_shared=True)


def stretches(dice: Random, data: bytes) -> str:
    """A range of bytes shows what it would if nothing were behind it; and what was there is noted."""
    data = longer(dice, data)
    options: dict[str, Any] = {"check_crc": dice.randrange(4) != 0, "max_decompressed": 1 << 20}
    with open_segment(data, **options) as segment:
        entries, between, places = slowly(segment, data)
        if not entries:
            return "nothing"
        at = dice.randrange(len(entries))
        first, previous = entries[at].head.position, entries[at - 1].last_offset if at else None
        end = dice.choice([None, *(one.last_offset for one in entries)])
        end_position = dice.choice((None, 0, dice.randrange(len(data) + 1)))
        last = ending(entries, at, end, end_position, len(data))
        coverage = OffsetCoverage()
        counts = EntryCounts(None, end)
        read_range = ReadRange(first, previous, end_position, coverage, is_shared=True, counts=counts)
        part = read(segment, (None, end), None, read_range, binary="view")
        is_honest = is_ascending(entries) and all(one.is_honest for one in entries)
        is_log = all(row[0] >= 0 for row in part.rows)  # in no log are offsets below 0, and none are counted
        if counts.is_exact and not places and is_honest and is_log:
            assert counts.num_data == part.rows.total()
    with open_segment(data[:last], **options) as cut:
        expected = read(cut, (None, end), None, ReadRange(first, previous, is_shared=True))
    if len(places) > len(between) and (between or any(one.is_wrapper for one in entries)):
        return "hidden"  # what is behind goes by what was sound before, and not all was looked into
    if between and not is_ascending(entries):
        return "hidden"  # the search behind damage goes by what follows, too, which is cut off
    assert part.rows == expected.rows
    # Zeros before the cut are what a preallocated file ends with.
    starts = [[at for at, stop, _ in one.places if any(data[at:stop])] for one in (part, expected)]
    assert starts[0] == starts[1]
    assert coverage.is_ended == (last < len(data))
    seen = [one.head for one in entries if first <= one.head.position < last]
    check_coverage(coverage, seen, [one.position for one in between if first <= one.position < last])
    return "ended" if coverage.is_ended else "whole"


def ending(entries: list[Entry], at: int, end: int | None, end_position: int | None, size: int) -> int:
    """Where the reading ends: with the first of two sound entries from a place on that are behind the range.

    With the second one if anything stands between them; with one alone if the file ends behind it.
    """
    if end is None or end_position is None:
        return size
    previous, before = entries[at - 1].last_offset if at else -1, None
    for one in entries[at:]:
        head = one.head
        is_behind = (head.last_offset if head.base_offset is None else head.base_offset) >= end
        if one.is_wrapper:
            is_behind = is_behind and previous >= end - 1
        is_behind = is_behind and head.position >= end_position
        if is_behind and before is not None:
            return before.position if before.end_position == head.position else head.position
        if is_behind and head.end_position >= size:
            return head.position
        before = head if is_behind else None
        previous = one.last_offset
    return size


def check_coverage(coverage: OffsetCoverage, sound: list[Batch], damaged: list[int]) -> None:
    """What is noted of entries is what they are, one by one."""
    # Where offsets are negative others should stand.
    negative = {one.position for one in sound if not _is_wrapper(one) and last_offset(one) < 0}
    assert (coverage.replaced is not None) == bool(negative)
    sound = [one for one in sound if one.position not in negative]
    damaged = [*damaged, *negative]
    if sound:
        lasts = [last_offset(one) for one in sound]
        has_wrappers = any(map(_is_wrapper, sound))
        # How far wrappers reach is not held against what follows.
        assert coverage.last in lasts if has_wrappers else coverage.last == max(lasts)
        assert coverage.is_damaged_before == any(at < sound[0].position for at in damaged)
        assert coverage.is_damaged_after == any(at > sound[-1].position for at in damaged)
    if sound and first_offset(sound[0]) is not None:
        assert coverage.first == first_offset(sound[0])
    if not damaged and all(_is_whole(one) for one in sound):
        # What stands behind greater offsets leaves no gap.
        ends = accumulate((one.last_offset for one in sound), max)
        firsts = map(first_offset, sound[1:])
        assert coverage.has_gaps == any(
            first is not None and first > end + 1 for end, first in zip(ends, firsts, strict=False)
        )


def _is_wrapper(batch: Batch) -> bool:
    return batch.magic < 2 and batch.compression != "none"


def _is_whole(batch: Batch) -> bool:
    """Whether it has a record for each of its offsets, by its header."""
    first = first_offset(batch)
    num_records = 1 if batch.magic < 2 else batch.num_records
    return first is not None and num_records == batch.last_offset - first + 1
