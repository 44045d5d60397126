"""Streams of Arrow batches with records only; damage is raised, passed to a callback or ignored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.on_damage import OnDamage, check_on_damage, report_damage
from kafka_segments.core.segment.columnar.reader import Event
from kafka_segments.errors import OptionError

__all__ = ["check_offsets", "only_records"]


def only_records(
    events: Iterable[Event],
    schema: pa.Schema,
    offsets: tuple[int | None, int | None],
    on_damage: OnDamage,
) -> pa.RecordBatchReader:
    """Yield the Arrow batches among events; damage in the offsets is handled as `on_damage` says.

    Raises:
        OptionError: an invalid `on_damage`.
    """
    check_on_damage(on_damage)
    batches = _batches(events, on_damage, offsets)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _batches(
    events: Iterable[Event], on_damage: OnDamage, offsets: tuple[int | None, int | None]
) -> Iterator[pa.RecordBatch]:
    for event in events:
        if isinstance(event, pa.RecordBatch):
            yield event
            del event  # see `arena`: the caller may have dropped it
        elif isinstance(event, Damage) and event.touches(*offsets):
            report_damage(event, event.error, on_damage)


def check_offsets(offsets: Any) -> tuple[int | None, int | None]:
    """Check a pair of offsets, either of which may be None; raise `OptionError` for anything else."""
    if offsets is None:
        return None, None
    if not isinstance(offsets, tuple) or len(offsets) != 2 or not all(_is_offset(bound) for bound in offsets):
        raise OptionError(f"offsets must be a pair (start, end) of integers or None, not {offsets!r}")
    start, end = offsets
    return start, end


def _is_offset(bound: Any) -> bool:
    return bound is None or (isinstance(bound, int) and not isinstance(bound, bool))
