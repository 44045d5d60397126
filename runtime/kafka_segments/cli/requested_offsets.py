"""The range of offsets that `--offsets A:B` asks for."""

from __future__ import annotations

import re

from kafka_segments.errors import OptionError

__all__ = ["RequestedOffsets"]


class RequestedOffsets:
    """A range of offsets `start <= offset < end`; None is open.

    Example:
        >>> RequestedOffsets.parse("5:").start
        5
    """

    def __init__(self, start: int | None, end: int | None) -> None:
        self.start = start
        self.end = end

    @classmethod
    def parse(cls, words: str) -> RequestedOffsets:
        """Parse `A:B`, `A:` or `:B`; raise `OptionError` for anything else."""
        match = re.fullmatch(r"(-?\d{1,20})?:(-?\d{1,20})?", words, re.ASCII)
        if match is None:
            raise OptionError(f"--offsets {words!r} is not A:B, A: or :B with numbers")
        start, end = (None if group is None else int(group) for group in match.groups())
        if start is not None and end is not None and start > end:
            raise OptionError(f"--offsets {words!r} ends before it begins")
        return cls(start, end)

    @property
    def is_empty(self) -> bool:
        """Whether the range contains no offset."""
        return self.start is not None and self.start == self.end

    def __str__(self) -> str:
        return ":".join("" if one is None else str(one) for one in (self.start, self.end))

    def __contains__(self, offset: int) -> bool:
        return self.overlaps(offset, offset)

    def overlaps(self, first: int | None, last: int) -> bool:
        """Return whether an offset of `first` (None: unknown) to `last` may be in the range."""
        after_start = self.start is None or last >= self.start
        return after_start and (self.end is None or first is None or first < self.end)
