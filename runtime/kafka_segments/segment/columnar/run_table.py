"""Runs of sound batches by the compiled scanner; see `sound_runs`."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from kafka_segments.formats.entries import Batch
from kafka_segments.io.storage import Source
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.segment.columnar.scanner import HeaderScan, returned
from kafka_segments.segment.scan.entry_scan import Scan
from kafka_segments.segment.sound_runs import Found, RefusedEntry, SoundRun, entry_run
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["iter_runs"]

_MAX_WINDOW = 16 << 20
"""Bytes of an entry that is read whole; the checksum of a larger one is computed in pieces."""


def iter_runs(source: Source) -> Iterator[Found]:
    """Yield runs that end with the scanner's windows at the latest, and what is no run in its place.

    Raises:
        MissingExtraError: the scanner is not installed; at the call, not while iterating.
    """
    headers = HeaderScan(source, kafka_log_segment, check_crc=True, max_window=_MAX_WINDOW)
    return _runs(source, headers)


def _runs(source: Source, headers: HeaderScan) -> Iterator[Found]:
    scan = Scan(source)
    position = 0
    while True:
        rows, position, is_trouble = returned(headers.scan(position))
        if len(rows):
            entries = EntryTable(rows, kafka_log_segment)
            scan.sound_offset = entries.last_offset(len(entries) - 1)
            yield from _runs_of(entries)
        elif not is_trouble:
            return
        if is_trouble:
            position = yield from _trouble(scan, position)


def _trouble(scan: Scan, position: int) -> Generator[Found, None, int]:
    for entry in scan.region(position):
        position = entry.end_position
        if not isinstance(entry, Batch):
            yield entry
        elif entry.crc_valid is not False:
            yield entry_run(entry)
    return position


def _runs_of(entries: EntryTable) -> Iterator[SoundRun | RefusedEntry]:
    """Divide a table where offsets do not continue, and around entries that are refused."""
    firsts, lasts = entries.column("base_offset"), _last_offsets(entries)
    is_wrapper = entries.is_wrapper()
    is_refused = (firsts < 0) | (lasts < firsts)
    continues = (firsts[1:] == lasts[:-1] + 1) | (is_wrapper[1:] & (firsts[1:] > lasts[:-1]))
    continues &= ~(is_refused[1:] | is_refused[:-1])
    starts = [0, *(np.flatnonzero(~continues) + 1).tolist()]
    counts, deltas = entries.column("num_records"), entries.column("last_offset_delta")
    is_short = entries.is_batch() & (counts <= deltas)
    times = np.where(entries.column("magic") == 0, -1, entries.column("max_timestamp"))
    for start, end in zip(starts, [*starts[1:], len(entries)], strict=True):
        place = entries.value(start, "position"), entries.value(end - 1, "end_position")
        first, last = int(firsts[start]), int(lasts[end - 1])
        if is_refused[start]:
            yield RefusedEntry(*place, first, f"its offsets, {first} to {last}, are none of a log")
            continue
        yield SoundRun(
            *place,
            first,
            last,
            end - start,
            int(times[start:end].max()),
            bool(is_short[start:end].any()),
            bool(is_wrapper[start]),
        )


def _last_offsets(entries: EntryTable) -> Any:
    """Return the last offsets as the headers have them; below the first one where they overflow."""
    delta = np.where(entries.is_batch(), entries.column("last_offset_delta"), 0)
    return entries.column("base_offset") + delta
