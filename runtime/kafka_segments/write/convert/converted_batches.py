"""Encoding of rewritten batches, with the refusals of Kafka's builder."""

from __future__ import annotations

from typing import Any

from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.api import encode_exactly, encode_head, encode_records
from kafka_segments.write.batch_options import BatchOptions
from kafka_segments.write.convert.source_entries import Rewritten
from kafka_segments.write.encoding import Exact

__all__ = ["encode"]

# Fields of `Batch` that are options of the same name.
_V2_OPTIONS = (
    "compression",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "is_transactional",
    "delete_horizon_ms",
)
# Fields that are copied to the header of a batch without records.
_HEADER_FIELDS = (
    "base_offset",
    "max_timestamp",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
)


def encode(piece: Rewritten) -> bytes:
    """Encode a rewritten batch, wrapper or messages.

    Raises:
        EncodeError: Kafka's builder would refuse it, such as a timestamp below -1 or a transaction without a
            producer; with the position of the original entry.
    """
    try:
        if piece.fields["magic"] < 2:
            return _messages(piece)
        return _batch(piece) if piece.records else _empty_batch(piece)
    except EncodeError as error:
        raise _refused(error, piece.source_of(error.row), error.offset) from error
    except OptionError as error:
        raise _refused(error, piece.source, None) from error


def _refused(error: EncodeError | OptionError, source: Batch, offset: int | None) -> EncodeError:
    return EncodeError(
        f"it cannot be rewritten: {error.detail}",
        rule=error.rule,
        offset=offset,
        position=source.position,
        path=source.path,
    )


def _row(record: Record) -> tuple[Any, ...]:
    return record.offset, record.timestamp, record.key, record.value, record.headers


def _times(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the options for the type of the records' timestamps."""
    if fields["timestamp_type"] == "LogAppendTime":
        return {"timestamp_type": "LogAppendTime", "log_append_time": fields["max_timestamp"]}
    return {}


def _batch(piece: Rewritten) -> bytes:
    fields = piece.fields
    sequence = fields["base_sequence"]
    # A control batch has a producer, but no sequence numbers.
    option = None if fields["is_control"] and sequence == -1 else sequence
    options = BatchOptions(
        **_times(fields),
        **{name: fields[name] for name in _V2_OPTIONS},
        base_sequence=option,
        max_message_bytes=None,
    )
    exact = Exact(fields["base_offset"], fields["last_offset"], is_control=fields["is_control"])
    return encode_exactly(map(_row, piece.records), options, exact, sequence)


def _empty_batch(piece: Rewritten) -> bytes:
    """Encode the header alone, with no more checks than the cleaner (DefaultRecordBatch.writeEmptyHeader)."""
    fields = piece.fields
    return encode_head(
        BatchOptions(),
        is_control=fields["is_control"],
        is_transactional=fields["is_transactional"],
        timestamp_type=fields["timestamp_type"] == "LogAppendTime",
        last_offset_delta=fields["last_offset"] - fields["base_offset"],
        **{name: fields[name] for name in _HEADER_FIELDS},
    )


def _messages(piece: Rewritten) -> bytes:
    fields = piece.fields
    rows = [(*_row(record)[:-1], ()) for record in piece.records]
    options: dict[str, Any] = {"magic": fields["magic"], "max_message_bytes": None} | _times(fields)
    if fields["compression"] == "none":
        return encode_records(rows, **options)
    checked = BatchOptions(compression=fields["compression"], **options)
    return encode_exactly(rows, checked, Exact(fields["base_offset"], None))
