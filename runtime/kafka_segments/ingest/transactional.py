"""Number of records written at `read_uncommitted` that are not committed.

Strategy: headers suffice. They are read again on the driver when the run is committed: of all segments as
long as these are not too large together, then of those that the `.txnindex` files name. The run is done then:
what cannot be read, or is too large, makes the number unknown, and is not an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.ingest.runs.account import PartitionReport
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.query.committed import Committed, read_committed
from kafka_segments.query.cut import num_bytes_of
from kafka_segments.query.query import TopicPartition
from kafka_segments.query.read.batch_views import read_batches

__all__ = ["report_uncommitted"]

_Void = tuple[int, int, int]
_Ranges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def report_uncommitted(
    reports: Iterable[PartitionReport],
    logs: Iterable[PartitionLog],
    splits: Sequence[Split],
    places: Places,
    max_bytes: int,
) -> Iterator[PartitionReport]:
    """Add a remark to the reports of partitions with rows that are not committed.

    Args:
        reports: of partitions.
        logs: the partitions whose transactions were not looked at.
        splits: what was read.
        places: filesystems by path.
        max_bytes: of segments, in all, whose headers may be read to know what is not committed; and to count.
    """
    found = _count_uncommitted(logs, splits, places, max_bytes)
    for report in reports:
        key = report.account.topic, report.account.partition
        if key not in found:
            yield report
            continue
        number = found[key]
        if isinstance(number, KafkaFormatError):
            words = (
                f"some of the records written may not be committed; they cannot be counted ({number}); "
                "--isolation read_committed leaves them out"
            )
        else:
            words = (
                f"{number:,} of the records written are not committed (their transactions were aborted or "
                "are open, or they follow an open one); --isolation read_committed leaves them out"
            )
        yield replace(report, findings=(*report.findings, Finding(Kind.REMARK, *key, words)))


def _count_uncommitted(
    logs: Iterable[PartitionLog], splits: Sequence[Split], places: Places, max_bytes: int
) -> dict[TopicPartition, int | KafkaFormatError]:
    """Count the records of each partition that a reader of committed records would skip.

    Args:
        logs: the partitions.
        splits: what was read of them.
        places: where files live.
        max_bytes: see `report_uncommitted`.

    Returns:
        By partition, without those that have none; an error is why the number is not known.
    """
    read: dict[TopicPartition, list[Split]] = {}
    for split in splits:
        read.setdefault((split.topic, split.partition), []).append(split)
    found: dict[TopicPartition, int | KafkaFormatError] = {}
    left, left_to_count = max_bytes, max_bytes
    for log in logs:
        key = log.topic, log.partition
        if key not in read:
            continue
        try:
            outcome = read_committed(log, places, left, [])
            left -= min(left, sum(piece.segment.size for piece in log.pieces) - outcome.num_unread)
            concerned = _concerned(outcome, read[key])
            num_bytes = sum(map(num_bytes_of, concerned))
            if num_bytes > left_to_count:
                raise OptionError(
                    f"the headers of {num_bytes:,} bytes must be read, but only {left_to_count:,} of "
                    "maxWalkBytes are left"
                )
            left_to_count -= num_bytes
            count = _count(outcome, concerned, places)
        except KafkaFormatError as error:
            found[key] = error
            continue
        if count:
            found[key] = count
    return found


def _concerned(outcome: Committed, splits: Iterable[Split]) -> list[Split]:
    """The splits that may hold records of void batches, or from the last stable offset on."""
    lowest = min([outcome.last_stable_offset, *(first for _, first, _ in outcome.void)])
    if not outcome.void and lowest >= outcome.end_offset:
        return []
    return [split for split in splits if split.end is None or split.end > lowest]


def _count(outcome: Committed, splits: Iterable[Split], places: Places) -> int:
    """The records of void batches, and all from the last stable offset on."""
    ranges = {producer_id: _ranges(outcome.void, producer_id) for producer_id, _, _ in outcome.void}
    return sum(
        _count_in(batch, outcome.last_stable_offset, ranges)
        for split in splits
        for batch in read_batches(split, places, Findings())
    )


def _count_in(batch: pa.RecordBatch, last_stable_offset: int, ranges: Mapping[int, _Ranges]) -> int:
    columns = batch.select(["producer_id", "base_offset", "num_records"])
    ids, bases, counts = (column.fill_null(-1).to_numpy() for column in columns)
    is_chosen = bases >= last_stable_offset
    is_transactional = batch.column("is_transactional").to_numpy(zero_copy_only=False)
    for producer_id in set(ids[is_transactional].tolist()) & ranges.keys():
        own = is_transactional & (ids == producer_id)
        is_chosen[own] |= _inside(bases[own], ranges[producer_id])
    is_data = ~batch.column("is_control").to_numpy(zero_copy_only=False) & (counts > 0)
    return int(counts[is_chosen & is_data].sum())


def _ranges(void: Sequence[_Void], producer_id: int) -> _Ranges:
    own = sorted((first, last) for one, first, last in void if one == producer_id)
    return np.array([first for first, _ in own], np.int64), np.array([last for _, last in own], np.int64)


def _inside(offsets: npt.NDArray[np.int64], ranges: _Ranges) -> npt.NDArray[np.bool_]:
    """Which offsets lie in one of some ranges, which do not overlap."""
    firsts, lasts = ranges
    at = np.searchsorted(firsts, offsets, side="right") - 1
    inside: npt.NDArray[np.bool_] = (at >= 0) & (offsets <= lasts[at])
    return inside
