"""Offsets, times, codecs and formats of segments by their headers, for `ls`.

Strategy: no payload is opened. From the ends, a segment costs its first header and the last entry of its time
index; only the last batches of a newest segment, or of one without that index, are read and verified. From
all headers, every entry is stepped over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.core.codecs.bounds import possible_records
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import BLOCK_SIZE, Source, Window
from kafka_segments.core.segment.contents import end_of
from kafka_segments.core.segment.evidence import FileOrder, bounds_of, judge
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries, run_of
from kafka_segments.core.segment.scan.entry_check import Probe
from kafka_segments.core.segment.verified.sound_runs import Found, joined
from kafka_segments.errors import KafkaFormatError, NotingFaults
from kafka_segments.log.log_end import beside
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored, open_times

__all__ = ["SegmentFigures", "codec_name", "figures_by_ends", "figures_by_headers"]


@dataclass(slots=True)
class SegmentFigures:
    """Figures of a segment.

    Attributes:
        is_exact: whether they are made of all headers; else of those at its ends and of its indexes.
        first_offset: of its first entry; by its name where the headers do not have it.
        end_offset: the offset after its last one; from its ends that is where the next segment begins.
        first_timestamp: of its first record, in milliseconds; None if unknown. From all headers, of the batch
            with the earliest maximum.
        max_timestamp: the greatest, in milliseconds; None if there is none.
        codecs: numbers of codecs that were seen, with the bytes of their entries (0 if these are unknown).
        magics: formats that were seen, likewise.
        num_batches: batches, messages and wrappers; None if unknown.
        num_records: data records; None if unknown, as in wrappers of magic 0 and 1.
        errors: what is wrong with it, as far as that was seen.
    """

    is_exact: bool
    first_offset: int
    end_offset: int
    first_timestamp: int | None = None
    max_timestamp: int | None = None
    codecs: dict[int, int] = field(default_factory=dict)
    magics: dict[int, int] = field(default_factory=dict)
    num_batches: int | None = None
    num_records: int | None = None
    errors: tuple[KafkaFormatError, ...] = ()


def codec_name(number: int) -> str:
    """Return Kafka's name of a codec; `codec 7` for a number that has none."""
    names = ("none", *CODEC_NAMES)
    return names[number] if 0 <= number < len(names) else f"codec {number}"


def figures_by_ends(places: Places, segment: StoredSegment) -> SegmentFigures:
    """Read the figures at the ends of a segment.

    Raises:
        KafkaFormatError: it cannot be opened.
    """
    with closing(open_stored(places, segment)) as source:
        first, errors = _first_entry(source)
        if first is None and not errors:
            return SegmentFigures(False, segment.base_offset, segment.base_offset)
        seen = [] if first is None else [first]
        latest = _latest_in_index(places, segment, errors)
        end_offset = segment.end_offset
        if end_offset is None or latest is None:
            end = end_of(source, segment.base_offset, beside(places, segment))
            end_offset = end.end_offset if end_offset is None else end_offset
            seen += [] if end.last is None else [end.last]
            errors += [] if end.tail is None else [end.tail.error]
    times = [one.max_timestamp for one in seen] + ([] if latest is None else [latest])
    has_offset = first is not None and first.base_offset is not None
    return SegmentFigures(
        False,
        segment.base_offset if first is None or not has_offset else first.base_offset or 0,
        end_offset,
        None if first is None else _first_timestamp(first),
        _known(max(times, default=-1)),
        {one.compression_id: 0 for one in seen},
        {one.magic: 0 for one in seen},
        errors=tuple(errors),
    )


def _first_entry(source: Source) -> tuple[Batch | None, list[KafkaFormatError]]:
    """The header of the first entry; what is wrong if there is none although there are bytes."""
    probe = Probe(source, Window(source, BLOCK_SIZE), headers_only=True)
    if source.size == 0 or probe.is_padding(0):
        return None, []
    checked = probe.examine(0, None, check_crc=False)
    return checked.batch, [] if checked.error is None else [checked.error]


def _first_timestamp(first: Batch) -> int | None:
    """The timestamp of a batch's first record; None where the header has another time in its place."""
    if first.timestamp_type == "LogAppendTime" or first.magic < 2:
        return _known(first.max_timestamp)
    return None if first.delete_horizon_ms is not None else _known(first.base_timestamp or 0)


def _latest_in_index(places: Places, segment: StoredSegment, errors: list[KafkaFormatError]) -> int | None:
    """The last timestamp of a segment's time index; None without entries."""
    with NotingFaults(errors):
        lookup = open_times(places, segment)
        if lookup is not None:
            with lookup:
                last = lookup.last()
            return None if last is None else last[0]
    return None


def _known(timestamp: int) -> int | None:
    return None if timestamp < 0 else timestamp


def figures_by_headers(places: Places, segment: StoredSegment) -> SegmentFigures:
    """Read the figures of a segment from all of its headers.

    Raises:
        KafkaFormatError: it cannot be opened.
    """
    figures = SegmentFigures(True, segment.base_offset, segment.base_offset, num_batches=0, num_records=0)
    end = NO_END if segment.end_offset is None else segment.end_offset
    order = FileOrder(segment.base_offset, end, last_named=beside(places, segment).last_named)
    with closing(open_stored(places, segment)) as source:
        bounds = bounds_of(judge(joined(_noted(figures, iter_header_summaries(source))), order))
    figures.first_offset, figures.end_offset = bounds or (segment.base_offset, segment.base_offset)
    return figures


def _noted(figures: SegmentFigures, heads: Iterator[HeaderSummary | Damage]) -> Iterator[Found]:
    """Add headers to figures; yield them as runs, and damage in its place."""
    for head in heads:
        if isinstance(head, Damage):
            figures.errors += (head.error,)
            yield head
            continue
        size = head.end_position - head.position
        figures.num_batches = (figures.num_batches or 0) + 1
        for sizes, key in ((figures.codecs, head.compression_id), (figures.magics, head.magic)):
            sizes[key] = sizes.get(key, 0) + size
        if figures.num_records is not None:
            most = head.has_records * possible_records(head.num_records or 0, size, head.compression_id)
            figures.num_records = None if head.num_records is None else figures.num_records + most
        if (latest := head.max_timestamp) >= 0:
            earliest = figures.first_timestamp
            figures.first_timestamp = latest if earliest is None else min(latest, earliest)
            figures.max_timestamp = max(latest, figures.max_timestamp or 0)
        if head.last_offset < MAX_LONG:
            yield run_of(head)
