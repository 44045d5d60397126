"""Comparison of copies of a partition: the first batch that differs, and why.

Strategy: batches are compared by their headers in the order of their offsets, from the first offset that both
copies have. Copies may lack batches at either end, and the cleaner may have removed batches, or records of
batches, from one of them (`CopyMark.is_same`). Batches of different leader epochs show that the copies had
different leaders from there on; of the same one, that bytes were changed. A batch whose checksum is wrong is
damage, which other checks report.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from kafka_segments.errors import KafkaFormatError, MissingExtraError, raise_unless_file_at_fault
from kafka_segments.formats.entries import Batch, Damage
from kafka_segments.io.filesystems import Places
from kafka_segments.io.storage import Source
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.opening import open_stored
from kafka_segments.segment.scan.entry_scan import Scan, sound_entry
from kafka_segments.verify.sink import CheckSink

if TYPE_CHECKING:
    from kafka_segments.segment.columnar.entry_marks import MarkRow

__all__ = ["check_copies"]


class CopyMark(NamedTuple):
    """A batch of a copy: where it is, and what identifies it."""

    path: str
    position: int
    first_offset: int
    last_offset: int
    crc: int
    magic: int
    num_records: int | None
    leader_epoch: int
    producer_id: int
    base_sequence: int
    has_delete_horizon: bool

    def is_same(self, other: CopyMark) -> bool:
        """Return whether two batches are the same, or one is what the cleaner left of the other."""
        if self.magic < 2 or other.magic < 2:
            return True  # the cleaner and brokers make old messages anew
        if (self.crc, self.first_offset, self.last_offset) == (
            other.crc,
            other.first_offset,
            other.last_offset,
        ):
            return self.leader_epoch == other.leader_epoch
        mine = self.leader_epoch, self.producer_id, self.base_sequence, self.last_offset
        if mine != (other.leader_epoch, other.producer_id, other.base_sequence, other.last_offset):
            return False
        is_cleaned = self.has_delete_horizon or other.has_delete_horizon
        return is_cleaned or self.num_records != other.num_records


def check_copies(places: Places, one: PartitionCopy, other: PartitionCopy, sink: CheckSink) -> None:
    """Check that two copies of a partition agree; report the first difference."""
    marks, others = _marks(places, one), _marks(places, other)
    mine, theirs = next(marks, None), next(others, None)
    while mine is not None and theirs is not None:
        if mine.last_offset < theirs.first_offset:
            mine = next(marks, None)
        elif theirs.last_offset < mine.first_offset:
            theirs = next(others, None)
        elif mine.is_same(theirs):
            mine, theirs = next(marks, None), next(others, None)
        elif _is_sound(places, mine) and _is_sound(places, theirs):
            _report(mine, theirs, sink)
            return
        else:
            mine, theirs = next(marks, None), next(others, None)


def _report(mine: CopyMark, theirs: CopyMark, sink: CheckSink) -> None:
    where = f"{theirs.path}, position {theirs.position}"
    first, last = max(mine.first_offset, theirs.first_offset), max(mine.last_offset, theirs.last_offset)
    place = {"path": mine.path, "position": mine.position, "first_offset": first, "last_offset": last}
    epochs = mine.leader_epoch, theirs.leader_epoch
    if epochs[0] != epochs[1]:
        detail = f"leader epoch {epochs[0]} here, {epochs[1]} at {where}: the copies had different leaders, "
        sink.add("copies-diverged", f"{detail}and one was not truncated (unclean election)", **place)
        return
    detail = f"the batch here is not the one at {where}, though both have leader epoch {epochs[0]} and right "
    sink.add(
        "copies-differ", f"{detail}checksums: one was changed, or a leader lost what it had written", **place
    )


def _is_sound(places: Places, mark: CopyMark) -> bool:
    """Return whether a batch has a right checksum."""
    with closing(places.open(mark.path)) as source:
        return sound_entry(source, mark.position) is not None


def _marks(places: Places, copy: PartitionCopy) -> Iterator[CopyMark]:
    """Yield the batches of a copy by their headers."""
    for segment in copy.segments:
        try:
            source = open_stored(places, segment)
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            continue  # the checks of the copy report it
        with closing(source):
            yield from _marks_in(source, segment.path)


def _marks_in(source: Source, path: str) -> Iterator[CopyMark]:
    try:
        from kafka_segments.segment.columnar.entry_marks import iter_mark_rows

        rows = iter_mark_rows(source)
    except MissingExtraError:
        rows = _slow_rows(source)
    for row in rows:
        yield CopyMark(path, *row)


def _slow_rows(source: Source) -> Iterator[MarkRow]:
    for entry in Scan(source, headers_only=True).entries():
        if isinstance(entry, Damage) or not isinstance(entry, Batch):
            continue
        first = entry.last_offset if entry.base_offset is None else entry.base_offset
        yield (
            entry.position,
            first,
            max(first, entry.last_offset),
            entry.crc,
            entry.magic,
            entry.num_records,
            entry.partition_leader_epoch,
            entry.producer_id,
            entry.base_sequence,
            entry.delete_horizon_ms is not None,
        )
