"""Task of `ingest`: some splits, read and written to files, with counts of all their offsets.

Strategy: what a task does follows from its splits and its settings alone, whichever engine runs it. Files
have names that no other attempt has; those of attempts that do not count are never named by a run, and swept.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.store_requests import RequestCounts, requests_so_far
from kafka_segments.core.segment.columnar.arrow_schema import NONE
from kafka_segments.core.segment.columnar.entry_counts import EntryCounts
from kafka_segments.core.segment.columnar.fitted_values import DATES, MAX_MILLIS, fit_timestamps
from kafka_segments.errors import (
    AccountError,
    KafkaFormatError,
    OutputError,
    ReadError,
    UnknownFormatError,
)
from kafka_segments.ingest.counting_reader import CountingReader
from kafka_segments.ingest.destination import partition_path
from kafka_segments.ingest.files.divided_files import DividedFiles
from kafka_segments.ingest.files.file_columns import BatchHeads, FileColumns
from kafka_segments.ingest.files.parquet import ParquetFile
from kafka_segments.ingest.files.quarantine import keep_bytes
from kafka_segments.ingest.runs.account import OffsetSpan, SplitCounts, crc_failures, lost_spans
from kafka_segments.ingest.runs.run_state import DamagedBytes, DataFile, TableSettings
from kafka_segments.ingest.runs.table_files import TableFiles
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import Split, name_partition
from kafka_segments.query.cut import num_bytes_of
from kafka_segments.query.query import TopicPartition
from kafka_segments.query.read.split_reader import Reading

__all__ = ["Output", "PartitionOutput", "SplitTime", "WriteSettings", "WriteTask"]


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """How tasks read and write.

    Attributes:
        root: a directory; the paths of files begin there.
        table: settings of the table.
        table_files: where it is.
        check_crc: whether checksums are verified.
        max_decompressed: bytes that one batch may decompress to.
        bloom_filter: whether files have a bloom filter of the keys.
        store_settings: of stores.
        timestamp_overflow: what becomes of a timestamp that does not fit: `error`, `null` or `clamp`.
    """

    root: str
    table: TableSettings
    table_files: TableFiles
    check_crc: bool = True
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    bloom_filter: bool = False
    store_settings: Mapping[str, str] = field(default_factory=dict)
    timestamp_overflow: str = "null"


@dataclass(slots=True)
class PartitionOutput:
    """What a task found in one partition.

    Attributes:
        topic: its name.
        partition: its number.
        counts: of the offsets.
        lost: where offsets were lost.
        findings: in the order of the log.
        num_beyond: timestamps that do not fit.
    """

    topic: str
    partition: int
    counts: SplitCounts = field(default_factory=SplitCounts)
    lost: list[OffsetSpan] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    num_beyond: int = 0

    def add(self, other: PartitionOutput) -> None:
        """Add what another task found after it."""
        self.counts.add(other.counts)
        self.lost += other.lost
        self.findings += other.findings
        self.num_beyond += other.num_beyond


@dataclass(frozen=True, slots=True)
class SplitTime:
    """How long a split took.

    Attributes:
        seconds: of reading and writing it.
        topic: its name.
        partition: its number.
        start: its first offset.
        end: after its last one; None if only reading finds it.
        path: of the segment.
    """

    seconds: float
    topic: str
    partition: int
    start: int
    end: int | None
    path: str


@dataclass(slots=True)
class Output:
    """Result of a task.

    Attributes:
        files: of rows.
        partitions: by topic and number.
        damaged: files with bytes that could not be decoded.
        slowest: the split that took longest.
        requests: to stores.
    """

    files: list[DataFile] = field(default_factory=list)
    partitions: list[PartitionOutput] = field(default_factory=list)
    damaged: list[DamagedBytes] = field(default_factory=list)
    slowest: SplitTime | None = None
    requests: RequestCounts = field(default_factory=RequestCounts)


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Splits to write.

    Attributes:
        splits: in order of topic, partition and offset.
        live: partitions whose log directory a broker holds open.
        settings: see `WriteSettings`.
    """

    splits: tuple[Split, ...]
    live: frozenset[TopicPartition]
    settings: WriteSettings

    @property
    def num_bytes(self) -> int:
        """Bytes of segments to read, about."""
        return sum(map(num_bytes_of, self.splits))

    def run(self) -> Output:
        """Read the splits and write the files.

        Raises:
            OutputError: a file could not be written.
            TimestampRangeError: a timestamp does not fit the column.
            StoreError: a store refused or failed.
        """
        return _Writer(self).run()


