"""What a search finds: records, places in damaged bytes, records that it could not judge, and counts."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from kafka_segments.core.formats.entries import Batch, Damage, Record

__all__ = ["EntryPlace", "Finds", "FoundRecord", "RawPlace", "SearchCounts", "UndecidedPlace"]


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """Place of an entry.

    Attributes:
        position: where it begins.
        previous_offset: the last offset before it; None if unknown.
        before: place of the entry before it; None if there is none, or it is known to be sound.
    """

    position: int
    previous_offset: int | None
    before: EntryPlace | None = None


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record that fulfils all conditions.

    Attributes:
        batch: its batch, or the message of an old format that it is in; with a right checksum, unless
            checksums are off.
        record: the record.
    """

    batch: Batch
    record: Record


@dataclass(frozen=True, slots=True)
class RawPlace:
    """A place in damaged bytes where something stands that was looked for.

    Attributes:
        path: the file.
        position: where it begins.
        end_position: where it ends.
        words: what stands there.
    """

    path: str
    position: int
    end_position: int
    words: str


@dataclass(frozen=True, slots=True)
class UndecidedPlace:
    """A record, or damaged bytes, where a test took too long.

    Attributes:
        path: the file.
        position: of the batch, or of the damaged bytes.
        offset: of the record; None for damaged bytes.
        detail: why it is not decided.
    """

    path: str
    position: int
    offset: int | None
    detail: str


Finds = FoundRecord | RawPlace | UndecidedPlace | Damage


@dataclass(slots=True)
class SearchCounts:
    """Counts of a search.

    Attributes:
        num_files: files that were searched.
        num_records: records that were found.
        num_raw_places: places in damaged bytes.
        num_damages: damaged places.
        num_undecided: places that could not be judged.
        num_batches: batches whose headers were read.
        num_verified: batches whose checksums were computed.
    """

    num_files: int = 0
    num_records: int = 0
    num_raw_places: int = 0
    num_damages: int = 0
    num_undecided: int = 0
    num_batches: int = 0
    num_verified: int = 0

    def __add__(self, other: SearchCounts) -> SearchCounts:
        mine, others = astuple(self), astuple(other)
        return SearchCounts(*(one + more for one, more in zip(mine, others, strict=True)))
