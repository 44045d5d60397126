"""Segments that are recompressed, with everything else as it was.

Strategy: a payload is decompressed and compressed as it is, so that no byte of a record changes; the header
gets another codec, length and checksum. Records are not decoded, but for messages in a wrapper of magic 0 or
1 that is to be without compression, which are then entries of their own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from kafka_segments.core.codecs import (
    CODEC_NAMES,
    DEFAULT_MAX_DECOMPRESSED,
    check_level,
    codec_named,
    compress,
    decompress,
)
from kafka_segments.core.codecs.bounds import content_bound
from kafka_segments.core.formats.entries import Batch, Damage, Record
from kafka_segments.core.formats.on_damage import OnDamage, check_on_damage, handle_damage
from kafka_segments.core.io.storage import SourceLike
from kafka_segments.core.segment.records.batch_records import check_codec
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import DecodeError, EncodeError, OptionError

__all__ = ["Recompression", "RecompressionTally", "recompress"]

_PRODUCER, _UNCOMPRESSED, _NONE = "producer", "uncompressed", "none"  # BrokerCompressionType's, and a codec's


@dataclass(slots=True)
class RecompressionTally:
    """Counts, bytes and CPU time of a recompression; complete when its last bytes were taken.

    Attributes:
        codec: as it was asked for.
        level: of compression; None is Kafka's default.
        num_entries: batches, messages and wrappers that were read.
        num_untouched: of those, copied byte for byte.
        num_rewritten: of those, recompressed.
        num_dropped: of those, left out, since they do not decompress.
        num_damaged: damaged regions, those included.
        num_bytes_before: bytes of the entries that were read.
        num_bytes_after: bytes that were written.
        decompress_seconds: CPU time.
        compress_seconds: likewise.
    """

    codec: str
    level: int | None
    num_entries: int = 0
    num_untouched: int = 0
    num_rewritten: int = 0
    num_dropped: int = 0
    num_damaged: int = 0
    num_bytes_before: int = 0
    num_bytes_after: int = 0
    decompress_seconds: float = 0.0
    compress_seconds: float = 0.0

    def to_jsonl(self) -> str:
        """Return it as a JSON line, `{"type":"recompression",...}`."""
        return json.dumps({"type": "recompression"} | asdict(self), separators=(",", ":")) + "\n"

    def to_text(self) -> str:
        """Return it as text for people."""
        ratio = f" ({self.num_bytes_after / self.num_bytes_before:.3f})" if self.num_bytes_before else ""
        level = "" if self.level is None else f":{self.level}"
        return (
            f"{self.num_entries} entries read: {self.num_untouched} copied as they were, "
            f"{self.num_rewritten} recompressed, {self.num_dropped} dropped\n{self.codec}{level}: "
            f"{self.num_bytes_before} bytes became {self.num_bytes_after}{ratio}; "
            f"{self.decompress_seconds:.3f} s CPU to decompress, {self.compress_seconds:.3f} s to compress\n"
        )


def recompress(
    source: SourceLike | Segment,
    codec: str,
    *,
    level: int | None = None,
    on_damage: OnDamage = "raise",
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Recompression:
    """Compress the batches of a segment with another codec, as a topic's `compression.type` would.

    Records, offsets and all fields of headers but codec, length and checksum stay as they are. Copied byte
    for byte are control batches, which brokers never compress, batches without records, batches that have the
    codec already if no level is given, and messages of magic 0 and 1 without a wrapper.
    A wrapper stays a wrapper; without compression it becomes the messages in it. Records of batches are not
    decoded: what disagrees inside one with a right checksum stays in it. A batch that does not decompress
    is damage, and left out. Needs the extra `construct`.

    Args:
        source: as for `open_segment`, or an open segment, which stays open.
        codec: "producer" (each batch keeps its own: a copy of what is sound), "uncompressed" or "none", or
            one of `codecs.CODEC_NAMES`.
        level: of compression, as Kafka's `compression.<codec>.level`; None is Kafka's default.
        on_damage: "raise", "skip", or a function to call with each `Damage`; sound batches are written.
        max_decompressed: bytes that one batch may decompress to; of an open segment, too.

    Raises:
        OptionError: an unknown codec, one without this level, or an invalid `on_damage`.
        MissingCodecError: the codec's package is not installed.

    Example:
        >>> recompress(b"", "zstd", level=19).to_bytes()
        b''
    """
    known = (_PRODUCER, _UNCOMPRESSED, _NONE, *CODEC_NAMES)
    if codec not in known:
        raise OptionError(f"codec {codec!r}: give one of {', '.join(known)}")
    if codec in CODEC_NAMES:
        check_level(codec, level)
        codec_named(codec, 2)  # an error now where its package is missing
    elif level is not None:
        raise OptionError(f"codec {codec!r} has no level, and {level} was given")
    check_on_damage(on_damage)
    return Recompression(source, codec, level, on_damage, max_decompressed)


class Recompression:
    """Bytes of a segment that is recompressed; see `recompress`. Iterate it once, or call `to_bytes`.

    Attributes:
        tally: on the bytes taken so far; complete at the end.
    """

    def __init__(
        self,
        source: SourceLike | Segment,
        codec: str,
        level: int | None,
        on_damage: OnDamage,
        max_decompressed: int,
    ) -> None:
        self.tally = RecompressionTally(codec, level)
        self._source, self._on_damage, self._max_decompressed = source, on_damage, max_decompressed
        self._codec = _NONE if codec == _UNCOMPRESSED else codec

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over entries, or messages of a wrapper.

        Raises:
            KafkaFormatError: damage, if `on_damage` is "raise".
            EncodeError: a wrapper of magic 0 or 1 that is to be compressed with zstd.
            MissingExtraError: something must be recompressed, but construct is not installed.
        """
        source, open_ = self._source, partial(open_segment, max_decompressed=self._max_decompressed)
        with nullcontext(source) if isinstance(source, Segment) else open_(source) as segment:
            for event in segment.iter_entries("skip"):
                if isinstance(event, Damage):
                    self._damaged(event)
                elif isinstance(event, Batch) and event.crc_valid is not False:
                    self.tally.num_entries += 1
                    self.tally.num_bytes_before += event.size
                    data = self._written(segment, event)
                    self.tally.num_bytes_after += len(data)
                    if data:
                        yield data

    def to_bytes(self) -> bytes:
        """Return all bytes; raises as iterating does."""
        return b"".join(self)

    def _damaged(self, damage: Damage) -> None:
        self.tally.num_damaged += 1
        tuple(handle_damage(damage, self._on_damage))

    def _written(self, segment: Segment, batch: Batch) -> bytes:
        """The bytes of an entry in its new form; none of one that does not decompress."""
        if not self._has_to_change(batch):
            self.tally.num_untouched += 1
            return segment.read_entry(batch)
        try:
            check_codec(batch)
            if batch.magic < 2 and self._codec == _NONE:
                return self._messages(segment, batch)
            data = self._recoded(batch, segment.read_entry(batch))
        except DecodeError as error:
            self.tally.num_dropped += 1
            placed = error.with_context(position=batch.position, path=batch.path)
            self._damaged(segment.damage_of(batch, placed, None))
            return b""
        self.tally.num_rewritten += 1
        return data

    def _has_to_change(self, batch: Batch) -> bool:
        is_single = batch.magic < 2 and batch.compression == _NONE
        if self._codec == _PRODUCER or batch.is_control or batch.num_records == 0 or is_single:
            return False
        return batch.compression != self._codec or self.tally.level is not None

    def _recoded(self, batch: Batch, entry: bytes) -> bytes:
        from kafka_segments.core.formats.payload_building import payload_of, with_payload

        if batch.magic < 2 and self._codec == "zstd":
            detail = f"zstd cannot be in a wrapper of magic {batch.magic}: Kafka has it since magic 2"
            raise EncodeError(detail, position=batch.position, path=batch.path)
        stored = payload_of(entry)
        payload: bytes | memoryview = stored
        if batch.compression != _NONE:
            payload = self._timed("decompress_seconds", partial(self._decompressed, batch, stored))
        if self._codec != _NONE:
            squeeze = partial(compress, self._codec, payload, level=self.tally.level, magic=batch.magic)
            payload = self._timed("compress_seconds", squeeze)
        return with_payload(entry, ("none", *CODEC_NAMES).index(self._codec), bytes(payload))

    def _messages(self, segment: Segment, batch: Batch) -> bytes:
        """The messages of a wrapper, those before a damaged one too."""
        from kafka_segments.core.formats.payload_building import build_message

        found: list[bytes] = []
        last: Record | None = None
        records = segment.iter_records(batch)
        try:
            while (record := self._timed("decompress_seconds", lambda: next(records, None))) is not None:
                last = record
                found.append(build_message(record, batch.magic))
        except DecodeError as error:
            self.tally.num_dropped += not found
            self._damaged(segment.damage_of(batch, error, None if last is None else last.offset))
        self.tally.num_rewritten += bool(found)
        return b"".join(found)

    def _decompressed(self, batch: Batch, payload: memoryview) -> bytes:
        most = content_bound(len(payload), self._max_decompressed)
        return decompress(batch.compression or _NONE, payload, max_size=most, magic=batch.magic)

    def _timed(self, name: str, work: Callable[[], Any]) -> Any:
        started = time.thread_time()
        try:
            return work()
        finally:
            setattr(self.tally, name, getattr(self.tally, name) + time.thread_time() - started)
