"""Messages of an entry of magic 0 or 1: the entry itself, or those in a wrapper.

Strategy: a wrapper's decompressed value is read twice. First its frames alone, for the number of messages and
the offset of the last one: in magic 1 inner offsets are relative to that. Then message by message, so that
those before a damaged one are delivered, and only one is in memory. Kafka's rules are in
AbstractLegacyRecordBatch.DeepRecordsIterator and LegacyRecord.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from zlib import crc32

from kafka_segments.core import formats
from kafka_segments.core.codecs import decompress
from kafka_segments.core.codecs.bounds import ItemBudget, content_bound
from kafka_segments.core.formats import LEN_LOG_OVERHEAD, Message
from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.errors import ChecksumMismatchError, CorruptBatchError, KafkaFormatError

__all__ = ["Messages", "iter_frames"]

Data = bytes | memoryview


class Messages:
    """Messages of one entry.

    Args:
        batch: its header, with a valid codec.
        body: everything after the entry's length field.
        max_decompressed: bytes that its value may decompress to.
        check_crc: verify the checksums of messages in a wrapper; that of the entry was verified before.
        items: counts messages, where a pass reads several wrappers.

    Attributes:
        batch: the header, with the first offset and the number of messages of a wrapper.

    Raises:
        DecompressionError: the value does not decompress, or to more than `max_decompressed`.
        CorruptBatchError: the entry cannot be read, has no value, no messages in it, or an offset below the
            last of theirs.
    """

    def __init__(
        self,
        batch: Batch,
        body: Data,
        *,
        max_decompressed: int,
        check_crc: bool,
        items: ItemBudget | None = None,
    ) -> None:
        self.batch = batch
        self._check_crc = check_crc
        try:
            self._outer = formats.read_message(body, batch.last_offset)
            self._inner: Data | None = None
            if batch.compression != "none":
                self._open(max_decompressed, items or ItemBudget(max_decompressed))
        except KafkaFormatError as error:
            raise self._located(error) from error.__cause__

    def _open(self, max_decompressed: int, items: ItemBudget) -> None:
        value, codec = self._outer.value, self.batch.compression
        if value is None or codec is None:
            raise CorruptBatchError("a compressed message without a value")
        max_size = content_bound(len(value), max_decompressed)
        self._inner = decompress(codec, value, max_size=max_size, magic=self.batch.magic)
        first = last = None
        count = 0
        items.add(self.batch.size)
        num_left = len(self._inner)
        for offset, body in iter_frames(self._inner):
            num_left -= LEN_LOG_OVERHEAD + len(body)
            first = offset if first is None else first
            last = offset
            count += 1
            items.take(1, codec)
        if first is None or last is None:
            raise CorruptBatchError("a compressed message with no messages in it")
        self._base = self._base_offset(last)
        first = formats.wrap_long(self._base + first)
        self.batch = replace(self.batch, base_offset=first, num_records=count, num_left=num_left)

    def _base_offset(self, last: int) -> int:
        """Return what is added to the inner offsets; 0 if they are absolute."""
        offset = self.batch.last_offset
        if self.batch.magic == 0 or offset == 0:  # old versions of librdkafka left it at 0
            return 0
        if offset < last:
            raise CorruptBatchError(
                f"a compressed message of offset {offset}, which is below that of the last one in it, {last}"
            )
        return offset - last

    def bodies(self) -> Iterator[tuple[int, Data]]:
        """Yield offset and body of each message in a wrapper, which is not looked at; of none without one.

        Raises:
            CorruptBatchError: an impossible size.
        """
        for relative, body in iter_frames(self._inner or b""):
            yield formats.wrap_long(self._base + relative), body

    def records(self) -> Iterator[Record]:
        """Yield the records, in order.

        Raises:
            CorruptBatchError: an inner message cannot be read, or is compressed; after those before it.
            ChecksumMismatchError: inner messages have wrong checksums; after all the others.
        """
        if self._inner is None:
            yield self._record(self._outer)
            return
        try:
            yield from self._inner_records()
        except KafkaFormatError as error:
            raise self._located(error) from error.__cause__

    def _inner_records(self) -> Iterator[Record]:
        wrong: list[str] = []
        num_wrong = 0
        last_sound = next_sound = None
        for number, (offset, body) in enumerate(self.bodies(), start=1):
            try:
                message = formats.read_inner_message(body, offset)
            except CorruptBatchError as error:
                raise CorruptBatchError(f"inner message {number} cannot be read: {error.detail}") from error
            if message.codec:
                what = f"inner message {number} is compressed itself, which Kafka refuses"
                raise CorruptBatchError(f"{what}: every replica has the same", is_in_every_copy=True)
            found = crc32(message.crc_region) if self._check_crc else message.crc
            if found != message.crc:
                num_wrong += 1
                wrong = wrong or [f"offset {offset}: stored {message.crc:#010x}, computed {found:#010x}"]
                next_sound = None
                continue
            if not wrong:
                last_sound = offset
            elif next_sound is None:
                next_sound = offset
            yield self._record(message)
        if wrong:
            mismatch = ChecksumMismatchError(f"inner messages with wrong checksums: {num_wrong}; {wrong[0]}")
            mismatch.between = last_sound, next_sound
            raise mismatch

    def _record(self, message: Message) -> Record:
        """Convert a message to a record; magic 1 takes timestamp type and append time from the wrapper."""
        batch = self.batch
        timestamp, timestamp_type = message.timestamp, message.timestamp_type
        # As DeepRecordsIterator, for messages of magic 1 only.
        if message.magic == 1:
            timestamp_type = batch.timestamp_type
            if timestamp_type == "LogAppendTime":
                timestamp = batch.max_timestamp
        return Record(
            position=batch.position,
            offset=message.offset,
            timestamp=timestamp,
            timestamp_type=timestamp_type,
            sequence=-1,
            key=message.key,
            value=message.value,
            headers=(),
            control=None,
        )

    def _located(self, error: KafkaFormatError) -> KafkaFormatError:
        return error.with_context(position=self.batch.position, path=self.batch.path)


def iter_frames(data: Data) -> Iterator[tuple[int, Data]]:
    """Yield offset and body of each message; one truncated at the end is ignored, as in Kafka.

    Raises:
        CorruptBatchError: an impossible size.
    """
    view, least = memoryview(data), formats.MIN_LEN_BODY
    position, frames = 0, formats.FrameReader(data)
    while len(view) - position >= LEN_LOG_OVERHEAD:
        offset, len_body = frames.read(position)
        if len_body < least:
            raise CorruptBatchError(
                f"an inner message claims {len_body} bytes, less than any message can have"
            )
        end = position + LEN_LOG_OVERHEAD + len_body
        if end > len(view):
            return
        yield offset, view[position + LEN_LOG_OVERHEAD : end]
        position = end
