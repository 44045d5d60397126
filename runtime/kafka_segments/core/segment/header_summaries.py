"""Headers of a segment for planning: offsets, times, positions.

No checksum is verified: a header only decides whether records are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafka_segments.core.formats import wrap_long
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.entry_rows import row_of
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import iter_headers
from kafka_segments.core.segment.verified.sound_runs import SoundRun
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["HeaderSummary", "head_of", "iter_header_summaries", "run_of", "summaries_of"]

_NO_TIMESTAMP = -1  # as RecordBatch.NO_TIMESTAMP
_COLUMNS = (
    "position",
    "end_position",
    "base_offset",
    "magic",
    "timestamp_type",
    "compression",
    "max_timestamp",
    "last_offset_delta",
    "num_records",
    "producer_id",
    "is_control",
)


@dataclass(slots=True)
class HeaderSummary:
    """Summary of the header of a batch or message.

    Attributes:
        position: where it begins.
        end_position: where it ends.
        first_offset: None for a wrapper of magic 0 or 1, whose messages have it.
        last_offset: the greatest possible offset of its records.
        max_timestamp: milliseconds; -1 in magic 0.
        is_append_time: whether `max_timestamp` is that of every record.
        producer_id: -1 for none.
        has_records: whether it holds data records: not a control batch, and not emptied by the cleaner.
        magic: of its format.
        compression_id: number of the codec.
        num_records: its records, those of a control batch too; None for a wrapper of magic 0 or 1.
    """

    position: int
    end_position: int
    first_offset: int | None
    last_offset: int
    max_timestamp: int
    is_append_time: bool
    producer_id: int = -1
    has_records: bool = True
    magic: int = 2
    compression_id: int = 0
    num_records: int | None = None


def iter_header_summaries(source: Source, position: int = 0) -> Iterator[HeaderSummary | Damage]:
    """Yield headers and damage in file order, from the position of an entry on."""
    for piece in iter_headers(source, position):
        if isinstance(piece, Damage):
            yield piece
        else:
            yield from summaries_of(piece)


def summaries_of(entries: EntryTable) -> Iterator[HeaderSummary]:
    """Yield summaries of the headers in a table."""
    return map(_summary, zip(*map(entries.values, _COLUMNS), strict=True))


def _summary(row: tuple[int, ...]) -> HeaderSummary:
    """Return the summary of a header, by `_COLUMNS`."""
    begin, end, base, magic, kind, codec, timestamp, delta, count, producer, is_control = row
    place, is_append_time = (begin, end), kind == 1
    if magic >= 2:
        # As Java adds them: beyond the greatest offset come negative ones, which are not a last offset.
        last = max(base, wrap_long(base + delta), min(base + count - 1, MAX_LONG))
        has_records = not is_control and count != 0
        return HeaderSummary(
            *place, base, last, timestamp, is_append_time, producer, has_records, magic, codec, count
        )
    first = base if codec == 0 else None
    # Old versions of librdkafka left 0 in wrappers: then their messages may have any offset.
    last = MAX_LONG if first is None and base == 0 else base
    timestamp = timestamp if magic else _NO_TIMESTAMP
    count_known = None if first is None else 1
    return HeaderSummary(*place, first, last, timestamp, is_append_time, -1, True, magic, codec, count_known)


def run_of(head: HeaderSummary) -> SoundRun:
    """Return the run of one entry; of a wrapper, by the offset that it has itself."""
    is_unknown = head.first_offset is None and head.last_offset == MAX_LONG
    last = 0 if is_unknown else head.last_offset
    first = last if head.first_offset is None else head.first_offset
    num_lacking = 0 if head.num_records is None else max(0, last - first + 1 - head.num_records)
    return SoundRun(head.position, head.end_position, first, last, 1, head.max_timestamp, num_lacking)


def head_of(batch: Batch) -> HeaderSummary:
    """Return the summary of a batch."""
    return next(summaries_of(row_of(batch, kafka_log_segment)))
