"""Codec gzip (1): consecutive RFC 1952 members, read as by Java's GZIPInputStream.

After a member Java looks for another. Bytes without a valid header end the stream silently, and so do up to
18 trailing bytes (fewer than the smallest member; Java ignores them unless its 8 KiB buffer ends among them);
a damaged member after a valid header is an error. Reserved flag bits are ignored. zlib differs in these
points, so that it only reads the deflate stream, and the container is read here.
"""

from __future__ import annotations

import zlib
from typing import Any

from kafka_segments.core.codecs.bounds import BoundedOutput, malformed
from kafka_segments.core.codecs.literals import Steps
from kafka_segments.errors import DecompressionError

__all__ = ["CODEC", "LEN_FIXED_HEADER", "MEMBER_MAGIC", "PLAIN_START", "GzipCodec", "steps"]

# RFC 1952, section 2.3. No schema: it is gzip's container, not a format of Kafka's.
MEMBER_MAGIC = b"\x1f\x8b\x08"  # ID1, ID2, CM = deflate
PLAIN_START = int.from_bytes(MEMBER_MAGIC + b"\0", "little")  # as an integer; without flags
_OFS_FLAGS = 3
LEN_FIXED_HEADER = 10
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16
_LEN_EXTRA_LENGTH = 2
_LEN_HEADER_CRC = 2
_LEN_TRAILER_FIELD = 4  # CRC-32, then the size modulo 2^32
_U4 = 0xFFFF_FFFF

_WBITS_GZIP = zlib.MAX_WBITS + 16  # selects gzip's container

_LEN_LONGEST_IGNORED = 18  # GZIPInputStream.readTrailer: "n > 26", the member's 8-byte trailer included
_LEN_FIRST_STEP = 4096
_LEN_LARGEST_STEP = 1 << 20
_LEN_STORED = 2  # RFC 1951, section 3.2.4: a stored block's length, and its complement
_LEN_SMALL = 64 << 10
_LEN_PROBE, _LEN_LATER_PROBE = 9, 32
"""Bytes inflated at a time in search of stored blocks: a stored message, of 18 and more, fills such a piece.

zlib stores few bytes in a block of their own at the end of a stream only, so pieces are longer after 64 KiB,
up to the last bytes: a payload that is cut off ends in any block.
"""
_NUM_ALIKE, _LEN_PER_ALIKE = 1000, 512
"""Bound on stored pieces, and bytes for each further one: zlib makes few and long blocks."""


class GzipCodec:
    """Codec by Python's zlib, member by member."""

    name = "gzip"
    errors = (zlib.error,)

    def decompress(self, data: memoryview, max_size: int) -> bytes:
        """Decompress a payload, as `kafka_segments.core.codecs.decompress` does."""
        output = BoundedOutput(self.name, max_size)
        position = self._decompress_member(data, self._skip_header(data, 0), output)
        while len(data) - position > _LEN_LONGEST_IGNORED:
            try:
                position = self._skip_header(data, position)
            except DecompressionError:
                break  # ends the stream silently, as in Java
            position = self._decompress_member(data, position, output)
        return output.join()

    def compress(self, data: memoryview, level: int) -> bytes:
        """Write one member without options, as Java's GZIPOutputStream."""
        deflater = zlib.compressobj(level, wbits=_WBITS_GZIP)
        return deflater.compress(data) + deflater.flush()

    def _decompress_member(self, data: memoryview, position: int, output: BoundedOutput) -> int:
        """Add the content of the member whose header ends at `position`; return the position after it."""
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        crc = 0
        size_before = output.size
        # zlib copies unused input: small first steps keep a payload of many tiny members linear.
        len_step = _LEN_FIRST_STEP
        while not inflater.eof:
            step = data[position : position + len_step]
            if not step:
                raise malformed(self.name, "it ends within a member")
            # One byte above the bound distinguishes a full output from one that exceeds it.
            chunk = inflater.decompress(step, output.room + 1)
            output.add(chunk)
            crc = zlib.crc32(chunk, crc)
            position += len(step)
            len_step = min(2 * len_step, _LEN_LARGEST_STEP)
        position -= len(inflater.unused_data)
        return self._check_trailer(data, position, (crc, (output.size - size_before) & _U4))

    def _check_trailer(self, data: memoryview, position: int, expected: tuple[int, int]) -> int:
        for value in expected:
            field = data[position : position + _LEN_TRAILER_FIELD]
            if len(field) < _LEN_TRAILER_FIELD:
                raise malformed(self.name, "it ends within a member's trailer")
            if int.from_bytes(field, "little") != value:
                raise malformed(self.name, "a member's trailer (CRC-32 and size) disagrees with its content")
            position += _LEN_TRAILER_FIELD
        return position

    def _skip_header(self, data: memoryview, start: int) -> int:
        """Check the member header at `start`; return the position after it."""
        position = start + LEN_FIXED_HEADER
        if len(data) < position or data[start : start + len(MEMBER_MAGIC)] != MEMBER_MAGIC:
            raise malformed(self.name, "it does not begin with a gzip member")
        flags = data[start + _OFS_FLAGS]
        if flags & _FEXTRA:
            position += _LEN_EXTRA_LENGTH + _u2(data, position)
        for flag in (_FNAME, _FCOMMENT):
            if flags & flag:
                position = _after_nul(data, position)
        if flags & _FHCRC:
            if _u2(data, position) != zlib.crc32(data[start:position]) & 0xFFFF:
                raise malformed(self.name, "the checksum of a member header is wrong")
            position += _LEN_HEADER_CRC
        if position > len(data):
            raise malformed(self.name, "it ends within a member header")
        return position


