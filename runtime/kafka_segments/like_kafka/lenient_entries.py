"""Entries of a log as Kafka's classes iterate over them, which no checksum and no magic stops.

Strategy: sound entries are those of the scanner, which Kafka reads likewise. Others are framed by their
length alone. What an exception ends in Kafka raises an error of ours in the same place: after the records
that Kafka's iterator has handed out by then. The differences to `core.segment.scan` are on purpose: that
finds damage, this repeats what a reader without checks makes of it (FileLogInputStream, DefaultRecordBatch,
AbstractLegacyRecordBatch).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafka_segments.core import formats
from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats import Body, Message, Prefix
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.records.batch_records import Rows, check_codec, iter_bodies
from kafka_segments.core.segment.records.legacy_messages import Messages
from kafka_segments.core.segment.scan.entry_scan import read_payload
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.errors import CorruptBatchError, DecompressionError, OptionError, TruncatedError

__all__ = ["HIGHEST_INT", "NEWEST", "EntryFrame", "EntryReader", "OldRecord"]

HIGHEST_INT = (1 << 31) - 1
_PIECE = 1 << 20
_MANY = 1 << 16
"""Records of a compressed batch that are held in memory; a batch of more is read twice."""
_MOST_REFUSED = 1023  # frames, one by one, before the scanner is tried again
NEWEST = max(formats.MAGICS)
_BYTES_PER_ITEM = 16
"""Bytes of messages that are parsed in the time of a record."""


@dataclass(frozen=True, slots=True)
class EntryFrame:
    """An entry by its first bytes alone."""

    position: int
    prefix: Prefix

    @property
    def is_batch(self) -> bool:
        """Whether Kafka reads it as a batch of magic 2, and not as a message."""
        return self.prefix.magic >= NEWEST

    @property
    def end_position(self) -> int:
        """Where the next entry begins."""
        return self.position + self.prefix.len_entry


class OldRecord(NamedTuple):
    """A message of magic 0 or 1 with what a wrapper decides; missing parts are None.

    Attributes:
        offset: its offset.
        timestamp: its timestamp.
        crc: as stored.
        is_valid: whether that is the checksum of its bytes.
        len_key: as stored, negative for null.
        len_value: as stored, negative for null.
        key: None for null, too.
        value: None for null, too.
    """

    offset: int
    timestamp: int
    crc: int
    is_valid: bool
    len_key: int | None
    len_value: int | None
    key: bytes | None
    value: bytes | None

    @classmethod
    def of(cls, message: Message, offset: int, timestamp: int) -> OldRecord:
        """Make it of a message that was read leniently."""
        sizes = message.len_key, message.len_value
        return cls(offset, timestamp, message.crc, message.is_valid, *sizes, message.key, message.value)


class EntryReader:
    """Reader of the entries of one log file; for one thread.

    Args:
        source: the file.
        rows: a faster decoder of records, if there is one.

    Raises:
        OptionError: the file is larger than a segment can be (FileRecords).
    """

    def __init__(self, source: Source, rows: Rows | None = None) -> None:
        self.source = source
        self._rows = rows
        self._bytes = Walk(source, check_crc=True, whole=True, reads_payloads=True)
        self._num_frames = self._num_refused = 0
        if rows is not None:
            rows.follow(self._bytes)
        # Values of control records are parsed field by field; other records are printed without a bound.
        self._control_items, self._counted = ItemBudget(DEFAULT_MAX_DECOMPRESSED), -1
        if source.size > HIGHEST_INT:
            detail = f"{source.size} bytes are more than a segment can have, {HIGHEST_INT}"
            raise OptionError(detail, path=source.name)

    def frame(self, position: int, end: int) -> EntryFrame | None:
        """The entry at a position; None if it is incomplete, which ends reading without an error.

        Args:
            position: where it begins.
            end: where the part of the file that is read ends.

        Raises:
            CorruptBatchError: a length that no entry has.
            ReadError: the file cannot be read there.
        """
        if position >= end - formats.LEN_PREFIX:
            return None
        prefix = formats.read_prefix(self._bytes.read(position, formats.LEN_PREFIX))
        if prefix.len_body < formats.MIN_LEN_BODY:
            detail = f"length {prefix.len_body} is below the least possible, {formats.MIN_LEN_BODY}"
            raise CorruptBatchError(detail, position=position, path=self.source.name)
        if prefix.len_entry > end - position:
            return None
        return EntryFrame(position, prefix)

    def sound(self, position: int, end: int) -> Iterator[Batch]:
        """Yield the headers of consecutive sound entries from a position on; none where none may follow.

        What the scanner refuses is read as a frame. After that it is tried again after twice as many entries
        as before, for each try reads a window.
        """
        self._num_frames += 1
        if self._num_frames < self._num_refused:
            return
        num_found = 0
        for entry in self._bytes.sound(position):
            if entry.end_position > end or entry.compression is None:
                break
            num_found += 1
            yield entry
        self._num_refused = 0 if num_found else min(2 * self._num_refused + 1, _MOST_REFUSED)
        self._num_frames = 0

    def last_offset(self, frame: EntryFrame) -> int:
        """The last offset of an entry by its header, that of a message by its first bytes."""
        return self.header(frame).last_offset if frame.is_batch else frame.prefix.base_offset

    def header(self, frame: EntryFrame) -> Batch:
        """The header of an entry. That of a batch is read from the bytes after a shorter one, too.

        Raises:
            TruncatedError: the file ends in the header.
            CorruptBatchError: a negative magic.
        """
        available = self.source.size - frame.position
        if frame.is_batch and available < formats.LEN_HEAD:
            detail = f"the file ends after {available} of the header's {formats.LEN_HEAD} bytes"
            raise TruncatedError(detail, position=frame.position, path=self.source.name)
        data = self._bytes.read(frame.position, min(formats.LEN_HEAD, available))
        return formats.read_header_leniently(data, self.source.name, frame.position, frame.prefix)

    def is_valid(self, batch: Batch) -> bool:
        """Whether an entry has all of a header, and its checksum is right."""
        if batch.magic >= NEWEST and batch.size < formats.LEN_HEAD:
            return False
        ofs_region, function = formats.checksum_region(min(batch.magic, NEWEST))
        value, position = 0, batch.position + ofs_region
        while position < batch.end_position:
            piece = self._bytes.read(position, min(_PIECE, batch.end_position - position))
            value = function(piece, value)
            position += len(piece)
        return value == batch.crc

    def records(self, batch: Batch) -> Iterator[list[Body]]:
        """The records of a batch of magic 2 or above, some thousands at once.

        Raises:
            KafkaFormatError: after the records before a bad one; of a compressed batch before the first.
        """
        if batch.size < formats.LEN_HEAD:
            detail = f"{batch.size} bytes are fewer than a header's {formats.LEN_HEAD}"
            raise CorruptBatchError(detail, position=batch.position, path=batch.path)
        count, num_read = batch.num_records or 0, 0
        if count == 0:  # bytes after the header are not looked at
            return
        if self._rows is not None and (ahead := self._rows.ahead(batch)) is not None:
            yield ahead
            return
        if batch.compression != "none":  # Kafka decodes them all before it hands out the first one
            opened = self._opened(batch, self._control_items if batch.is_control else None)
            if count <= _MANY:
                yield from [list(bodies) for bodies in opened]
                return
            for bodies in opened:
                deque(bodies, 0)
        last: list[Body] = []
        for bodies in self._opened(batch):
            found = list(bodies)
            num_read += len(found)
            if num_read == count:  # the last one is handed out once it is clear that nothing follows
                last.append(found.pop())
            yield found
        yield last

    def take_message(self, batch: Batch, key: bytes | None, value: bytes | None) -> None:
        """Count a key and a value that are parsed field by field; those that were compressed have a bound.

        Raises:
            DecompressionError: with those before it they are too many.
        """
        if batch.compression != "none":
            if batch.position != self._counted:
                self._counted = batch.position
                self._control_items.add(batch.size)
            num_bytes = len(key or b"") + len(value or b"")
            self._control_items.take(num_bytes // _BYTES_PER_ITEM, batch.compression)

    def _opened(self, batch: Batch, items: ItemBudget | None = None) -> Iterator[Iterable[Body]]:
        payload, most = read_payload(self._bytes, batch), DEFAULT_MAX_DECOMPRESSED
        return iter_bodies(batch, payload, max_decompressed=most, rows=self._rows, items=items)

    def old_records(self, batch: Batch) -> Iterator[OldRecord]:
        """The message of an entry of magic 0 or 1, or those in a wrapper.

        Raises:
            KafkaFormatError: before the first one if a wrapper cannot be opened, else after those before.
        """
        ahead = self._rows.ahead(batch) if self._rows is not None and batch.crc_valid else None
        for sound in ahead or ():
            if sound.key is None or sound.value is None:
                break  # any negative size stands for null, and is printed as it is stored
            sizes = len(sound.key), len(sound.value)
            yield OldRecord(sound.offset, sound.timestamp, batch.crc, True, *sizes, sound.key, sound.value)
            return
        body = read_payload(self._bytes, batch)
        if batch.compression == "none":
            message = formats.read_message_leniently(body)
            yield OldRecord.of(message, batch.last_offset, message.timestamp)
            return
        check_codec(batch)
        wrapper = Messages(batch, body, max_decompressed=DEFAULT_MAX_DECOMPRESSED, check_crc=False)
        is_append_time = batch.timestamp_type == "LogAppendTime"
        for offset, inner in wrapper.bodies():
            message = formats.read_message_leniently(inner)
            if message.codec:
                detail = f"the message of offset {offset} inside a wrapper is compressed itself"
                raise DecompressionError(detail, position=batch.position, path=batch.path)
            is_overridden = is_append_time and message.magic == 1
            timestamp = batch.max_timestamp if is_overridden else message.timestamp
            yield OldRecord.of(message, offset, timestamp)
