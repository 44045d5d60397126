"""Files of batches: one segment, or the segments of a partition, each with its index files."""

from __future__ import annotations

import os
import re
from typing import Any

from kafka_segments.core.formats.building import build_producer_snapshot
from kafka_segments.core.io import outputs
from kafka_segments.core.segment.index_files import AbortedTxn
from kafka_segments.errors import OptionError
from kafka_segments.write.batch_options import MAX_INT, MAX_LONG
from kafka_segments.write.encoder import EncodedBatches
from kafka_segments.write.index_writer import INDEX_SUFFIXES, Indexes
from kafka_segments.write.partition_files import write_beside
from kafka_segments.write.producer_state import Producers
from kafka_segments.write.refusals import refused
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_END_POSITION,
    COL_LAST_OFFSET_DELTA,
    COL_POSITION,
)

__all__ = ["OneSegment", "PartitionFiles", "Store", "base_offset_of"]

_SUFFIX = ".log"


def base_offset_of(path: str) -> int | None:
    """Return the base offset in a segment's name; None for another name.

    Raises:
        OptionError: an offset that is too large.
    """
    found = re.fullmatch(r"([0-9]{20})\.log", os.path.basename(path))
    if found and int(found[1]) > MAX_LONG:
        raise OptionError("the offset in its name is above 2^63 - 1", path=path)
    return int(found[1]) if found else None


class _Segment:
    """A segment that is being written, under a temporary name."""

    def __init__(self, path: str, destination: str, base_offset: int, interval: int | None) -> None:
        self.destination, self.base_offset = destination, base_offset
        self._indexes = None if interval is None else Indexes(base_offset, interval)
        self._files = [(outputs.OutputFile(path, destination), destination)]

    @property
    def size(self) -> int:
        """Bytes of batches."""
        return self._files[0][0].size

    def write(self, piece: EncodedBatches) -> None:
        if self._indexes is not None:
            self._indexes.append(piece.heads, self.size)
        self._files[0][0].write(piece.data)

    def abort_transaction(self, aborted: AbortedTxn) -> None:
        if self._indexes is not None:
            self._indexes.abort(aborted)

    def finish(self) -> list[tuple[str, str]]:
        """Sync all files to disk; return them with their destinations, the segment last."""
        log, destination = self._files[0]
        for suffix, content in ({} if self._indexes is None else self._indexes.files()).items():
            target = destination.removesuffix(_SUFFIX) + suffix
            index = outputs.OutputFile(log.path.removesuffix(_SUFFIX) + suffix, target)
            self._files.insert(0, (index, target))
            index.write(content)
        for file, _target in self._files:
            file.finish()
        return [(file.path, target) for file, target in self._files]

    def discard(self) -> None:
        for file, _target in self._files:
            file.discard()


class Store:
    """Common part of both outputs: begin segments, fill them up to a bound and finish them.

    Args:
        segment_bytes: bytes of a segment at most.
        interval: bytes between entries of an index; None for no indexes.
        base_offset: of the first segment; None for that of the first batch.

    Attributes:
        base_offset: as passed, or from the segment's name.
        path: the destination, as the caller named it.
    """

    path: str

    def __init__(self, segment_bytes: int, interval: int | None, base_offset: int | None) -> None:
        self._bytes, self._interval, self.base_offset = segment_bytes, interval, base_offset
        self._segments: list[_Segment] = []
        self._finished: list[tuple[str, str]] = []

    def write(self, piece: EncodedBatches) -> None:
        """Append batches, to as many segments as needed.

        Raises:
            EncodeError: a batch that does not fit into a segment, or not into this one.
            OutputError: a failed write.
        """
        while len(piece.heads):
            if not self._segments:
                first = int(piece.heads[0, COL_BASE_OFFSET])
                self._begin(first if self.base_offset is None else self.base_offset)
            segment = self._segments[-1]
            fitting = self._num_fitting(segment, piece.heads)
            if fitting:
                taken, piece = _split(piece, fitting)
                segment.write(taken)
            else:
                self._roll(segment, piece.heads)

    def abort_transaction(self, aborted: AbortedTxn) -> None:
        """Add an aborted transaction to the index of the current segment."""
        self._segments[-1].abort_transaction(aborted)

    def note_producers(self, end_offset: int, producers: Producers) -> None:
        """Keep the state of producers that a broker needs to append after the last batch."""

    def _num_fitting(self, segment: _Segment, heads: Any) -> int:
        """Return how many of the batches still fit into a segment."""
        ends = heads[:, COL_END_POSITION] - int(heads[0, COL_POSITION]) + segment.size
        lasts = heads[:, COL_BASE_OFFSET] + heads[:, COL_LAST_OFFSET_DELTA] - segment.base_offset
        if int(heads[0, COL_BASE_OFFSET]) < segment.base_offset:
            raise refused(
                "segment_offset",
                f"below the segment's base offset {segment.base_offset}",
                offset=int(heads[0, COL_BASE_OFFSET]),
            )
        wrong = (ends > self._bytes) | (lasts > MAX_INT)
        return int(wrong.argmax()) if wrong.any() else len(heads)

    def _roll(self, segment: _Segment, heads: Any) -> None:
        """Begin another segment for a batch, or raise the reason why that is impossible."""
        size = int(heads[0, COL_END_POSITION] - heads[0, COL_POSITION])
        offset = int(heads[0, COL_BASE_OFFSET])
        if size > self._bytes:
            found = f"a batch of {size} bytes, and segment_bytes is {self._bytes}"
            raise refused("segment_too_small", found, offset=offset)
        if segment.size == 0:
            found = f"more than 2^31 - 1 above the segment's base offset {segment.base_offset}"
            raise refused("segment_offset", found, offset=offset)
        self._begin_next(segment, offset)

    def _begin(self, base_offset: int) -> None:
        raise NotImplementedError

    def _begin_next(self, segment: _Segment, offset: int) -> None:
        raise NotImplementedError

    def publish(self) -> tuple[str, ...]:
        """Make all files visible; return the segments' paths.

        Raises:
            OutputError: a failed write.
        """
        raise NotImplementedError

    def discard(self) -> None:
        """Remove all files."""
        for segment in self._segments:
            segment.discard()