def steps(payload: bytes, _magic: int, content: bytearray) -> Steps:
    """Yield literal runs (see `literals`): the content of stored blocks.

    Raises:
        DecompressionError: more stored blocks than any zlib makes.
    """
    inflater = zlib.decompressobj(wbits=31)
    place = num_alike = reported = 0
    last = len(payload) - 2 * _LEN_LATER_PROBE
    while place < len(payload) and not inflater.eof:
        piece = payload[place : place + (_LEN_LATER_PROBE if _LEN_SMALL <= place < last else _LEN_PROBE)]
        out = inflater.decompress(piece)
        content += out
        place += len(piece)
        if out == piece:
            num_alike += 1
            if num_alike > _NUM_ALIKE + place // _LEN_PER_ALIKE:
                raise malformed("gzip", "too many bytes come out as they went in")
            blocks = _stored_blocks(payload, place, len(piece), content)
            for _begin, end in blocks:
                following = _after_stored(inflater, payload[place:end])
                if following is not None:
                    inflater = following
                    content += payload[place:end]
                    place = min(end, len(payload))
                    begin = min(blocks)[0]  # what is stored may look like the header of a longer block
                    yield begin, place - begin
                    break
        if len(content) - reported > _LEN_FIRST_STEP:
            reported = len(content)
            yield place, 0


def _stored_blocks(payload: bytes, place: int, size: int, content: bytearray) -> list[tuple[int, int]]:
    """Ranges of stored blocks that may contain the bytes before a position, the longest first."""
    found = []
    for begin in range(max(place - size - _LEN_LATER_PROBE + 1, 2 * _LEN_STORED), place - size + 1):
        length = _u2(payload, begin - 2 * _LEN_STORED)
        is_header = length ^ 0xFFFF == _u2(payload, begin - _LEN_STORED)
        if is_header and begin + length >= place and payload[begin:place] == content[begin - place :]:
            found.append((begin, begin + length))
    return sorted(found, key=lambda one: one[1], reverse=True)


def _after_stored(inflater: Any, rest: bytes) -> Any:
    """Return a copy of the inflater that has read the rest of a stored block; None if it is not stored."""
    following = inflater.copy()
    try:
        return following if following.decompress(rest) == rest else None
    except zlib.error:
        return None


def _u2(data: bytes | memoryview, position: int) -> int:
    return int.from_bytes(data[position : position + 2], "little")


def _after_nul(data: memoryview, position: int) -> int:
    while position < len(data) and data[position]:
        position += 1
    return position + 1


CODEC = GzipCodec()
