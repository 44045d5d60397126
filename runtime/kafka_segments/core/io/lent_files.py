"""Descriptors of files for compiled code, which reads them by itself.

Strategy: the source accounts for the part that will be read as if it had read it, so that pages of the page
cache are given back. What the code cannot read, the source reads then, and finds out why.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from kafka_segments.core.io.storage import Source

__all__ = ["lend_file"]


@runtime_checkable
class _Lender(Protocol):
    """Source of a file that may be read by its descriptor, too."""

    def lend(self, position: int, size: int) -> int:
        """Return a descriptor for reading a part next, in order, by `pread`; -1 if that is not possible."""
        ...


def lend_file(source: Source, position: int, size: int) -> int:
    """Return a descriptor of a source's file, for compiled code that reads a part next, in order.

    Returns:
        The descriptor; -1 if the source has to be read by its methods.
    """
    return source.lend(position, size) if isinstance(source, _Lender) else -1
