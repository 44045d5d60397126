"""Stretches of a file, and the entries that begin in each.

Strategy: an entry belongs to the stretch that its first byte is in, so stretches that are chosen at random
choose every entry with the same probability, whatever its size. In the middle of a file the first entry is
searched for: a plausible prefix with a base offset that can be in this file, a valid checksum; after a
message of the old formats also a sound entry, or the end of the data. From there on the entries' own lengths
lead from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_segments.core import formats
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.storage import Source, Window
from kafka_segments.core.segment.scan.entry_check import Probe
from kafka_segments.core.segment.scan.resync import candidate_pattern
from kafka_segments.write.sizes.extents import Extent

__all__ = ["Gap", "Stretch", "read_stretch"]

_LEN_WINDOW = 64 << 10
_LEN_ALONE = 4 << 20  # above that, an entry is a run by itself: runs are read into memory
_MAX_DISTANCE = 1 << 31
"""Offsets of a segment are less than this above its base offset (`OffsetIndex` has relative ones)."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that are not an entry: damage, or what is after it up to the next entry that was found.

    Attributes:
        position: where an entry should begin.
        end_position: where the next one begins, or the stretch ends.
    """

    position: int
    end_position: int


@dataclass(slots=True)
class Stretch:
    """Entries that begin in a stretch.

    Attributes:
        runs: positions of consecutive entries, each from the first one's first byte to the last one's end; an
            entry of more than 4 MiB is a run by itself.
        gaps: what is between them.
        num_entries: their number.
        end_position: where the entry after them begins; None if that is not known.
        is_ended: whether nothing is added to the last run.
    """

    runs: list[Extent] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    num_entries: int = 0
    end_position: int | None = None
    is_ended: bool = False

    @property
    def num_bytes(self) -> int:
        """Bytes of the entries."""
        return sum(end - start for start, end in self.runs)


class _Walk:
    """A walk over the entries of one source.

    Args:
        source: the segment's bytes.
        end: where its data end.
    """

    def __init__(self, source: Source, end: int) -> None:
        self._source, self._end = source, end
        self._probe = Probe(source, Window(source, _LEN_WINDOW))
        first = self._sound(0)
        self._lowest = None if first is None else first.base_offset

    def end_of(self, position: int) -> int | None:
        """Return where the entry at a position ends by its length; None if none can be there."""
        if self._source.size - position < formats.LEN_PREFIX:
            return None
        prefix = formats.read_prefix(self._source.read(position, formats.LEN_PREFIX))
        is_right = prefix.is_known and prefix.len_body >= prefix.min_len_body
        end = position + prefix.len_entry
        return end if is_right and end <= self._source.size else None

    def find(self, start: int, end: int) -> int | None:
        """Return the position of the first entry that begins in `[start, end)`; None if none does."""
        left = self._source.size - start
        pattern, shift = candidate_pattern(left - formats.LEN_LOG_OVERHEAD)
        data = bytes(self._source.read(start, min(end - start + formats.LEN_PREFIX, left)))
        for match in pattern.finditer(data, shift):
            at = match.start() - shift
            if start + at < end and at + formats.LEN_PREFIX <= len(data) and self._is_entry(data, at, start):
                return start + at
        return None

    def _is_entry(self, data: bytes, at: int, start: int) -> bool:
        prefix = formats.read_prefix(data[at : at + formats.LEN_PREFIX])
        position = start + at
        lowest = self._lowest
        is_far = lowest is not None and not 0 <= prefix.base_offset - lowest < _MAX_DISTANCE
        if is_far:
            return False
        batch = self._sound(position)
        if batch is None or batch.magic >= 2:
            return batch is not None
        # A codec may have copied whole messages of a wrapper: there is no entry after the last one.
        return batch.end_position >= self._end or self._sound(batch.end_position) is not None

    def _sound(self, position: int) -> Batch | None:
        """Return the sound entry at a position, without a search for another one."""
        if self.end_of(position) is None:  # of zeros, `examine` would read all
            return None
        checked = self._probe.examine(position, None, check_crc=True)
        return checked.batch if checked.error is None else None


def read_stretch(source: Source, parts: Sequence[Extent], end: int, known: int | None = None) -> Stretch:
    """Find the entries that begin in a stretch.

    Args:
        source: the segment's bytes.
        parts: of the file that the stretch consists of, in order.
        end: where the file's data end.
        known: a position where an entry begins, or was expected to, at or before which none is wanted; None
            if it has to be searched for, unless the stretch begins with the file.
    """
    walk = _Walk(source, end)
    found = Stretch(end_position=known if known is not None else 0 if parts[0][0] == 0 else None)
    for start, stop in parts:
        if found.end_position is None or found.end_position < start:
            found.end_position = walk.find(start, stop)
        while found.end_position is not None and found.end_position < stop:
            _step(walk, found, stop)
    return found


def _step(walk: _Walk, found: Stretch, stop: int) -> None:
    """Go on by one entry, or by a gap."""
    position = found.end_position
    assert position is not None
    end = walk.end_of(position)
    if end is None:
        following = walk.find(position + 1, stop) if position + 1 < stop else None
        found.gaps.append(Gap(position, stop if following is None else following))
        found.end_position = following
        return
    is_alone = end - position > _LEN_ALONE
    if found.runs and found.runs[-1][1] == position and not (is_alone or found.is_ended):
        position = found.runs.pop()[0]
    found.is_ended = is_alone
    found.runs.append((position, end))
    found.num_entries += 1
    found.end_position = end
