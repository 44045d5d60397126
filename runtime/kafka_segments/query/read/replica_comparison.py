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
from kafka_segments.log.model import Split, StoredSegment, lower
from kafka_segments.log.opening import open_stored
from kafka_segments.query.read.segment_finder import begin

__all__ = ["compare_copies", "find_mismatches"]

_PLACE = ("base_offset", "partition_leader_epoch", "position", "len_body", "crc")
_CHANGED = ("num_records", "base_timestamp", "max_timestamp", "compression", "has_delete_horizon")
_KEPT = tuple(name for name in MAGICS[2].columns if name not in (*_PLACE, *_CHANGED, "magic"))
_OF_BATCHES = (*_PLACE, *_KEPT, *_CHANGED)
_OF_MESSAGES = ("position", *MAGICS[1].columns)


@dataclass(frozen=True, slots=True)
class _Headers:
    """Headers of the entries of one copy in file order, without wrappers."""

    stored: StoredSegment
    entries: tuple[EntryTable, ...]

    def columns(self, names: Sequence[str], *, is_batch: bool) -> dict[str, Any]:
        """Columns of the batches, or of the messages."""
        none = [np.empty(0, np.int64)]
        masks = [one.is_batch() == is_batch for one in self.entries]
        pairs = list(zip(self.entries, masks, strict=True))
        return {
            name: np.concatenate(none + [one.column(name)[mask] for one, mask in pairs]) for name in names
        }


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
        compared = replace(split, end=lower(split.end, other.end_offset))
        num_same += _compare((own, _headers(compared, other, 0, places)), split, places)
    return num_same


def _headers(split: Split, stored: StoredSegment, hint: int, places: Places) -> _Headers:
    found = []
    with closing(open_stored(places, stored)) as source:
        beginning = begin(source, split.start, stored.base_offset, hint, DEFAULT_MAX_DECOMPRESSED)
        read_range = ReadRange(beginning.position, beginning.sound_offset, 0)
        for piece in iter_tables(source, OffsetRange(split.start, split.end), read_range):
            if isinstance(piece, EntryTable):
                found.append(piece.chosen(piece.in_range(split.start, split.end) & ~piece.is_wrapper()))
    return _Headers(stored, tuple(found))


def _compare(copies: tuple[_Headers, _Headers], split: Split, places: Places) -> int:
    """Count equal batches and messages; raise for a mismatch."""
    batches = _Pairs(copies, _OF_BATCHES, is_batch=True)
    is_same_leader = batches.equal("partition_leader_epoch") & (batches.own["partition_leader_epoch"] >= 0)
    is_as_it_was = batches.equal(*_CHANGED)
    differs = ~batches.equal(*_KEPT) | (is_as_it_was & ~batches.equal("crc", "len_body"))
    batches.check(is_same_leader & differs, split, places)
    messages = _Pairs(copies, _OF_MESSAGES, is_batch=False)
    is_same_magic = messages.equal("magic")
    messages.check(is_same_magic & ~messages.equal("crc", "len_body"), split, places)
    return int(is_same_leader.sum()) + int(is_same_magic.sum())


class _Pairs:
    """Pairs of entries of two copies with the same offset: batches, or messages."""

    def __init__(self, copies: tuple[_Headers, _Headers], names: Sequence[str], *, is_batch: bool) -> None:
        self._files = [one.stored for one in copies]
        columns = [one.columns(names, is_batch=is_batch) for one in copies]
        _offsets, *rows = np.intersect1d(*(one["base_offset"] for one in columns), return_indices=True)
        self.own, self.other = (
            {name: column[at] for name, column in one.items()} for one, at in zip(columns, rows, strict=True)
        )

    def equal(self, *names: str) -> Any:
        """Mask of the pairs with equal values in some columns."""
        return np.logical_and.reduce([self.own[name] == self.other[name] for name in names])

    def check(self, wrong: Any, split: Split, places: Places) -> None:
        """Raise for the first mismatch of entries that are valid in both copies."""
        for at in np.flatnonzero(wrong).tolist():
            own, other = ({name: int(one[name][at]) for name in one} for one in (self.own, self.other))
            entries = zip(self._files, (own, other), strict=True)
            if all(_is_sound(places, file, one["position"]) for file, one in entries):
                raise _mismatch((own, other), (self._files[0].path, self._files[1].path), split)


def _is_sound(places: Places, stored: StoredSegment, position: int) -> bool:
    """Whether the entry at a position has a valid checksum."""
    with closing(open_stored(places, stored)) as source:
        return sound_entry(source, position) is not None


def _mismatch(
    entries: tuple[dict[str, int], dict[str, int]], paths: tuple[str, str], split: Split
) -> ReplicaMismatchError:
    own, other = entries
    different = ", ".join(
        f"{name} {own[name]} and {other[name]}"
        for name in own
        if name != "position" and own[name] != other[name]
    )
    what = "message" if "magic" in own else "batch"
    epoch = "" if "magic" in own else f" and leader epoch {own['partition_leader_epoch']}"
    return ReplicaMismatchError(
        f"topic {split.topic}, partition {split.partition}: the {what} of offset "
        f"{own['base_offset']}{epoch} differs from that in {paths[1]}, position {other['position']} "
        f"({different}): these are not copies of one log, or one is damaged; name one directory alone",
        path=paths[0],
        position=own["position"],
        other_path=paths[1],
        other_position=other["position"],
        offset=own["base_offset"],
    )
