"""The rows of a task: its splits one after the other, as batches of the schema asked for."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cache
from itertools import chain

import pyarrow as pa

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.header_summaries import HeaderSummary, iter_header_summaries
from kafka_segments.errors import KafkaFormatError, RecordTooLargeError, TimestampRangeError
from kafka_segments.log.model import Split, name_partition
from kafka_segments.log.opening import open_stored
from kafka_segments.query.read.split_reader import read_split
from kafka_segments.spark.columns import RowColumns, damage_rows, rows_as_batch
from kafka_segments.spark.planning import Task
from kafka_segments.spark.policy import DamagePolicy
from kafka_segments.spark.read_options import ReadOptions
from kafka_segments.spark.settings import task_settings

__all__ = ["read_task"]

# Of a row in Spark (ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH), less what is not key, value and headers.
_ENOUGH = 256 << 10  # bytes of a batch
_MAX_ROW_SIZE = (1 << 31) - 1 - (1 << 16)


def read_task(task: Task, schema: pa.Schema, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the records of a task as rows.

    Args:
        task: what to read.
        schema: Spark's; of every batch.
        options: of the read.

    Raises:
        KafkaFormatError: as `read_split`, and what `policy` and the columns raise; with topic and partition.
    """
    _freeze_modules()
    places = Places(task_settings(options.settings))
    policies = [DamagePolicy(options, part.split, part.is_continued) for part in task.parts]
    if options.view != "records":
        from kafka_segments.spark.views import read_view

        if task.rows:
            yield rows_as_batch(task.rows, schema)
        for policy in policies:
            yield from read_view(options.view, policy, places, schema)
        return
    columns = RowColumns(schema, options.timestamp_overflow)
    yield from damage_rows(list(task.findings), schema, "offset")
    splits = (_split_rows(policy, schema, columns, places) for policy in policies)
    yield from _joined(chain.from_iterable(splits))


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join small batches, of many small segments: Spark takes each over by itself."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in chain(batches, [None]):
        more = 0 if batch is None else batch.nbytes
        if held and (batch is None or size + more > _ENOUGH):
            yield held[0] if len(held) == 1 else pa.concat_batches(held)
            held, size = [], 0
        if batch is not None:
            held.append(batch)
            size += more


@cache  # once in a worker, which goes on to other tasks
def _freeze_modules() -> None:
    """Exempt what is loaded from the garbage collection after each task: 32 ms (docs/decisions/0016)."""
    gc.freeze()


def _split_rows(
    policy: DamagePolicy, schema: pa.Schema, columns: RowColumns, places: Places
) -> Iterator[pa.RecordBatch]:
    split = policy.split
    reading = policy.reading(*columns.sources, max_row_size=_MAX_ROW_SIZE)
    columns.begin(split.topic, split.partition, split.segment.file.path)
    following = split.start
    try:
        for batch in read_split(split, places, reading, policy):
            yield from damage_rows(policy.findings, schema, "offset")
            following = batch.column("offset")[-1].as_py() + 1
            yield columns.rows(batch)
    except TimestampRangeError as error:
        raise name_partition(error, split) from None
    except (MemoryError, pa.ArrowMemoryError) as error:
        raise _no_memory(split, following, places) from error
    yield from damage_rows(policy.findings, schema, "offset")


def _no_memory(split: Split, offset: int, places: Places) -> RecordTooLargeError:
    """A batch that is larger than the memory there is: its records, decompressed, and their columns."""
    gc.collect()
    size = None
    try:
        with closing(open_stored(places, split.segment)) as source:
            heads = (head for head in iter_header_summaries(source, 0) if isinstance(head, HeaderSummary))
            size = next((one.end_position - one.position for one in heads if one.last_offset >= offset), None)
    except (KafkaFormatError, MemoryError):
        pass  # the size is not known, then
    said = "" if size is None else f", which has {size} bytes in the file"
    return RecordTooLargeError(
        f"topic {split.topic}, partition {split.partition}, offset {offset}: not enough memory for the "
        f"batch that holds it{said}; give Python more (spark.executor.pyspark.memory, if that is set), or "
        "leave out the large column",
        topic=split.topic,
        partition=split.partition,
        offset=offset,
        size=size,
        path=split.segment.file.path,
    )
