"""Whether the `.index` and `.timeindex` beside a segment can be true, by order and by size.

Strategy: as Kafka's sanityCheck (OffsetIndex, TimeIndex), and what its writer never breaks: offsets and
positions grow, times do not fall, positions lie inside the segment. Entries are not looked up in the log, and
the newest segment may have grown since its size was taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kafka_segments.errors import CorruptIndexError, KafkaFormatError, pass_over
from kafka_segments.indexes import read_offset_index, read_time_index
from kafka_segments.logfiles import LogFile

__all__ = ["check_sanity"]


def check_sanity(files: Sequence[LogFile]) -> Iterator[KafkaFormatError]:
    """What is wrong with the indexes of segments: one error for each file that is."""
    for file in files:
        size = None if file is files[-1] else file.size
        for check in (_check_offsets, _check_times):
            try:
                check(file, size)
            except KafkaFormatError as error:
                pass_over(error)
                yield error


def _check_offsets(file: LogFile, size: int | None) -> None:
    source = file.open_beside("index")
    if source is None:
        return
    index = read_offset_index(source)
    entries = zip(index.offsets, index.positions, strict=True)
    for before, entry in pairwise(entries):
        if entry[0] <= before[0] or entry[1] <= before[1]:
            raise _wrong(
                f"offset {entry[0]}, position {entry[1]} stands behind {before[0]}, {before[1]}", index.path
            )
    if size is not None and index.positions and index.positions[-1] >= size:
        detail = f"the last entry is of position {index.positions[-1]}, and the segment has {size} bytes"
        raise _wrong(detail, index.path)


def _check_times(file: LogFile, _size: int | None) -> None:
    source = file.open_beside("timeindex")
    if source is None:
        return
    index = read_time_index(source)
    entries = zip(index.timestamps, index.offsets, strict=True)
    for before, entry in pairwise(entries):
        if entry[0] < before[0] or entry[1] < before[1]:
            raise _wrong(
                f"timestamp {entry[0]}, offset {entry[1]} stands behind {before[0]}, {before[1]}", index.path
            )


def _wrong(detail: str, path: str) -> CorruptIndexError:
    return CorruptIndexError(f"{detail}; a broker makes this file anew from the segment", path=path)
