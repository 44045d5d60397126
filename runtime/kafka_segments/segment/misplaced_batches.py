"""Whether a batch stands inside a segment whose offset belongs behind it, or is negative.

No checksum covers a base offset. One that was changed sends its records behind the segment or in front of
every log, while what follows in the file goes on as if nothing had happened. Whoever reads a segment is told
on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from kafka_segments.errors import SegmentOrderError
from kafka_segments.formats.entries import Batch, Damage

__all__ = ["MisplacedBatches"]

_Event = TypeVar("_Event")


@dataclass(slots=True)
class MisplacedBatches:
    """The sound entries of one segment, in file order.

    Attributes:
        highest: the greatest last offset so far; -1 at the beginning.
        last: that of the last entry.
        replaced: of the first entry that ends with a negative offset, that offset, and the one that should
            stand there; None if there is no such entry.
    """

    highest: int = -1
    last: int = -1
    replaced: tuple[int, int] | None = None

    def passed(self, last_offset: int) -> None:
        """Take notice of an entry, or of the greatest and then the last of some."""
        if last_offset < 0 and self.replaced is None:
            self.replaced = last_offset, self.highest + 1
        self.last = last_offset
        self.highest = max(self.highest, last_offset)

    def batch(self, batch: Batch) -> None:
        """Take notice of an entry, unless its checksum is wrong."""
        if batch.crc_valid is not False:
            # The messages in a wrapper may have any order: its own offset counts, as in its header.
            first = batch.last_offset if batch.base_offset is None or batch.magic < 2 else batch.base_offset
            self.passed(max(first, batch.last_offset))

    def watch(self, events: Iterator[_Event]) -> Iterator[_Event]:
        """Yield events, and take notice of the entries among them."""
        for event in events:
            if isinstance(event, Batch):
                self.batch(event)
            yield event

    def damage(self, path: str, size: int, end: int | None) -> Damage | None:
        """What is to be told of the segment; no offset is lost, all of it is in doubt.

        Args:
            path: of the segment.
            size: bytes.
            end: the next segment's base offset; None if there is none. Below it, offsets stay in the segment.
        """
        why = "its base offset was changed, which no checksum covers"
        if self.replaced is not None:
            negative, first = self.replaced
            detail = f"offsets {first} to ? are missing where a batch ends with {negative}, and no offset is "
            detail += f"negative: {why}"
        elif self.highest > self.last and (end is None or self.highest >= end):
            detail = f"a batch inside ends with offset {self.highest}, and behind it stand those up to "
            detail += f"{self.last}: {why}, or segments overlap"
        else:
            return None
        error = SegmentOrderError(detail, path=path, position=0)
        return Damage(path, 0, size, error, None, None)
