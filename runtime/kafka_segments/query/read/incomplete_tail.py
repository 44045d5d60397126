"""Incomplete last batch of a newest segment: a broker is writing it, or crashed while writing.

Strategy: only the newest segment of a copy can have one, after all other entries, with only zeros after it.
Its bytes must be the beginning of an entry that can follow the last one. Everything else is damage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from kafka_segments.core.formats import LEN_PREFIX, read_prefix
from kafka_segments.core.formats.entries import Batch, Damage, Padding
from kafka_segments.core.io.storage import Source
from kafka_segments.errors import ReadError, TruncatedError, raise_unless_file_at_fault

if TYPE_CHECKING:
    from kafka_segments.core.segment.columnar.reader import Event

__all__ = ["mark_incomplete_tail"]


def mark_incomplete_tail(
    events: Iterable[Event], source: Source, log_end: int | None
) -> Iterator[tuple[Event, bool]]:
    """Yield events, each with whether it is an incomplete batch, which the next event decides.

    Args:
        events: of a segment.
        source: its bytes.
        log_end: the position at which the log ends; None if the segment is not the newest of its copy.
    """
    batch: Batch | None = None
    before: Event | None = None
    for event in chain(events, [None]):
        if before is not None:
            is_pending = False
            if log_end is not None and isinstance(before, Damage):
                is_last = event is not None or before.end_position >= log_end
                is_pending = is_last and _is_pending(before, event, batch, source)
            yield before, is_pending
            if isinstance(before, Batch):
                batch = before
        before = event


def _is_pending(damage: Damage, following: Event | None, batch: Batch | None, source: Source) -> bool:
    if following is not None and not isinstance(following, Padding):
        return False
    if following is not None and damage.end_position - damage.position < LEN_PREFIX:
        return True  # a few bytes before the zeros
    is_cut = isinstance(damage.error, TruncatedError)
    if following is not None and batch is not None and batch.position == damage.position:
        # The header is complete, and its length reaches into the zeros.
        is_cut = is_cut or batch.end_position > damage.end_position
    return is_cut and _could_follow(damage, source)


def _could_follow(damage: Damage, source: Source) -> bool:
    """Whether the available bytes can be the beginning of the log's next entry."""
    if damage.end_position - damage.position < LEN_PREFIX:
        return True
    try:
        prefix = read_prefix(source.read(damage.position, LEN_PREFIX))
    except ReadError as error:
        raise_unless_file_at_fault(error)
        return False
    if not prefix.is_known or prefix.len_body < prefix.min_len_body:
        return False
    return damage.first_lost_offset is None or prefix.base_offset >= damage.first_lost_offset
