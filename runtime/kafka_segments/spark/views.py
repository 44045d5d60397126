"""Views other than records: a row for each batch, control record, or damaged region of a task's splits.

`segments` and `aborted` come from planning alone (`planning`); their rows ride in the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute

from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.findings import Findings
from kafka_segments.log.model import Split, is_reported_before
from kafka_segments.query.read.batch_views import read_batches, read_control
from kafka_segments.query.read.split_reader import read_split
from kafka_segments.spark.columns import damage_rows, rows_as_batch
from kafka_segments.spark.policy import DamagePolicy

__all__ = ["read_view"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them

# The views' columns that have another name below.
_NAMES = {
    "baseTimestampMs": "base_timestamp",
    "maxTimestampMs": "max_timestamp",
    "timestampMs": "timestamp",
}


def read_view(view: str, policy: DamagePolicy, places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one split.

    Args:
        view: `batches`, `control` or `damage`.
        policy: handles damage and losses; it has the split.
        places: where files live.
        schema: of every batch.

    Raises:
        KafkaFormatError: as `read_split`, and what the policy raises.
    """
    yield from _READERS[view](policy, places, schema)


def _batches(policy: DamagePolicy, places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in read_batches(policy.split, places, policy):
        yield from damage_rows(policy.findings, schema, "baseOffset")
        horizon = pc.if_else(batch.column("has_delete_horizon"), batch.column("base_timestamp"), None)
        yield _renamed(batch, {"deletehorizonms": horizon}, policy.split, schema)
    yield from damage_rows(policy.findings, schema, "baseOffset")


def _control(policy: DamagePolicy, places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in read_control(policy.split, places, policy.reading("offset"), policy):
        yield _renamed(batch, {}, policy.split, schema)


def _damage(policy: DamagePolicy, places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A row for each thing that is amiss in a range; the records are read for it, and not handed on."""
    split = policy.split
    found = Findings()
    for _batch in read_split(split, places, policy.reading("offset"), found):
        pass
    rows = [one.as_row() for one in found.findings if not is_reported_before(one, split, policy.is_continued)]
    if rows:
        yield rows_as_batch(rows, schema)


def _renamed(
    batch: pa.RecordBatch, more: Mapping[str, Any], split: Split, schema: pa.Schema
) -> pa.RecordBatch:
    """A batch with the view's names and types of columns, and what is the same in all of a split's rows."""
    count = batch.num_rows
    columns = {name.replace("_", ""): batch.column(name) for name in batch.schema.names}
    columns |= {
        ours.lower(): columns[name.replace("_", "")]
        for ours, name in _NAMES.items()
        if name in batch.schema.names
    }
    columns |= more
    columns["topic"] = pa.repeat(split.topic, count)
    columns["partition"] = pa.repeat(split.partition, count)
    columns["sourcefile"] = pa.repeat(split.segment.file.path, count)
    columns["damage"] = pa.nulls(count, pa.string())
    arrays = [_cast(columns[field.name.lower()], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(column: Any, kind: pa.DataType) -> Any:
    if pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    return column if column.type == kind else column.cast(kind)


_READERS: Mapping[str, Callable[[DamagePolicy, Places, pa.Schema], Iterator[pa.RecordBatch]]] = {
    "batches": _batches,
    "control": _control,
    "damage": _damage,
}
