"""Headers of pieces in tables, by the compiled scanner and the compiled index writer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_segments.core.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)

# isort: split
import numpy as np

from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.entry_table import EntryTable
from kafka_segments.core.segment.columnar.header_table import iter_headers
from kafka_segments.core.segment.index_files import AbortedTxn
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.salvage.ledger import ResultPiece
from kafka_segments.salvage.log_state import LogState, note_table
from kafka_segments.salvage.survey import changed_error
from kafka_segments.write.index_writer import Indexes

__all__ = ["CompiledFollower"]

_LEN_WINDOW = 4096  # bytes, where a single header is read


class CompiledFollower:
    """Follower of one segment.

    Args:
        state: follows the batches.
        base_offset: of the segment.
        interval: bytes between entries of an index.

    Raises:
        MissingExtraError: numba is not installed.
    """

    def __init__(self, state: LogState, base_offset: int, interval: int) -> None:
        self._state = state
        self._indexes = Indexes(base_offset, interval)

    def follow(self, source: Source, piece: ResultPiece) -> Iterator[AbortedTxn]:
        """Read a piece's headers; yield the transactions that its markers abort.

        Raises:
            ReadError: the file has changed since it was surveyed.
        """
        for found in iter_headers(source, piece.position):
            if isinstance(found, Damage):
                raise changed_error(source, found)
            entries = found.before(int(np.searchsorted(found.column("position"), piece.end_position)))
            _make_plain(entries)

            def batch_at(row: int, entries: EntryTable = entries) -> Batch:
                scan = Scan(source, headers_only=True, len_window=_LEN_WINDOW)
                batch = next(scan.entries(entries.value(row, "position")))
                if not isinstance(batch, Batch):
                    raise changed_error(source, batch)
                return batch

            yield from note_table(self._state, entries, source, batch_at)
            self._indexes.append(entries.rows, piece.to_position - piece.position)
            if entries.value(len(entries) - 1, "end_position") >= piece.end_position:
                return

    def files(self) -> dict[str, bytes]:
        """Return the content of the index files, by suffix."""
        return self._indexes.files()


def _make_plain(entries: Any) -> None:
    """Set what messages of the old formats do not have as the index writer takes it."""
    is_message = ~entries.is_batch()
    if is_message.any():
        entries.column("last_offset_delta")[is_message] = 0
        entries.column("max_timestamp")[entries.column("magic") == 0] = -1
