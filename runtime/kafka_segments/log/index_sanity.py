"""Check of a segment's `.index` and `.timeindex`, by themselves and against the segment.

Strategy: by themselves as Kafka's sanityCheck (OffsetIndex, TimeIndex) and by what its writer guarantees:
offsets and positions increase, timestamps do not decrease, positions are inside the segment. Then the headers
of the segment are read once, without checksums, and compared with the entries of both. Entries that lead into
damage are not judged, and headers in damage judge none; nor are those after the end of the newest segment,
which may have grown.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.segment.beside.index_files import (
    OffsetIndex,
    TimeIndex,
    read_offset_index,
    read_time_index,
)
from kafka_segments.core.segment.header_summaries import HeaderSummary
from kafka_segments.errors import CorruptIndexError, KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.log_files import UNOPENED, LogFile

__all__ = ["HeadColumns", "IndexedOffset", "PositionCheck", "TimeCheck", "check_sanity", "open_index_checks"]

_NO_TIMESTAMP = -1


class IndexedOffset(NamedTuple):
    """Entry of either index: an offset with its position or timestamp."""

    offset: int
    value: int


class _Entries:
    """Entries of an index that are not checked yet, in 16 bytes each; offsets and values do not decrease.

    Args:
        offsets: of the entries.
        values: their positions or timestamps.
    """

    def __init__(self, offsets: Sequence[int], values: Sequence[int]) -> None:
        self._offsets, self._values = array("q", offsets), array("q", values)
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._offsets)

    @property
    def first(self) -> IndexedOffset:
        """The next entry."""
        return IndexedOffset(self._offsets[self._at], self._values[self._at])

    def take(self) -> IndexedOffset:
        """Return the next entry, as checked."""
        found = self.first
        self._at += 1
        return found

    def end_of_values(self, last: int) -> int:
        """Return how many entries have values up to one, those before included."""
        return bisect_right(self._values, last, self._at)

    def end_of_offsets(self, last: int) -> int:
        """Return how many entries have offsets up to one, those before included."""
        return bisect_right(self._offsets, last, self._at)

    def columns(self, end: int) -> tuple[Any, Any]:
        """Return offsets and values of the entries up to a number as arrays."""
        import numpy as np

        part = slice(self._at, end)
        return np.asarray(memoryview(self._offsets)[part]), np.asarray(memoryview(self._values)[part])

    def skip(self, end: int) -> None:
        """Take the entries up to a number as checked."""
        self._at = max(end, self._at)


def check_sanity(files: Sequence[LogFile], damage: Iterable[Damage] = ()) -> Iterator[KafkaFormatError]:
    """Check the indexes of segments, whose damage is known; yield one error for each file that is wrong."""
    damage = list(damage)
    for file in files:
        is_newest = file is files[-1]
        found = list(open_index_checks(file, is_newest=is_newest))
        yield from (one for one in found if isinstance(one, KafkaFormatError))
        checks = [one for one in found if not isinstance(one, KafkaFormatError)]
        if checks:
            damaged = sorted((one.position, one.end_position) for one in damage if one.path == file.path)
            yield from _against_log(file, checks, damaged, is_newest=is_newest)


class HeadColumns(NamedTuple):
    """Headers of consecutive batches with increasing offsets: a numpy array of int64 for each field.

    Attributes:
        position: where each begins.
        end_position: where it ends.
        first_offset: base offset.
        last_offset: of its last record.
        max_timestamp: milliseconds; -1 for none.
    """

    position: Any
    end_position: Any
    first_offset: Any
    last_offset: Any
    max_timestamp: Any


def _greatest_before(values: Any, before: int) -> Any:
    """Return the greatest value before each of some values, `before` among them."""
    import numpy as np

    return np.maximum.accumulate(np.append(before, values[:-1]))


def open_index_checks(
    file: LogFile, *, is_newest: bool
) -> Iterator[PositionCheck | TimeCheck | KafkaFormatError]:
    """Read a segment's `.index` and `.timeindex`; yield a check of the entries of each, or what is wrong.

    Args:
        file: the segment.
        is_newest: a broker may append to it.
    """
    size = None if is_newest else file.size
    for read in (partial(_read_offsets, file, size), partial(_read_times, file)):
        try:
            yield from read()
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            yield error


def _read_offsets(file: LogFile, size: int | None) -> Iterator[PositionCheck]:
    source = file.open_beside("index")
    if source is None:
        return
    index = read_offset_index(source, file.segment.base_offset)
    for before, entry in pairwise(zip(index.offsets, index.positions, strict=True)):
        if entry[0] <= before[0] or entry[1] <= before[1]:
            raise _wrong(
                f"an entry of offset {entry[0]}, position {entry[1]} follows one of offset {before[0]}, "
                f"position {before[1]}",
                index.path,
            )
    if size is not None and index.positions and index.positions[-1] >= size:
        detail = f"the last entry is of position {index.positions[-1]}, but the segment has {size} bytes"
        raise _wrong(detail, index.path)
    _check_greatest(index)
    if index.offsets:
        yield PositionCheck(index)


def _read_times(file: LogFile) -> Iterator[TimeCheck]:
    source = file.open_beside("timeindex")
    if source is None:
        return
    index = read_time_index(source, file.segment.base_offset)
    for before, entry in pairwise(zip(index.timestamps, index.offsets, strict=True)):
        if entry[0] < before[0] or entry[1] < before[1]:
            raise _wrong(
                f"an entry of timestamp {entry[0]}, offset {entry[1]} follows one of timestamp {before[0]}, "
                f"offset {before[1]}",
                index.path,
            )
    _check_greatest(index)
    yield TimeCheck(index)


def _check_greatest(index: OffsetIndex | TimeIndex) -> None:
    """Check that the last offset, the greatest one, is an offset that a log can have."""
    if index.offsets and index.offsets[-1] > MAX_LONG:
        raise _wrong(f"the last offset is {index.offsets[-1]}, beyond the greatest possible one", index.path)


def _against_log(
    file: LogFile, checks: list[PositionCheck | TimeCheck], damaged: list[tuple[int, int]], *, is_newest: bool
) -> Iterator[KafkaFormatError]:
    """Compare entries with the segment; yield the first error of each index."""
    try:
        with file.open_file() as segment:
            for head in segment.iter_header_summaries():
                at = bisect_right(damaged, (head.position, MAX_LONG))
                is_inside = at > 0 and head.position < damaged[at - 1][1]
                for check in list(checks):
                    if isinstance(head, Damage) or is_inside:
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


class PositionCheck:
    """Check of a `.index`, whose entries have the last offset of an append and the position where it begins.

    Until Kafka 1.1 they have its first offset.
    """

    def __init__(self, index: OffsetIndex) -> None:
        self.path = index.path
        self._left = _Entries(index.offsets, index.positions)
        self._reached = -1
        self._end_position = 0

    def damaged(self, region: Damage | HeaderSummary) -> None:
        """Skip the entries that lead into a region."""
        while self._left and self._left.first.value < region.end_position:
            self._left.take()

    def check_up_to(self, head: HeaderSummary) -> str | None:
        """Check the entries up to a batch; return the first error."""
        while self._left and self._left.first.value <= head.position:
            offset, position = self._left.take()
            if position < head.position:
                return f"an entry says that offset {offset} is at position {position}, where no batch begins"
            if self._reached >= offset:
                return f"an entry says that offset {offset} is at position {position}; it is before that"
            if head.first_offset is not None and head.first_offset > offset:
                what = f"an entry says that offset {offset} is at position {position}"
                return f"{what}; the batch there begins with {head.first_offset}"
        self._reached = max(self._reached, head.last_offset)
        self._end_position = head.end_position
        return None

    def pass_table(self, heads: HeadColumns) -> bool:
        """Check the entries up to the last batch of a table at once; where one is wrong, do nothing.

        Returns:
            Whether all are right; else `check_up_to` each of the batches.
        """
        end = self._left.end_of_values(int(heads.position[-1]))
        before = _greatest_before(heads.last_offset, self._reached)
        offsets, positions = self._left.columns(end)
        if len(offsets):
            at = heads.position.searchsorted(positions)
            is_wrong = (heads.position[at] != positions) | (before[at] >= offsets)
            if (is_wrong | (heads.first_offset[at] > offsets)).any():
                return False
        self._left.skip(end)
        self._reached = max(int(before[-1]), int(heads.last_offset[-1]))
        self._end_position = int(heads.end_position[-1])
        return True

    def check_rest(self, *, is_newest: bool) -> str | None:  # noqa: ARG002
        """Check the entries after the last batch; return the first error."""
        if self._left and self._left.first.value < self._end_position:
            offset, position = self._left.first
            return f"an entry says that offset {offset} is at position {position}, where no batch begins"
        return None


class TimeCheck:
    """Check of a `.timeindex`, whose entries have the greatest timestamp up to an offset, and its offset.

    Attributes:
        path: of the file.
        num_padding: entries of zeros at its end.
    """

    def __init__(self, index: TimeIndex) -> None:
        self.path, self.num_padding = index.path, index.num_padding
        self._left = _Entries(index.offsets, index.timestamps)
        self._greatest = _NO_TIMESTAMP
        self._is_damaged = False

    def damaged(self, _region: Damage | HeaderSummary) -> None:
        """Note that batches are missing."""
        self._is_damaged = True

    def check_up_to(self, head: HeaderSummary) -> str | None:
        """Check the entries up to a batch; return the first error."""
        while self._left and self._left.first.offset <= head.last_offset:
            offset, timestamp = self._left.take()
            what = f"an entry says that the greatest timestamp up to offset {offset} is {timestamp}"
            if self._greatest > timestamp:
                return f"{what}; it is {self._greatest}"
            is_inside = head.first_offset is None or head.first_offset <= offset
            if is_inside and head.max_timestamp != timestamp:
                return f"{what}; the batch there has {head.max_timestamp}"
            if not is_inside and not self._is_damaged:
                return f"{what}; no batch has that offset"
        self._greatest = max(self._greatest, head.max_timestamp)
        return None

    def pass_table(self, heads: HeadColumns) -> bool:
        """Check the entries up to the last batch of a table at once, as `PositionCheck.pass_table`."""
        end = self._left.end_of_offsets(int(heads.last_offset[-1]))
        before = _greatest_before(heads.max_timestamp, self._greatest)
        offsets, timestamps = self._left.columns(end)
        if len(offsets):
            at = heads.last_offset.searchsorted(offsets)
            is_wrong = (heads.first_offset[at] > offsets) | (heads.max_timestamp[at] != timestamps)
            if (is_wrong | (before[at] > timestamps)).any():
                return False
        self._left.skip(end)
        self._greatest = max(int(before[-1]), int(heads.max_timestamp[-1]))
        return True

    def check_rest(self, *, is_newest: bool) -> str | None:
        """Check the entries after the last batch; return the first error."""
        if self._left and not self._is_damaged and not is_newest:
            offset, timestamp = self._left.first
            what = f"an entry says that the greatest timestamp up to offset {offset} is {timestamp}"
            return f"{what}; no batch has that offset"
        return None


def _wrong(detail: str, path: str) -> CorruptIndexError:
    return CorruptIndexError(f"{detail}; a broker rebuilds this file from the segment", path=path)