@dataclass
class _SplitFindings(Findings):
    """Findings and counts of a split.

    Args:
        is_live: a broker holds the log directory open, and may be writing the last batch.
        end: the offset after its last one: damage at the end of a file costs none from there on.
    """

    is_live: bool = False
    end: int | None = None

    def add(self, finding: Finding) -> None:
        """Take a finding; an incomplete last batch is damage unless a broker is there to finish it.

        Where a broker is, its cleaner replaces files meanwhile: what is noted of them is nothing wrong.
        """
        if finding.kind is Kind.PENDING and not self.is_live:
            finding = replace(finding, kind=Kind.DAMAGE)
        elif finding.kind is Kind.NOTE and self.is_live:
            finding = replace(finding, kind=Kind.REMARK)
        if finding.is_loss and finding.damage and finding.last_offset is None and self.end is not None:
            damage = replace(finding.damage, last_lost_offset=self.end - 1)
            finding = replace(finding, last_offset=self.end - 1, damage=damage)
        super().add(finding)

    def end_segment(self, key: tuple[str, int], path: str) -> None:
        """Add a note on a file in which nothing was sound."""
        if self.of(Kind.DAMAGE) and not self.num_batches:
            detail = "it does not look like a Kafka segment: nothing in it is sound"
            self.add(Finding(Kind.NOTE, *key, detail, path=path))


