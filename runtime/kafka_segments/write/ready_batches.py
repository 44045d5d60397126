"""Encoded batches from a caller: read as far as appending and indexing need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import OptionError
from kafka_segments.write.index_writer import BatchColumns
from kafka_segments.write.refusals import refused

__all__ = ["ReadyBatches", "read_ready_batches"]

_MAX_BATCHES = 1024


@dataclass(frozen=True, slots=True)
class ReadyBatches:
    """Consecutive batches, the last of which may be a control batch.

    Attributes:
        data: their bytes.
        batches: their headers, of wrappers with their first offsets.
        control: the first record of the control batch.
    """

    data: memoryview
    batches: tuple[Batch, ...]
    control: Record | None

    @property
    def first_offsets(self) -> list[int]:
        """The first offset of each."""
        return [_first_offset(one) for one in self.batches]

    def columns(self) -> BatchColumns:
        """Return what is indexed of them."""
        start = self.batches[0].position
        return BatchColumns(
            [one.position - start for one in self.batches],
            [one.end_position - start for one in self.batches],
            [one.last_offset for one in self.batches],
            [one.max_timestamp for one in self.batches],
        )


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
            first = _first_offset(batch)
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
    return ReadyBatches(data[start:end], tuple(batches), control)


def _first_offset(batch: Batch) -> int:
    return batch.last_offset if batch.base_offset is None else batch.base_offset
