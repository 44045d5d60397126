"""Entries with another payload: the records of a batch, or the messages in a wrapper, recompressed.

Strategy: the header is read by the generated Kaitai class and written by the generated Construct declaration,
which derives lengths and checksum. Everything else stays as it is, reserved bits too. Needs the extra
`construct`, and is imported where an entry is built.
"""

from __future__ import annotations

from typing import Any

from kafka_segments.core.formats.building import declarations
from kafka_segments.core.formats.entries import Record
from kafka_segments.core.formats.entry_header import (
    LEN_HEAD,
    LEN_LOG_OVERHEAD,
    MAGICS,
    TIMESTAMP_TYPE_NAMES,
    read_prefix,
)
from kafka_segments.core.formats.kaitai_classes import stream
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy
from kafka_segments_generated.kaitai.kafka_record_batch_v2 import KafkaRecordBatchV2

__all__ = ["build_message", "payload_of", "with_payload"]


def payload_of(entry: bytes) -> memoryview:
    """Return the payload of an entry: what follows a batch's header, or a message's value."""
    if MAGICS[read_prefix(entry).magic].is_repeated:
        return memoryview(entry)[LEN_HEAD:]
    message = KafkaMessageLegacy(0, stream(memoryview(entry)[LEN_LOG_OVERHEAD:]))
    return memoryview(getattr(message, "value", None) or b"")


def with_payload(entry: bytes, compression: int, payload: bytes) -> bytes:
    """Return a batch or wrapper with another payload.

    Args:
        entry: all bytes of a sound batch, or message of magic 0 or 1.
        compression: number of the codec that the payload is compressed with.
        payload: what stands in place of a batch's records, or of a message's value.
    """
    prefix = read_prefix(entry)
    body = memoryview(entry)[LEN_LOG_OVERHEAD:]
    make = _batch if MAGICS[prefix.magic].is_repeated else _message
    content = make(body, prefix.base_offset, compression, payload)
    return _built(prefix.base_offset, prefix.magic, content)


def build_message(record: Record, magic: int) -> bytes:
    """Return a record of magic 0 or 1 as a message without a wrapper."""
    header: dict[str, Any] = {"magic": magic}
    if magic > 0:
        kinds = TIMESTAMP_TYPE_NAMES
        header["attributes"] = {"timestamp_type": kinds.index(record.timestamp_type)}
        header["timestamp"] = record.timestamp
    return _built(record.offset, magic, {"header": header, "key": record.key, "value": record.value})


def _built(base_offset: int, magic: int, content: dict[str, Any]) -> bytes:
    entry = {"base_offset": base_offset, "body": {"magic": magic, "content": content}}
    module = declarations("kafka_log_segment", "recompressing batches needs")
    built: bytes = module.KafkaLogSegment.build({"entries": [entry]})
    return built


def _batch(body: memoryview, base_offset: int, compression: int, payload: bytes) -> dict[str, Any]:
    return _header(KafkaRecordBatchV2(base_offset, stream(body)), compression) | {"payload": payload}


def _message(body: memoryview, _offset: int, compression: int, payload: bytes) -> dict[str, Any]:
    message = KafkaMessageLegacy(0, stream(body))
    header = _header(message.header, compression)
    return {"header": header, "key": getattr(message, "key", None), "value": payload}


def _header(
    parsed: KafkaRecordBatchV2 | KafkaMessageLegacy.MessageHeader, compression: int
) -> dict[str, Any]:
    """The numbers of a header but for its checksum, which is derived; with another codec."""
    fields, attributes = (
        {name: int(one) for name, one in vars(part).items() if isinstance(one, int) and name != "crc"}
        for part in (parsed, parsed.attributes)
    )
    return fields | {"attributes": attributes | {"compression": compression}}
