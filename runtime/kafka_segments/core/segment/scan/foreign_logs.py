"""Logs of other programs that look like Kafka's: recognised, and refused by name."""

from __future__ import annotations

from zlib import crc32

from crc32c import crc32c

from kafka_segments.core import formats
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.scan.resync import Resync
from kafka_segments.errors import ReadError, UnknownFormatError

__all__ = ["refuse_foreign"]

_LARGEST_0_7 = 64 << 20  # far above the limit of a 0.7 broker; at most this is read to recognise a message


def refuse_foreign(source: Source) -> None:
    """Raise `UnknownFormatError` for a known format of another program, proven by its own checksum."""
    try:
        name = _foreign_format(source)
        if name is None or Resync(source).true_entry(0):
            return
    except ReadError:
        return
    remedy = {
        "Redpanda": "its format is not Kafka's; read the topic with a Kafka client instead",
        "Kafka 0.7": "Kafka 0.8 came with a tool that migrates it (kafka.tools.KafkaMigrationTool)",
    }[name]
    raise UnknownFormatError(f"this is a log of {name}: {remedy}", format=name, position=0, path=source.name)


def _foreign_format(source: Source) -> str | None:
    head = source.read(0, min(source.size, formats.LEN_REDPANDA_HEADER))
    redpanda = formats.read_redpanda_header(head)
    if redpanda and crc32c(redpanda.header_crc_region) == redpanda.header_crc:
        return "Redpanda"
    size = formats.message_0_7_size(head)
    if size is not None and size <= min(source.size, _LARGEST_0_7):
        message = formats.read_message_0_7(source.read(0, size))
        if message and message.body.payload and crc32(message.body.payload) == message.body.crc:
            return "Kafka 0.7"
    return None
