"""Audit of a table against the logs that it was made from: whether they have records that it lacks.

Strategy: the ranges of the table's accounts are read again, as the runs did. Logs may lack by now what a
table has (retention, compaction); records that the table lacks are a problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import NotingFaults
from kafka_segments.ingest.audit import AuditedPartition, Problem, offsets_between
from kafka_segments.ingest.counting_reader import CountingReader, SplitCounts
from kafka_segments.ingest.files.file_columns import FileColumns
from kafka_segments.ingest.runs.history import History, files_by_partition
from kafka_segments.ingest.runs.run_log import RunLog
from kafka_segments.ingest.runs.run_state import DataFile
from kafka_segments.ingest.tables import Table
from kafka_segments.log.discovery import FileOptions
from kafka_segments.log.findings import Findings
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.query.plan import plan
from kafka_segments.query.query import Limits, Query, TopicPartition, Topics, at_offsets
from kafka_segments.query.read.split_reader import Reading
from kafka_segments.query.resolve import logs_asked_for

__all__ = ["ComparedPartition", "audit_logs"]

_WHOLE = Limits(max_partition_bytes=1 << 62)


@dataclass(frozen=True, slots=True)
class ComparedPartition:
    """A partition of a table, and what its logs have now.

    Attributes:
        table: what the table has.
        log: counts of the same range in the log, None if the logs lack it.
        num_missing: records of the log that the table lacks.
        problems: what does not add up.
    """

    table: AuditedPartition
    log: SplitCounts | None
    num_missing: int = 0
    problems: tuple[Problem, ...] = ()


def audit_logs(
    table: Table,
    history: History,
    audited: Sequence[AuditedPartition],
    sources: Sequence[str],
    store_settings: dict[str, str] | None = None,
) -> Iterator[ComparedPartition]:
    """Compare the partitions of a table with logs.

    Args:
        table: the table.
        history: its runs.
        audited: its partitions.
        sources: paths of the logs.
        store_settings: of stores.

    Raises:
        KafkaFormatError: a source cannot be read or holds no log.
    """
    places = Places(store_settings or {})
    by_key = {(one.account.topic, one.account.partition): one for one in audited}
    topics = frozenset(topic for topic, _ in by_key)
    query = Query(isolation=history.newest.settings.isolation, limits=_WHOLE, fail_on_data_loss=False)
    logs = logs_asked_for(
        places, sources, query, FileOptions(), [], prefer_names=True, is_merged=topics.__contains__
    )
    found = {(log.topic, log.partition): log for log in logs}
    files = files_by_partition(table.data_files(history).values())
    columns = FileColumns.of(history.newest.settings)
    for key, one in by_key.items():
        log = found.get(key)
        if log is None or not log.pieces:
            yield ComparedPartition(one, None)
            continue
        yield _Comparison(table.log, files.get(key, ()), key, places, columns).compared(one, log, query)


class _Comparison:
    """One pass over a partition's log."""

    def __init__(
        self,
        log: RunLog,
        files: Sequence[DataFile],
        key: TopicPartition,
        places: Places,
        columns: FileColumns,
    ) -> None:
        self._log, self._files, self._key, self._places = log, files, key, places
        self._columns = columns

    def compared(self, table: AuditedPartition, log: PartitionLog, query: Query) -> ComparedPartition:
        account, key = table.account, self._key
        bounds = account.first_offset, account.end_offset
        if bounds[0] >= bounds[1]:
            return ComparedPartition(table, SplitCounts())
        ranged = replace(
            query,
            topics=Topics(partitions=frozenset([key])),
            start=at_offsets({key: bounds[0]}),
            end=at_offsets({key: bounds[1]}),
        )
        made = plan([log], ranged, self._places)
        counts, num_missing, first = SplitCounts(), 0, None
        for split in (split for task in made.tasks for split in task):
            own, missing = self._read(split)
            counts.add(own)
            num_missing += len(missing)
            first = int(missing[0]) if first is None and len(missing) else first
        problems = self._problems(num_missing, first)
        return ComparedPartition(table, counts, num_missing, tuple(problems))

    def _read(self, split: Split) -> tuple[SplitCounts, np.ndarray]:
        """The counts of a split, and the offsets of records that the table lacks."""
        reading = Reading(("offset",), max_decompressed=DEFAULT_MAX_DECOMPRESSED)
        reader = CountingReader(split, self._places, reading, Findings())
        end = split.end if split.end is not None else (split.asked[1] or split.start)
        known = offsets_between(self._log, self._files, split.start, end, self._columns)
        missing = [np.empty(0, np.int64)]
        with NotingFaults():
            for batch in reader.rows():
                offsets = batch.column("offset").to_numpy()
                missing.append(offsets[~np.isin(offsets, known, assume_unique=True)])
        return reader.counts, np.concatenate(missing)

    def _problems(self, num_missing: int, first: int | None) -> Iterable[Problem]:
        if num_missing:
            yield Problem(
                *self._key, f"the log has {num_missing} records that the table lacks, from offset {first} on"
            )
