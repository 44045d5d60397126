"""Encoded batches from a caller: read as far as appending and indexing need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.core.segment.columnar.entry_table import row_of
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import OptionError
from kafka_segments.write.encoder import EncodedBatches
from kafka_segments.write.refusals import refused
from kafka_segments_generated.columns import kafka_log_segment
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_END_POSITION,
    COL_LAST_OFFSET_DELTA,
    COL_POSITION,
)

__all__ = ["ReadyBatches", "read_ready_batches"]

_MAX_BATCHES = 1024


@dataclass(frozen=True, slots=True)
class ReadyBatches:
    """Consecutive batches, the last of which may be a control batch.

    Attributes:
        piece: their bytes and heads.
        batches: their headers.
        control: the first record of the control batch.
    """

    piece: EncodedBatches
    batches: tuple[Batch, ...]
    control: Record | None


def read_ready_batches(encoded: bytes | memoryview, last_offset: int) -> Iterator[ReadyBatches]:
    """Read batches, in groups that end with control batches.

    Args:
        encoded: whole batches, messages and wrappers.
        last_offset: their offsets must be greater.

    Raises:
        KafkaFormatError: damage.
        OptionError: an object that is not bytes.
        EncodeError: offsets that do not increase, or zeros after the last batch.
    """
    try:
        data = memoryview(encoded).cast("B")
    except (TypeError, ValueError) as error:
        raise OptionError(f"batches cannot come from type {type(encoded).__name__}: {error}") from error
    group: list[Batch] = []
    with open_segment(data) as segment:
        for batch, control in _iter_batches(segment):
            first = batch.last_offset if batch.base_offset is None else batch.base_offset
            if first <= last_offset or batch.last_offset < first:
                raise refused("offset_order", f"it comes after offset {last_offset}", offset=first)
            last_offset = batch.last_offset
            group.append(batch)
            if batch.is_control or len(group) == _MAX_BATCHES:
                yield _group(data, group, control)
                group = []
    if group:
        yield _group(data, group, None)


def _iter_batches(segment: Segment) -> Iterator[tuple[Batch, Record | None]]:
    """Yield batches, wrappers with their first offsets, control batches with their first records."""
    pending: Batch | None = None
    control: Record | None = None
    for event in segment.iter_events(wanted=_is_opened):
        if isinstance(event, Batch):
            if pending is not None:
                yield pending, control
            pending, control = event, None
        elif isinstance(event, Record):
            control = event if control is None else control
        else:
            raise refused("unwritable", f"{type(event).__name__.lower()} at position {event.position}")
    if pending is not None:
        yield pending, control


def _is_opened(batch: Batch) -> bool:
    return batch.is_control or (batch.magic < 2 and batch.compression != "none")


def _group(data: memoryview, batches: list[Batch], control: Record | None) -> ReadyBatches:
    start, end = batches[0].position, batches[-1].end_position
    heads = np.concatenate([_head(batch, start) for batch in batches])
    piece = EncodedBatches(data[start:end], heads)
    return ReadyBatches(piece, tuple(batches), control)


def _head(batch: Batch, start: int) -> Any:
    row = row_of(batch, kafka_log_segment)
    base_offset = batch.last_offset if batch.base_offset is None else batch.base_offset
    row[0, COL_POSITION] -= start
    row[0, COL_END_POSITION] -= start
    row[0, COL_BASE_OFFSET] = base_offset
    row[0, COL_LAST_OFFSET_DELTA] = batch.last_offset - base_offset
    return row
