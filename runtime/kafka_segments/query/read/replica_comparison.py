"""Comparison of the copies of a partition by headers, an explicit check apart from reading.

Strategy: batches with the same first offset and leader epoch come from the same leader, so they must be the
same. But the cleaner works on each copy separately: it removes records from batches, and recomputes the
checksum (it keeps offsets, sequences, producers and epoch). So the kept fields must be equal, and if the
changed ones are equal too, so must be the checksum.

Messages of the old formats have no epoch, but their checksum covers all but the offset, and the cleaner keeps
or removes them unchanged. So two with the same offset and magic must be equal; another magic is another
leader's format, or a conversion. Wrappers are skipped, as the cleaner rebuilds them. Differences due to
damage of one of the two are not mismatches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats import MAGICS
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.columnar.header_table import iter_tables
from kafka_segments.core.segment.columnar.read_range import OffsetRange, ReadRange
from kafka_segments.core.segment.scan.entry_scan import sound_entry
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.errors import KafkaFormatError, ReplicaMismatchError, raise_unless_file_at_fault
from kafka_segments.log.model import Split, StoredSegment
from kafka_segments.query.read.segment_finder import open_stored
from kafka_segments.query.read.start_position import begin

__all__ = ["compare_copies", "find_mismatches"]

_CHANGED = ("num_records", "base_timestamp", "max_timestamp", "compression", "has_delete_horizon")
_PLACE = ("base_offset", "partition_leader_epoch", "position", "len_body", "crc")
_KEPT = tuple(name for name in MAGICS[2].columns if name not in (*_PLACE, *_CHANGED, "magic"))
_OF_BATCHES = (*_PLACE, *_KEPT, *_CHANGED)
_OF_MESSAGES = ("position", *MAGICS[1].columns)

Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Headers:
    """Columns of the entries of one copy, in file order.

    Attributes:
        stored: the copy.
        batches: those of magic 2.
        messages: those of the old formats, without wrappers.
    """

    stored: StoredSegment
    batches: Columns
    messages: Columns

    @property
    def path(self) -> str:
        """Path of the copy."""
        return self.stored.file.path


def find_mismatches(splits: Iterable[Split], places: Places) -> Iterator[KafkaFormatError]:
    """Compare the copies of each split; yield the first mismatch of each, and copies that cannot be read.

    Raises:
        StoreError: a store refused or failed.
    """
    for split in splits:
        try:
            compare_copies(split, places)
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            yield error


def compare_copies(split: Split, places: Places) -> int:
    """Compare the other copies of a range with the preferred one, by the headers alone.

    Args:
        split: its `others` are compared, each below its `end_offset`; a deleted file is an error here.
        places: filesystems by path.

    Returns:
        The number of batches, and of messages outside wrappers, found in two copies.

    Raises:
        ReplicaMismatchError: two batches with the same first offset and leader epoch differ, or two messages
            with the same offset and magic.
        ReadError: a file cannot be opened.
    """
    if not split.others:
        return 0
    own, num_same = _headers(split, split.segment, split.position, places), 0
    for other in split.others:
        ends = [end for end in (split.end, other.end_offset) if end is not None]
        compared = replace(split, end=min(ends, default=None))
        num_same += _compare(own, _headers(compared, other, 0, places), split, places)
    return num_same


def _headers(split: Split, stored: StoredSegment, hint: int, places: Places) -> _Headers:
    source = open_stored(places, stored)
    batches: list[Columns] = []
    messages: list[Columns] = []
    try:
        beginning = begin(source, split.start, stored.base_offset, hint, DEFAULT_MAX_DECOMPRESSED)
        read_range = ReadRange(beginning.position, beginning.sound_offset, 0)
        for piece in iter_tables(source, OffsetRange(split.start, split.end), read_range):
            if isinstance(piece, EntryTable):
                inside, is_batch = piece.in_range(split.start, split.end), piece.is_batch()
                batches.append(_chosen(piece, inside & is_batch, _OF_BATCHES))
                chosen = inside & ~is_batch & ~piece.is_wrapper()
                messages.append(_chosen(piece, chosen, _OF_MESSAGES))
    finally:
        source.close()
    return _Headers(stored, _joined(batches, _OF_BATCHES), _joined(messages, _OF_MESSAGES))


def _chosen(piece: EntryTable, rows: Any, names: Sequence[str]) -> Columns:
    return {name: piece.column(name)[rows] for name in names}


def _joined(pieces: Sequence[Columns], names: Sequence[str]) -> Columns:
    none = [np.empty(0, np.int64)]
    return {name: np.concatenate([piece[name] for piece in pieces] or none) for name in names}


def _compare(own: _Headers, other: _Headers, split: Split, places: Places) -> int:
    """Count equal batches and messages; raise for a mismatch."""
    pairs = _Pairs(own.batches, other.batches)
    is_same_leader = pairs.equal("partition_leader_epoch") & (pairs.own["partition_leader_epoch"] >= 0)
    keeps = np.logical_and.reduce([pairs.equal(name) for name in _KEPT])
    is_as_it_was = np.logical_and.reduce([pairs.equal(name) for name in _CHANGED])
    differs = ~keeps | (is_as_it_was & ~(pairs.equal("crc") & pairs.equal("len_body")))
    _check(pairs, is_same_leader & differs, (own, other), split, places)
    messages = _Pairs(own.messages, other.messages)
    is_same_magic = messages.equal("magic")
    differs = ~(messages.equal("crc") & messages.equal("len_body"))
    _check(messages, is_same_magic & differs, (own, other), split, places)
    return int(is_same_leader.sum()) + int(is_same_magic.sum())


class _Pairs:
    """Pairs of entries of two copies with the same offset."""

    def __init__(self, own: Columns, other: Columns) -> None:
        _, first, second = np.intersect1d(own["base_offset"], other["base_offset"], return_indices=True)
        self.own = {name: column[first] for name, column in own.items()}
        self.other = {name: column[second] for name, column in other.items()}

    def equal(self, name: str) -> Any:
        """Mask of the pairs with equal values in a column."""
        return self.own[name] == self.other[name]


def _check(
    pairs: _Pairs, wrong: Any, copies: tuple[_Headers, _Headers], split: Split, places: Places
) -> None:
    """Raise for the first mismatch of entries that are valid in both copies."""
    own, other = copies
    for at in np.flatnonzero(wrong).tolist():
        positions = int(pairs.own["position"][at]), int(pairs.other["position"][at])
        if all(
            _is_sound(places, one.stored, position) for one, position in zip(copies, positions, strict=True)
        ):
            raise _mismatch(pairs, at, own.path, other.path, split)


def _is_sound(places: Places, stored: StoredSegment, position: int) -> bool:
    """Whether the entry at a position has a valid checksum."""
    with closing(open_stored(places, stored)) as source:
        return sound_entry(source, position) is not None


def _mismatch(pairs: _Pairs, at: int, path: str, other_path: str, split: Split) -> ReplicaMismatchError:
    own = {name: int(column[at]) for name, column in pairs.own.items()}
    other = {name: int(column[at]) for name, column in pairs.other.items()}
    different = ", ".join(
        f"{name} {own[name]} and {other[name]}"
        for name in own
        if name != "position" and own[name] != other[name]
    )
    what = "message" if "magic" in own else "batch"
    epoch = "" if "magic" in own else f" and leader epoch {own['partition_leader_epoch']}"
    return ReplicaMismatchError(
        f"topic {split.topic}, partition {split.partition}: the {what} of offset "
        f"{own['base_offset']}{epoch} differs from that in {other_path}, position {other['position']} "
        f"({different}): these are not copies of one log, or one is damaged; name one directory alone",
        path=path,
        position=own["position"],
        other_path=other_path,
        other_position=other["position"],
        offset=own["base_offset"],
    )
