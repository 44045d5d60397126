"""What a reader says of a segment, in the one form in which readers are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tests.made.encoder import Row


class Trouble(NamedTuple):
    """A damaged region, the name of its error's class, and the offsets that are said to be lost there."""

    position: int
    end_position: int
    error: str
    lost: tuple[int | None, int | None] | None = None

    def place(self) -> tuple[int, int, str]:
        """All but the offsets."""
        return self.position, self.end_position, self.error


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
        gives_control: whether control records are among its rows.
        resyncs: whether it goes on behind damage, and says by the errors' names what it is.
    """

    name: str
    read: Callable[[bytes], Reading]
    gives_control: bool = True
    resyncs: bool = True

    def rows(self, rows: Iterable[Row]) -> list[Row]:
        """Of rows that are right, those that this reader is to give."""
        return [row for row in rows if self.gives_control or not row.is_control]
