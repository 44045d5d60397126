"""Batches that somebody else encoded: read far enough to be appended and indexed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.errors import OptionError
from kafka_segments.formats.entries import Batch, Record
from kafka_segments.segment.columnar.entry_table import row_of
from kafka_segments.segment.segment import Segment, open_segment
from kafka_segments.write.encoder import EncodedBatches
from kafka_segments.write.refusals import refused
from kafka_segments_generated.columns import kafka_log_segment
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_END_POSITION,
    COL_LAST_OFFSET_DELTA,
    COL_POSITION,
)

__all__ = ["Foreign", "read_foreign"]

_MAX_BATCHES = 1024


@dataclass(frozen=True, slots=True)
class Foreign:
    """Batches, the last of which may be a control batch.

    Attributes:
        piece: their bytes and heads.
        batches: their headers.
        control: the first record of the control batch.
    """

    piece: EncodedBatches
    batches: tuple[Batch, ...]
    control: Record | None


def read_foreign(encoded: bytes | memoryview, last_offset: int) -> Iterator[Foreign]:
    """Read batches, in groups that end with control batches.

    Args:
        encoded: whole batches, messages and wrappers.
        last_offset: what their offsets are above.

    Raises:
        KafkaFormatError: they are not sound.
        OptionError: they are no bytes.
        EncodeError: offsets that do not increase, or zeros behind the last batch.
    """
    try:
        data = memoryview(encoded).cast("B")
    except (TypeError, ValueError) as error:
        raise OptionError(f"batches cannot come from type {type(encoded).__name__}: {error}") from error
    gathered: list[Batch] = []
    with open_segment(data) as segment:
        for batch, control in _iter_batches(segment):
            first = batch.last_offset if batch.base_offset is None else batch.base_offset
            if first <= last_offset or batch.last_offset < first:
                raise refused("offset_order", f"it comes after offset {last_offset}", offset=first)
            last_offset = batch.last_offset
            gathered.append(batch)
            if batch.is_control or len(gathered) == _MAX_BATCHES:
                yield _group(data, gathered, control)
                gathered = []
    if gathered:
        yield _group(data, gathered, None)


def _iter_batches(segment: Segment) -> Iterator[tuple[Batch, Record | None]]:
    """The batches, wrappers with their first offsets, control batches with their first records."""
    waiting: Batch | None = None
    control: Record | None = None
    for event in segment.iter_events(wanted=_is_opened):
        if isinstance(event, Batch):
            if waiting is not None:
                yield waiting, control
            waiting, control = event, None
        elif isinstance(event, Record):
            control = event if control is None else control
        else:
            raise refused("unwritable", f"{type(event).__name__.lower()} at position {event.position}")
    if waiting is not None:
        yield waiting, control


def _is_opened(batch: Batch) -> bool:
    return batch.is_control or (batch.magic < 2 and batch.compression != "none")


def _group(data: memoryview, batches: list[Batch], control: Record | None) -> Foreign:
    start, end = batches[0].position, batches[-1].end_position
    heads = np.concatenate([_head(batch, start) for batch in batches])
    piece = EncodedBatches(data[start:end], heads)
    return Foreign(piece, tuple(batches), control)


def _head(batch: Batch, start: int) -> Any:
    row = row_of(batch, kafka_log_segment)
    base_offset = batch.last_offset if batch.base_offset is None else batch.base_offset
    row[0, COL_POSITION] -= start
    row[0, COL_END_POSITION] -= start
    row[0, COL_BASE_OFFSET] = base_offset
    row[0, COL_LAST_OFFSET_DELTA] = batch.last_offset - base_offset
    return row
