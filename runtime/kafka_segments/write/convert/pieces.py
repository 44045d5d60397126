"""Pieces of a conversion before encoding: copied entries and rewritten ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_segments.core.formats.entries import Batch, Record

__all__ = ["Piece", "Recoded", "Rewritten", "Untouched"]


@dataclass(frozen=True, slots=True)
class Untouched:
    """An entry that is copied byte for byte."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Records to be written: as a batch, a wrapper, or, uncompressed in the old formats, a message each.

    Attributes:
        source: the original entry, or the first of several; for errors.
        fields: of what is written, by the names of `Batch`, from a table of `rules`.
        records: empty for a batch that is only its header.
        sources: the original entry of each record, where there are several.
    """

    source: Batch
    fields: dict[str, Any]
    records: Sequence[Record]
    sources: Sequence[Batch] = ()

    def source_of(self, row: int | None) -> Batch:
        """Return the original entry of a record, by its number; `source` for None."""
        return self.source if row is None or not self.sources else self.sources[row]


@dataclass(frozen=True, slots=True)
class Recoded:
    """A batch whose bytes are made from its own bytes, all of its records included.

    Attributes:
        batch: the original entry.
        num_records: records in it.
        recode: makes the new bytes of the old ones.
    """

    batch: Batch
    num_records: int
    recode: Callable[[bytes], bytes]


Piece = Untouched | Rewritten
