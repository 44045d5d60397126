"""Control batches: keys and values of control records, built from Kafka's names.

Strategy: the values are the dicts that reading returns (`entries.ControlRecord`, `control`), and the
generated declarations define their fields (`building`). The rules are those of MemoryRecordsBuilder's
`append*` methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from kafka_segments.core.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)

# isort: split
import pyarrow as pa

from kafka_segments.core.formats import building
from kafka_segments.core.formats.entries import ControlRecord
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.api import encode_exactly
from kafka_segments.write.batch_options import BatchOptions, check_numbers, shown
from kafka_segments.write.refusals import refused

__all__ = ["MARKERS", "Control", "encode_control"]

Control: TypeAlias = ControlRecord | tuple[str, Mapping[str, Any]]
"""A control record: its type under Kafka's name, and the fields of its value."""

MARKERS = ("COMMIT", "ABORT")
"""Types of the markers that end a transaction."""


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
    """Encode a control batch.

    Args:
        records: type and value of each; a transaction's marker is `("COMMIT", {"coordinator_epoch": 0})`.
        timestamp: of all records, in milliseconds.
        base_offset: the first record's offset; the others follow it.
        partition_leader_epoch: -1 for none, which LEADER_CHANGE does not allow.
        producer_id: of the producer whose transaction a marker ends.
        producer_epoch: of that producer.
        base_sequence: -1; control records have no sequence numbers.
        is_transactional: True for markers, False for the records of KRaft.
        compression: a codec; Kafka compresses control batches in snapshots only.
        compression_level: level of the codec.
        delete_horizon_ms: set in a marker that the cleaner has processed.
        max_message_bytes: maximum size of the batch; None: no limit.

    Raises:
        EncodeError: an unknown type, a value without the fields of its type, a marker without a producer.
        OptionError: options that contradict each other, or records of an unsupported type.
        MissingExtraError: the extra `construct` is not installed.
    """
    check_numbers(timestamp=timestamp, base_offset=base_offset, base_sequence=base_sequence)
    options = BatchOptions(
        compression=compression,
        compression_level=compression_level,
        partition_leader_epoch=partition_leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        # Control records have a producer, but no sequence numbers.
        base_sequence=None if base_sequence == -1 else base_sequence,
        is_transactional=is_transactional,
        delete_horizon_ms=delete_horizon_ms,
        max_message_bytes=max_message_bytes,
    )
    pairs = list(_pairs(records, options, base_offset))
    rows = pa.RecordBatch.from_pydict(
        {
            "timestamp": pa.array([timestamp] * len(pairs), pa.int64()),
            "key": pa.array([key for key, _value in pairs], pa.binary()),
            "value": pa.array([value for _key, value in pairs], pa.binary()),
        }
    )
    return encode_exactly(rows, options, base_offset=base_offset, sequence=base_sequence, is_control=True)


def _pairs(
    records: Iterable[Control], options: BatchOptions, base_offset: int
) -> Iterator[tuple[bytes, bytes]]:
    try:
        listed = list(records)
    except TypeError as error:
        raise OptionError(f"control records cannot come from type {type(records).__name__}") from error
    for at, record in enumerate(listed):
        kind, value = _named(record, at)
        yield _pair(kind, value, options, base_offset + at)


def _named(record: Any, number: int) -> tuple[Any, Mapping[str, Any]]:
    """Return a control record's type and value, unchecked."""
    if isinstance(record, ControlRecord):
        record = record.type, record.value
    if not isinstance(record, (tuple, list)) or len(record) != 2:
        found = type(record).__name__
        raise OptionError(f"control record {number} is a {found}; give a ControlRecord, or type and value")
    kind, value = record
    if value is not None and not isinstance(value, Mapping):
        found = type(value).__name__
        raise OptionError(f"the value of control record {number} is a {found}; give a mapping of its fields")
    return kind, value or {}


def _pair(kind: Any, value: Mapping[str, Any], options: BatchOptions, offset: int) -> tuple[bytes, bytes]:
    """Encode key and value of a control record."""
    # Kafka's names are the schema's in capitals; the rules below use these.
    names = {name.upper(): name for name in building.control_types()}
    if not isinstance(kind, str) or kind not in names:
        raise refused("unknown_control_type", f"a control record of type {shown(kind)}", offset=offset)
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
        built = building.build_control_value(names[kind], value)
    except EncodeError as error:
        raise refused("control_value", f"{kind}: {error}", offset=offset) from error
    return building.build_control_key(names[kind]), built
