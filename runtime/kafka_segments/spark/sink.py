"""Tasks of `ingest`: a write-only Spark data source whose rows are pieces of work.

Strategy: Spark's commit protocol without files of Spark's. A row says which segments to read; `write`
reads them, writes Parquet with pyarrow under names that no other attempt has, and returns names and counts
as its commit message. `commit`, on the driver, gets exactly one message for each task, that of the attempt
which counts, and publishes (`publish`). So the counts are of the very rows in the files, a repeated task
leaves nothing, and rows never cross from Python to the JVM, where Spark's Parquet writer would take
most of the time.
"""

from __future__ import annotations

import base64
import os
import pickle
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kafka_segments.errors import KafkaFormatError, OutputError, ReadError, UnknownFormatError
from kafka_segments.io.filesystems import Places
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.model import Split, name_partition
from kafka_segments.query.query import TopicPartition
from kafka_segments.spark.publish import partition_path, publish
from kafka_segments.spark.report import PartitionReport, SegmentFindings, merge
from kafka_segments.spark.work import data_path

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.spark.parquet import ParquetFile

__all__ = ["FORMAT", "ParquetSink", "row_of_task"]

FORMAT = "kafka-segments-parquet"


def row_of_task(splits: Sequence[Split], live: frozenset[TopicPartition] = frozenset()) -> str:
    """A task as the text that travels in a row.

    Args:
        splits: what it reads.
        live: partitions whose log directory a broker holds open.
    """
    return base64.b64encode(pickle.dumps((tuple(splits), live))).decode()


class ParquetSink(DataSource):
    """Writes what rows of `row_of_task` name. `ingest` sets its options."""

    @classmethod
    def name(cls) -> str:
        """The name for `DataFrame.write.format`."""
        return FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> ParquetWriter:  # noqa: ARG002
        """A writer; the schema is one column of text."""
        return ParquetWriter(
            work=self.options["work"],
            destination=self.options["destination"],
            check_crc=self.options["checkcrc"] == "true",
            max_decompressed=int(self.options["maxdecompressed"]),
        )


@dataclass
class TaskResult(WriterCommitMessage):
    """The files that a task wrote, relative to the work directory's data, and what it found."""

    files: list[str]
    reports: list[PartitionReport]


class ParquetWriter(DataSourceArrowWriter):
    """Reads segments and writes Parquet on executors (`write`), publishes on the driver (`commit`)."""

    def __init__(self, work: str, destination: str, check_crc: bool, max_decompressed: int) -> None:
        self._work = work
        self._destination = destination
        self._check_crc = check_crc
        self._max_decompressed = max_decompressed

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """Do the work that the rows name.

        Raises:
            OutputError: a file could not be written.
            TimestampRangeError: a timestamp does not fit the column.
        """
        result = TaskResult([], [])
        rows = (row for batch in iterator for row in batch.column(0).to_pylist())
        for row in rows:
            splits: tuple[Split, ...]
            live: frozenset[TopicPartition]
            splits, live = pickle.loads(base64.b64decode(row))
            for key, group in groupby(splits, key=lambda split: (split.topic, split.partition)):
                self._write_partition(PartitionReport(*key), group, key in live, result)
        return result

    def _write_partition(
        self, partition: PartitionReport, splits: Iterable[Split], is_live: bool, result: TaskResult
    ) -> None:
        directory = partition_path(partition.topic, partition.partition)
        name = f"{directory}/part-{uuid.uuid4().hex}.parquet"
        with self._parquet_file(name) as file:
            for split in splits:
                self._write_segment(split, SegmentFindings(partition, is_live), partition, file)
        partition.bytes_out = file.size
        result.reports.append(partition)
        if partition.records:
            result.files.append(name)

    def _parquet_file(self, name: str) -> ParquetFile:
        from kafka_segments.segment.columnar.arrow_schema import SCHEMA
        from kafka_segments.spark.parquet import ParquetFile

        return ParquetFile(os.path.join(data_path(self._work), name), SCHEMA)

    def _write_segment(
        self, split: Split, findings: SegmentFindings, partition: PartitionReport, file: ParquetFile
    ) -> None:
        from kafka_segments.query.read.split_reader import Reading, read_split
        from kafka_segments.spark.columns import check_timestamps

        reading = Reading(
            file.schema.names, check_crc=self._check_crc, max_decompressed=self._max_decompressed
        )
        try:
            for batch in read_split(split, Places(), reading, findings):
                _count(batch, partition)
                check_timestamps(batch, batch.column("timestamp").view("int64").fill_null(0).to_numpy())
                file.write(batch)
            findings.end_segment(split.segment.file.path)
        except OutputError:
            raise
        except (ReadError, UnknownFormatError) as error:
            # A file that cannot be opened or is another program's; the rest is done all the same.
            where = partition.topic, partition.partition
            partition.add_finding(Finding.of_error(Kind.NOT_OPENED, *where, error))
        except KafkaFormatError as error:
            raise name_partition(error, split) from error

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish what the messages name, and leave the reports in the work directory."""
        results = [message for message in messages if isinstance(message, TaskResult)]
        files = [name for result in results for name in result.files]
        reports = merge(partition for result in results for partition in result.reports)
        if not files:
            files.append(self._write_no_rows())
        publish(self._work, self._destination, files, reports)

    def _write_no_rows(self) -> str:
        """Write a file without rows, so that a destination without records can be read, too."""
        import pyarrow as pa

        from kafka_segments.segment.columnar.arrow_schema import OF_PARTITION, SCHEMA
        from kafka_segments.spark.parquet import ParquetFile

        name = "no-rows.parquet"
        whole = pa.schema([*SCHEMA, *OF_PARTITION])
        with ParquetFile(os.path.join(data_path(self._work), name), whole) as file:
            file.open()
        return name

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        """Remove what was written."""
        shutil.rmtree(data_path(self._work), ignore_errors=True)


def _count(batch: pa.RecordBatch, partition: PartitionReport) -> None:
    offsets = batch.column("offset").to_numpy()
    partition.add_records(len(offsets), int(offsets.min()), int(offsets.max()))
