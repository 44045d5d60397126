"""Batches whose records, and fields of whose headers, are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_segments.core.native import kernels
from kafka_segments.write import encoder_loops
from kafka_segments.write.encoder import CompiledEncoder, segment_module
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_BASE_SEQUENCE,
    COL_BASE_TIMESTAMP,
    COL_CONTENT,
    COL_HAS_DELETE_HORIZON,
    COL_IS_TRANSACTIONAL,
    COL_LAST_OFFSET_DELTA,
    COL_MAGIC,
    COL_MAX_TIMESTAMP,
    COL_PARTITION_LEADER_EPOCH,
    COL_PRODUCER_EPOCH,
    COL_PRODUCER_ID,
    COL_TIMESTAMP_TYPE,
)

__all__ = ["GivenBatch"]

_CARRIED = (
    COL_TIMESTAMP_TYPE,
    COL_MAX_TIMESTAMP,
    COL_PARTITION_LEADER_EPOCH,
    COL_HAS_DELETE_HORIZON,
    COL_BASE_TIMESTAMP,
    COL_IS_TRANSACTIONAL,
    COL_PRODUCER_ID,
    COL_PRODUCER_EPOCH,
    COL_LAST_OFFSET_DELTA,
)


@dataclass(frozen=True, slots=True)
class GivenBatch:
    """A batch of given records.

    Attributes:
        end_row: its last record's row in the data, plus 1.
        fields: numbers in its header by column of the table of entries; the others are the options'.
        base_offset: None for that of the first record.
        sequence: of its first record; -1 for none.
        derived: names of `fields` that otherwise follow from the records.
    """

    end_row: int
    fields: Mapping[int, int] = field(default_factory=dict)
    base_offset: int | None = None
    sequence: int = -1
    derived: tuple[str, ...] = ()

    @classmethod
    def like(cls, head: Any, end_row: int) -> GivenBatch:
        """Return a batch with the header of one of magic 2: int64, its row in a table of entries."""
        fields = {column: int(head[column]) for column in _CARRIED}
        base_offset, sequence = int(head[COL_BASE_OFFSET]), int(head[COL_BASE_SEQUENCE])
        return cls(end_row, fields, base_offset, sequence, ("last_offset_delta",))

    def set_in(self, encoder: CompiledEncoder) -> None:
        """Let the encoder's next batch be this one."""
        content = int(encoder.template[COL_CONTENT])
        names = segment_module(int(encoder.template[COL_MAGIC])).DERIVED[content]
        for column, value in self.fields.items():
            encoder.template[column] = value
        encoder.encode[kernels.ENC_GIVEN] = sum(1 << names.index(name) for name in self.derived)
        encoder.state[encoder_loops.GIVEN_BASE] = -1 if self.base_offset is None else self.base_offset
        encoder.state[encoder_loops.SEQUENCE] = self.sequence
        encoder.state[encoder_loops.HAS_HORIZON] = encoder.template[COL_HAS_DELETE_HORIZON]
