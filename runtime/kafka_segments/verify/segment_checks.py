"""Checks of one segment: its bytes, its entries, and its indexes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.continuity import Extent, SegmentContents
from kafka_segments.core.segment.scan.entry_scan import first_offset_in_name
from kafka_segments.core.segment.verified.verified_entries import VerifiedEvent, VerifiedTable
from kafka_segments.core.segment.verified.verifying import iter_verified
from kafka_segments.errors import (
    ChecksumMismatchError,
    CorruptBatchError,
    DecompressionError,
    KafkaFormatError,
    LengthMismatchError,
    MissingCodecError,
    ReadError,
    TruncatedError,
    UnknownFormatError,
    UnsupportedMagicError,
    raise_unless_file_at_fault,
)
from kafka_segments.log.index_sanity import PositionCheck, TimeCheck, open_index_checks
from kafka_segments.log.log_files import UNOPENED, LogFile
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.verify.catalogue import GROUPS
from kafka_segments.verify.entry_checks import EntryChecks
from kafka_segments.verify.sink import CheckSink

__all__ = ["SegmentReading", "check_segment", "note_gone"]

_CHECKS: tuple[tuple[type[KafkaFormatError], str], ...] = (
    (ChecksumMismatchError, "crc"),
    (LengthMismatchError, "batch-length"),
    (TruncatedError, "batch-length"),
    (UnsupportedMagicError, "magic"),
    (DecompressionError, "payload"),
    (CorruptBatchError, "records"),
    (ReadError, "unreadable"),
)
_LARGEST_RELATIVE = (1 << 31) - 1  # LogSegment.canConvertToRelativeOffset
_LARGEST_BESIDE = 16 << 20
"""Bytes of an index or snapshot that is checked: in 160 MiB of memory; `segment.index.bytes` is 10 MiB."""


@dataclass(frozen=True, slots=True)
class SegmentReading:
    """How segments are read.

    Attributes:
        places: opens them.
        open_log: opens a segment that `places` does not; None otherwise.
        check_crc: verify checksums.
        is_live: a broker may be appending.
        trusted_end: a broker does not rebuild indexes of segments that end up to this offset.
        max_decompressed: bytes that one batch may decompress to.
        progress: called with the number of bytes that were read.
    """

    places: Places
    open_log: Callable[[StoredSegment], Source] | None = None
    check_crc: bool = True
    is_live: bool = False
    trusted_end: int = 0
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    progress: Callable[[int], None] | None = None

    def open(self, segment: StoredSegment) -> Source:
        """Open a segment."""
        return open_stored(self.places, segment) if self.open_log is None else self.open_log(segment)


def check_segment(
    file: LogFile, checks: EntryChecks, sink: CheckSink, reading: SegmentReading
) -> SegmentContents:
    """Check a segment, and return its offsets for the checks of the log.

    Raises:
        StoreError: its store failed.
    """
    segment = file.segment
    checks.begin_segment(segment.path)
    try:
        return _checked(file, checks, sink, reading)
    except UNOPENED as error:
        _note_unopened(error.with_context(path=error.path or segment.path), sink, is_live=reading.is_live)
        checks.damaged()
        return SegmentContents(segment.path, segment.base_offset, segment.size, is_unknown=True)


def _note_unopened(error: KafkaFormatError, sink: CheckSink, *, is_live: bool) -> None:
    """Note that a segment cannot be opened: a finding where the file is at fault."""
    if isinstance(error, UnknownFormatError):
        sink.errors.append(error)
        return
    try:
        raise_unless_file_at_fault(error)
    except KafkaFormatError:
        sink.errors.append(error)
        return
    if not note_gone(error, sink, is_live=is_live):
        sink.add("unreadable", error.detail, path=error.path, error=error)


def note_gone(error: KafkaFormatError, sink: CheckSink, *, is_live: bool) -> bool:
    """Note a file that a running broker has removed; return whether it is one. A broken link does exist."""
    is_missing = isinstance(error, ReadError) and error.errno in (errno.ENOENT, errno.ESTALE)
    is_gone = is_live and is_missing and not os.path.lexists(error.path or "")
    if is_gone:
        sink.note(f"{error.path}: gone before it was read")
    return is_gone


def _checked(file: LogFile, checks: EntryChecks, sink: CheckSink, reading: SegmentReading) -> SegmentContents:
    """Check a segment, as `check_segment`; errors of opening it are raised."""
    with closing(reading.open(file.segment)) as source:
        checks.totals.num_bytes += source.size
        one = _OneSegment(file, checks, sink, reading)
        for event in iter_verified(
            source,
            check_crc=reading.check_crc,
            with_records=sink.wants(*GROUPS["contents"]),
            max_decompressed=reading.max_decompressed,
        ):
            one.add(event)
    return one.contents()


class _OneSegment:
    """The events of a segment, given to the checks.

    Args:
        file: the segment.
        checks: of entries.
        sink: collects the findings.
        reading: see `SegmentReading`.
    """

    def __init__(self, file: LogFile, checks: EntryChecks, sink: CheckSink, reading: SegmentReading) -> None:
        self._file, self._checks, self._sink, self._reading = file, checks, sink, reading
        self._is_newest = file.segment.is_newest
        self._is_damaged_before = self._is_damaged_after = self._ends_in_zeros = False
        self._position = 0
        self._indexes: list[PositionCheck | TimeCheck] = []
        large = [one.path for one in file.segment.beside.values() if one.size > _LARGEST_BESIDE]
        for path in large:
            sink.note(f"{path}: it has more than {_LARGEST_BESIDE} bytes")
        if sink.wants("offset-index", "time-index") and not large:
            for found in open_index_checks(file, is_newest=self._is_newest):
                if isinstance(found, KafkaFormatError):
                    if not note_gone(found, sink, is_live=reading.is_live):
                        self._wrong_index(found.path or file.path_beside("index"), found.detail, found)
                else:
                    self._indexes.append(found)
                    self._padding_in(found)

    def _padding_in(self, index: PositionCheck | TimeCheck) -> None:
        """Find zeros at the end of a time index that a broker trusts when it starts.

        Those of the newest segments are truncated when a broker stops, or begins the next one. Others are its
        last entry: it takes 0 for the segment's greatest timestamp (LogSegment.largestRecordTimestamp).
        """
        end = self._file.segment.end_offset
        is_trusted = self._reading.trusted_end > (NO_END - 1 if end is None else end - 1)
        if isinstance(index, TimeCheck) and index.num_padding and is_trusted:
            detail = (
                f"{index.num_padding} entries of zeros at the end, which a broker trusts: it takes 0 for "
            )
            detail += "the greatest timestamp, and retention deletes the segment"
            size = self._file.segment.beside["timeindex"].size
            self._sink.add("time-index", detail, path=index.path, end_position=size)

    def add(self, event: VerifiedEvent) -> None:
        """Check the next event."""
        if isinstance(event, Damage):
            self._damage(event)
        elif isinstance(event, Padding):
            self._padding(event)
        else:
            self._is_damaged_after = False
            self._checks.table(event)
            self._check_indexes(event)
            self._move(event.entries.value(len(event) - 1, "end_position"))

    def _check_indexes(self, table: VerifiedTable) -> None:
        heads = list(table.heads()) if self._indexes else []
        for check in list(self._indexes):
            detail = check.check(heads)
            if detail is not None:
                self._wrong_index(check.path, detail)
                self._indexes.remove(check)

    def _wrong_index(self, path: str, detail: str, error: KafkaFormatError | None = None) -> None:
        check = "time-index" if path.endswith(".timeindex") else "offset-index"
        position = None if error is None else error.position
        self._sink.add(check, detail, path=path, position=position, error=error)

    def _damage(self, damage: Damage) -> None:
        error = damage.error
        if isinstance(error, MissingCodecError):
            self._sink.note(f"payloads of a codec that is not installed: {error.detail}")
            return
        self._move(damage.end_position)
        self._checks.damaged()
        for check in self._indexes:
            check.damaged(damage.end_position)
        if self._checks.first_offset is None:
            self._is_damaged_before = True
        self._is_damaged_after = True
        check_id = next((name for kind, name in _CHECKS if isinstance(error, kind)), "records")
        if self._is_newest and isinstance(error, TruncatedError) and damage.next_offset is None:
            check_id = "torn-tail"
            if self._reading.is_live:
                self._sink.note(f"{damage.path}: the last batch was being written")
                return
        end = self._file.segment.end_offset
        if damage.next_offset is None and damage.first_lost_offset is not None and end is not None:
            damage = replace(damage, last_lost_offset=max(damage.first_lost_offset, end - 1))
        self._sink.add_damage(check_id, damage)

    def _padding(self, padding: Padding) -> None:
        self._ends_in_zeros = True
        if not self._is_newest or self._reading.trusted_end == NO_END:  # which trims what was preallocated
            size = padding.end_position - padding.position
            place = {"position": padding.position, "end_position": padding.end_position}
            self._sink.add("zeros", f"{size} bytes of zeros at the end", path=padding.path, **place)

    def _move(self, position: int) -> None:
        if self._reading.progress is not None and position > self._position:
            self._reading.progress(position - self._position)
        self._position = max(self._position, position)

    def contents(self) -> SegmentContents:
        """Return the offsets of the segment, after its last event."""
        for check in self._indexes:
            detail = check.check_rest(is_newest=self._is_newest)
            if detail is not None:
                self._wrong_index(check.path, detail)
        self._move(self._file.size)
        first, last = self._checks.first_offset, self._checks.last_offset
        base = first_offset_in_name(self._file.path)
        if base is not None and last is not None and last - base > _LARGEST_RELATIVE:
            detail = (
                f"it begins with {base} by its name, and holds offset {last}, which no index entry can have"
            )
            self._sink.add("segment-name", detail, path=self._file.path, first_offset=last, last_offset=last)
        return SegmentContents(
            self._file.path,
            self._file.segment.base_offset,
            self._file.size,
            None if first is None or last is None else Extent(first, last),
            self._is_damaged_before,
            self._is_damaged_after and first is not None,
            ends_in_zeros=self._ends_in_zeros,
        )
