"""Fast path for small splits: the rows of many segments as one batch.

Strategy: a split of a complete small file, unchanged since planning, is decoded at once if it holds each
offset of its range once, in valid batches. Then it has no findings. `SplitReader` reads all other splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_segments.core.formats.entries import SoundBatches
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.columnar.arrow_schema import schema_of
from kafka_segments.core.segment.columnar.small_segments import SmallRecords
from kafka_segments.errors import ReadError, raise_unless_file_at_fault
from kafka_segments.log.findings import Findings
from kafka_segments.log.model import Split
from kafka_segments.log.opening import is_small

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SmallSplits"]

_ENOUGH = 256 << 10  # bytes of segments in one batch


class SmallSplits:
    """Collector of the rows of small splits.

    Args:
        places: filesystems by path.
        columns: names, see `arrow_schema`.
    """

    def __init__(self, places: Places, columns: Sequence[str]) -> None:
        self._places, self._names = places, list(columns)
        self._records = SmallRecords(schema_of(list(dict.fromkeys([*columns, "offset"]))))
        self._parts: list[tuple[Split, int]] = []
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether the caller should call `take` next."""
        return self._size >= _ENOUGH

    def add(self, split: Split, findings: Findings) -> bool:
        """Add the rows of a split; return False without adding any if `SplitReader` has to read it.

        After False the caller calls `take`.
        """
        end = _known_end(split)
        if end is None:
            return False
        try:
            source = self._places.open(split.segment.file.path)
        except ReadError as error:
            raise_unless_file_at_fault(error)
            return False
        file = split.segment.file
        try:
            is_same = (source.size, source.identity) == (file.size, file.identity)
            num_batches = self._records.add(source, split.start, end) if is_same else None
        except ReadError as error:
            raise_unless_file_at_fault(error)
            return False
        finally:
            source.close()
        if num_batches is None:
            return False
        findings.count(SoundBatches(num_batches, file.size))
        self._parts.append((split, end - split.start))
        self._size += file.size
        return True

    def take(self) -> tuple[pa.RecordBatch, list[tuple[Split, int]]] | None:
        """Take the collected rows, with the number of rows of each split; None without rows."""
        batch, parts = self._records.take(), self._parts
        self._parts, self._size = [], 0
        if batch is None:
            return None
        return batch if batch.schema.names == self._names else batch.select(self._names), parts


def _known_end(split: Split) -> int | None:
    """End offset of a split of a complete small file, exclusive; None for any other split."""
    segment, asked = split.segment, split.asked[1]
    if not is_small(segment) or segment.file.position or split.excluded:
        return None
    if split.start != segment.base_offset or split.position or split.end_position not in (None, segment.size):
        return None
    end = split.following if split.end is None else split.end
    end = split.reached if end is None else end
    if end is None or end <= split.start or (asked is not None and end > asked):
        return None
    return None if segment.end_offset is not None and end > segment.end_offset else end
