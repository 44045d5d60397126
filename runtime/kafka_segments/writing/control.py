"""Control records: from Kafka's names to keys and values.

Strategy: the values are the dicts that reading gives (`entries.ControlRecord`, `control`), brought into the
form of the generated declarations, which build them. The rules are those of MemoryRecordsBuilder's `append*`
methods.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from kafka_segments.entries import ControlRecord
from kafka_segments.errors import EncodeError
from kafka_segments.layout import building
from kafka_segments.writing.api import encode_exactly
from kafka_segments.writing.encoding import Exact
from kafka_segments.writing.options import BatchOptions
from kafka_segments.writing.refusals import refused

__all__ = ["MARKERS", "Control", "encode_control"]

Control: TypeAlias = ControlRecord | tuple[str, Mapping[str, Any]]
"""A control record: its type by Kafka's name, and the fields of its value."""

MARKERS = ("COMMIT", "ABORT")
"""What ends a transaction."""
_TEXTS = frozenset({"name", "host"})
_UUID = "voter_directory_id"


def encode_control(
    records: Iterable[Control],
    *,
    timestamp: int,
    base_offset: int = 0,
    partition_leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    compression: str = "none",
    compression_level: int | None = None,
    delete_horizon_ms: int | None = None,
    max_message_bytes: int | None = None,
) -> bytes:
    """A control batch.

    Args:
        records: type and value of each; a transaction's marker is `("COMMIT", {"coordinator_epoch": 0})`.
        timestamp: of all records, in milliseconds.
        base_offset: of the first record; the others follow it.
        partition_leader_epoch: -1 for none, which a leader's change cannot have.
        producer_id: of whom a marker ends the transaction.
        producer_epoch: goes with it.
        base_sequence: control records have none.
        is_transactional: markers are, the records of KRaft are not.
        compression: as everywhere; Kafka compresses no control batch but in snapshots.
        compression_level: goes with it.
        delete_horizon_ms: of a marker that the cleaner has seen.
        max_message_bytes: bytes that the batch may have; None for no bound.

    Raises:
        EncodeError: an unknown type, a value without the fields of its type, a marker without a producer.
        OptionError: options that do not go together.
        MissingExtraError: the extra `construct` is not installed.
    """
    options = BatchOptions(
        compression=compression,
        compression_level=compression_level,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        # Control records have no sequence numbers, though they have a producer.
        base_sequence=None if base_sequence == -1 else base_sequence,
        is_transactional=is_transactional,
        delete_horizon_ms=delete_horizon_ms,
        max_message_bytes=max_message_bytes,
    )
    pairs = [_pair(record, options, base_offset + at) for at, record in enumerate(records)]
    rows = pa.RecordBatch.from_pydict(
        {
            "timestamp": pa.array([timestamp] * len(pairs), pa.int64()),
            "key": pa.array([key for key, _value in pairs], pa.binary()),
            "value": pa.array([value for _key, value in pairs], pa.binary()),
        }
    )
    exact = Exact(base_offset, None, is_control=True)
    return encode_exactly(rows, options, exact, sequence=base_sequence)


def _named(record: Control) -> tuple[str, Mapping[str, Any]]:
    kind, value = (record.type, record.value) if isinstance(record, ControlRecord) else record
    return kind, {} if value is None else value


def _pair(record: Control, options: BatchOptions, offset: int) -> tuple[bytes, bytes]:
    kind, value = _named(record)
    name = str(kind).lower()
    if name not in building.control_types():
        raise refused("unknown_control_type", f"a control record of type {kind!r}", offset=offset)
    if kind in MARKERS and options.producer_id == -1:
        raise refused("marker_without_producer_id", f"{kind} without a producer_id", offset=offset)
    if kind in MARKERS and not options.is_transactional:
        raise refused(
            "marker_not_transactional", f"{kind} in a batch that is not transactional", offset=offset
        )
    if kind == "LEADER_CHANGE" and options.partition_leader_epoch == -1:
        raise refused(
            "leader_change_without_epoch", "LEADER_CHANGE without a partition_leader_epoch", offset=offset
        )
    try:
        built = building.build_control_value(name, _declared(value))
    except (EncodeError, AttributeError, TypeError, binascii.Error) as error:
        raise refused("control_value", f"{kind}: {error}", offset=offset) from error
    return building.build_control_key(name), built


def _declared(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value's fields as the declarations have them: structs around texts, bytes for uuids, no tagged
    fields.
    """
    fields = {name: _declared_field(name, one) for name, one in value.items()}
    return fields if set(value) == {"coordinator_epoch"} else fields | {"tagged_fields": {"fields": []}}


def _declared_field(name: str, value: Any) -> Any:
    if name in _TEXTS:
        return {"data": value.encode("utf-8")}
    if name == _UUID:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
    if isinstance(value, Mapping):
        return _declared(value)
    if isinstance(value, (list, tuple)):
        return [_declared(one) for one in value]
    return value
