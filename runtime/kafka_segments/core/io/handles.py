"""Base class of open resources: a context manager with a closed state."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from kafka_segments.errors import ReadError

__all__ = ["Handle"]

_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """An open resource; `close` of a subclass calls this one."""

    path: str
    _state = "open"

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the resource."""
        self._state = "closed"

    def _check_open(self, what: str) -> None:
        """Check that it is open.

        Raises:
            ReadError: it is closed.
        """
        if self._state == "closed":
            raise ReadError(f"the {what} is closed: read inside its with, or open it again", path=self.path)
