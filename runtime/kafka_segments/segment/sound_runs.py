"""Runs of sound batches in a segment: what can be copied from it in one piece, and what not.

Strategy: every checksum is verified, by the compiled scanner where it is installed, window by window, else
entry by entry. Batches that follow each other in the file and in their offsets become one run; a gap between
offsets begins another. Memory does not depend on the size of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kafka_segments.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.codecs.bounds import ItemBudget
from kafka_segments.errors import MissingExtraError
from kafka_segments.formats.entries import Batch, Damage, Padding
from kafka_segments.formats.file_names import MAX_OFFSET
from kafka_segments.io.storage import Source
from kafka_segments.segment.scan.entry_scan import Scan, sound_entry, with_offsets

__all__ = ["RefusedEntry", "SoundRun", "entry_run", "iter_sound_runs"]


@dataclass(slots=True)
class SoundRun:
    """Consecutive sound entries.

    Attributes:
        position: where the first one begins, in bytes.
        end_position: where the last one ends.
        first: the first offset; of a wrapper that was not opened its last one.
        last: the last offset.
        num_batches: how many they are.
        newest: greatest timestamp of their headers, in milliseconds; -1 for none.
        is_cleaned: whether offsets are missing inside of a batch, as after the log cleaner.
        begins_with_wrapper: whether `first` is only known to be `last` at most.
    """

    position: int
    end_position: int
    first: int
    last: int
    num_batches: int
    newest: int
    is_cleaned: bool = False
    begins_with_wrapper: bool = False

    def follows(self, other: SoundRun) -> bool:
        """Return whether this run continues another one, in the file and in its offsets."""
        if self.position != other.end_position:
            return False
        if self.begins_with_wrapper:
            return self.first > other.last
        return self.first == other.last + 1

    def join(self, other: SoundRun) -> None:
        """Add the run that follows this one."""
        self.end_position, self.last = other.end_position, other.last
        self.num_batches += other.num_batches
        self.newest = max(self.newest, other.newest)
        self.is_cleaned = self.is_cleaned or other.is_cleaned


@dataclass(frozen=True, slots=True)
class RefusedEntry:
    """An entry with a right checksum and offsets that no log can have; no checksum covers its base offset."""

    position: int
    end_position: int
    first: int
    reason: str


Found = SoundRun | RefusedEntry | Damage | Padding


def iter_sound_runs(source: Source) -> Iterator[Found]:
    """Yield runs, in file order, with refused entries, damage and padding in their places.

    Raises:
        StoreError: a store stopped serving the segment.
    """
    items = ItemBudget(DEFAULT_MAX_DECOMPRESSED)
    before: SoundRun | None = None
    for found in _found_in(source):
        if not isinstance(found, SoundRun):
            if before is not None:
                yield before
            before = None
            yield found
        elif before is not None and found.follows(before):
            before.join(found)
        else:
            if before is not None:
                yield before
            before = _opened(source, found, items)
    if before is not None:
        yield before


def _opened(source: Source, run: SoundRun, items: ItemBudget) -> SoundRun:
    """Find the first offset of a run that begins with a wrapper, whose messages have it."""
    if not run.begins_with_wrapper:
        return run
    batch = sound_entry(source, run.position)
    opened = None if batch is None else with_offsets(source, batch, items)
    first = None if opened is None else opened.base_offset
    if first is None or not 0 <= first <= run.first:
        first = run.first
    return replace(run, first=first, begins_with_wrapper=False)


def _found_in(source: Source) -> Iterator[Found]:
    try:
        from kafka_segments.segment.columnar.run_table import iter_runs

        return iter_runs(source)
    except MissingExtraError:
        return _plain_runs(source)


def _plain_runs(source: Source) -> Iterator[Found]:
    for entry in Scan(source).entries():
        if not isinstance(entry, Batch):
            yield entry
        elif entry.crc_valid is not False:  # else its damage follows
            yield entry_run(entry)


def entry_run(batch: Batch) -> SoundRun | RefusedEntry:
    """Return the run of one sound entry, or why there is none."""
    first = batch.last_offset if batch.base_offset is None else batch.base_offset
    if first < 0 or not first <= batch.last_offset <= MAX_OFFSET:
        reason = f"its offsets, {first} to {batch.last_offset}, are none of a log"
        return RefusedEntry(batch.position, batch.end_position, first, reason)
    num_offsets = batch.last_offset - first + 1
    return SoundRun(
        batch.position,
        batch.end_position,
        first,
        batch.last_offset,
        1,
        batch.max_timestamp,
        batch.magic >= 2 and (batch.num_records or 0) < num_offsets,
        batch.base_offset is None,
    )
