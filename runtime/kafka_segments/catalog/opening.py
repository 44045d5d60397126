"""From what a listing showed to bytes: files, parts of files, segments."""

from __future__ import annotations

from kafka_segments.catalog.model import StoredFile, StoredSegment
from kafka_segments.compression import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import OptionError, ReadError
from kafka_segments.places import Places
from kafka_segments.segment import Segment
from kafka_segments.storage import Source

__all__ = ["NUM_REQUESTS", "is_remote", "open_beside", "open_file", "open_segment_of", "open_stored"]


NUM_REQUESTS = 32
"""At a time, to files behind a network."""


class _Part:
    """A part of a source, as a source."""

    descriptor = -1
    is_memory = False

    def __init__(self, whole: Source, file: StoredFile) -> None:
        self.name, self.size = file.path, file.size
        self._whole, self._position = whole, file.position
        if file.position + file.size > whole.size:
            whole.close()
            detail = f"it has {whole.size} bytes; {file.size} were to be at position {file.position}"
            raise ReadError(detail, position=whole.size, path=file.path)

    def read(self, position: int, size: int) -> bytes | memoryview:
        return self._whole.read(self._position + position, size)

    def window(self, position: int, size: int, buffer: memoryview) -> bytes | memoryview:
        return self._whole.window(self._position + position, size, buffer)

    def close(self) -> None:
        self._whole.close()


def open_file(places: Places, file: StoredFile) -> Source:
    """Open a file, or the part of it that is meant.

    Raises:
        ReadError: it does not exist any more, cannot be opened, or is shorter than a part of it.
    """
    source = places.open(file.path)
    is_part = file.position > 0 or file.size < source.size
    # A whole file may have grown since; what was listed of it is what is meant.
    return _Part(source, file) if is_part else source


def open_beside(places: Places, segment: StoredSegment, suffix: str) -> Source | None:
    """Open what belongs to a segment, None if there is no such file; errors as `open_file`."""
    file = segment.beside.get(suffix)
    return None if file is None else open_file(places, file)


def open_stored(places: Places, segment: StoredSegment) -> Source:
    """Open a segment's bytes as a broker had them.

    Raises:
        ReadError: see `open_file`.
        OptionError: the form is not known.
    """
    if segment.form != "plain":
        raise OptionError(f"segments stored as {segment.form!r} cannot be read", path=segment.file.path)
    return open_file(places, segment.file)


def open_segment_of(
    places: Places,
    segment: StoredSegment,
    *,
    check_crc: bool = True,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Segment:
    """Open a segment where it lies; close it afterwards.

    Raises:
        ReadError: see `open_file`.
        OptionError: see `open_stored`.
    """
    source = open_stored(places, segment)
    return Segment(source, check_crc=check_crc, headers_only=False, max_decompressed=max_decompressed)


def is_remote(file: StoredFile) -> bool:
    """Whether reading a few bytes takes a request over a network."""
    scheme, colon, _rest = file.path.partition(":/")
    return bool(colon) and scheme.isalnum() and scheme.lower() != "file"
