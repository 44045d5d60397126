"""Header fields that follow from the records: their number, and the fields with `-derive`."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend.model import Aggregate, Field
from compiler.targets.columns.model.implied_lengths import implied_fields
from compiler.targets.columns.model.segment_layout import Content, unsupported

__all__ = ["Derived", "count_path", "derived_fields"]

_MAX_DERIVED = 8  # slots that the state has for them


@dataclass(frozen=True, slots=True)
class Derived:
    """A field that is derived from records.

    Attributes:
        field: of the content.
        aggregate: how.
        slot: its place in the state, after `ENC_DERIVED`.
    """

    field: Field
    aggregate: Aggregate
    slot: int

    @property
    def place(self) -> str:
        """The place in the state."""
        return f"ENC_DERIVED + {self.slot}" if self.slot else "ENC_DERIVED"


def derived_fields(content: Content) -> list[Derived]:
    """The fields of a content's header that `-derive` picks from the records."""
    found: list[Derived] = []
    for field in content.struct.fields:
        aggregate = field.extensions.derive
        if content.records is None or not isinstance(aggregate, Aggregate):
            continue
        if aggregate.over.id == content.records.id:
            found.append(Derived(field, aggregate, len(found)))
    if len(found) > _MAX_DERIVED:
        raise unsupported(f"more than {_MAX_DERIVED} derived fields are not supported", content.struct.place)
    return found


def count_path(content: Content) -> tuple[tuple[str, ...], int] | None:
    """The field that is the number of records, as a path, and how much more it is; None if there is none."""
    if content.records is None:
        return None
    for path, implied in implied_fields(content.struct).items():
        if implied.target is content.records:
            return path, implied.plus
    return None
