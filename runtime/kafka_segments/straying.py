"""Whether a batch stands inside a segment whose offset belongs behind it.

No checksum covers a base offset. One that was changed sends its records behind the segment, while what
follows in the file goes on as if nothing had happened. Whoever reads a segment is told on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from kafka_segments.entries import Batch, Damage
from kafka_segments.errors import SegmentOrderError

__all__ = ["Straying"]

_Event = TypeVar("_Event")


@dataclass(slots=True)
class Straying:
    """The sound entries of one segment, in file order.

    Attributes:
        highest: the greatest last offset so far; -1 at the beginning.
        last: that of the last entry.
    """

    highest: int = -1
    last: int = -1

    def passed(self, last_offset: int) -> None:
        """Take notice of an entry, or of the greatest and then the last of some."""
        self.last = last_offset
        self.highest = max(self.highest, last_offset)

    def batch(self, batch: Batch) -> None:
        """Take notice of an entry, unless its checksum is wrong."""
        if batch.crc_valid is not False:
            # The messages in a wrapper may have any order: its own offset counts, as in its header.
            self.passed(
                batch.last_offset if batch.magic < 2 else max(batch.base_offset or 0, batch.last_offset)
            )

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
        if self.highest <= self.last or (end is not None and self.highest < end):
            return None
        error = SegmentOrderError(
            f"a batch inside ends with offset {self.highest}, and behind it stand those up to {self.last}: "
            "its base offset was changed, which no checksum covers, or segments overlap",
            path=path,
            position=0,
        )
        return Damage(path, 0, size, error, None, None)
