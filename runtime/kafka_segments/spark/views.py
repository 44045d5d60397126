"""The views that are no records: a row for each batch, control record, or damaged region of a task's splits.

`segments` and `aborted` come from planning alone (`planned`); their rows ride in the task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.compute

from kafka_segments.catalog.model import Loss, Split
from kafka_segments.catalog.opening import open_stored
from kafka_segments.columnar.headers import iter_headers
from kafka_segments.compression import CODEC_NAMES
from kafka_segments.entries import Batch, Damage, Record
from kafka_segments.places import Places
from kafka_segments.ranges.beginning import begin
from kafka_segments.ranges.finding import Finder
from kafka_segments.ranges.findings import Collected
from kafka_segments.ranges.pending import judge as judge_pending
from kafka_segments.ranges.reading import Reading, read_split
from kafka_segments.segment import Segment
from kafka_segments.spark.planned import Row, damage_row, loss_row
from kafka_segments.spark.policy import Judge, is_told_before

__all__ = ["read_view", "rows_as_batch"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them

_MANY_ROWS = 1 << 14
_CODECS = pa.array(["none", *CODEC_NAMES])
# Columns of `batches`: those of the headers that they are, as they are.
_AS_THEY_ARE = {
    "maxTimestampMs": "max_timestamp",
    "baseTimestampMs": "base_timestamp",
    "magic": "magic",
    "leaderEpoch": "partition_leader_epoch",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "baseSequence": "base_sequence",
    "isTransactional": "is_transactional",
    "isControl": "is_control",
    "crc": "crc",
    "position": "position",
}


def read_view(view: str, judge: Judge, places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one split.

    Args:
        view: `batches`, `control` or `damage`.
        judge: who is told of damage and losses; it names the split.
        places: where files live.
        schema: of every batch.
    """
    yield from _READERS[view](judge, places, schema)


