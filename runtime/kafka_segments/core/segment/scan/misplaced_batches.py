"""Detection of batches whose offset is negative or belongs after their segment.

No checksum covers a base offset. A changed one moves the records of its batch after the segment or before the
log, while the rest of the file continues as before. Readers detect that while they read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.errors import SegmentOrderError

__all__ = ["MisplacedBatches"]

_Event = TypeVar("_Event")


@dataclass(slots=True)
class MisplacedBatches:
    """Detector for the sound entries of one segment, in file order.

    Attributes:
        highest: the greatest last offset so far; -1 at the beginning.
        last: that of the last entry.
        replaced: of the first entry that ends with a negative offset, that offset, and the expected one; None
            if there is no such entry.
    """

    highest: int = -1
    last: int = -1
    replaced: tuple[int, int] | None = None

    def note_sound(self, last_offset: int) -> None:
        """Record the last offset of an entry, or the greatest and then the last of some."""
        if last_offset < 0 and self.replaced is None:
            self.replaced = last_offset, self.highest + 1
        self.last = last_offset
        self.highest = max(self.highest, last_offset)

    def batch(self, batch: Batch) -> None:
        """Record an entry, unless its checksum is wrong."""
        if batch.crc_valid is not False:
            # The messages in a wrapper may have any order: its own offset counts, as in its header.
            first = batch.last_offset if batch.base_offset is None or batch.magic < 2 else batch.base_offset
            self.note_sound(max(first, batch.last_offset))

    def watch(self, events: Iterator[_Event]) -> Iterator[_Event]:
        """Yield events, and record the entries among them."""
        for event in events:
            if isinstance(event, Batch):
                self.batch(event)
            yield event

    def damage(self, path: str, size: int, end: int | None) -> Damage | None:
        """Return damage for the segment, if any; no offset is lost, all of it is in doubt.

        Args:
            path: of the segment.
            size: bytes.
            end: base offset of the next segment, up to which offsets belong here; None if there is none.
        """
        why = "its base offset was changed, which no checksum covers"
        if self.replaced is not None:
            negative, first = self.replaced
            detail = f"offsets {first} to ? are missing where a batch ends with {negative}, and no offset is "
            detail += f"negative: {why}"
        elif self.highest > self.last and (end is None or self.highest >= end):
            detail = f"a batch inside ends with offset {self.highest}, and after it come those up to "
            detail += f"{self.last}: {why}, or segments overlap"
        else:
            return None
        error = SegmentOrderError(detail, path=path, position=0)
        return Damage(path, 0, size, error, None, None)
