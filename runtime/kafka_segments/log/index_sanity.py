"""Check of a segment's `.index` and `.timeindex`, by themselves and against the segment.

Strategy: by themselves as Kafka's sanityCheck (OffsetIndex, TimeIndex) and by what its writer guarantees:
offsets and positions increase, timestamps do not decrease, positions are inside the segment. While a segment
is read for its transactions, its headers are compared with the entries of both. Entries that lead into damage
are not judged; nor are those after the end of the newest segment, which may have grown.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import TypeAlias

from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.segment.beside.index_files import (
    OffsetIndex,
    TimeIndex,
    read_offset_index,
    read_time_index,
)
from kafka_segments.core.segment.header_summaries import HeaderSummary, summaries_of
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.transactions.markers import Hear
from kafka_segments.core.segment.transactions.state import Lost, Step
from kafka_segments.errors import (
    CorruptIndexError,
    KafkaFormatError,
    SegmentOrderError,
    raise_unless_file_at_fault,
)
from kafka_segments.log.log_files import LogFile, is_unopened

__all__ = ["Head", "IndexChecks", "PositionCheck", "TimeCheck", "open_index_checks"]

_NO_TIMESTAMP = -1


Head: TypeAlias = tuple[int, int, int | None, int, int]
"""What the checks look at in the header of a batch: where it begins and ends; its first offset, None for a
wrapper of magic 0 or 1, whose messages have it; the greatest possible offset of its records; its greatest
timestamp in milliseconds, -1 for none."""


class IndexChecks:
    """Checks of the indexes of segments while these are read; see `log_files.Listen`.

    Args:
        files: the segments, in the order in which they are read.
    """

    def __init__(self, files: Sequence[LogFile]) -> None:
        self._newest = files[-1]
        self._file: LogFile | None = None
        self._checks: list[PositionCheck | TimeCheck] = []
        self._found: list[tuple[str, KafkaFormatError]] = []  # errors, with the segment that contradicts

    def listen(self, file: LogFile, _state: object) -> Hear:
        """Begin the next segment."""
        self._end()
        self._file = file
        for found in open_index_checks(file, is_newest=file is self._newest):
            if isinstance(found, KafkaFormatError):
                self._found.append(("", found))
            else:
                self._checks.append(found)
        return self._hear

    def errors(self, damage: Iterable[Damage]) -> list[KafkaFormatError]:
        """End the last segment; return an error for each file that is wrong.

        Args:
            damage: of the log. A segment that is damage as a whole contradicts no index.
        """
        self._end()
        whole = {one.path for one in damage if is_unopened(one) or isinstance(one.error, SegmentOrderError)}
        return [error for path, error in self._found if path not in whole]

    def _hear(self, _walk: object, piece: EntryTable | Damage | Padding, steps: Sequence[Step]) -> None:
        if isinstance(piece, Damage):
            for check in self._checks:
                check.damaged(piece.end_position)
        elif isinstance(piece, EntryTable) and self._checks:
            lost = {step.damage.position for step in steps if isinstance(step, Lost)}
            for is_lost, some in groupby(map(_head_of, summaries_of(piece)), lambda head: head[0] in lost):
                heads = list(some)
                for check in list(self._checks):
                    if is_lost:
                        check.damaged(heads[-1][1])
                    else:
                        self._note(check, check.check(heads))

    def _end(self) -> None:
        for check in list(self._checks):
            self._note(check, check.check_rest(is_newest=self._file is self._newest))
        self._checks.clear()

    def _note(self, check: PositionCheck | TimeCheck, detail: str | None) -> None:
        if detail is not None and self._file is not None:
            self._found.append((self._file.path, _wrong(detail, check.path)))
            self._checks.remove(check)


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


class PositionCheck:
    """Check of a `.index`, whose entries have the last offset of an append and the position where it begins.

    Until Kafka 1.1 they have its first offset.
    """

    def __init__(self, index: OffsetIndex) -> None:
        self.path = index.path
        self._offsets, self._positions = array("q", index.offsets), array("q", [*index.positions, MAX_LONG])
        self._at = 0
        self._reached = -1
        self._end_position = 0

    def damaged(self, end_position: int) -> None:
        """Skip the entries that lead into a region with this end."""
        self._at = bisect_left(self._positions, end_position, self._at)

    def check(self, heads: Iterable[Head]) -> str | None:
        """Check the entries up to the last of some batches; return the first error."""
        following, reached = self._positions[self._at], self._reached
        for position, end_position, first_offset, last_offset, _timestamp in heads:
            while following <= position:
                offset = self._offsets[self._at]
                what = f"an entry says that offset {offset} is at position {following}"
                if following < position:
                    return f"{what}, where no batch begins"
                if reached >= offset:
                    return f"{what}; it is before that"
                if first_offset is not None and first_offset > offset:
                    return f"{what}; the batch there begins with {first_offset}"
                self._at += 1
                following = self._positions[self._at]
            reached = max(reached, last_offset)
            self._end_position = end_position
        self._reached = reached
        return None

    def check_rest(self, *, is_newest: bool) -> str | None:  # noqa: ARG002
        """Check the entries after the last batch; return the first error."""
        position = self._positions[self._at]
        if position < self._end_position:
            offset = self._offsets[self._at]
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
        self._offsets, self._timestamps = array("q", [*index.offsets, MAX_LONG]), array("q", index.timestamps)
        self._at = 0
        self._greatest = _NO_TIMESTAMP
        self._is_damaged = False

    def damaged(self, _end_position: int) -> None:
        """Note that batches are missing."""
        self._is_damaged = True

    def check(self, heads: Iterable[Head]) -> str | None:
        """Check the entries up to the last of some batches; return the first error."""
        following, greatest = self._offsets[self._at], self._greatest
        for _position, _end, first_offset, last_offset, max_timestamp in heads:
            while following <= last_offset and self._at < len(self._timestamps):
                timestamp = self._timestamps[self._at]
                what = f"an entry says that the greatest timestamp up to offset {following} is {timestamp}"
                if greatest > timestamp:
                    return f"{what}; it is {greatest}"
                is_inside = first_offset is None or first_offset <= following
                if is_inside and max_timestamp != timestamp:
                    return f"{what}; the batch there has {max_timestamp}"
                if not is_inside and not self._is_damaged:
                    return f"{what}; no batch has that offset"
                self._at += 1
                following = self._offsets[self._at]
            greatest = max(greatest, max_timestamp)
        self._greatest = greatest
        return None

    def check_rest(self, *, is_newest: bool) -> str | None:
        """Check the entries after the last batch; return the first error."""
        if self._at < len(self._timestamps) and not self._is_damaged and not is_newest:
            offset, timestamp = self._offsets[self._at], self._timestamps[self._at]
            what = f"an entry says that the greatest timestamp up to offset {offset} is {timestamp}"
            return f"{what}; no batch has that offset"
        return None


def _head_of(head: HeaderSummary) -> Head:
    return head.position, head.end_position, head.first_offset, head.last_offset, head.max_timestamp


def _wrong(detail: str, path: str) -> CorruptIndexError:
    return CorruptIndexError(f"{detail}; a broker rebuilds this file from the segment", path=path)
