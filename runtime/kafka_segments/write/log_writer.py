"""The directory of a partition, or one segment: batches, their indexes, and what a broker has beside them.

Strategy: files are written one after the other, under names that no broker looks at: in a hidden directory
that gets its name as a whole, or, for one segment, as hidden files that are renamed, the segment last.
Batches come as bytes, or from other files, which the kernel copies; each time with what the indexes need of
their headers.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kafka_segments.core.formats.building import (
    build_leader_epochs,
    build_partition_metadata,
    build_producer_snapshot,
    build_transaction_index,
)
from kafka_segments.core.formats.file_names import SEGMENT_NAME
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io import outputs
from kafka_segments.core.io.new_outputs import write_beside
from kafka_segments.core.segment.beside.index_files import AbortedTxn
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.errors import OptionError
from kafka_segments.write.batch_options import MAX_INT
from kafka_segments.write.following import last_offset
from kafka_segments.write.index_writer import INDEX_SUFFIXES, Indexes
from kafka_segments.write.refusals import refused

__all__ = [
    "DEFAULT_INTERVAL",
    "LogWriter",
    "OneSegment",
    "PartitionFiles",
    "SegmentFiles",
    "base_offset_of",
]

DEFAULT_INTERVAL = 4096
"""Bytes between entries of an index, as `index.interval.bytes` has it."""
_SUFFIX = ".log"


def base_offset_of(path: str) -> int | None:
    """Return the base offset in a segment's name; None for another name.

    Raises:
        OptionError: an offset that is too large.
    """
    found = SEGMENT_NAME.fullmatch(os.path.basename(path))
    if found and int(found[1]) > MAX_LONG:
        raise OptionError("the offset in its name is above 2^63 - 1", path=path)
    return int(found[1]) if found else None


class SegmentFiles:
    """A segment that is being written, with its indexes.

    Args:
        path: of the `.log`, which must not exist.
        destination: its path when it is published, for errors.
        base_offset: of the segment.
        interval: bytes between entries of an index; None for no indexes.
        syncs: whether files are fsynced when they are complete.

    Attributes:
        log: the file of batches, to be written or copied to; what is in it is indexed by `index`.

    Raises:
        MissingExtraError: the extra `construct` is not installed, which the indexes need.
        OutputError: it cannot be created.
    """

    def __init__(
        self, path: str, destination: str, base_offset: int, interval: int | None, *, syncs: bool = True
    ) -> None:
        if interval is not None:
            build_transaction_index(())  # raises for a missing extra before anything is written
        self.path, self.destination, self.base_offset = path, destination, base_offset
        self._syncs = syncs
        self._indexes = None if interval is None else Indexes(base_offset, interval)
        self._files: dict[str, outputs.OutputFile] = {}
        self.log = self._file(_SUFFIX)

    def index(
        self, entries: EntryTable, rows: tuple[int, int], shift: int, aborted: Sequence[AbortedTxn] = ()
    ) -> None:
        """Index entries, and transactions that they abort; arguments as for `Indexes.append`."""
        if self._indexes is None:
            return
        self._indexes.append(entries, *rows, shift)
        if aborted:
            file = self._files.get(INDEX_SUFFIXES[-1]) or self._file(INDEX_SUFFIXES[-1])
            file.write(build_transaction_index([asdict(one) for one in aborted]))

    def finish(self) -> list[tuple[str, str]]:
        """Complete all files; return their paths and destinations, the segment last.

        Raises:
            OutputError: the disk is full, or fails.
        """
        for suffix, content in ({} if self._indexes is None else self._indexes.files()).items():
            self._file(suffix).write(content)
        self._files[_SUFFIX] = self._files.pop(_SUFFIX)
        for file in self._files.values():
            if self._syncs:
                file.finish()
            else:
                file.close()
        return [(file.path, _beside(self.destination, suffix)) for suffix, file in self._files.items()]

    def discard(self) -> None:
        """Remove all files, without raising."""
        for file in self._files.values():
            file.discard()

    def _file(self, suffix: str) -> outputs.OutputFile:
        file = outputs.OutputFile(_beside(self.path, suffix), _beside(self.destination, suffix))
        self._files[suffix] = file
        return file


def _beside(path: str, suffix: str) -> str:
    return path.removesuffix(_SUFFIX) + suffix if suffix != _SUFFIX else path


class LogWriter:
    """Writer of a partition's directory, segment by segment.

    Args:
        directory: where the files are written; it exists.
        named: path of the directory when it is published, for errors.
        segment_bytes: bytes of a segment at most.
        interval: bytes between entries of an index; None for no indexes.
        base_offset: of the first segment; None for that of the first batch.
        syncs: whether files are fsynced when they are complete; otherwise the caller does it.

    Attributes:
        path: the destination.
        base_offset: as passed, or from the segment's name.
        segment: the current one; None before the first.
    """

    def __init__(
        self,
        directory: str,
        named: str,
        *,
        segment_bytes: int = MAX_INT,
        interval: int | None = DEFAULT_INTERVAL,
        base_offset: int | None = None,
        syncs: bool = True,
    ) -> None:
        self._directory, self.path, self._syncs = directory, named, syncs
        self._bytes, self.interval, self.base_offset = segment_bytes, interval, base_offset
        self.segment: SegmentFiles | None = None
        self._destinations: list[str] = []

    def begin(self, base_offset: int) -> SegmentFiles:
        """Begin a segment; the one before it is complete then.

        Raises:
            OutputError: a failed write.
        """
        self.end()
        path, destination = self._paths(base_offset)
        self.segment = SegmentFiles(path, destination, base_offset, self.interval, syncs=self._syncs)
        self._destinations.append(destination)
        return self.segment

    def _paths(self, base_offset: int) -> tuple[str, str]:
        name = f"{base_offset:020d}{_SUFFIX}"
        return os.path.join(self._directory, name), os.path.join(self.path, name)

    def end(self) -> list[tuple[str, str]]:
        """Complete the current segment, if there is one; return its files as `SegmentFiles.finish`.

        Raises:
            OutputError: a failed write.
        """
        segment = self.segment
        if segment is None:
            return []
        files = segment.finish()
        self.segment = None
        return files

    def append(self, data: memoryview, entries: EntryTable, aborted: Sequence[AbortedTxn] = ()) -> None:
        """Append batches, to as many segments as needed.

        Args:
            data: whole batches.
            entries: their headers, completed, with positions in the data.
            aborted: transactions that they abort.

        Raises:
            EncodeError: a batch that does not fit into a segment, or not into this one.
            OutputError: a failed write.
        """
        start = 0
        while start < len(entries):
            offset, position = entries.value(start, "base_offset"), entries.value(start, "position")
            segment = self.segment
            if segment is None:
                segment = self.begin(offset if self.base_offset is None else self.base_offset)
            if offset < segment.base_offset:
                found = f"below the segment's base offset {segment.base_offset}"
                raise refused("segment_offset", found, offset=offset)
            shift = segment.log.size - position
            end = self._end_of_fitting(segment, entries, start, shift)
            if end == start:
                self._roll(segment, entries.value(start, "end_position") - position, offset)
                continue
            last, end_position = last_offset(entries, end - 1), entries.value(end - 1, "end_position")
            own = [one for one in aborted if offset <= one.last_offset <= last]
            segment.index(entries, (start, end), shift, own)
            segment.log.write(data[position:end_position])
            start = end

    def _end_of_fitting(self, segment: SegmentFiles, entries: EntryTable, start: int, shift: int) -> int:
        """Return the row after the last one that still fits into a segment, by bytes and by offsets."""

        def is_beyond(row: int) -> bool:
            size = entries.value(row, "end_position") + shift
            return size > self._bytes or last_offset(entries, row) - segment.base_offset > MAX_INT

        if not is_beyond(len(entries) - 1):
            return len(entries)
        return bisect_left(range(len(entries)), True, start, key=is_beyond)

    def _roll(self, segment: SegmentFiles, size: int, offset: int) -> None:
        """Begin another segment for a batch, or raise the reason why that is impossible."""
        if size > self._bytes:
            found = f"a batch of {size} bytes, and segment_bytes is {self._bytes}"
            raise refused("segment_too_small", found, offset=offset)
        if segment.log.size == 0:
            raise _too_far(segment, offset)
        self._begin_next(segment, offset)

    def _begin_next(self, _segment: SegmentFiles, offset: int) -> None:
        self.begin(offset)

    def write_state(
        self,
        *,
        end_offset: int | None = None,
        producers: Sequence[Mapping[str, int]] | None = None,
        epochs: Sequence[tuple[int, int]] | None = None,
        topic_id: str | None = None,
    ) -> None:
        """Write what a broker needs of a log beside its segments: what is given of it.

        Args:
            end_offset: of the log.
            producers: after its last batch, by the names of the fields. Without this snapshot, a broker that
                starts after a clean shutdown assumes that there are no producers
                (UnifiedLog.rebuildProducerState), and does not see where an open transaction began.
            epochs: leader epochs, each with the offset that it began with.
            topic_id: 22 characters of base64url; None for no `partition.metadata`, as before Kafka 2.8.

        Raises:
            OutputError: the disk is full, or fails.
            MissingExtraError: the extra `construct` is not installed.
        """
        if producers is not None:
            self.write_file(f"{end_offset:020d}.snapshot", build_producer_snapshot(producers))
        if epochs is not None:
            self.write_file("leader-epoch-checkpoint", build_leader_epochs(epochs))
        if topic_id is not None:
            self.write_file("partition.metadata", build_partition_metadata(topic_id))

    def write_file(self, name: str, content: bytes) -> None:
        """Write another file into the directory.

        Raises:
            OutputError: the disk is full, or fails.
        """
        write_beside(self._directory, self.path, name, content, syncs=self._syncs)

    def publish(self) -> tuple[str, ...]:
        """Complete the last segment, and make all files visible; return the segments' paths.

        Raises:
            OutputError: a failed write.
        """
        raise NotImplementedError

    def discard(self) -> None:
        """Remove all files, without raising."""
        if self.segment is not None:
            self.segment.discard()


def _too_far(segment: SegmentFiles, offset: int) -> Any:
    found = f"more than 2^31 - 1 above the segment's base offset {segment.base_offset}"
    return refused("segment_offset", found, offset=offset)


class OneSegment(LogWriter):
    """Writer of a single segment.

    Args:
        path: of the segment, which must not exist.
    """

    def __init__(
        self, path: str, *, segment_bytes: int, interval: int | None, base_offset: int | None
    ) -> None:
        named = base_offset_of(path)
        if named is not None and base_offset is not None and base_offset < named:
            raise OptionError(f"base_offset {base_offset} is below that of the segment's name", path=path)
        for suffix in (_SUFFIX, *(INDEX_SUFFIXES if interval is not None else ())):
            outputs.check_absent(_beside(path, suffix))
        base_offset = base_offset if named is None else named
        self._hidden = outputs.hidden_sibling(path)
        super().__init__("", path, segment_bytes=segment_bytes, interval=interval, base_offset=base_offset)
        if base_offset is not None:
            self.begin(base_offset)

    def _paths(self, _base_offset: int) -> tuple[str, str]:
        return self._hidden, self.path

    def _begin_next(self, segment: SegmentFiles, offset: int) -> None:
        if segment.base_offset + MAX_INT < offset:
            raise _too_far(segment, offset)
        raise refused(
            "segment_full", f"the segment has {segment.log.size} of {self._bytes} bytes", offset=offset
        )

    def write_state(self, **_state: Any) -> None:
        """Write nothing: what is beside the segment is not this writer's."""

    def publish(self) -> tuple[str, ...]:
        segment = self.segment or self.begin(0)
        outputs.publish_files(segment.finish())
        return (self.path,)


class PartitionFiles(LogWriter):
    """Writer of a directory that appears as a whole.

    Args:
        path: of the directory, which must not exist, or be empty.
    """

    def __init__(
        self, path: str, *, segment_bytes: int, interval: int | None, base_offset: int | None
    ) -> None:
        self._real = outputs.check_replaceable(path)
        hidden = outputs.hidden_sibling(self._real)
        outputs.make_directory(hidden, path)
        super().__init__(
            hidden, path, segment_bytes=segment_bytes, interval=interval, base_offset=base_offset
        )

    def publish(self) -> tuple[str, ...]:
        if not self._destinations:
            self.begin(self.base_offset or 0)
        self.end()
        outputs.publish_directory(self._directory, self._real, self.path)
        return tuple(self._destinations)

    def discard(self) -> None:
        super().discard()
        outputs.discard_directory(self._directory)
