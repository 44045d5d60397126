"""Rows of views that come from planning alone: `segments`, `aborted`, and its findings for `damage`.

No record is read for them, so they ride in a task as they are. Nothing here knows pyarrow: planning goes on
without it, and the task says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kafka_segments.errors import TransactionInDoubtError
from kafka_segments.log.findings import Kind
from kafka_segments.log.model import Split
from kafka_segments.query.committed import Committed
from kafka_segments.query.plan import Plan

__all__ = ["PLANNED", "Row", "planned_rows"]

Row = Mapping[str, Any]
"""Values by the view's names of columns; what is left out is null."""

_PER_MICRO = 1000  # nanoseconds

PLANNED = ("segments", "aborted")
"""Views that have no rows but those of planning."""


def planned_rows(view: str, plan: Plan) -> Iterator[Row]:
    """Return the rows of a view that a plan has."""
    yield from _MAKERS[view](plan)


def _segments(plan: Plan) -> Iterator[Row]:
    """A row for each segment that is read, with the offsets that it is read for."""
    ranges: dict[tuple[str, int], list[Split]] = {}
    for split in (split for task in plan.tasks for split in task):
        ranges.setdefault((split.segment.file.path, split.segment.file.position), []).append(split)
    for splits in ranges.values():
        split, segment = splits[0], splits[0].segment
        ends = [one.end for one in splits]
        yield {
            "topic": split.topic,
            "partition": split.partition,
            "baseOffset": segment.base_offset,
            "startOffset": min(one.start for one in splits),
            "endOffset": None if None in ends else max(end for end in ends if end is not None),
            "size": segment.size,
            "modified": segment.file.modified_ns // _PER_MICRO,
            "isNewest": segment.is_newest,
            "beside": ",".join(sorted(segment.beside)),
            "form": segment.form,
            "sourceFile": segment.file.path,
        }


def _aborted(plan: Plan) -> Iterator[Row]:
    """A row for each transaction that readers are not given: aborted, open, or in doubt."""
    for (topic, partition), committed in plan.committed.items():
        for producer_id, first, last in committed.void:
            yield {
                "topic": topic,
                "partition": partition,
                "producerId": producer_id,
                "firstOffset": first,
                "lastOffset": last,
                "state": _state(committed, producer_id, first, last),
            }
        pin = committed.pin
        if pin is not None and not any(
            producer_id == pin.producer_id and last >= pin.first_offset
            for producer_id, _first, last in committed.void
        ):
            yield {
                "topic": topic,
                "partition": partition,
                "producerId": pin.producer_id,
                "firstOffset": pin.first_offset,
                "state": "open",
            }


def _state(committed: Committed, producer_id: int, first: int, last: int) -> str:
    pin = committed.pin
    if pin is not None and pin.producer_id == producer_id and last >= pin.first_offset:
        return "open"
    for doubt in committed.doubts:
        is_same = getattr(doubt.error, "producer_id", None) == producer_id
        if isinstance(doubt.error, TransactionInDoubtError) and is_same and doubt.touches(first, last + 1):
            return "in doubt"
    return "aborted"


def _damage(plan: Plan) -> Iterable[Row]:
    """A row for each finding of planning but what the query itself leaves out."""
    kinds = Kind.LOST, Kind.DAMAGE, Kind.UNUSED, Kind.DIVERGED, Kind.REMARK
    return [one.as_row() for one in plan.of(*kinds)]


_MAKERS: Mapping[str, Callable[[Plan], Iterable[Row]]] = {
    "segments": _segments,
    "aborted": _aborted,
    "damage": _damage,
}
