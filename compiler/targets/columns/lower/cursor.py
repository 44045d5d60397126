"""The position in the data of the code under construction, and the bounds checks done so far.

Strategy: a position is a variable plus a number of bytes. Fields of fixed size only add to that number; after
one of variable size the moving variable gets a new value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from compiler.targets.columns.lower.constraints import facts_of
from compiler.targets.columns.lower.python_source import Function
from compiler.targets.columns.lower.struct_values import Position
from compiler.targets.columns.lower.terms import Term, negate

__all__ = ["MOVING", "Cursor", "Fail"]

Fail = Callable[[bool], None]
"""Emits the code for bytes that do not fit; its argument is whether there may only be too few of them."""

MOVING = "here"


class Cursor:
    """A place, and the checks before it.

    Args:
        function: what is being written.
        start: the variable that has the place of the first byte.
        end: the variable that has the end of what may be read.
        fail: writes what is to be done if something does not fit.

    Attributes:
        here: the place.
        facts: conditions that are known to hold here, as text.
        doubtful: whether a varint may have failed since the last check: then `here` is beyond the end.
    """

    def __init__(self, function: Function, start: str, end: str, fail: Fail) -> None:
        self.source = function.source
        self.names = function.names
        self.here = Position(start)
        self.end = end
        self.fail = fail
        self.doubtful = False
        self.facts: set[str] = set()
        self._safe: dict[str, int] = {}  # by variable: bytes after it that were checked
        self.names.new(MOVING)

    def settle(self) -> None:
        """Assign the position to the moving variable."""
        if self.here == Position(MOVING):
            return
        if self.here.base != MOVING:
            self.source.let(MOVING, self.here.text)
        else:
            self.source.move(MOVING, str(self.here.offset))
        self.moved()

    def moved(self) -> None:
        """Note that the moving variable has the position."""
        self._safe.pop(MOVING, None)
        self.facts = {fact for fact in self.facts if MOVING not in fact}
        self.here = Position(MOVING)

    def require(self, condition: Term) -> None:
        """Emit a failure unless a condition holds."""
        if condition.value == 1:
            return
        with self.source.rarely(negate(condition).text):
            self.fail(self.doubtful)
        self.facts |= {*facts_of(condition.text)}
        if f"{self.here.text} == {self.end}" in self.facts:
            self.doubtful = False

    def require_bytes(self, size: int, at: Position | None = None) -> None:
        """Emit a failure unless that many bytes follow."""
        at = at or self.here
        needed = at.offset + size
        if not self.doubtful and needed <= self._safe.get(at.base, 0):
            return
        with self.source.rarely(f"{self.end} - {at.base} < {needed}"):
            self.fail(True)
        self._safe[at.base] = needed
        self.doubtful = self.doubtful and at.base != self.here.base

    def require_size(self, size: Term) -> None:
        """Emit a failure if a size is negative or more than what follows."""
        if size.value is not None and size.value >= 0:
            if size.value:
                self.require_bytes(size.value)
            return
        if size.low < 0:
            with self.source.rarely(f"{size.within(5)} < 0"):
                self.fail(self.doubtful)
        self.require_room(size)
        self.doubtful = False

    def require_room(self, size: Term) -> None:
        """Emit a failure if a size, never negative, is more than what follows."""
        with self.source.rarely(f"{size.within(5)} > {self.end} - {self.here.operand}"):
            self.fail(True)

    def is_known(self, place: Position) -> bool:
        """Whether a position is known to be within the end."""
        return place.offset <= self._safe.get(place.base, 0)

    def finish(self) -> None:
        """Emit a failure if a varint was not readable and no later check has found out."""
        if self.doubtful:
            with self.source.rarely(f"{self.here.text} > {self.end}"):
                self.fail(True)
            self.doubtful = False

    def limit(self, end: str) -> None:
        """Read up to another end from here on; it is not before the position."""
        self.end, self._safe = end, {self.here.base: self.here.offset}

    @contextmanager
    def limited(self, end: str) -> Iterator[None]:
        """Read up to another end within the block."""
        outer, known = self.end, self._safe
        self.limit(end)
        yield
        self.end, self._safe = outer, known

    @contextmanager
    def under(self, condition: Term) -> Iterator[None]:
        """Read under a condition within the block; the position is in the moving variable."""
        self.settle()
        self.finish()
        known, facts = dict(self._safe), self.facts
        with self.source.block(f"if {condition.text}:"):
            yield
            self.finish()
            self.settle()
        self._safe, self.facts = known, {fact for fact in facts if MOVING not in fact}
