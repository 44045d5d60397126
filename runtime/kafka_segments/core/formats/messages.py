"""Messages of the old formats (magic 0 and 1), compressed or not."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from zlib import crc32

from kaitaistruct import KaitaiStream

from kafka_segments.core.formats.entry_header import (
    LEN_LOG_OVERHEAD,
    MAGICS,
    OFS_MAGIC,
    message_timestamp_type,
)
from kafka_segments.core.formats.kaitai_classes import PARSE_ERRORS, explain, release, release_failed, stream
from kafka_segments.errors import CorruptBatchError
from kafka_segments_generated.kaitai.kafka_message_legacy import KafkaMessageLegacy

__all__ = [
    "Message",
    "find_value",
    "read_inner_message",
    "read_message",
    "read_message_leniently",
]

_OFS_MAGIC = OFS_MAGIC - LEN_LOG_OVERHEAD
_MAGICS = [magic for magic, content in MAGICS.items() if not content.is_repeated]


class Message:
    """One message of magic 0 or 1; of one that is cut off, parts that are missing are None.

    Attributes:
        offset: as given.
        magic: 0 or 1; None for what is read as 1 inside a wrapper and has another.
        codec: number of the codec that its value is compressed with, 0 for none.
        crc: as stored.
        timestamp: its own; -1 in magic 0.
        timestamp_type: its own, by Kafka's name.
        len_key: as stored, negative for null.
        len_value: likewise.
        key: None for null.
        value: None for null.
    """

    __slots__ = (
        "_body",
        "_ofs_crc_region",
        "codec",
        "crc",
        "key",
        "len_key",
        "len_value",
        "magic",
        "offset",
        "timestamp",
        "timestamp_type",
        "value",
    )

    def __init__(self, parsed: KafkaMessageLegacy, body: bytes | memoryview) -> None:
        header = parsed.header
        self.offset: int = parsed.offset
        self.magic: int | None = header.magic
        self.codec = int(header.attributes.compression)
        self.crc: int = header.crc
        self.timestamp: int = parsed.timestamp_value
        self.timestamp_type = message_timestamp_type(header)
        self.len_key: int | None = getattr(parsed, "len_key", None)
        self.len_value: int | None = getattr(parsed, "len_value", None)
        self.key: bytes | None = getattr(parsed, "key", None)
        self.value: bytes | None = getattr(parsed, "value", None)
        self._body, self._ofs_crc_region = body, header.ofs_crc_region
        release(parsed)

    @property
    def crc_region(self) -> bytes | memoryview:
        """The bytes that the checksum covers."""
        return self._body[self._ofs_crc_region :]

    @property
    def is_valid(self) -> bool:
        """Whether the checksum is that of its bytes."""
        return crc32(self.crc_region) == self.crc

    def taken_from(self, body: bytes | memoryview) -> None:
        """Replace the bytes by the original ones, whose magic differs from the one it was read with."""
        self.magic, self._body = None, body


def read_message(body: bytes | memoryview, offset: int) -> Message:
    """Read a message after the length field of an entry. Bytes after its value are allowed, as in Kafka.

    Raises:
        CorruptBatchError: its lengths contradict each other, or its magic is not one of these.
    """
    try:
        return Message(KafkaMessageLegacy(offset, stream(body)), body)
    except PARSE_ERRORS as error:
        detail = explain(error)
        release_failed(error)
        raise CorruptBatchError(detail) from error


class _Remembering(BytesIO):
    """A stream that remembers the position of the last read."""

    began = 0

    def seekable(self) -> bool:
        """False, or Kaitai's stream would refuse to read a value that is cut off."""
        return False

    def read(self, size: int | None = -1, /) -> bytes:
        self.began = self.tell()
        return super().read(size)


def find_value(body: bytes | memoryview) -> tuple[int, int, int] | None:
    """Magic, codec number and position of the value in a message that may be cut off.

    Args:
        body: the bytes after the length field of an entry.

    Returns:
        None if there is no value, or it begins after the end of the bytes.
    """
    source = _Remembering(body)
    parsed = _read_partly(KaitaiStream(source))
    len_value = getattr(parsed, "len_value", None)
    if len_value is None or len_value < 0:
        return None
    return parsed.header.magic, int(parsed.header.attributes.compression), source.began


def read_inner_message(body: bytes | memoryview, offset: int) -> Message:
    """Read a message inside a wrapper, where Kafka treats every magic but 0 as 1 (LegacyRecord).

    Raises:
        CorruptBatchError: its lengths contradict each other.
    """
    taken = _of_known_magic(body)
    message = read_message(taken, offset)
    if taken is not body:
        message.taken_from(body)
    return message


def _of_known_magic(body: bytes | memoryview) -> bytes | memoryview:
    """A message's bytes, with the highest magic in place of one that is not known."""
    if body[_OFS_MAGIC] in _MAGICS:
        return body
    taken = bytearray(body)
    taken[_OFS_MAGIC] = max(_MAGICS)
    return bytes(taken)


def read_message_leniently(body: bytes | memoryview) -> Message:
    """Read as much of a message as is present; every magic but 0 is read as 1, as in Kafka (LegacyRecord).

    Args:
        body: the bytes after the length field of an entry, as many as the least message has or more.

    Raises:
        CorruptBatchError: not even its header is complete.
    """
    parsed = _read_partly(stream(_of_known_magic(body)))
    if not hasattr(parsed, "header"):
        release(parsed)
        raise CorruptBatchError("the message is shorter than its header")
    message = Message(parsed, body)
    message.magic = body[_OFS_MAGIC]
    return message


def _read_partly(source: KaitaiStream) -> KafkaMessageLegacy:
    """A message that may be cut off; it lacks the attributes of missing fields."""
    parsed = KafkaMessageLegacy.__new__(KafkaMessageLegacy)
    with suppress(*PARSE_ERRORS):  # what was read until then stays
        parsed.__init__(0, source)  # type: ignore[misc]
    return parsed
