"""Entries of a run in pieces whose records take bounded memory.

Strategy: a run is decoded as a whole; where its records take more than a few MiB, in halves, and these again.
A single entry may take more. What all take together is bounded by what they are on the disk, so that a small
file is never expensive: all of it is encoded in every form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.write.entry_records import EntryRecords, entry_heads, read_small_entries
from kafka_segments_generated.columns.kafka_log_segment import COL_POSITION

__all__ = ["MAX_OF_ENTRY", "EntryPieces", "LeftOut"]

MAX_OF_ENTRY = 64 << 20
"""Bytes that those of a single entry may take."""

_EXPANSION, _ALWAYS_ALLOWED = 200, 64 << 20
_TOO_MUCH = (
    f"left out: its records take more than {MAX_OF_ENTRY >> 20} MiB of memory, or those of all entries so "
    f"far more than {_EXPANSION} times their bytes"
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An entry whose records take too much memory.

    Attributes:
        position: in the run.
        end_position: likewise.
        detail: what is too much.
    """

    position: int
    end_position: int
    detail: str


class EntryPieces:
    """Reader of runs of entries, in pieces.

    Args:
        max_together: bytes that the records of several entries may take as Arrow.
    """

    def __init__(self, max_together: int) -> None:
        self._max_together = max_together
        self._num_read = self._num_content = 0
        self._items = ItemBudget(DEFAULT_MAX_DECOMPRESSED)

    def pieces(self, data: memoryview, position: int = 0) -> Iterator[tuple[int, EntryRecords] | LeftOut]:
        """Yield the entries of a run with the position where they begin, or what is left out.

        Args:
            data: whole entries.
            position: added to all positions.

        Raises:
            MissingCodecError: the package of a codec is not installed.
        """
        found = self._read(data, self._max_together)
        if found is not None:
            yield position, found
            return
        starts = entry_heads(data)[:, COL_POSITION]
        if len(starts) > 1:
            middle = int(starts[len(starts) // 2])
            yield from self.pieces(data[:middle], position)
            yield from self.pieces(data[middle:], position + middle)
            return
        found = self._read(data, MAX_OF_ENTRY)
        if found is not None:
            yield position, found
            return
        self._num_read += len(data)
        yield LeftOut(position, position + len(data), _TOO_MUCH)

    def _read(self, data: memoryview, most: int) -> EntryRecords | None:
        allowed = _ALWAYS_ALLOWED + _EXPANSION * (self._num_read + len(data)) - self._num_content
        most = max(0, min(most, allowed))
        found = read_small_entries(data, max_content=most, items=self._items)
        if found is not None:
            self._num_read += len(data)
            self._num_content += found.records.nbytes
        return found
