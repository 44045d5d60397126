"""Ledger of a partition: which bytes of its sources hold which offsets, and what became of them.

Strategy: damage may leave millions of short stretches, and memory must not grow with them. So they are rows
of a database of SQLite, in a file that is removed afterwards, and are read in the order of offsets or
positions. Rows are never updated, and nothing is committed: the file is of no use to another process.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from typing import Any, NamedTuple

from kafka_segments.errors import OutputError

__all__ = ["COVERED", "Fate", "Ledger", "MissingOffsets", "ResultPiece", "SoundStretch", "Status", "doubted"]

COVERED = -1
"""Number of the copy, in the ledger, of stretches that were passed over."""
_MAX_PENDING = 2048  # rows that are inserted at once
_SCHEMA = """
CREATE TABLE stretch (
    copy INTEGER, first INTEGER, last INTEGER, file INTEGER, position INTEGER, end_position INTEGER,
    num_batches INTEGER, newest INTEGER, since INTEGER, expected INTEGER, doubt TEXT);
CREATE TABLE fate (
    file INTEGER, position INTEGER, end_position INTEGER, status TEXT, reason TEXT, first INTEGER,
    last INTEGER, segment INTEGER, to_position INTEGER, newest INTEGER);
CREATE TABLE gap (first INTEGER, last INTEGER);
"""
_INDEXES = {
    "stretch": "CREATE INDEX by_offset ON stretch (copy, first, last DESC)",
    "fate": "CREATE INDEX by_position ON fate (file, position);"
    "CREATE INDEX by_last ON fate (last) WHERE status = 'copied'",
    "gap": "CREATE INDEX by_first ON gap (first)",
}


class Status:
    """What became of a range of bytes."""

    COPIED = "copied"
    """They are in the result, copied from here."""
    SAME = "same"
    """The same bytes are in the result, copied from another copy."""
    QUARANTINED = "quarantined"
    """They are not part of the result; they are kept in the quarantine."""
    UNREADABLE = "unreadable"
    """The disk or store does not give them."""
    PADDING = "padding"
    """Zeros at the end of a preallocated file, which hold nothing."""


class SoundStretch(NamedTuple):
    """Consecutive sound batches of a file, whose offsets have no gap between them.

    Attributes:
        copy: number of the copy, by trust; a later one is trusted less.
        first: first offset.
        last: last offset.
        file: number of the source file.
        position: where it begins, in bytes.
        end_position: where it ends.
        num_batches: in it.
        newest: greatest timestamp, in milliseconds; -1 for none.
        since: the offset from which on the copy knows the log: lower than `first` if the log cleaner has
            removed those between.
        expected: the offset after the batch before it; see `segment.evidence.JudgedRun`.
        doubt: what contradicts its offsets; empty if nothing does.
    """

    copy: int
    first: int
    last: int
    file: int
    position: int
    end_position: int
    num_batches: int
    newest: int
    since: int
    expected: int | None = None
    doubt: str = ""

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end_position - self.position

    def fate(
        self, status: str, reason: str = "", segment: int | None = None, to_position: int | None = None
    ) -> Fate:
        """Return what became of it."""
        place = self.file, self.position, self.end_position
        return Fate(*place, status, reason, self.first, self.last, segment, to_position, self.newest)


class ResultPiece(NamedTuple):
    """Bytes of a source file that become part of a segment of the result.

    Attributes:
        file: number of the source file.
        position: where they begin in it.
        end_position: where they end.
        first: first offset.
        last: last offset.
        newest: greatest timestamp, or a bound of it.
        segment: base offset of the result's segment.
        to_position: where they begin in that.
    """

    file: int
    position: int
    end_position: int
    first: int
    last: int
    newest: int
    segment: int
    to_position: int


class MissingOffsets(NamedTuple):
    """Offsets that are in no copy, between, before or after batches of the result."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a range of bytes of a source file.

    Attributes:
        file: number of the source file.
        position: where it begins.
        end_position: where it ends.
        status: see `Status`.
        reason: why it was not copied; empty if it was.
        first: first offset in it, if known.
        last: last offset in it, if known.
        segment: base offset of the result's segment that has these bytes.
        to_position: where in that.
        newest: greatest timestamp in it, or a bound of it; -1 for none.
    """

    file: int
    position: int
    end_position: int
    status: str
    reason: str = ""
    first: int | None = None
    last: int | None = None
    segment: int | None = None
    to_position: int | None = None
    newest: int = -1

    def joined(self, other: Fate) -> Fate | None:
        """Return one range for this one and the next, if they are adjacent and share their fate."""
        is_adjacent = self.file == other.file and self.end_position == other.position
        if not is_adjacent or (self.status, self.reason) != (other.status, other.reason):
            return None
        if self.segment != other.segment:
            return None
        shift = other.position - self.position
        if self.to_position is not None and other.to_position != self.to_position + shift:
            return None
        firsts = [one for one in (self.first, other.first) if one is not None]
        lasts = [one for one in (self.last, other.last) if one is not None]
        bounds = min(firsts, default=None), max(lasts, default=None)
        return replace(self, end_position=other.end_position, first=bounds[0], last=bounds[1])


def doubted(copy: int) -> int:
    """Return the number, in place of a copy's, of its stretches that are to be confirmed."""
    return -2 - copy


