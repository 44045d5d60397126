"""Whether copies of a partition say the same where they must.

Strategy: headers tell. Batches with the same first offset and leader epoch were made by the same leader, so
they are the same; but the cleaner goes over each copy by itself, takes records out of batches, and gives what
is left a new checksum (it keeps offsets, sequences, producers and epoch). So what it keeps must be equal, and
if also all that it changes is equal, the checksum must be. Of the old formats, whose messages have no epoch,
no two entries can be held against each other: leaders wrap them anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.catalog.model import Split, StoredSegment
from kafka_segments.columnar.headers import iter_tables
from kafka_segments.columnar.stretch import OffsetRange, Stretch
from kafka_segments.columnar.table import EntryTable
from kafka_segments.compression import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import ReplicaMismatchError
from kafka_segments.places import Places
from kafka_segments.ranges.beginning import begin
from kafka_segments.ranges.finding import open_stored

__all__ = ["compare_copies"]

_KEPT = (
    "last_offset_delta",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "timestamp_type",
    "is_control",
    "is_transactional",
)
_CHANGED = ("num_records", "base_timestamp", "max_timestamp", "compression", "has_delete_horizon")
_COLUMNS = ("base_offset", "partition_leader_epoch", "position", "len_body", "crc", *_KEPT, *_CHANGED)


@dataclass(frozen=True, slots=True)
class _Headers:
    """Columns of the batches of magic 2 of one copy, in file order."""

    path: str
    columns: dict[str, Any]


def compare_copies(split: Split, places: Places) -> int:
    """Hold the other copies of a range against the preferred one, by the headers alone.

    Args:
        split: its `others` are compared; a file that is not there any more is an error here.
        places: where files live.

    Returns:
        How many batches were found in two copies.

    Raises:
        ReplicaMismatchError: two batches with the same first offset and leader epoch differ.
        ReadError: a file cannot be opened.
    """
    own = _headers(split, split.segment, split.position, places)
    return sum(_compare(own, _headers(split, other, 0, places), split) for other in split.others)


def _headers(split: Split, stored: StoredSegment, hint: int, places: Places) -> _Headers:
    source = open_stored(places, stored)
    pieces: list[dict[str, Any]] = []
    try:
        beginning = begin(source, split.start, stored.base_offset, hint, DEFAULT_MAX_DECOMPRESSED)
        stretch = Stretch(beginning.position, beginning.sound_offset, 0)
        for piece in iter_tables(source, OffsetRange(split.start, split.end), stretch):
            if isinstance(piece, EntryTable):
                chosen = piece.is_batch() & piece.in_range(split.start, split.end)
                pieces.append({name: piece.column(name)[chosen] for name in _COLUMNS})
    finally:
        source.close()
    none = [np.empty(0, np.int64)]
    columns = {name: np.concatenate([piece[name] for piece in pieces] or none) for name in _COLUMNS}
    return _Headers(stored.file.path, columns)


def _compare(own: _Headers, other: _Headers, split: Split) -> int:
    """How many batches are the same; raises for one that is not."""
    _, first, second = np.intersect1d(
        own.columns["base_offset"], other.columns["base_offset"], return_indices=True
    )

    def is_equal(name: str) -> Any:
        return own.columns[name][first] == other.columns[name][second]

    is_same_leader = is_equal("partition_leader_epoch") & (own.columns["partition_leader_epoch"][first] >= 0)
    keeps = np.logical_and.reduce([is_equal(name) for name in _KEPT])
    is_as_it_was = np.logical_and.reduce([is_equal(name) for name in _CHANGED])
    differs = ~keeps | (is_as_it_was & ~(is_equal("crc") & is_equal("len_body")))
    wrong = np.flatnonzero(is_same_leader & differs)
    if len(wrong):
        at = int(wrong[0])
        raise _mismatch(own, other, int(first[at]), int(second[at]), split)
    return int(is_same_leader.sum())


def _mismatch(own: _Headers, other: _Headers, row: int, other_row: int, split: Split) -> ReplicaMismatchError:
    names = ("partition_leader_epoch", "crc", "len_body", *_KEPT, *_CHANGED)
    values = [(name, int(own.columns[name][row]), int(other.columns[name][other_row])) for name in names]
    different = ", ".join(f"{name} {one} and {two}" for name, one, two in values if one != two)
    offset, position = int(own.columns["base_offset"][row]), int(own.columns["position"][row])
    other_position = int(other.columns["position"][other_row])
    return ReplicaMismatchError(
        f"topic {split.topic}, partition {split.partition}: the batch of offset {offset} and leader epoch "
        f"{values[0][1]} is another one in {other.path}, position {other_position} ({different}): these are "
        f"no copies of one log, or one is damaged; name the directory to be read, and leave the other out",
        path=own.path,
        position=position,
        other_path=other.path,
        other_position=other_position,
        offset=offset,
    )
