"""Open segments and their indexes, in any place and storage form, also in compressed chunks.

Strategy: a segment in chunks is read like any file. A chunk is decompressed at the first read of its bytes,
and the last two are cached, since readers go forward and look back a little. Their sizes are compared with
the manifest: a chunk of another size is unreadable, as a bad sector is.
"""

from __future__ import annotations

import base64
import binascii
import errno
import threading
from collections import OrderedDict
from contextlib import closing
from functools import partial
from itertools import accumulate

from kafka_segments.core import formats
from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED, decompress
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source, in_memory
from kafka_segments.core.segment.beside.index_lookup import (
    LEN_SMALL,
    OffsetLookup,
    TimeLookup,
    offsets_in,
    times_in,
)
from kafka_segments.core.segment.contents import LARGEST_SMALL
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import DecodeError, DecompressionError, KafkaFormatError, OptionError, ReadError
from kafka_segments.log.model import Chunks, StoredFile, StoredSegment

__all__ = [
    "NUM_REQUESTS",
    "ZSTD_CHUNKS",
    "Budget",
    "StoredPart",
    "chunk_sizes",
    "is_remote",
    "is_small",
    "open_beside",
    "open_file",
    "open_offsets",
    "open_segment_of",
    "open_stored",
    "open_times",
    "read_file",
]


NUM_REQUESTS = 32
"""Parallel requests to remote files."""


class Budget:
    """Bytes of segments that one planning may still scan."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._left = max_bytes

    def spend(self, file: StoredFile, position: int = 0) -> bool:
        """Return whether a file may be scanned from a position on, and subtract its bytes if so."""
        needed = max(0, file.size - position)
        if needed > self._left:
            return False
        self._left -= needed
        return True


def open_segment_of(
    places: Places,
    segment: StoredSegment,
    *,
    check_crc: bool = True,
    headers_only: bool = False,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Segment:
    """Open a segment; close it afterwards.

    Raises:
        KafkaFormatError: see `open_stored` and `open_segment`.
    """
    return open_segment(
        open_stored(places, segment),
        check_crc=check_crc,
        headers_only=headers_only,
        max_decompressed=max_decompressed,
        closes_source=True,
    )


def is_remote(file: StoredFile) -> bool:
    """Return whether reading a file takes requests over a network."""
    scheme, colon, _rest = file.path.partition(":/")
    return bool(colon) and scheme.isalnum() and scheme.lower() != "file"


def is_small(segment: StoredSegment) -> bool:
    """Return whether a segment is read faster than its indexes: small, local, and a file of its own."""
    return 0 < segment.size <= LARGEST_SMALL and segment.form == "plain" and not is_remote(segment.file)


def open_offsets(places: Places, segment: StoredSegment) -> OffsetLookup | None:
    """Open a segment's `.index`, None if it has none; close it afterwards.

    Raises:
        ReadError: it cannot be opened or read.
        CorruptIndexError: see `index_lookup.offsets_in`.
    """
    source = open_beside(places, segment, "index")
    return None if source is None else offsets_in(source, segment.base_offset)


def open_times(places: Places, segment: StoredSegment) -> TimeLookup | None:
    """Open a segment's `.timeindex`, as `open_offsets`.

    Raises:
        CorruptIndexError: see `index_lookup.times_in`.
    """
    source = open_beside(places, segment, "timeindex")
    return None if source is None else times_in(source, segment.base_offset)


ZSTD_CHUNKS = "zstd-chunks"
"""Storage form of segments that Aiven's tiered storage has compressed."""

MAX_LEN_FILE = 64 << 20
"""Maximum bytes of a file that is read at once."""
_MAX_LEN_CHUNK_SIZES = 10 << 20  # TransformedChunksDeserializer.MAX_DECOMPRESSED_SIZE
_NUM_KEPT = 2


class StoredPart:
    """Source of a part of another source, which is closed with it.

    Args:
        whole: the other source.
        name: for people.
        position: start of the part.
        size: of the part.
    """

    descriptor = -1
    is_memory = False

    def __init__(self, whole: Source, name: str, position: int, size: int) -> None:
        self.name, self.size = name, size
        self._whole, self._position = whole, position

    def read(self, position: int, size: int) -> bytes | memoryview:
        """See `Source`."""
        return self._whole.read(self._position + position, size)

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        """See `Source`."""
        return self._whole.window(self._position + position, size, buffer)

    def close(self) -> None:
        """See `Source`."""
        self._whole.close()


