"""Runs of sound batches in tables of verified entries; see `sound_runs`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kafka_segments.core.segment.columnar.entry_rows import VerifiedTable
from kafka_segments.core.segment.sound_runs import RefusedEntry, SoundRun, refused

__all__ = ["runs_of"]


def runs_of(table: VerifiedTable) -> Iterator[SoundRun | RefusedEntry]:
    """Divide a table where offsets do not continue, around entries that are refused, and before the last."""
    entries, is_batch, counts = table.entries, table.entries.is_batch(), table.num_records
    firsts, lasts = table.first_offset, table.last_offset
    room = lasts - firsts + 1
    is_refused = (firsts < 0) | table.is_overflowing
    is_doubted = is_batch & ((counts > room) | ~table.has_ordered_records)
    epochs, times = table.of_batches("partition_leader_epoch"), table.max_timestamp
    is_alone = is_refused | is_doubted
    is_alone[-1] = True
    is_alone[:-1] |= firsts[1:] <= lasts[:-1]
    begins = is_alone.copy()
    begins[0] = True
    begins[1:] |= is_alone[:-1] | (firsts[1:] != lasts[:-1] + 1) | (epochs[1:] != epochs[:-1])
    starts = np.flatnonzero(begins).tolist()
    num_lacking = np.where(is_batch, (room - counts).clip(0), 0)
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        place = entries.value(start, "position"), entries.value(end - 1, "end_position")
        first, last = int(firsts[start]), int(lasts[end - 1])
        if is_refused[start]:
            yield refused(*place, first)
            continue
        newest, lacking = int(times[start:end].max()), int(num_lacking[start:end].sum())
        doubt = int(epochs[start]), bool(is_doubted[start])
        yield SoundRun(*place, first, last, end - start, newest, lacking, *doubt)
