"""Entries of a segment with facts about their records: the greatest timestamp, and whether they are in order.

`verifying` gives those of a segment. The facts of an entry are a row of 64-bit integers beside that of its
header.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TypeAlias

from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.formats.java import MIN_LONG
from kafka_segments.core.segment.records.batch_records import open_records
from kafka_segments.core.segment.scan.entry_rows import row_of
from kafka_segments.core.segment.scan.entry_scan import Scan, read_payload
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.errors import CorruptBatchError, KafkaFormatError, raise_unless_file_at_fault
from kafka_segments_generated.columns import kafka_log_segment

__all__ = [
    "FIRST_OFFSET",
    "GREATEST",
    "INCREASES",
    "LAST_OFFSET",
    "NUM_FACTS",
    "NUM_READ",
    "NUM_RECORDS",
    "UNKNOWN_TIMESTAMP",
    "VerifiedEvent",
    "VerifiedTable",
    "read_exactly",
    "table_of",
    "unread_facts",
]

GREATEST, FIRST_OFFSET, LAST_OFFSET, INCREASES, NUM_READ, NUM_RECORDS = range(6)
"""Facts: the greatest timestamp; the offsets of the first and the last record; whether each offset is above
the one before it; how many data records were read, -1 for those of the header; and of a wrapper the number of
its messages, -1 if that is unknown. Of a batch without records all but the number read are arbitrary."""
NUM_FACTS = 6

UNKNOWN_TIMESTAMP = MIN_LONG
"""Greatest timestamp of an entry whose records were not read, or that has none."""

_OF_HEADERS = memoryview(array("q", (UNKNOWN_TIMESTAMP, 0, 0, 1, -1, -1)))


@dataclass(frozen=True, slots=True)
class VerifiedTable:
    """Consecutive sound entries, with facts about their records.

    Attributes:
        entries: their headers.
        facts: `NUM_FACTS` for each; None if no records were read.
        before: the last offset before the first entry; None if unknown.
    """

    entries: EntryTable
    facts: memoryview | None = None
    before: int | None = None

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def len_facts(self) -> int:
        """Numbers from the facts of an entry to those of the next one."""
        return 0 if self.facts is None else NUM_FACTS

    @property
    def memory(self) -> memoryview:
        """The facts, or those that stand for all entries."""
        return _OF_HEADERS if self.facts is None else self.facts

    def fact(self, row: int, which: int) -> int:
        """Return one fact about an entry."""
        return self.memory[row * self.len_facts + which]

    def part(self, start: int, end: int) -> VerifiedTable:
        """Return the rows `[start, end)`."""
        facts = None if self.facts is None else self.facts[start * NUM_FACTS : end * NUM_FACTS]
        before = self.entries.last_offset(start - 1) if start else self.before
        return VerifiedTable(self.entries.part(start, end), facts, before)

    def offsets(self) -> tuple[list[int], list[int]]:
        """Return the first and the last offset of each entry; of an unread wrapper the lowest first one."""
        firsts, lasts = self.entries.values("base_offset"), self.entries.list_last_offsets()
        for row in self._wrappers():
            before = lasts[row - 1] if row else lasts[0] - 1 if self.before is None else self.before
            unread = min(before + 1, lasts[row])
            firsts[row] = unread if self.facts is None else self.fact(row, FIRST_OFFSET)
            lasts[row] = max(firsts[row], lasts[row])
        return firsts, lasts

    def heads(self) -> list[tuple[int, int, int | None, int, int]]:
        """Return position, end, first offset (None for an unread wrapper), last offset, timestamp of each."""
        names = "position", "end_position", "magic", "max_timestamp"
        starts, ends, magics, headers = map(self.entries.values, names)
        times = [time if magic else -1 for magic, time in zip(magics, headers, strict=True)]
        known, lasts = self.offsets()
        firsts: list[int | None] = [*known]
        for row in self._wrappers():
            if self.fact(row, NUM_RECORDS) < 0:
                firsts[row] = None
        return list(zip(starts, ends, firsts, lasts, times, strict=True))

    def _wrappers(self) -> list[int]:
        columns = zip(self.entries.values("magic"), self.entries.values("codec"), strict=True)
        return [row for row, (magic, codec) in enumerate(columns) if magic < 2 and codec]


VerifiedEvent: TypeAlias = VerifiedTable | Damage | Padding


class _Seen:
    """Offsets and timestamps of an entry's records."""

    def __init__(self) -> None:
        self.num_data_records = 0
        self.first: int | None = None
        self.last: int | None = None
        self.is_ordered = True
        self.greatest = UNKNOWN_TIMESTAMP

    def add(self, record: Record) -> None:
        if self.first is None:
            self.first = record.offset
        self.is_ordered &= self.last is None or record.offset > self.last
        self.last = record.offset
        if record.control is None:
            self.num_data_records += 1
            self.greatest = max(self.greatest, record.timestamp)


def read_exactly(
    batch: Batch, scan: Scan, *, check_crc: bool, max_decompressed: int
) -> tuple[memoryview, Damage | None]:
    """Read one sound entry record by record.

    Args:
        batch: the entry.
        scan: of the segment; has the budget of items, and receives which offset was the last sound one.
        check_crc: verify checksums of messages in a wrapper.
        max_decompressed: bytes that the entry may decompress to.

    Returns:
        The facts, and the damage of records that cannot be read.
    """
    seen, opened = _Seen(), batch
    try:
        payload = read_payload(scan.window, batch)
        opened, records = open_records(
            batch, payload, max_decompressed=max_decompressed, check_crc=check_crc, items=scan.items
        )
        for record in records:
            seen.add(record)
        if opened.num_left:  # Kafka's reader ends there without a word
            raise CorruptBatchError(f"{opened.num_left} bytes are left after the last whole message")
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        facts = unread_facts(opened)
        facts[NUM_READ] = seen.num_data_records
        return facts, scan.damage_of(batch, error, seen.last)
    scan.note_sound(batch)
    facts = unread_facts(opened)
    if seen.first is not None and seen.last is not None:
        is_inside = seen.first >= facts[FIRST_OFFSET] and seen.last <= facts[LAST_OFFSET]
        facts[GREATEST], facts[INCREASES] = seen.greatest, seen.is_ordered and is_inside
        facts[NUM_READ] = seen.num_data_records
    return facts, None


def unread_facts(batch: Batch) -> memoryview:
    """Return the facts about an entry that its header gives; of a wrapper the lowest first offset."""
    first = batch.base_offset
    if first is None:
        previous = batch.last_offset - 1 if batch.previous_offset is None else batch.previous_offset
        first = min(previous + 1, batch.last_offset)
    count = -1 if batch.num_records is None else batch.num_records
    return memoryview(array("q", (UNKNOWN_TIMESTAMP, first, max(first, batch.last_offset), 1, -1, count)))


def table_of(batch: Batch, facts: memoryview) -> VerifiedTable:
    """Return a table of one entry that was read as a `Batch`."""
    return VerifiedTable(row_of(batch, kafka_log_segment), facts)
