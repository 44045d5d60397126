"""What the header of a record's batch says, as columns beside those of the record.

Strategy: a pass over a split shows each entry's header to what counts them; this also keeps what columns are
made of. A row belongs to the first entry whose highest offset is not below its own, else to the last one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.segment.columnar.entry_counts import EntryCounts
from kafka_segments.core.segment.columnar.entry_table import EntryTable
from kafka_segments.errors import EncodeError

__all__ = ["BATCH_COLUMNS", "BatchHeads"]

BATCH_COLUMNS = {
    "batch_position": "position",
    "batch_base_offset": "base_offset",
    "batch_leader_epoch": "partition_leader_epoch",
    "batch_magic": "magic",
    "batch_timestamp_type": "timestamp_type",
    "batch_codec": "codec",
    "batch_max_timestamp": "max_timestamp",
    "batch_producer_id": "producer_id",
    "batch_producer_epoch": "producer_epoch",
    "batch_base_sequence": "base_sequence",
}
"""Columns, all int64 and as they are stored, with the names that the table of entries has for them."""

_LAST = "last_offset"


class BatchHeads(EntryCounts):
    """Counts of a range, and the headers of its entries."""

    def __init__(self, start: int | None, end: int | None) -> None:
        super().__init__(start, end)
        self._parts: list[dict[str, Any]] = []
        self._seen = np.iinfo(np.int64).min

    def entries(self, entries: EntryTable, excluded: Any = None) -> None:
        """Add consecutive sound entries; see `EntryCounts`."""
        super().entries(entries, excluded)
        lasts = entries.highest_offsets()
        before = np.maximum.accumulate(np.append(self._seen, lasts[:-1]))
        rows = np.flatnonzero(lasts > before)  # those that repeat lower offsets give no rows
        if len(rows):
            self._seen = int(lasts[rows[-1]])
            part = {name: entries.column(own)[rows] for name, own in BATCH_COLUMNS.items()}
            self._parts.append({_LAST: lasts[rows], **part})

    def joined(self, batch: pa.RecordBatch, *, is_all: bool = False) -> pa.RecordBatch | None:
        """Return rows with `BATCH_COLUMNS` at the end; None if not all of their entries are known yet.

        Args:
            batch: rows in the order of their offsets, none of which are below those given before.
            is_all: all entries have been seen.

        Raises:
            EncodeError: an entry is not a batch, but a message of magic 0 or 1.
        """
        offsets = batch.column("offset").to_numpy()
        if not len(offsets) or (int(offsets[-1]) > self._seen and not is_all):
            return None if len(offsets) else batch
        while len(self._parts) > 1 and self._parts[0][_LAST][-1] < offsets[0]:
            del self._parts[0]
        heads = {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}
        places = np.minimum(np.searchsorted(heads[_LAST], offsets), len(heads[_LAST]) - 1)
        old = np.flatnonzero(heads["batch_magic"][places] < 2)
        if len(old):
            raise EncodeError(
                f"offset {offsets[old[0]]}: it is in a message of magic 0 or 1, which has no batch header "
                "for the layout's columns; use another layout, or none"
            )
        columns = [pa.array(heads[name][places]) for name in BATCH_COLUMNS]
        names = [*batch.schema.names, *BATCH_COLUMNS]
        return pa.RecordBatch.from_arrays([*batch.columns, *columns], names=names)
