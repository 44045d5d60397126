"""Messages that a damaged wrapper holds byte for byte, which are no entries of the segment.

Strategy: codecs leave bytes as they are where nothing repeats itself (literals of lz4 and snappy, stored
blocks of lz4 and gzip), so a message inside a wrapper can look like an entry: length, magic and checksum are
right. If the wrapper is cut off, or its length is wrong, the search for the next entry would take it for one,
with an offset that is relative, or made of the codec's own bytes. What belongs to a wrapper is told by proof:
its payload is followed from the beginning, without contradiction, to the very bytes in question; and there,
behind sound messages only, a message begins. A true entry behind it is no part of it: the payload ends first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property

from kafka_segments import formats
from kafka_segments.codecs import CODEC_NAMES
from kafka_segments.codecs.literals import Run, trace
from kafka_segments.errors import CorruptBatchError, MissingExtraError, ReadError
from kafka_segments.formats import checksum
from kafka_segments.formats.entries import Batch
from kafka_segments.io.storage import BLOCK_SIZE, Source
from kafka_segments.segment.legacy_messages import iter_frames

__all__ = ["NestedMessages"]

_LARGEST = 16 << 20
"""Bytes of a wrapper, and of its content, that are looked at."""

_LEN_SLOW = 256 << 10
"""Bytes of content from which on machine code is worth its while."""


class NestedMessages:
    """What is inside an entry that is damaged, if it is a wrapper. Nothing is read until somebody asks.

    Args:
        source: the segment's bytes.
        position: where the entry begins.
    """

    def __init__(self, source: Source, position: int) -> None:
        self._source = source
        self._position = position
        self._len_followed = 0  # bytes of the payload
        self._runs: list[Run] = []
        self._messages: dict[int, int] = {}  # sizes of sound ones, by place in the content
        self._len_sound = 0  # bytes of the content that they fill
        self._end = position  # up to here there is nothing but the wrapper

    def end_of(self, batch: Batch) -> int | None:
        """Where the search goes on behind what looks like an entry, if that is a message of the wrapper.

        All sound messages that were followed are passed over at once: what the payload was followed through
        without contradiction is the wrapper's.
        """
        return max(batch.end_position, self._end) if self._holds(batch) else None

    def _holds(self, batch: Batch) -> bool:
        if self._head is None:
            return False
        magic, codec, start = self._head
        self._follow(codec, magic, batch.end_position - start)
        ofs_size = formats.OFS_LEN_BODY
        place, size = batch.position + ofs_size - start, batch.size - ofs_size
        at = bisect_right(self._runs, place, key=lambda run: run.place) - 1
        if at < 0 or place + size > self._runs[at].place + self._runs[at].size:
            return False
        return self._messages.get(self._runs[at].to + place - self._runs[at].place - ofs_size) == batch.size

    @cached_property
    def _head(self) -> tuple[int, str, int] | None:
        """The wrapper's magic and codec, and the position of its payload; None if it is none."""
        start = self._position + formats.LEN_LOG_OVERHEAD
        found = formats.find_value(self._read(start, BLOCK_SIZE))
        if found is None or not 1 <= found[1] <= len(CODEC_NAMES):
            return None
        return found[0], CODEC_NAMES[found[1] - 1], start + found[2]

    def _follow(self, codec: str, magic: int, least: int) -> None:
        """Follow that much of the payload; in doubled steps, so that many questions cost not much more."""
        if least <= self._len_followed or self._len_followed >= _LARGEST or self._head is None:
            return
        self._len_followed = min(max(least, 2 * self._len_followed), _LARGEST)
        payload = self._read(self._head[2], self._len_followed)
        content, self._runs = trace(codec, payload, magic, _LARGEST)
        follow = _sound_messages if len(content) < _LEN_SLOW else _follow_fast
        end = self._len_sound = follow(content, self._len_sound, self._messages)
        at = bisect_left(self._runs, end, key=lambda run: run.to) - 1
        if at >= 0:
            run = self._runs[at]
            self._end = self._head[2] + run.place + min(run.size, end - run.to)

    def _read(self, start: int, size: int) -> bytes:
        """Bytes of the source; none where they cannot be read."""
        try:
            return bytes(self._source.read(start, max(0, min(size, self._source.size - start))))
        except ReadError:
            return b""


def _follow_fast(content: bytes, place: int, found: dict[int, int]) -> int:
    """The same as `_sound_messages`, by machine code where that can be had."""
    try:
        from kafka_segments.segment.scan.compiled_search import sound_messages

        return sound_messages(content, place, found)
    except (ImportError, MissingExtraError):
        return _sound_messages(content, place, found)


def _sound_messages(content: bytes, place: int, found: dict[int, int]) -> int:
    """Note place and size of the sound messages from a place on; returns where the first other one begins."""
    try:
        for _offset, body in iter_frames(memoryview(content)[place:]):
            message = formats.read_message(body, 0)
            if checksum.crc32(message.crc_region) != message.crc:
                break
            size = formats.LEN_LOG_OVERHEAD + len(body)
            found[place] = size
            place += size
    except CorruptBatchError:
        pass  # up to here
    return place