def rows_as_batch(rows: Iterable[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Rows by the view's names of columns as a batch; what a row does not have is null."""
    listed = list(rows)
    columns = []
    for field in schema:
        values = [_in_small_letters(row).get(field.name.lower()) for row in listed]
        is_time = pa.types.is_timestamp(field.type)
        column = pa.array(values, pa.int64() if is_time else field.type)
        columns.append(column.view(field.type) if is_time else column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _in_small_letters(row: Row) -> Row:
    return {name.lower(): value for name, value in row.items()}


def _told(judge: Judge, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows about damage, if the view has a column for it and it was asked for."""
    if judge.told and any(name.lower() == "damage" for name in schema.names):
        yield rows_as_batch(
            (
                {"topic": one.topic, "partition": one.partition, "baseOffset": one.offset, "damage": one.text}
                for one in judge.told
            ),
            schema,
        )
    judge.told.clear()


def _batches(judge: Judge, places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A row for each header; a batch belongs to the range in which its first offset lies."""
    split = judge.split
    finder = Finder(split, places)
    found = finder.planned() or finder.holding(split.start, split.end)
    if found is None:
        last = split.start if split.end is None else split.end - 1
        why = f"{split.segment.file.path} is gone, and no segment has them now"
        judge.lost(Loss(split.topic, split.partition, split.start, last, why))
        yield from _told(judge, schema)
        return
    source = found.source
    try:
        hint = split.position if found.stored is split.segment else 0
        options = judge.options
        position = begin(
            source, split.start, found.stored.base_offset, hint, options.max_decompressed
        ).position
        events: Any = iter_headers(source, position)
        for event, is_pending in judge_pending(events, source, found.stored.is_newest):
            if isinstance(event, Damage):
                if event.touches(split.start, split.end):
                    judge.pending(event) if is_pending else judge.damage(event)
                    yield from _told(judge, schema)
                continue
            heads = _of_range(event, judge)
            if heads.num_rows:
                yield _batch_rows(heads, split, found.stored.file.path, schema)
            if _is_behind(event, split):
                return
    finally:
        source.close()


def _of_range(heads: Any, judge: Judge) -> Any:
    split = judge.split
    first, last = heads.column("base_offset"), _last_offsets(heads)
    # Where nobody reads the range before, the batch that reaches into this one belongs to it.
    wanted = pc.greater_equal(first if judge.is_continued else last, split.start)
    if split.end is not None:
        wanted = pc.and_(wanted, pc.less(first, split.end))
    return heads.filter(wanted)


def _is_behind(heads: Any, split: Split) -> bool:
    if split.end is None or not heads.num_rows:
        return False
    row = heads.num_rows - 1
    expected = split.segment.size if split.end_position is None else split.end_position
    return bool(
        heads.column("base_offset")[row].as_py() >= split.end
        and heads.column("position")[row].as_py() >= expected
    )


def _last_offsets(heads: Any) -> Any:
    return pc.add(heads.column("base_offset"), pc.fill_null(heads.column("last_offset_delta"), 0))


def _batch_rows(heads: Any, split: Split, path: str, schema: pa.Schema) -> pa.RecordBatch:
    count = heads.num_rows
    is_old = pc.less(heads.column("magic"), 2)
    is_wrapper = pc.and_(is_old, pc.not_equal(heads.column("compression"), 0))
    one = pc.if_else(is_wrapper, pa.scalar(None, pa.int32()), pa.scalar(1, pa.int32()))
    codec = heads.column("compression").cast(pa.int32())
    known = pc.if_else(pc.less(codec, len(_CODECS)), codec, pa.scalar(None, pa.int32()))
    horizon = pc.if_else(
        pc.fill_null(heads.column("has_delete_horizon"), False), heads.column("base_timestamp"), None
    )
    columns = {
        "topic": pa.repeat(split.topic, count),
        "partition": pa.repeat(split.partition, count),
        "sourceFile": pa.repeat(path, count),
        "damage": pa.nulls(count, pa.string()),
        "baseOffset": pc.if_else(is_wrapper, pa.scalar(None, pa.int64()), heads.column("base_offset")),
        "lastOffset": _last_offsets(heads),
        "recordCount": pc.if_else(is_old, one, heads.column("num_records")),
        "timestampType": pc.if_else(
            pc.equal(heads.column("magic"), 0), -1, heads.column("timestamp_type").cast(pa.int32())
        ),
        "compression": _CODECS.take(known),
        "deleteHorizonMs": horizon,
        "size": pc.subtract(heads.column("end_position"), heads.column("position")),
        **{name: heads.column(source) for name, source in _AS_THEY_ARE.items()},
    }
    by_name = {name.lower(): column for name, column in columns.items()}
    return pa.RecordBatch.from_arrays(
        [_cast(by_name[field.name.lower()], field.type) for field in schema], schema=schema
    )


def _cast(column: Any, kind: pa.DataType) -> Any:
    if pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    return column if column.type == kind else column.cast(kind)


def _control(judge: Judge, places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A row for each control record; the split is a whole segment."""
    split, options = judge.split, judge.options
    rows: list[Row] = []
    batch: Batch | None = None
    with closing(open_stored(places, split.segment)) as source:
        segment = Segment(
            source,
            check_crc=options.check_crc,
            headers_only=False,
            max_decompressed=options.max_decompressed,
        )
        events: Any = segment.iter_events(on_damage="skip", wanted=lambda one: one.is_control)
        for event, is_pending in judge_pending(events, source, split.segment.is_newest):
            if isinstance(event, Batch):
                batch = event
            elif isinstance(event, Damage) and event.touches(split.start, split.end):
                judge.pending(event) if is_pending else judge.damage(event)
            elif isinstance(event, Record) and batch is not None and _holds(split, event.offset):
                rows.append(_control_row(event, batch, split))
            if len(rows) >= _MANY_ROWS:
                yield rows_as_batch(rows, schema)
                rows.clear()
    if rows:
        yield rows_as_batch(rows, schema)


def _holds(split: Split, offset: int) -> bool:
    return split.start <= offset and (split.end is None or offset < split.end)


def _control_row(record: Record, batch: Batch, split: Split) -> Row:
    control = record.control
    value = None if control is None else control.value
    return {
        "topic": split.topic,
        "partition": split.partition,
        "offset": record.offset,
        "timestampMs": record.timestamp,
        "type": None if control is None else control.type,
        "version": None if control is None else control.version,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "coordinatorEpoch": (value or {}).get("coordinator_epoch"),
        "leaderEpoch": batch.partition_leader_epoch,
        "value": None if value is None else json.dumps(value, default=_as_text),
        "sourceFile": batch.path,
    }


def _as_text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _damage(judge: Judge, places: Places, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A row for each thing that is amiss in a range; the records are read for it, and not handed on."""
    split, options = judge.split, judge.options
    found = Collected()
    reading = Reading(
        ["offset"],
        check_crc=options.check_crc,
        max_decompressed=options.max_decompressed,
        is_best=options.best_of_replicas,
    )
    for _batch in read_split(split, places, reading, found):
        pass
    rows = [
        damage_row(split.topic, split.partition, "damage", one)
        for one in found.damages
        if not is_told_before(one, split, judge.is_continued)
    ]
    rows += [damage_row(split.topic, split.partition, "pending", one) for one in found.pendings]
    rows += [loss_row(one) for one in found.losses]
    rows += [
        {
            "topic": note.topic,
            "partition": note.partition,
            "kind": "note",
            "position": note.position,
            "message": str(note),
            "sourceFile": note.path,
        }
        for note in found.notes
    ]
    if rows:
        yield rows_as_batch(rows, schema)


_READERS: Mapping[str, Callable[[Judge, Places, pa.Schema], Iterator[pa.RecordBatch]]] = {
    "batches": _batches,
    "control": _control,
    "damage": _damage,
}
