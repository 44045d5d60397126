"""Copies of segments without compression, so that the Node check sees every record.

What the records say is not looked at here, only where they begin.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED, decompress
from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy
from kafka_segments_generated.kaitai.kafka_record_batch_v2 import KafkaRecordBatchV2


def plain_copy(segment: Path) -> bytes:
    """The entries of a segment that were compressed, without their compression; empty if there are none.

    A batch keeps its header, except for the codec and the sizes (its checksum is then wrong, which no schema
    looks at); a wrapper of magic 0 or 1 is replaced by the entries inside it.
    """
    return b"".join(_plain_entries(segment.read_bytes()))


def _plain_entries(data: bytes) -> Iterator[bytes]:
    for entry in KafkaLogSegment.from_bytes(data).entries:
        content = entry.body.content if entry.is_complete else None
        if not isinstance(content, KafkaRecordBatchV2 | KafkaMessageLegacy):
            continue
        head = content.header if isinstance(content, KafkaMessageLegacy) else content
        if not head.attributes.compression:
            continue
        codec, magic = head.attributes.compression.name, head.magic
        if magic < 2:
            yield decompress(codec, content.value, max_size=DEFAULT_MAX_DECOMPRESSED, magic=magic)
        elif content.num_records:
            header = bytearray(entry._raw_body[: content.len_header])
            header[content.ofs_crc_region + 1] &= ~7
            records = decompress(codec, content.payload, max_size=DEFAULT_MAX_DECOMPRESSED)
            yield struct.pack(">qi", entry.base_offset, len(header) + len(records)) + header + records
