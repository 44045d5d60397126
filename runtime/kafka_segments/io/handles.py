"""What is open until it is closed: a context manager that knows its state."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from kafka_segments.errors import ReadError

__all__ = ["Handle"]

_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """Something that is open; `close` of a subclass calls this one."""

    path: str
    _state = "open"

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        self._state = "closed"

    def _check_open(self, what: str) -> None:
        """Refuse to read on when it is closed.

        Raises:
            ReadError: it is.
        """
        if self._state == "closed":
            raise ReadError(f"the {what} is closed: read inside the with, or open it again", path=self.path)
