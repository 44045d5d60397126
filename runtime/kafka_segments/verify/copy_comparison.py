"""Comparison of copies of a partition: the first batch that differs, and why.

Strategy: batches are compared by their headers in the order of their offsets, from the first offset that both
copies have. Copies may lack batches at either end, and the cleaner may have removed batches, or records of
batches, from one of them (`_is_same`). Batches of different leader epochs show that the copies had
different leaders from there on; of the same one, that bytes were changed. A batch whose checksum is wrong is
damage, which other checks report.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import NamedTuple

from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.scan.entry_scan import sound_entry
from kafka_segments.core.segment.verified.verifying import iter_verified
from kafka_segments.errors import KafkaFormatError, UnknownFormatError, raise_unless_file_at_fault
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.opening import open_stored
from kafka_segments.verify.sink import CheckSink

__all__ = ["check_copies"]


class _Mark(NamedTuple):
    """A batch of a copy by its header, and its file; the first offset of a wrapper is the lowest possible."""

    path: str
    first: int
    last: int
    position: int
    end_position: int
    magic: int
    crc: int
    partition_leader_epoch: int
    producer_id: int
    base_sequence: int
    num_records: int
    has_delete_horizon: int


def _is_same(one: _Mark, other: _Mark) -> bool:
    """Return whether two batches are the same, or one is what the cleaner left of the other."""
    if one.magic < 2 or other.magic < 2:
        return True  # the cleaner and brokers rewrite old messages
    epochs = one.partition_leader_epoch == other.partition_leader_epoch
    if (one.crc, one.first, one.last) == (other.crc, other.first, other.last):
        return epochs
    is_kept = (one.producer_id, one.base_sequence, one.last) == (
        other.producer_id,
        other.base_sequence,
        other.last,
    )
    is_cleaned = one.has_delete_horizon or other.has_delete_horizon or one.num_records != other.num_records
    return epochs and is_kept and bool(is_cleaned)


def check_copies(places: Places, one: PartitionCopy, other: PartitionCopy, sink: CheckSink) -> None:
    """Check that two copies of a partition agree; report the first difference."""
    marks, others = _marks(places, one), _marks(places, other)
    mine, theirs = next(marks, None), next(others, None)
    before: _Mark | None = None  # the last batch of either that the other does not have there
    while mine is not None and theirs is not None:
        if mine.last < theirs.first:
            before, mine = mine, next(marks, None)
        elif theirs.last < mine.first:
            before, theirs = theirs, next(others, None)
        elif _is_same(mine, theirs):
            before, mine, theirs = None, next(marks, None), next(others, None)
        elif _is_sound(places, mine) and _is_sound(places, theirs):
            _report(mine, theirs, sink)
            return
        else:
            before, mine, theirs = None, next(marks, None), next(others, None)
    _check_end(places, before, mine or theirs, sink)


def _check_end(places: Places, before: _Mark | None, last: _Mark | None, sink: CheckSink) -> None:
    """Report a batch at the end that the other copy has at another offset: no checksum covers that."""
    if before is None or last is None or before.magic < 2:
        return
    is_same = (before.crc, _size(before)) == (last.crc, _size(last))
    if is_same and _is_sound(places, before) and _is_sound(places, last):
        detail = f"the batch here is at offset {before.first} at {before.path}, position {before.position}, "
        detail += "with the same checksum: one of the two base offsets was changed, which no checksum covers"
        place = {"path": last.path, "position": last.position, "end_position": last.end_position}
        sink.add("copies-differ", detail, first_offset=last.first, last_offset=last.last, **place)


def _size(mark: _Mark) -> int:
    return mark.end_position - mark.position


def _report(mine: _Mark, theirs: _Mark, sink: CheckSink) -> None:
    where = f"{theirs.path}, position {theirs.position}"
    offsets = {"first_offset": max(mine.first, theirs.first), "last_offset": max(mine.last, theirs.last)}
    place = {"path": mine.path, "position": mine.position, **offsets}
    epochs = mine.partition_leader_epoch, theirs.partition_leader_epoch
    if epochs[0] != epochs[1]:
        detail = f"leader epoch {epochs[0]} here, {epochs[1]} at {where}: the copies had different leaders, "
        sink.add("copies-diverged", f"{detail}and one was not truncated (unclean election)", **place)
        return
    detail = f"the batch here is not the one at {where}, though both have leader epoch {epochs[0]} and right "
    sink.add(
        "copies-differ", f"{detail}checksums: one was changed, or a leader lost what it had written", **place
    )


def _is_sound(places: Places, mark: _Mark) -> bool:
    """Return whether a batch has a right checksum."""
    with closing(places.open(mark.path)) as source:
        return sound_entry(source, mark.position) is not None


def _marks(places: Places, copy: PartitionCopy) -> Iterator[_Mark]:
    """Yield the batches of a copy by their headers."""
    for segment in copy.segments:
        try:
            source = open_stored(places, segment)
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            continue  # the checks of the copy report it
        with closing(source), suppress(UnknownFormatError):  # of another program: likewise
            for event in iter_verified(source, check_crc=False, with_records=False):
                if isinstance(event, (Damage, Padding)):
                    continue
                columns = map(event.entries.values, _Mark._fields[3:])
                for first, last, *header in zip(*event.offsets(), *columns, strict=True):
                    yield _Mark(segment.path, first, last, *header)
