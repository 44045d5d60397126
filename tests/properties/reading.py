"""What a reader says of a segment, in the one form in which readers are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tests.properties.encoder import Row


class Trouble(NamedTuple):
    """A damaged region and the name of its error's class."""

    position: int
    end_position: int
    error: str
    is_old: bool = False  # of messages inside a wrapper of magic 0 or 1


class Reading(NamedTuple):
    """All records that were delivered, and all damage, each in the order of the file."""

    rows: list[Row]
    damage: list[Trouble]


@dataclass(frozen=True)
class Reader:
    """One of those that must agree.

    Attributes:
        name: for people.
        read: the whole reading of a segment's bytes.
        is_plain: whether it gives records alone: no control records, and not what was of an old format.
        gives_old: whether it decodes messages of magic 0 and 1.
        resyncs: whether it goes on behind damage, and says by the errors' names what it is.
    """

    name: str
    read: Callable[[bytes], Reading]
    is_plain: bool = False
    gives_old: bool = True
    resyncs: bool = True

    def rows(self, rows: Iterable[Row]) -> list[Row]:
        """Of rows that are right, those that this reader is to give, as it gives them."""
        if not self.is_plain:
            return list(rows)
        wanted = (row for row in rows if not row.is_control and (self.gives_old or not row.is_old))
        return [row._replace(is_old=False) if row.is_old else row for row in wanted]

    def damage(self, damage: Iterable[Trouble]) -> list[Trouble]:
        """Of damage that is there, what this reader is to tell, as it tells it."""
        if not self.is_plain:
            return list(damage)
        return [trouble._replace(is_old=False) for trouble in damage if self.gives_old or not trouble.is_old]
