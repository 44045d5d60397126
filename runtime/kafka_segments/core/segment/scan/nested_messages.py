"""Messages inside a damaged wrapper that look like entries of the segment.

Strategy: codecs copy bytes that do not repeat (literals of lz4 and snappy, stored blocks of lz4 and gzip), so
a message inside a wrapper can look like an entry: length, magic and checksum are right. If the wrapper is
truncated, or its length is wrong, the search for the next entry would take that message for one, with a
relative offset, or one made of the codec's own bytes. Membership is proven: the payload is followed from its
beginning, without contradiction, to the bytes in question; and there, after sound messages only, a message
begins. A true entry after the wrapper is never taken for a part of it: the payload ends first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from operator import sub

from kafka_segments.core import formats
from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.core.codecs.literals import Run, trace
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.storage import BLOCK_SIZE, Source, open_source
from kafka_segments.core.segment.scan.scanner import HeaderScan, returned
from kafka_segments.errors import ReadError
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["NestedMessages", "sound_messages"]

_LARGEST = 16 << 20
"""Bytes of a wrapper, and of its content, that are followed at most."""


class NestedMessages:
    """Messages in a damaged entry, if it is a wrapper; read on demand.

    Args:
        source: the segment's bytes.
        position: where the entry begins.
    """

    def __init__(self, source: Source, position: int) -> None:
        self._source = source
        self._position = position
        self._len_followed = 0  # bytes of the payload
        self._runs: list[Run] = []
        self._messages: dict[int, int] = {}  # sizes of sound messages, by position in the content
        self._len_sound = 0  # bytes of the content up to the end of the sound messages
        self._end = position  # up to here all bytes belong to the wrapper

    def end_of(self, batch: Batch) -> int | None:
        """Return where the search continues if `batch` is a message of the wrapper, else None.

        That is after all sound messages that were followed: what the payload was followed through without
        contradiction belongs to the wrapper. Not the last bytes: zeros of a true entry's offset may complete
        a message that is cut off.
        """
        return max(batch.end_position, self._end) - formats.OFS_LEN_BODY if self._holds(batch) else None

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
        """Magic and codec of the wrapper, and position of its payload; None if it is not a wrapper."""
        start = self._position + formats.LEN_LOG_OVERHEAD
        found = formats.find_value(self._read(start, BLOCK_SIZE))
        if found is None or not 1 <= found[1] <= len(CODEC_NAMES):
            return None
        return found[0], CODEC_NAMES[found[1] - 1], start + found[2]

    def _follow(self, codec: str, magic: int, least: int) -> None:
        """Follow the payload up to `least` bytes, in doubled steps: many calls cost little more than one."""
        if least <= self._len_followed or self._len_followed >= _LARGEST or self._head is None:
            return
        self._len_followed = min(max(least, 2 * self._len_followed), _LARGEST)
        payload = self._read(self._head[2], self._len_followed)
        content, self._runs = trace(codec, payload, magic, _LARGEST)
        end = self._len_sound = sound_messages(content, self._len_sound, self._messages)
        at = bisect_left(self._runs, end, key=lambda run: run.to) - 1
        if at >= 0:
            run = self._runs[at]
            self._end = self._head[2] + run.place + min(run.size, end - run.to)

    def _read(self, start: int, size: int) -> bytes:
        """Read bytes of the source; empty if they are unreadable."""
        try:
            return bytes(self._source.read(start, max(0, min(size, self._source.size - start))))
        except ReadError:
            return b""


def sound_messages(content: bytes, place: int, found: dict[int, int]) -> int:
    """Add positions and sizes of consecutive sound messages to `found`; return where they end.

    Sound by header and checksum, as for the search: keys and values are not looked at.
    """
    scan = HeaderScan(open_source(content), kafka_log_segment, check_crc=True, whole=False)
    has_more = True
    while has_more:
        entries, _end, is_refused = returned(scan.scan(place))
        magics = entries.values("magic")
        num = next((at for at, magic in enumerate(magics) if magic >= 2), len(magics))
        starts, ends = entries.values("position")[:num], entries.values("end_position")[:num]
        found.update(zip(starts, map(sub, ends, starts), strict=True))
        place = ends[-1] if num else place
        has_more = 0 < num == len(magics) and not is_refused
    return place