class _Chunked:
    descriptor = -1
    is_memory = False

    def __init__(self, whole: Source, chunks: Chunks, sizes: tuple[int, ...]) -> None:
        self.name, self.size = whole.name, chunks.size
        self._whole, self._len_chunk = whole, chunks.len_chunk
        self._sizes = sizes
        self._positions = [0, *accumulate(sizes)]
        self._kept: OrderedDict[int, bytes | KafkaFormatError] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, position: int, size: int) -> bytes | memoryview:
        if position + size > self.size:
            detail = f"{size} bytes at position {position} were requested, but the segment has {self.size}"
            raise ReadError(detail, position=self.size, path=self.name)
        parts: list[memoryview] = []
        end = position + size
        while position < end:
            at, begin = divmod(position, self._len_chunk)
            chunk = memoryview(self._chunk(at, position))
            part = chunk[begin : begin + end - position]
            parts.append(part)
            position += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:  # noqa: ARG002
        return self.read(position, size)

    def close(self) -> None:
        self._kept.clear()
        self._whole.close()

    def _chunk(self, at: int, position: int) -> bytes:
        """Return a decompressed chunk; `position`: the first byte to read, for errors."""
        with self._lock:
            if at not in self._kept:
                self._kept[at] = self._decompressed(at)
                if len(self._kept) > _NUM_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(at)
            found = self._kept[at]
        if isinstance(found, KafkaFormatError):
            reason = f"chunk {at}, stored at position {self._positions[at]}: {found.detail}"
            raise ReadError(reason, errno=errno.EIO, position=position, path=self.name) from found
        return found

    def _decompressed(self, at: int) -> bytes | KafkaFormatError:
        """Decompress a chunk, or return its error, for caching: the search after damage repeats reads."""
        expected = min(self._len_chunk, self.size - at * self._len_chunk)
        stored = self._whole.read(self._positions[at], self._sizes[at])
        try:
            found = decompress("zstd", stored, max_size=expected)
        except DecompressionError as error:
            error.__cause__ = error.__context__ = None  # their frames hold the chunk
            return error.with_traceback(None)
        if len(found) != expected:
            return DecompressionError(f"it has {len(found)} bytes, but {expected} according to the manifest")
        return found


def open_file(places: Places, file: StoredFile) -> Source:
    """Open a stored file or part of a file.

    Raises:
        ReadError: it does not exist any more, cannot be opened, or is shorter than it was.
    """
    source = places.open(file.path)
    if file.position == 0 and file.size >= source.size:
        return source
    if file.position + file.size > source.size:
        source.close()
        detail = f"it has {source.size} bytes; {file.size} were to be at position {file.position}"
        raise ReadError(detail, position=source.size, path=file.path)
    # A file may have grown since it was listed; only the listed part is read.
    return StoredPart(source, file.path, file.position, file.size)


def open_beside(places: Places, segment: StoredSegment, suffix: str) -> Source | None:
    """Open one of a segment's other files, None if it does not exist; errors as `open_file`."""
    file = segment.beside.get(suffix)
    if file is None:
        return None
    if file.position == 0 and 0 < file.size <= LEN_SMALL:
        data = bytearray(file.size)
        if places.read_whole(file.path, memoryview(data)):
            return in_memory(file.path, data)
    return open_file(places, file)  # a large one, or the reason why it cannot be read


def read_file(places: Places, path: str) -> bytes:
    """Read a small file as it is now: brokers replace checkpoints, with more or fewer bytes, after a listing.

    Raises:
        ReadError: it does not exist any more, or cannot be read.
        DecodeError: it is larger than `MAX_LEN_FILE`.
    """
    with closing(places.open(path)) as source:
        if source.size > MAX_LEN_FILE:
            detail = f"{source.size} bytes, more than the {MAX_LEN_FILE} that this reader takes at once"
            raise DecodeError(detail, path=path)
        return bytes(source.read(0, source.size))


def open_stored(places: Places, segment: StoredSegment) -> Source:
    """Open a segment in any storage form; the source has its bytes as on the broker.

    Memory for a segment in chunks: two decompressed ones and a compressed one.

    Raises:
        ReadError: see `open_file`.
        DecodeError: the manifest's sizes of chunks are wrong.
        OptionError: the form is unknown.
    """
    if segment.form == "plain":
        return open_file(places, segment.file)
    if segment.form != ZSTD_CHUNKS or segment.chunks is None:
        raise OptionError(f"segments stored as {segment.form!r} cannot be read", path=segment.file.path)
    sizes = chunk_sizes(segment)
    return _Chunked(open_file(places, segment.file), segment.chunks, sizes)


def chunk_sizes(segment: StoredSegment) -> tuple[int, ...]:
    """Decode and check the compressed sizes of a segment's chunks.

    Raises:
        DecodeError: they are invalid, or do not add up to the size of the file.
    """
    chunks = segment.chunks
    assert chunks is not None
    wrong = partial(DecodeError, path=segment.file.path)
    if not 0 < chunks.len_chunk <= DEFAULT_MAX_DECOMPRESSED:
        raise wrong(f"chunks of {chunks.len_chunk} bytes; from 1 to {DEFAULT_MAX_DECOMPRESSED} are read")
    try:
        packed = base64.b64decode(chunks.stored, validate=True)
        sizes = formats.read_chunk_sizes(decompress("zstd", packed, max_size=_MAX_LEN_CHUNK_SIZES))
    except binascii.Error as error:
        raise wrong(f"the manifest's sizes of chunks are not base64: {error}") from error
    except KafkaFormatError as error:
        raise wrong(f"the manifest's sizes of chunks cannot be read: {error.detail}") from error
    expected = -(-chunks.size // chunks.len_chunk)
    if len(sizes) != expected and not (expected == 0 and len(sizes) == 1):  # an empty one has one chunk
        raise wrong(f"the manifest lists {len(sizes)} chunks, but {chunks.size} bytes make {expected}")
    if sum(sizes) != segment.file.size:
        raise wrong(
            f"the file has {segment.file.size} bytes, but the manifest's chunks add up to {sum(sizes)}: was "
            "it copied completely?"
        )
    return sizes
