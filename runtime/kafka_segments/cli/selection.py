"""Options of verbs that choose records by offset and time."""

from __future__ import annotations

import argparse
import re

from kafka_segments.errors import OptionError

__all__ = ["RequestedOffsets", "add_isolation_option", "add_selection_options"]


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


def add_selection_options(parser: argparse._ActionsContainer) -> None:
    """Add `--offsets`, `--since` and `--until`."""
    parser.add_argument(
        "--offsets", metavar="A:B", help="only records with A <= offset < B; A or B may be left out"
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="only records at this time or later: ISO 8601 (2026-01-31T12:00:00, in UTC unless a zone is "
        "given) or milliseconds since 1970",
    )
    parser.add_argument("--until", metavar="TIME", help="only records before this time")


def add_isolation_option(parser: argparse._ActionsContainer) -> None:
    """Add `--isolation`."""
    parser.add_argument(
        "--isolation",
        choices=("read_uncommitted", "read_committed"),
        default="read_uncommitted",
        help="read_committed: only what a consumer of committed records receives; this reads the "
        "partition's other segments, too",
    )
