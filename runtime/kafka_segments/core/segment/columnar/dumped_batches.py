"""Batches of magic 2 by their headers, which are read before their records, and their lines in a dump."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.core.formats import TIMESTAMP_TYPE_NAMES, increment_sequence
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.text_columns import (
    array_of_numpy,
    binary_array,
    joined,
    named,
    numbers_of,
)
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import iter_headers
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["BatchesAhead", "ControlText", "DumpedBatches"]

ControlText = Callable[[int], tuple[bytes, list[int]] | None]
"""The text of the control batch at a position and the offsets of its records; None if it cannot be read."""

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them
_CODECS = ("none", *CODEC_NAMES)
_FLAGS = ("false", "true")


class BatchesAhead:
    """Headers that were read ahead, up to the first entry that is not a sound batch of magic 2.

    Args:
        source: the segment's bytes.
        position: where to begin; an entry begins there.
        control: has the text of control batches.
    """

    def __init__(self, source: Source, position: int, control: ControlText) -> None:
        self._tables = iter_headers(source, position)
        self._control = control
        self._waiting: DumpedBatches | None = None
        self._end: int | None = None
        self._is_at_end = False

    @property
    def is_over(self) -> bool:
        """Whether all were taken."""
        return self._is_at_end and self._waiting is None

    def end_at(self, position: int) -> None:
        """End before an entry: what waits of it and of later ones is dropped."""
        self._end = position
        if self._waiting is not None:
            self._waiting, is_cut = self._waiting.before(position)
            self._is_at_end = self._is_at_end or is_cut

    def take(self, num_rows: int) -> DumpedBatches | None:
        """Remove the batches whose records are among the first `num_rows`; None if there are none."""
        if self._waiting is None:
            return None
        ends = np.cumsum(self._waiting.counts)
        taken, self._waiting = self._waiting.divided(int(np.searchsorted(ends, num_rows, side="right")))
        return taken

    def pull(self) -> bool:
        """Read the next headers; return False if some wait already, or there are no more."""
        if self._waiting is not None or self._is_at_end:
            return False
        table = next(self._tables, None)
        if not isinstance(table, EntryTable):
            self._is_at_end = True
            return False
        self._waiting, self._is_at_end = DumpedBatches.of(table, self._control)
        if self._end is not None:
            self.end_at(self._end)
        return True


@dataclass(frozen=True, slots=True)
class DumpedBatches:
    """Consecutive batches by their headers.

    Attributes:
        rows: of the table of entries.
        counts: how many records of each the reader delivers.
        control: by their number, text and offsets of control batches.
    """

    rows: Any
    counts: Any
    control: dict[int, tuple[bytes, list[int]]]

    @classmethod
    def of(cls, table: EntryTable, control_text: ControlText) -> tuple[DumpedBatches | None, bool]:
        """The batches before the first entry that is not a sound batch of magic 2.

        Returns:
            These, None if there are none, and whether there is such an entry.
        """
        is_control = table.column("is_control") != 0
        is_odd = (table.column("compression") >= len(_CODECS)) | (table.column("num_records") < 0)
        others = np.flatnonzero(~table.is_batch() | is_odd)
        end = int(others[0]) if len(others) else len(table)
        control = {}
        for number in np.flatnonzero(is_control[:end]).tolist():
            text = control_text(table.value(number, "position"))
            if text is None:
                end = number
                break
            control[number] = text
        counts = np.where(is_control, 0, table.column("num_records"))
        found = cls(table.rows[:end].copy(), counts[:end], control) if end else None
        return found, end < len(table)

    @property
    def num_rows(self) -> int:
        """Records that the reader delivers."""
        return int(self.counts.sum())

    @property
    def end_position(self) -> int:
        """The position at which the last one ends."""
        return self._table.value(-1, "end_position")

    @property
    def _table(self) -> EntryTable:
        return EntryTable(self.rows, kafka_log_segment)

    @property
    def control_offsets(self) -> list[tuple[int, list[int]]]:
        """Control batches by their number, with the offsets of their records."""
        return [(number, offsets) for number, (_text, offsets) in self.control.items()]

    def before(self, position: int) -> tuple[DumpedBatches | None, bool]:
        """Those before a position, and whether there are others."""
        end = int(np.searchsorted(self._table.column("position"), position))
        return self.divided(end)[0], end < len(self.rows)

    def divided(self, end: int) -> tuple[DumpedBatches | None, DumpedBatches | None]:
        """The first `end` batches, and the others; None where there are none."""
        parts = []
        for first, last in ((0, end), (end, len(self.rows))):
            control = {at - first: text for at, text in self.control.items() if first <= at < last}
            part = DumpedBatches(self.rows[first:last], self.counts[first:last], control)
            parts.append(part if first < last else None)
        return parts[0], parts[1]

    def lines(self) -> pa.Array:
        """A line for each; all the lines of a control batch and its records."""
        lines = joined(_header_parts(self._table))
        if not self.control:
            return lines
        texts = lines.to_pylist()
        for number, (text, _offsets) in self.control.items():
            texts[number] = text
        return binary_array(texts)


def _header_parts(table: EntryTable) -> list[Any]:
    first = table.column("base_offset")
    sequence, delta = table.column("base_sequence"), table.column("last_offset_delta")
    horizon = numbers_of(table.column("base_timestamp"))
    has_horizon = array_of_numpy(table.column("has_delete_horizon") != 0)
    return [
        *("baseOffset: ", numbers_of(first), " lastOffset: ", numbers_of(first + delta)),
        *(" count: ", numbers_of(table.column("num_records"))),
        *(" baseSequence: ", numbers_of(sequence), " lastSequence: ", numbers_of(_advanced(sequence, delta))),
        *(" producerId: ", numbers_of(table.column("producer_id"))),
        *(" producerEpoch: ", numbers_of(table.column("producer_epoch"))),
        *(" partitionLeaderEpoch: ", numbers_of(table.column("partition_leader_epoch"))),
        *(" isTransactional: ", named(_FLAGS, table.column("is_transactional"))),
        *(" isControl: ", named(_FLAGS, table.column("is_control"))),
        " deleteHorizonMs: OptionalLong",
        pc.if_else(has_horizon, joined(["[", horizon, "]"]), binary_array([b".empty"])[0]),
        *(" position: ", numbers_of(table.column("position"))),
        *(" ", named(TIMESTAMP_TYPE_NAMES, table.column("timestamp_type"))),
        *(": ", numbers_of(table.column("max_timestamp"))),
        *(" size: ", numbers_of(table.column("end_position") - table.column("position"))),
        *(" magic: ", numbers_of(table.column("magic"))),
        *(" compresscodec: ", named(_CODECS, table.column("compression"))),
        *(" crc: ", numbers_of(table.column("crc")), " isvalid: true\n"),
    ]


def _advanced(sequence: Any, delta: Any) -> Any:
    """The last sequence of batches: as `formats.increment_sequence`; -1 where there is none."""
    pairs = zip(sequence.tolist(), delta.tolist(), strict=True)
    if (sequence == -1).all():
        return sequence
    return np.array([one if one == -1 else increment_sequence(one, by) for one, by in pairs], np.int64)