class _Writer:
    """One attempt of a task."""

    def __init__(self, task: WriteTask) -> None:
        self._task, self._settings = task, task.settings
        self._columns = FileColumns.of(self._settings.table)
        names = self._columns.read
        self._clock = next((name for name in ("timestamp", "timestamp_ms") if name in names), None)
        if self._clock is None and self._settings.table.divided_by is not None:
            self._clock = "timestamp_ms"  # read, and not written
        read: list[str] = [*names, *([self._clock] if self._clock else []), "offset"]
        self._read = list(dict.fromkeys(read))
        self._places = Places(self._settings.store_settings)
        self._files = self._settings.table_files
        self._output = Output()

    def run(self) -> Output:
        before = requests_so_far()
        for key, group in groupby(self._task.splits, key=lambda split: (split.topic, split.partition)):
            self._write_partition(PartitionOutput(*key), list(group))
        self._output.requests = requests_so_far().since(before)
        return self._output

    def _write_partition(self, partition: PartitionOutput, splits: list[Split]) -> None:
        key = partition.topic, partition.partition
        root, is_typed = self._settings.root, self._settings.table.kind != "parquet"
        directory = partition_path(*key, is_typed=is_typed)
        start, divided_by = splits[0].start, self._settings.table.divided_by
        made = DividedFiles(root, directory, key, start, new_file=self._new_file, divided_by=divided_by)
        with made as files:
            for split in splits:
                started = time.monotonic()
                self._write_split(split, partition, files)
                self._time(split, time.monotonic() - started)
        self._output.files += files.finished
        self._output.partitions.append(partition)

    def _time(self, split: Split, seconds: float) -> None:
        slowest = self._output.slowest
        if slowest is None or seconds > slowest.seconds:
            where = split.topic, split.partition, split.start, split.end, split.segment.file.path
            self._output.slowest = SplitTime(round(seconds, 6), *where)

    def _new_file(self, path: str) -> ParquetFile:
        return self._columns.new_file(path, self._files, bloom_filter=self._settings.bloom_filter)

    def _write_split(self, split: Split, partition: PartitionOutput, files: DividedFiles) -> None:
        key = split.topic, split.partition
        findings = _SplitFindings(is_live=key in self._task.live, end=split.end)
        reader = self._reader(split, findings)
        try:
            for batch in self._rows(reader):
                self._write_rows(batch, partition, files)
            if split.position == 0 and split.start <= split.segment.base_offset:  # it was read whole
                findings.end_segment(key, split.segment.file.path)
        except (OutputError, AccountError):
            raise
        except (ReadError, UnknownFormatError) as error:
            # A file that cannot be opened or is another program's; the rest is done all the same.
            findings.add(Finding.of_error(Kind.NOT_OPENED, *key, error))
        except KafkaFormatError as error:
            raise name_partition(error, split) from error
        self._account(split, partition, findings, reader.counts)

    def _reader(self, split: Split, findings: _SplitFindings) -> CountingReader:
        settings = self._settings
        reading = Reading(
            self._read, check_crc=settings.check_crc, max_decompressed=settings.max_decompressed
        )
        counter = BatchHeads if self._columns.has_batch_columns else EntryCounts
        return CountingReader(split, self._places, reading, findings, counter)

    def _rows(self, reader: CountingReader) -> Iterator[pa.RecordBatch]:
        """The rows of a split, with columns of their batches if the files have such."""
        if not self._columns.has_batch_columns:
            yield from reader.rows()
            return
        waiting: list[tuple[pa.RecordBatch, BatchHeads]] = []
        for batch in reader.rows():
            heads = reader.newest_counts
            assert isinstance(heads, BatchHeads)
            waiting.append((batch, heads))
            while waiting and (joined := waiting[0][1].joined(waiting[0][0])) is not None:
                del waiting[0]
                yield joined
        for batch, heads in waiting:  # the reader hands on rows before it has shown the last headers
            joined = heads.joined(batch, is_all=True)
            assert joined is not None
            yield joined

    def _write_rows(self, batch: pa.RecordBatch, partition: PartitionOutput, files: DividedFiles) -> None:
        millis = None
        if self._clock is not None:
            times = batch.column(self._clock)
            millis = times.view("int64").fill_null(NONE).to_numpy()
            if self._columns.timestamp is not None:
                millis, is_null = self._fitting(batch, millis, partition)
                if is_null is not None:
                    is_none = is_null | times.is_null().to_numpy(zero_copy_only=False)
                    fitting = pa.array(millis, mask=is_none).view(times.type)
                    batch = batch.set_column(batch.schema.get_field_index(self._clock), self._clock, fitting)
                    millis = np.where(is_null, NONE, millis)
        rows = self._columns.rows(batch, (partition.topic, partition.partition))
        files.write(rows, batch.column("offset").to_numpy(), millis)

    def _fitting(self, batch: pa.RecordBatch, millis: Any, partition: PartitionOutput) -> tuple[Any, Any]:
        """The timestamps, those that do not fit at the nearest that does, and which become null."""
        settings = self._settings
        is_of_dates = settings.table.kind == "iceberg" and settings.table.divided_by is not None
        bounds, overflow = DATES if is_of_dates else (-MAX_MILLIS, MAX_MILLIS), settings.timestamp_overflow
        millis, is_beyond = fit_timestamps(batch, millis, overflow, bounds)
        if is_beyond is None:
            return millis, None
        partition.num_beyond += int(is_beyond.sum())
        return millis, is_beyond if overflow == "null" else np.zeros_like(is_beyond)

    def _account(
        self, split: Split, partition: PartitionOutput, findings: _SplitFindings, counts: SplitCounts
    ) -> None:
        end = split.reached if split.end is None else split.end
        end = max(split.start, counts.end if end is None else end)
        counts.batches, counts.num_bytes = findings.num_batches, findings.num_bytes
        counts.crc_failures = crc_failures(findings.findings)
        partition.counts.add(counts)
        partition.lost += lost_spans(findings.findings, (split.start, end))
        partition.findings += findings.findings
        self._output.damaged += self._quarantined(split, findings.findings)

    def _quarantined(self, split: Split, findings: Iterable[Finding]) -> Iterable[DamagedBytes]:
        for finding in findings:
            root = self._settings.root
            kept = keep_bytes(finding, split.segment, root, self._places, files=self._files)
            if kept is not None:
                yield kept
