"""Table of entry headers from the scanner, and how the reader treats each row.

A row of 64-bit integers for each entry is the only form of a header. Single values and lists of them need no
package; whole columns are arrays of numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

from kafka_segments.core import formats
from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.core.codecs.bounds import ITEMS_PER_BYTE
from kafka_segments.core.formats.entries import SoundBatches
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.errors.packages import LazyPackage

__all__ = [
    "COMPRESSED",
    "CONTROL",
    "MOST_OFFSETS",
    "PLAIN",
    "SKIPPED",
    "SLOW",
    "WRAPPED",
    "EntryTable",
    "count_alike",
]

SKIPPED, PLAIN, COMPRESSED, WRAPPED, CONTROL, SLOW = range(6)
"""Nothing to read here; records, or a message, as they are; compressed records; messages in a wrapper;
control records; an entry for the slow way."""

np: Any = LazyPackage("numpy")

MOST_OFFSETS = 1 << 31
"""Offsets that a segment can have: in its indexes they are relative to the first one, as an int."""

_HIGHEST_IN_WRAPPERS = CODEC_NAMES.index("lz4") + 1  # zstd came with magic 2


@cache
def _places(module: ModuleType) -> dict[str, int]:
    return {name: at for at, name in enumerate(module.BATCH_COLUMNS)}


@cache
def _is_repeated(module: ModuleType) -> Any:
    return np.array([content.is_repeated for content in module.CONTENTS])


@cache
def _highest_codec(module: ModuleType) -> Any:
    return np.array([max(content.codecs) for content in module.CONTENTS])


@cache
def _has_wrappers(module: ModuleType) -> bool:
    """Return whether a module's entries have the columns that the rules for wrappers need."""
    return {"base_offset", "magic", "timestamp_type", "max_timestamp"} <= set(module.BATCH_COLUMNS)


@cache
def _of_contents(module: ModuleType) -> set[str]:
    return {name for content in module.CONTENTS for name in content.columns}