def _split(piece: EncodedBatches, number: int) -> tuple[EncodedBatches, EncodedBatches]:
    if number == len(piece.heads):
        return piece, EncodedBatches(piece.data[len(piece.data) :], piece.heads[number:])
    cut = int(piece.heads[number, COL_POSITION])
    rest = piece.heads[number:].copy()
    rest[:, [COL_POSITION, COL_END_POSITION]] -= cut
    return EncodedBatches(piece.data[:cut], piece.heads[:number]), EncodedBatches(piece.data[cut:], rest)


class OneSegment(Store):
    """A single segment.

    Args:
        path: of the segment, which must not exist.
    """

    def __init__(
        self, path: str, *, segment_bytes: int, interval: int | None, base_offset: int | None
    ) -> None:
        named = base_offset_of(path)
        if named is not None and base_offset is not None and base_offset < named:
            raise OptionError(f"base_offset {base_offset} is below that of the segment's name", path=path)
        super().__init__(segment_bytes, interval, base_offset if named is None else named)
        stem = path.removesuffix(_SUFFIX)
        for name in [path] + [stem + suffix for suffix in INDEX_SUFFIXES if interval is not None]:
            outputs.check_absent(name)
        self.path, self._hidden = path, outputs.hidden_sibling(path)
        if self.base_offset is not None:
            self._begin(self.base_offset)

    def _begin(self, base_offset: int) -> None:
        self._segments.append(_Segment(self._hidden, self.path, base_offset, self._interval))

    def _begin_next(self, segment: _Segment, offset: int) -> None:
        if segment.base_offset + MAX_INT < offset:
            found = f"more than 2^31 - 1 above the segment's base offset {segment.base_offset}"
            raise refused("segment_offset", found, offset=offset)
        raise refused("segment_full", f"the segment has {segment.size} of {self._bytes} bytes", offset=offset)

    def publish(self) -> tuple[str, ...]:
        if not self._segments:
            self._begin(0)
        outputs.publish_files(self._segments[0].finish())
        return (self.path,)


class PartitionFiles(Store):
    """A directory of segments.

    Args:
        path: of the directory, which must not exist, or be empty.
    """

    def __init__(
        self, path: str, *, segment_bytes: int, interval: int | None, base_offset: int | None
    ) -> None:
        super().__init__(segment_bytes, interval, base_offset)
        self.path, self._real = path, outputs.check_replaceable(path)
        self._hidden = outputs.hidden_sibling(self._real)
        outputs.make_directory(self._hidden, path)

    def _begin(self, base_offset: int) -> None:
        name = f"{base_offset:020d}{_SUFFIX}"
        hidden = os.path.join(self._hidden, name)
        self._segments.append(_Segment(hidden, os.path.join(self.path, name), base_offset, self._interval))

    def _begin_next(self, segment: _Segment, offset: int) -> None:
        segment.finish()
        self._begin(offset)

    def note_producers(self, end_offset: int, producers: Producers) -> None:
        """Write a producer snapshot.

        Without one, a broker that starts after a clean shutdown assumes that there are no producers
        (UnifiedLog.rebuildProducerState), and does not see where an open transaction began.
        """
        if self._interval is not None:
            name = f"{end_offset:020d}.snapshot"
            write_beside(self._hidden, self.path, name, build_producer_snapshot(producers.entries()))

    def publish(self) -> tuple[str, ...]:
        if not self._segments:
            self._begin(self.base_offset or 0)
        self._segments[-1].finish()
        outputs.publish_directory(self._hidden, self._real, self.path)
        return tuple(segment.destination for segment in self._segments)

    def discard(self) -> None:
        super().discard()
        outputs.discard_directory(self._hidden)
