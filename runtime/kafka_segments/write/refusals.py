"""Rules of Kafka for what may be written: one table, and the errors for breaking them.

The rules are those of a broker for its clients (LogValidator, UnifiedLog, ProducerAppendInfo) and of Kafka's
own builder (MemoryRecordsBuilder), as far as they apply without a broker. Each has a test of its name.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_segments.errors import EncodeError, OptionError

__all__ = ["REFUSALS", "Refusal", "refused", "refused_option"]


class Refusal(NamedTuple):
    """The exception of Kafka, the class that throws it, and the reason in a few words."""

    exception: str
    source: str
    reason: str


_ILLEGAL = "IllegalArgumentException"
_INVALID = "InvalidRecordException"
_BUILDER = "MemoryRecordsBuilder"
_BY_US = "none: a file of ours could not be read back"

REFUSALS: dict[str, Refusal] = {
    # Options that contradict each other: OptionError.
    "unknown_compression": Refusal(_ILLEGAL, "CompressionType.forName", "Kafka has no such codec"),
    "compression_level": Refusal(
        _ILLEGAL, "GzipCompression, Lz4Compression, ZstdCompression", "out of range"
    ),
    "unknown_magic": Refusal(
        _ILLEGAL,
        "AbstractRecords.recordBatchHeaderSizeInBytes",
        "Kafka has 0 to 2, and experimental_magic3=True allows 3",
    ),
    "zstd_below_magic_2": Refusal(_ILLEGAL, _BUILDER, "zstd came with magic 2"),
    "transactional_below_magic_2": Refusal(
        "UnsupportedForMessageFormatException", "LogValidator; " + _BUILDER, "transactions came with magic 2"
    ),
    "idempotent_below_magic_2": Refusal(
        "UnsupportedForMessageFormatException", "LogValidator; " + _BUILDER, "producer ids came with magic 2"
    ),
    "horizon_below_magic_2": Refusal(_ILLEGAL, _BUILDER, "delete horizons came with magic 2"),
    "leader_epoch_below_magic_2": Refusal(
        "UnsupportedOperationException",
        "AbstractLegacyRecordBatch.setPartitionLeaderEpoch",
        "came with magic 2",
    ),
    "append_time_in_magic_0": Refusal(
        _ILLEGAL, "AbstractLegacyRecordBatch.setMaxTimestamp", "magic 0 has no timestamps"
    ),
    "transactional_without_producer_id": Refusal(_ILLEGAL, _BUILDER, "a transaction is a producer's"),
    "producer_epoch": Refusal(_ILLEGAL, _BUILDER, "a producer id comes with an epoch"),
    "base_sequence": Refusal(
        _INVALID, "LogValidator.validateBatch; " + _BUILDER, "a producer id comes with sequence numbers"
    ),
    # Records that cannot be written: EncodeError.
    "offset_order": Refusal(
        "OffsetsOutOfOrderException", "UnifiedLog.analyzeAndValidateRecords; " + _BUILDER, "offsets increase"
    ),
    "negative_offset": Refusal(_ILLEGAL, "LocalLog, OffsetIndex.relativeOffset", "offsets count from 0"),
    "null_offset": Refusal(_BY_US, "", "some records have an offset and others have none"),
    "offset_delta": Refusal(_ILLEGAL, _BUILDER + ".recordWritten", "offsets of a batch lie within 2^31 - 1"),
    "negative_timestamp": Refusal(_ILLEGAL, _BUILDER, "a timestamp is not negative; -1 stands for none"),
    "null_header_key": Refusal(
        _ILLEGAL, "DefaultRecord.writeTo", "a header's key may be empty, but not null"
    ),
    "headers_below_magic_2": Refusal(_ILLEGAL, _BUILDER, "headers came with magic 2"),
    "too_many_headers": Refusal(_BY_US, "", "1,000,000 headers of a record are read"),
    "control_record": Refusal(
        _ILLEGAL, _BUILDER + "; LogValidator.validateBatch", "control records are in batches of their own"
    ),
    "null_key": Refusal(_INVALID, "LogValidator.validateKey", "a compacted topic's records have keys"),
    "no_records": Refusal(_INVALID, "LogValidator.getFirstBatchAndMaybeValidateNoMoreBatches", "no records"),
    "record_too_large": Refusal(
        "RecordTooLargeException", "KafkaProducer.ensureValidRecordSize", "int32 sizes"
    ),
    "batch_too_large": Refusal(
        "RecordTooLargeException", "UnifiedLog.analyzeAndValidateRecords", "max.message.bytes bounds a batch"
    ),
    "unwritable": Refusal(_BY_US, "", "the values do not fit the fields of the format"),
    # Control batches.
    "unknown_control_type": Refusal(_ILLEGAL, _BUILDER + ".appendControlRecordWithOffset", "no such type"),
    "control_value": Refusal(_BY_US, "", "the value does not have the fields of its type"),
    "marker_without_producer_id": Refusal(_ILLEGAL, _BUILDER + ".appendEndTxnMarker", "it ends a producer's"),
    "marker_not_transactional": Refusal(_ILLEGAL, _BUILDER + ".appendEndTxnMarker", "it ends a transaction"),
    "leader_change_without_epoch": Refusal(
        _ILLEGAL, _BUILDER + ".appendLeaderChangeMessage", "-1 is no epoch"
    ),
    # Segments.
    "segment_too_small": Refusal(
        "RecordBatchTooLargeException", "UnifiedLog.append", "segment.bytes bounds a batch too"
    ),
    "segment_full": Refusal(_BY_US, "LogSegment.shouldRoll: a broker begins another", "this is one file"),
    "segment_offset": Refusal(
        "LogSegmentOffsetOverflowException", "LogSegment.ensureOffsetInRange", "indexes have int32 offsets"
    ),
    "out_of_order_sequence": Refusal(
        "OutOfOrderSequenceException", "ProducerAppendInfo.checkSequence", "sequence numbers have no gaps"
    ),
    "producer_fenced": Refusal(
        "InvalidProducerEpochException", "ProducerAppendInfo.checkProducerEpoch", "epochs do not fall"
    ),
    "open_transaction": Refusal(
        "InvalidTxnStateException", "ProducerAppendInfo.appendDataBatch", "a transaction is under way"
    ),
    "coordinator_fenced": Refusal(
        "TransactionCoordinatorFencedException",
        "ProducerAppendInfo.checkCoordinatorEpoch",
        "epochs do not fall",
    ),
}
"""Rules by name, the `rule` of errors."""


def refused(rule: str, found: str, *, offset: int | None = None, row: int | None = None) -> EncodeError:
    """Build the error for data that break a rule.

    Args:
        rule: a name in `REFUSALS`.
        found: the finding, in words.
        offset: of the record or batch.
        row: the record's number in the data.
    """
    place = ", ".join(
        f"{name} {value}" for name, value in (("offset", offset), ("row", row)) if value is not None
    )
    detail = f"{place}: {found}" if place else found
    return EncodeError(f"{detail} ({REFUSALS[rule].reason})", rule=rule, offset=offset, row=row)


def refused_option(rule: str, found: str) -> OptionError:
    """Build the error for options that break a rule."""
    return OptionError(f"{found} ({REFUSALS[rule].reason})", rule=rule)