class Ledger:
    """Rows about one partition.

    Args:
        path: a file that does not exist; empty for a temporary one, for a dry run.

    Every method raises `OutputError` if the disk is full or fails.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._pending: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _INDEXES}
        self._indexed: set[str] = set()
        with self._errors():
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            try:
                self._database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA)
                self._database.execute("BEGIN")
            except sqlite3.Error:
                self._database.close()
                raise

    def close(self) -> None:
        """Close the file; idempotent."""
        self._database.close()

    def add_stretch(self, stretch: SoundStretch) -> None:
        """Add a stretch."""
        self._add("stretch", stretch)

    def cover(self, stretch: SoundStretch | None) -> None:
        """Add a stretch, if there is one, as passed over."""
        if stretch is not None:
            self.add_stretch(stretch._replace(copy=COVERED))

    def add_fate(self, fate: Fate) -> None:
        """Add what became of a range of bytes."""
        if fate.end_position > fate.position:
            self._add("fate", astuple(fate))

    def add_gap(self, gap: MissingOffsets) -> None:
        """Add missing offsets."""
        self._add("gap", gap)

    def stretches(self, copy: int) -> Iterator[SoundStretch]:
        """Yield a copy's stretches by first offset, of those with the same one the longest first."""
        query = "SELECT * FROM stretch WHERE copy = ? ORDER BY first, last DESC, file, position, end_position"
        return map(SoundStretch._make, self._rows("stretch", query, (copy,)))

    def around(self, copy: int, first: int, last: int) -> tuple[SoundStretch | None, SoundStretch | None]:
        """Return a copy's last stretch that begins up to one offset, and its first one after another."""
        queries = ("first <= ? ORDER BY first DESC, last DESC", first), ("first > ? ORDER BY first", last)
        found = []
        for condition, offset in queries:
            query = f"SELECT * FROM stretch WHERE copy = ? AND {condition} LIMIT 1"
            found.append(next(map(SoundStretch._make, self._rows("stretch", query, (copy, offset))), None))
        return found[0], found[1]

    def pieces(self, from_offset: int | None = None) -> Iterator[ResultPiece]:
        """Yield the pieces of the result by offset, from the one on that may have `from_offset`."""
        query = f"SELECT {', '.join(ResultPiece._fields)} FROM fate WHERE status = 'copied'"
        if from_offset is None:
            return map(ResultPiece._make, self._rows("fate", f"{query} ORDER BY last", ()))
        rows = self._rows("fate", f"{query} AND last >= ? ORDER BY last", (from_offset,))
        return map(ResultPiece._make, rows)

    def fates(self, file: int) -> Iterator[Fate]:
        """Yield what became of a file's bytes, by position; adjacent ranges with one fate as one."""
        query = "SELECT * FROM fate WHERE file = ? ORDER BY position"
        before: Fate | None = None
        for row in self._rows("fate", query, (file,)):
            fate = Fate(*row)
            joined = None if before is None else before.joined(fate)
            if before is not None and joined is None:
                yield before
            before = joined or fate
        if before is not None:
            yield before

    def mark(self) -> dict[str, int]:
        """Return what `back_to` takes: which rows there are."""
        return {
            name: next(self._rows(name, f"SELECT COALESCE(MAX(rowid), 0) FROM {name}", ()))[0]
            for name in _INDEXES
        }

    def back_to(self, mark: dict[str, int]) -> None:
        """Remove all rows that were added since."""
        for name, row in mark.items():
            list(self._rows(name, f"DELETE FROM {name} WHERE rowid > ?", (row,)))

    def gaps(self, from_offset: int) -> Iterator[MissingOffsets]:
        """Yield missing offsets in their order, those from a log start offset on."""
        query = "SELECT first, last FROM gap WHERE last >= ? ORDER BY first"
        return map(MissingOffsets._make, self._rows("gap", query, (from_offset,)))

    def num_gaps(self, from_offset: int) -> int:
        """Return how many `gaps` yields."""
        query = "SELECT COUNT(*) FROM gap WHERE last >= ?"
        ((count,),) = self._rows("gap", query, (from_offset,))
        return int(count)

    def counts(self) -> dict[str, int]:
        """Return the number of bytes of each status."""
        query = "SELECT status, SUM(end_position - position) FROM fate GROUP BY status"
        return dict(self._rows("fate", query, ()))

    def unused(self, ignored: Collection[int]) -> Iterator[Fate]:
        """Yield ranges that are quarantined or unreadable, of all files but some."""
        query = "SELECT * FROM fate WHERE status IN (?, ?) ORDER BY file, position"
        rows = self._rows("fate", query, (Status.QUARANTINED, Status.UNREADABLE))
        return (Fate(*row) for row in rows if row[0] not in ignored)

    def _add(self, table: str, row: Iterable[Any]) -> None:
        rows = self._pending[table]
        rows.append(tuple(row))
        if len(rows) >= _MAX_PENDING:
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._pending[table]
        if rows:
            places = ", ".join("?" * len(rows[0]))
            with self._errors():
                self._database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
            rows.clear()

    def _rows(self, table: str, query: str, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        self._flush(table)
        with self._errors():
            if table not in self._indexed:
                self._indexed.add(table)
                for index in _INDEXES[table].split(";"):
                    self._database.execute(index)
            # Without the inner generator the rows would be closed again, perhaps after the database.
            yield from (row for row in self._database.execute(query, values))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            number = errno.ENOSPC if error.sqlite_errorcode == sqlite3.SQLITE_FULL else None
            why = str(error) if number is None else os.strerror(number)
            raise OutputError(
                f"the notes on what was found cannot be written: {why}",
                path=self._path or "a temporary file",
                errno=number,
            ) from error
