"""Checks of one entry at one position of a file.

Strategy: all checks of one entry, in the order in which they are possible, without regard to its neighbours.
The checksum is computed in pieces, so an absurd length costs time, never memory.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from kafka_segments.core import formats
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.storage import BLOCK_SIZE, Source, Window
from kafka_segments.errors import (
    ChecksumMismatchError,
    CorruptBatchError,
    KafkaFormatError,
    LengthMismatchError,
    ReadError,
    TruncatedError,
    UnsupportedMagicError,
)

__all__ = ["CheckedEntry", "Probe", "hole_before"]

_PIECE = 1 << 20
_SEEK_DATA: int | None = getattr(os, "SEEK_DATA", None)


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """Result of a check: a sound `batch`, or an `error` (with the batch if only its checksum is wrong).

    `end_position` is where the entry ends by its length field; None if that is impossible.
    """

    batch: Batch | None
    error: KafkaFormatError | None
    end_position: int | None


class Probe:
    """Check of entries of one source.

    Args:
        source: the segment's bytes.
        window: reads headers and small batches.
        headers_only: do not read payloads; entries of magic 0 and 1 then have no first offset and no count.
        magics: those that are read.
    """

    def __init__(
        self,
        source: Source,
        window: Window,
        *,
        headers_only: bool = False,
        magics: Collection[int] = formats.MAGICS,
    ) -> None:
        self.source = source
        self._window = window
        self._headers_only = headers_only
        self._magics = magics

    @cached_property
    def zeros_position(self) -> int:
        """Position of the zeros at the end of the file; the file's size if there are none."""
        end = self.source.size
        while (end := hole_before(self.source, end)) > 0:
            start = max(0, (end - 1) // BLOCK_SIZE * BLOCK_SIZE - _PIECE + BLOCK_SIZE)
            try:
                data = bytes(self.source.read(start, end - start))
            except ReadError:
                # Continue block by block, so that the zeros extend to the unreadable block.
                start = (end - 1) // BLOCK_SIZE * BLOCK_SIZE
                try:
                    data = bytes(self.source.read(start, end - start))
                except ReadError:
                    return end
            kept = len(data.rstrip(b"\0"))
            if kept:
                return start + kept
            end = start
        return 0

    def is_padding(self, position: int) -> bool:
        """Return whether only zeros follow, to the end of the file (a preallocated segment)."""
        size = min(formats.LEN_PREFIX, self.source.size - position)
        try:
            return not any(self._window.read(position, size)) and position >= self.zeros_position
        except ReadError:
            return False

    def examine(self, position: int, previous_offset: int | None, *, check_crc: bool) -> CheckedEntry:
        """Run every check on the entry at `position`; `previous_offset` is passed on to the batch."""
        left = self.source.size - position
        if left < formats.LEN_PREFIX:
            return CheckedEntry(None, self._truncated(position, formats.LEN_PREFIX, left), None)
        try:
            prefix = formats.read_prefix(self._window.read(position, formats.LEN_PREFIX))
        except ReadError as error:
            return CheckedEntry(None, error, None)
        end = position + prefix.len_entry
        sensible_end = end if position < end <= self.source.size else None
        try:
            self._check_prefix(prefix, position, left)
            batch = self._read_header(prefix, position, previous_offset)
            if not check_crc:
                self._touch(batch)
                return CheckedEntry(batch, None, end)
            computed = self._checksum(batch)
        except KafkaFormatError as error:
            return CheckedEntry(None, error, sensible_end)
        if computed == batch.crc:
            return CheckedEntry(replace(batch, crc_valid=True), None, end)
        mismatch = ChecksumMismatchError(
            f"stored 0x{batch.crc:08x}, computed 0x{computed:08x}",
            stored=batch.crc,
            computed=computed,
            position=position,
            path=self.source.name,
        )
        return CheckedEntry(replace(batch, crc_valid=False), mismatch, end)

    def _check_prefix(self, prefix: formats.Prefix, position: int, left: int) -> None:
        where = {"position": position, "path": self.source.name}
        if prefix.len_body < formats.MIN_LEN_BODY:
            if prefix.len_body == 0:
                self._read_zeros(position)
            raise self._too_short(prefix, formats.MIN_LEN_BODY, position)
        if prefix.len_entry > left:
            raise self._truncated(position, prefix.len_entry, left)
        if prefix.magic not in self._magics:
            raise UnsupportedMagicError(self._unsupported(prefix.magic), magic=prefix.magic, **where)
        if prefix.len_body < prefix.min_len_body:
            raise self._too_short(prefix, prefix.min_len_body, position)

    def _unsupported(self, magic: int) -> str:
        known = sorted(self._magics)
        one_of = f"{', '.join(map(str, known[:-1]))} or {known[-1]}"
        detail = f"magic {magic} is not {one_of}: a newer format, another program's, or damage"
        if magic in formats.EXPERIMENTAL_MAGICS:
            detail += "; batches of the discarded magic 3 are read with experimental_magic3=True, by the "
            detail += "command dump with --experimental-magic3"
        return detail

    def _read_zeros(self, position: int) -> None:
        """Read on while there are only zeros: an unreadable block among padding is the error to report."""
        while position < self.source.size:
            end = min(self.source.size, (position // BLOCK_SIZE + 1) * BLOCK_SIZE)
            if any(self._window.read(position, end - position)):
                return
            position = end

    def _read_header(self, prefix: formats.Prefix, position: int, previous_offset: int | None) -> Batch:
        len_head = formats.LEN_HEAD if prefix.is_known else formats.LEN_LONGEST_HEAD
        data = self._window.read(position, min(len_head, prefix.len_entry))
        try:
            batch = formats.read_entry_header(data, self.source.name, position, previous_offset, prefix)
        except CorruptBatchError as error:
            # Magic 1 has a timestamp that magic 0 lacks: it may be too short above their common minimum.
            raise LengthMismatchError(error.detail, position=position, path=self.source.name) from error
        if self._headers_only and batch.magic < 2:
            return replace(batch, base_offset=None, num_records=None)
        return batch

    def _checksum(self, batch: Batch) -> int:
        ofs_region, function = formats.checksum_region(batch.magic)
        value = 0
        for piece in self._pieces(batch.position + ofs_region, batch.end_position):
            value = function(piece, value)
        return value

    def _touch(self, batch: Batch) -> None:
        """Read the payload when checksums are off, so that unreadable bytes are still an error."""
        if not self._headers_only:
            for _ in self._pieces(batch.position, batch.end_position):
                pass

    def _pieces(self, start: int, end: int) -> Iterator[bytes | memoryview]:
        while start < end:
            piece = self._window.read(start, min(_PIECE, end - start))
            yield piece
            start += len(piece)

    def _truncated(self, position: int, needed: int, available: int) -> TruncatedError:
        detail = f"the file ends after {available} of the entry's {needed} bytes"
        if needed == formats.LEN_PREFIX:
            detail = f"the last {available} bytes of the file are too few for an entry"
        return TruncatedError(
            detail, needed=needed, available=available, position=position, path=self.source.name
        )

    def _too_short(self, prefix: formats.Prefix, least: int, position: int) -> LengthMismatchError:
        detail = f"length {prefix.len_body} is below the least possible, {least}"
        return LengthMismatchError(detail, position=position, path=self.source.name)


def hole_before(source: Source, end: int) -> int:
    """Return where the hole of a sparse file before `end` begins; `end` itself if none is known.

    Holes are read as zeros; the file system knows where they are, so they need not be read.
    """
    if source.descriptor < 0 or _SEEK_DATA is None:
        return end
    low, high = 0, end
    try:
        if os.fstat(source.descriptor).st_size < end:  # it shrank
            return end
        place = os.lseek(source.descriptor, 0, os.SEEK_CUR)  # of standard input, which is not ours alone
        while low < high:
            middle = (low + high) // 2
            data = _next_data(source.descriptor, middle, _SEEK_DATA)
            low, high = (low, middle) if data is None or data >= end else (data + 1, high)
        os.lseek(source.descriptor, place, os.SEEK_SET)
    except OSError:
        return end
    return high


def _next_data(descriptor: int, position: int, seek_data: int) -> int | None:
    """Return the position of the first byte from a position on that is in no hole; None if there is none."""
    try:
        return os.lseek(descriptor, position, seek_data)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise
