"""Check of a segment's `.index` and `.timeindex`, by themselves and against the segment.

Strategy: by themselves as Kafka's sanityCheck (OffsetIndex, TimeIndex) and by what its writer guarantees:
offsets and positions increase, timestamps do not decrease, positions are inside the segment. Then the headers
of the segment are read once, without checksums, and compared with the entries of both. Entries that lead into
damage are not judged, nor those after the end of the newest segment, which may have grown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from kafka_segments.errors import CorruptIndexError, KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.formats.entries import Damage
from kafka_segments.log.log_files import UNOPENED, LogFile
from kafka_segments.segment.header_summaries import HeaderSummary
from kafka_segments.segment.index_files import OffsetIndex, TimeIndex, read_offset_index, read_time_index

__all__ = ["check_sanity"]

_NO_TIMESTAMP = -1


class _Entry(NamedTuple):
    """Entry of either index: an offset with its position or timestamp."""

    offset: int
    value: int


def check_sanity(files: Sequence[LogFile]) -> Iterator[KafkaFormatError]:
    """Check the indexes of segments; yield one error for each file that is wrong."""
    for file in files:
        size = None if file is files[-1] else file.size
        checks: list[_Positions | _Times] = []
        for read in (partial(_read_offsets, file, size), partial(_read_times, file)):
            try:
                checks += read()
            except KafkaFormatError as error:
                raise_unless_file_at_fault(error)
                yield error
        if checks:
            yield from _against_log(file, checks, is_newest=size is None)


def _read_offsets(file: LogFile, size: int | None) -> Iterator[_Positions]:
    source = file.open_beside("index")
    if source is None:
        return
    index = read_offset_index(source, file.segment.base_offset)
    for before, entry in pairwise(zip(index.offsets, index.positions, strict=True)):
        if entry[0] <= before[0] or entry[1] <= before[1]:
            raise _wrong(
                f"offset {entry[0]}, position {entry[1]} comes after {before[0]}, {before[1]}", index.path
            )
    if size is not None and index.positions and index.positions[-1] >= size:
        detail = f"the last entry is of position {index.positions[-1]}, and the segment has {size} bytes"
        raise _wrong(detail, index.path)
    if index.offsets:
        yield _Positions(index)


def _read_times(file: LogFile) -> Iterator[_Times]:
    source = file.open_beside("timeindex")
    if source is None:
        return
    index = read_time_index(source, file.segment.base_offset)
    for before, entry in pairwise(zip(index.timestamps, index.offsets, strict=True)):
        if entry[0] < before[0] or entry[1] < before[1]:
            raise _wrong(
                f"timestamp {entry[0]}, offset {entry[1]} comes after {before[0]}, {before[1]}", index.path
            )
    if index.offsets:
        yield _Times(index)


def _against_log(
    file: LogFile, checks: list[_Positions | _Times], *, is_newest: bool
) -> Iterator[KafkaFormatError]:
    """Compare entries with the segment; yield the first error of each index."""
    try:
        with file.open_file() as segment:
            for head in segment.iter_header_summaries():
                for check in list(checks):
                    if isinstance(head, Damage):
                        check.damaged(head)
                    elif (detail := check.check_up_to(head)) is not None:
                        yield _wrong(detail, check.path)
                        checks.remove(check)
                if not checks:
                    return
        for check in checks:
            if (detail := check.check_rest(is_newest=is_newest)) is not None:
                yield _wrong(detail, check.path)
    except UNOPENED as error:
        raise_unless_file_at_fault(error)  # the segment's reader reports it


class _Positions:
    """Check of a `.index`, whose entries have the last offset of an append and the position where it begins.

    Until Kafka 1.1 they have its first offset.
    """

    def __init__(self, index: OffsetIndex) -> None:
        self.path = index.path
        self._left = deque(map(_Entry, index.offsets, index.positions))
        self._reached = -1
        self._end_position = 0

    def damaged(self, region: Damage) -> None:
        """Skip the entries that lead into a region."""
        while self._left and self._left[0].value < region.end_position:
            self._left.popleft()

    def check_up_to(self, head: HeaderSummary) -> str | None:
        """Check the entries up to a batch; return the first error."""
        while self._left and self._left[0].value <= head.position:
            offset, position = self._left.popleft()
            if position < head.position:
                return f"offset {offset} is to be at position {position}, where no batch begins"
            if self._reached >= offset:
                return f"offset {offset} is to be at position {position}, and stands before it"
            if head.first_offset is not None and head.first_offset > offset:
                detail = f"offset {offset} is to be at position {position}, where a batch begins with "
                return f"{detail}{head.first_offset}"
        self._reached = max(self._reached, head.last_offset)
        self._end_position = head.end_position
        return None

    def check_rest(self, *, is_newest: bool) -> str | None:  # noqa: ARG002
        """Check the entries after the last batch; return the first error."""
        if self._left and self._left[0].value < self._end_position:
            offset, position = self._left[0]
            return f"offset {offset} is to be at position {position}, where no batch begins"
        return None


class _Times:
    """Check of a `.timeindex`, whose entries have the greatest timestamp up to an offset, and its offset."""

    def __init__(self, index: TimeIndex) -> None:
        self.path = index.path
        self._left = deque(map(_Entry, index.offsets, index.timestamps))
        self._greatest = _NO_TIMESTAMP
        self._is_damaged = False

    def damaged(self, _region: Damage) -> None:
        """Note that batches are missing."""
        self._is_damaged = True

    def check_up_to(self, head: HeaderSummary) -> str | None:
        """Check the entries up to a batch; return the first error."""
        while self._left and self._left[0].offset <= head.last_offset:
            offset, timestamp = self._left.popleft()
            what = f"timestamp {timestamp} is to be that of offset {offset}"
            if self._greatest > timestamp:
                return f"{what} and the greatest up to there, which is {self._greatest}"
            is_inside = head.first_offset is None or head.first_offset <= offset
            if is_inside and head.max_timestamp != timestamp:
                return f"{what}, whose batch has {head.max_timestamp}"
            if not is_inside and not self._is_damaged:
                return f"{what}, which no batch has"
        self._greatest = max(self._greatest, head.max_timestamp)
        return None

    def check_rest(self, *, is_newest: bool) -> str | None:
        """Check the entries after the last batch; return the first error."""
        if self._left and not self._is_damaged and not is_newest:
            offset, timestamp = self._left[0]
            return f"timestamp {timestamp} is to be that of offset {offset}, which no batch has"
        return None


def _wrong(detail: str, path: str) -> CorruptIndexError:
    return CorruptIndexError(f"{detail}; a broker makes this file anew from the segment", path=path)
