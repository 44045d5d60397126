"""Messages of the old formats (magic 0 and 1), compressed or not."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO

from kaitaistruct import KaitaiStream

from kafka_segments.errors import CorruptBatchError
from kafka_segments.layout.kaitai import PARSE_ERRORS, explain, stream
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy

__all__ = ["Message", "find_value", "read_message"]


class Message:
    """One message, as the generated class has it.

    Attributes:
        offset: as given.
        magic: 0 or 1.
        codec: number of the codec that its value is compressed with, 0 for none.
        crc: as stored.
        timestamp: its own; -1 in magic 0.
        key: None for null.
        value: None for null.
    """

    __slots__ = ("_parsed", "codec", "crc", "key", "magic", "offset", "timestamp", "value")

    def __init__(self, parsed: KafkaMessageLegacy) -> None:
        self._parsed = parsed
        self.offset: int = parsed.offset
        self.magic: int = parsed.header.magic
        self.codec = int(parsed.header.attributes.compression)
        self.crc: int = parsed.header.crc
        self.timestamp: int = parsed.timestamp_value
        self.key: bytes | None = getattr(parsed, "key", None)
        self.value: bytes | None = getattr(parsed, "value", None)

    @property
    def crc_region(self) -> bytes:
        """What the checksum is of."""
        region: bytes = self._parsed.crc_region
        return region


def read_message(body: bytes | memoryview, offset: int) -> Message:
    """Read what is behind the length field of an entry. Bytes behind its value are no error, as for Kafka.

    Raises:
        CorruptBatchError: its lengths contradict each other, or its magic is not one of these.
    """
    try:
        return Message(KafkaMessageLegacy(offset, stream(body)))
    except PARSE_ERRORS as error:
        raise CorruptBatchError(explain(error)) from error


class _Remembering(BytesIO):
    """A stream that remembers where the last reading began."""

    began = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.began = self.tell()
        return super().read(size)


def find_value(body: bytes | memoryview) -> tuple[int, int, int] | None:
    """Magic, codec's number, and where the value begins in a message whose value may be cut off.

    Args:
        body: what there is behind the length field of an entry.

    Returns:
        None if there is no value, or less than what is in front of it.
    """
    source = _Remembering(body)
    parsed = KafkaMessageLegacy.__new__(KafkaMessageLegacy)
    with suppress(*PARSE_ERRORS):  # what was read until then stays
        parsed.__init__(0, KaitaiStream(source))  # type: ignore[misc]
    if getattr(parsed, "len_value", -1) < 0:
        return None
    return parsed.header.magic, int(parsed.header.attributes.compression), source.began
