"""Messages that a damaged wrapper holds byte for byte, which are no entries of the segment.

Strategy: codecs leave bytes as they are where nothing repeats itself (literals of lz4 and snappy, stored
blocks of lz4 and gzip), so a message inside a wrapper can look like an entry: length, magic and checksum are
right. If the wrapper is cut off, or its length is wrong, the search for the next entry would take it for one,
with an offset that is relative, or made of the codec's own bytes. What belongs to a wrapper is told by proof:
its payload is followed from the beginning, without contradiction, to the very bytes in question; and there,
behind sound messages only, a message begins. A true entry behind it is no part of it: the payload ends first.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from kafka_segments import checksum, layout
from kafka_segments.compression import CODEC_NAMES
from kafka_segments.compression.tracing import Run, trace
from kafka_segments.entries import Batch
from kafka_segments.errors import CorruptBatchError, ReadError
from kafka_segments.messages import iter_frames
from kafka_segments.storage import BLOCK_SIZE, Source

__all__ = ["Enclosed"]

_LARGEST = 16 << 20
"""Bytes of a wrapper, and of its content, that are looked at."""


class Enclosed:
    """What is inside an entry that is damaged, if it is a wrapper. Nothing is read until somebody asks.

    Args:
        source: the segment's bytes.
        position: where the entry begins.
    """

    def __init__(self, source: Source, position: int) -> None:
        self._source = source
        self._position = position

    def holds(self, batch: Batch) -> bool:
        """Whether what looks like an entry is a message of the wrapper."""
        start, runs, messages = self._inside
        ofs_size = layout.length_digits()[0][0]
        place, size = batch.position + ofs_size - start, batch.size - ofs_size
        at = bisect_right(runs, place, key=lambda run: run.place) - 1
        if at < 0 or place + size > runs[at].place + runs[at].size:
            return False
        return messages.get(runs[at].to + place - runs[at].place - ofs_size) == batch.size

    @cached_property
    def _inside(self) -> tuple[int, list[Run], dict[int, int]]:
        """Where the payload begins, its runs, and the messages in its content by place, with their sizes."""
        nothing: tuple[int, list[Run], dict[int, int]] = 0, [], {}
        start = self._position + layout.LEN_LOG_OVERHEAD
        try:
            found = layout.find_value(self._read(start, BLOCK_SIZE))
            if found is None or not 1 <= found[1] <= len(CODEC_NAMES):
                return nothing
            magic, codec, ofs_value = found
            payload = self._read(start + ofs_value, _LARGEST)
        except ReadError:
            return nothing
        content, runs = trace(CODEC_NAMES[codec - 1], payload, magic, _LARGEST)
        return start + ofs_value, runs, _sound_messages(content)

    def _read(self, start: int, size: int) -> bytes:
        return bytes(self._source.read(start, max(0, min(size, self._source.size - start))))


def _sound_messages(content: bytes) -> dict[int, int]:
    """Place and size of the messages up to the first that is not sound."""
    found: dict[int, int] = {}
    place = 0
    try:
        for _offset, body in iter_frames(content):
            message = layout.read_message(body, 0)
            if checksum.crc32(message.crc_region) != message.crc:
                break
            size = layout.LEN_LOG_OVERHEAD + len(body)
            found[place] = size
            place += size
    except CorruptBatchError:
        pass  # up to here
    return found