class EntryTable:
    """Rows of sound entries, one after the other in the file.

    Args:
        rows: memory of 64-bit integers, row by row; or an array of numpy, a row for each entry.
        module: the generated module that they are of; its `BATCH_COLUMNS` are the columns.
    """

    def __init__(self, rows: Any, module: ModuleType) -> None:
        self._module = module
        self._memory: memoryview | None = rows if isinstance(rows, memoryview) else None
        self._rows: Any = None if self._memory is not None else rows
        self._len = len(rows) if self._memory is None else len(rows) // module.WIDTH

    def __len__(self) -> int:
        return self._len

    @property
    def rows(self) -> Any:
        """All columns, int64, a row for each entry."""
        if self._rows is None:
            self._rows = np.asarray(self._memory).reshape(-1, self._module.WIDTH)
        return self._rows

    @property
    def memory(self) -> memoryview:
        """All numbers, row by row."""
        if self._memory is None:
            self._memory = memoryview(np.ascontiguousarray(self._rows).reshape(-1))
        return self._memory

    def values(self, name: str) -> list[int]:
        """Return one column as a list."""
        place = _places(self._module)[name]
        if self._memory is not None:
            return self._memory[place :: self._module.WIDTH].tolist()
        return list(self._rows[:, place].tolist())

    def column(self, name: str) -> Any:
        """Return one column, int64."""
        return self.rows[:, _places(self._module)[name]]

    def value(self, row: int, name: str) -> int:
        """Return one value."""
        place = _places(self._module)[name]
        if self._memory is not None:
            return int(self._memory[row * self._module.WIDTH + place])
        return int(self._rows[row, place])

    def last_offset(self, row: int) -> int:
        """Return the highest offset of an entry according to its header; see `entry_scan`."""
        first = self.value(row, "base_offset")
        if not self._module.CONTENTS[self.value(row, "content")].is_repeated:
            return first
        return max(first, formats.wrap_long(first + self.value(row, "last_offset_delta")))

    def last_offsets(self) -> Any:
        """Return `last_offset` of each row."""
        return np.maximum(self.column("base_offset"), self.stated_last_offsets())

    def stated_last_offsets(self) -> Any:
        """Return the last offset that each header states, as `Batch.last_offset`."""
        delta = np.where(self.is_batch(), self.column("last_offset_delta"), 0)
        return self.column("base_offset") + delta

    def highest_offsets(self) -> Any:
        """Return an upper bound of each entry's offsets; see `Batch.highest_offset`."""
        return np.maximum(self.last_offsets(), self._counted_offsets())

    def highest_offset(self) -> int:
        """Return the highest `last_offset` of all rows; in an unmodified log, the last one's."""
        return int(self.last_offsets().max())

    def list_last_offsets(self) -> list[int]:
        """Return `last_offset` of each row, without numpy."""
        is_batch = [content.is_repeated for content in self._module.CONTENTS]
        columns = map(self.values, ("content", "base_offset", "last_offset_delta"))
        return [
            max(first, formats.wrap_long(first + delta)) if is_batch[content] else first
            for content, first, delta in zip(*columns, strict=True)
        ]

    def ordering_offsets(self) -> list[int]:
        """The last offsets that show whether one strays: the highest and the last; all if one is negative."""
        lasts = self.list_last_offsets()
        if min(lasts) < 0:
            return lasts
        highest, last = max(lasts), lasts[-1]
        return [highest] if last == highest else [highest, last]

    def exceeds_last_offsets(self) -> Any:
        """Whether an entry's count of records leads beyond its last offset; see `Batch.highest_offset`."""
        return self._counted_offsets() > self.last_offsets()

    def _counted_offsets(self) -> Any:
        """The offset of each entry's last record if none are missing; no higher than there can be."""
        first = self.column("base_offset")
        more = np.where(self.is_batch(), self.column("num_records"), 1) - 1
        return np.minimum(first, MAX_LONG - np.maximum(more, 0)) + more

    def num_records(self) -> int:
        """Return the number of records according to the headers; a message of an old format is one."""
        counts = self.column("num_records")
        return int(counts.sum() if self._has_batches_alone() else np.where(self.is_batch(), counts, 1).sum())

    def has_gaps(self, greatest: int = -1) -> bool:
        """Whether offsets are missing between or inside batches; offsets that fall are not a gap.

        Args:
            greatest: the greatest offset before them.
        """
        firsts, lasts = self.column("base_offset"), self.last_offsets()
        is_short = self.is_batch() & (self.column("num_records") <= self.column("last_offset_delta"))
        before = np.maximum(np.maximum.accumulate(lasts)[:-1], greatest)
        return bool(is_short.any() or (firsts[1:] > before + 1).any())

    def joined(self, others: Sequence[EntryTable]) -> EntryTable:
        """Return a copy of the rows, with those of other tables after them."""
        return EntryTable(np.concatenate([self.rows, *(one.rows for one in others)]), self._module)

    def chosen(self, mask: Any) -> EntryTable:
        """Return a copy of some rows."""
        return EntryTable(self.rows[mask], self._module)

    def tail(self, count: int) -> EntryTable:
        """Return a copy of the last rows."""
        return EntryTable(self.rows[-count:].copy(), self._module)

    def before(self, row: int) -> EntryTable:
        """Return the rows before one."""
        return self.part(0, row)

    def part(self, start: int, end: int) -> EntryTable:
        """Return the rows `[start, end)`."""
        if self._memory is not None:
            width = self._module.WIDTH
            return EntryTable(self._memory[start * width : end * width], self._module)
        return EntryTable(self._rows[start:end], self._module)

    def in_range(self, start: int | None, end: int | None) -> Any:
        """Whether an entry may have records with offsets in `[start, end)`; see `Batch.highest_offset`."""
        first = self.column("base_offset")
        inside = np.ones(len(first), bool)
        if (start is None or first.min() >= start) and (end is None or first.max() < end):
            return inside
        is_batch = self.is_batch()
        if start is not None:
            last = first + np.where(is_batch, self.column("last_offset_delta"), 0)
            is_unknown = ~is_batch & (first == 0) & (self.column("codec") != 0)
            inside &= (np.maximum(last, self._counted_offsets()) >= start) | is_unknown
        if end is not None:
            inside &= (first < end) | ~is_batch
        return inside

    def is_inside(self, start: int | None, end: int | None) -> bool:
        """Return whether all offsets are in `[start, end)`, according to headers; never for wrappers."""
        first = self.column("base_offset")
        if not self._has_batches_alone() or (start is not None and first.min() < start):
            return False
        return end is None or max(self.highest_offset(), int(self._counted_offsets().max())) < end

    def count(self, start: int | None, end: int | None) -> SoundBatches:
        """Return how many rows may have records with offsets in `[start, end)`, and their bytes."""
        is_read = self.in_range(start, end)
        if is_read.all():  # consecutive
            last = len(self) - 1
            return SoundBatches(len(self), self.value(last, "end_position") - self.value(0, "position"))
        sizes = self.column("end_position") - self.column("position")
        return SoundBatches(int(is_read.sum()), int(sizes[is_read].sum()))

    def kinds(self, start: int | None, end: int | None, *, is_bounded: bool = True) -> Any:
        """Return the kind of each row: `SKIPPED`, `PLAIN`...

        Args:
            start: rows with lower offsets alone are skipped.
            end: rows with these and higher offsets alone are skipped.
            is_bounded: whether compressed batches of too many records, see `bounds`, are `SLOW`.
        """
        codec = self.column("codec")
        if start is None and end is None and self._is_all_plain(codec):
            return np.full(len(self), PLAIN)
        is_batch = self.is_batch()
        is_empty = self.column("payload") == self.column("end_payload")
        count = self.column("num_records")
        kinds = np.where(codec == 0, PLAIN, COMPRESSED)
        # No records and no bytes, in which a codec could find an error; an unknown codec is an error anyway.
        kinds[is_batch & (count == 0) & is_empty & self._is_codec_known()] = SKIPPED
        kinds[is_batch & (self.column("is_control") != 0)] = CONTROL
        # A negative count has words of its own; compressed control batches go another way.
        kinds[is_batch & ((count < 0) | ((kinds == CONTROL) & (codec != 0)))] = SLOW
        if is_bounded:
            kinds[is_batch & (codec != 0) & (count > self.items_bounds(is_bounded=True))] = SLOW
        kinds[~is_batch & (codec != 0)] = WRAPPED if _has_wrappers(self._module) else SLOW
        kinds[~is_batch & (codec > _HIGHEST_IN_WRAPPERS)] = SLOW
        if start is not None or end is not None:
            kinds[~self.in_range(start, end)] = SKIPPED
        return kinds

    def items_bounds(self, *, is_bounded: bool) -> Any:
        """Return the most records that each entry may hold if it is compressed; trusted data has no bound."""
        sizes = self.column("end_position") - self.column("position")
        return ITEMS_PER_BYTE * sizes if is_bounded else np.full(len(self), MAX_LONG)

    def len_compressed(self, rows: Any, kinds: Any) -> int:
        """Bytes of some entries of one kind that were decompressed; 0 if they were read as they are."""
        if not len(rows) or kinds[rows[0]] not in {COMPRESSED, WRAPPED}:
            return 0
        return int((self.column("end_position")[rows] - self.column("position")[rows]).sum())

    def has(self, name: str) -> Any:
        """Whether each entry's content has a column; the numbers of other entries there mean nothing."""
        if name not in _of_contents(self._module):
            return np.ones(len(self), bool)
        known = [name in content.columns for content in self._module.CONTENTS]
        return np.array(known)[self.column("content")]

    def alike(self, rows: Any, kinds: Any) -> Any:
        """The first of `rows`, as many as are of one kind, sort of content and codec."""
        columns = [kinds[rows], self.column("content")[rows], self.column("codec")[rows]]
        return rows[: count_alike(columns)]

    def spans(self, rows: Any, position: int) -> Any:
        """Return the places of some rows' records in a window that begins at `position`; see `decoding`."""
        spans = np.empty((len(rows), 3), np.int64)
        spans[:, 0] = self.column("payload")[rows] - position
        spans[:, 1] = self.column("end_payload")[rows] - position
        spans[:, 2] = rows
        return spans

    def _is_all_plain(self, codec: Any) -> bool:
        """Whether all entries are batches of uncompressed data records."""
        is_special = codec.any() or self.column("is_control").any() or self.column("num_records").min() < 1
        return not is_special and bool(self.is_batch().all())

    def _is_codec_known(self) -> Any:
        return self.column("codec") <= _highest_codec(self._module)[self.column("content")]

    def is_wrapper(self) -> Any:
        """Whether an entry is a message of an old format that holds others."""
        if self._has_batches_alone():
            return np.zeros(len(self), bool)
        return ~self.is_batch() & (self.column("codec") != 0)

    def _has_batches_alone(self) -> bool:
        return bool(self.is_batch().all())

    def is_batch(self) -> Any:
        """Whether an entry holds records, and is not a message of an old format."""
        return _is_repeated(self._module)[self.column("content")]


def count_alike(columns: list[Any]) -> int:
    """Count the leading rows that have the values of the first one in all of these columns."""
    others = np.flatnonzero(np.any([column != column[0] for column in columns], axis=0))
    return int(others[0]) if len(others) else len(columns[0])
