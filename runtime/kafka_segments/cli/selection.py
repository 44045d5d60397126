"""Options of verbs that choose records by offset and time."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable

from kafka_segments.errors import OptionError
from kafka_segments.query.option_values import time_of
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.content_tests import ContentTest

__all__ = ["add_isolation_option", "add_selection_options", "conditions_of", "offsets_of"]


def offsets_of(words: str) -> tuple[int | None, int | None]:
    """Parse `A:B`, `A:` or `:B`: offsets from A on and below B; None is open.

    Raises:
        OptionError: anything else.

    Example:
        >>> offsets_of("5:")
        (5, None)
    """
    match = re.fullmatch(r"(-?\d{1,20})?:(-?\d{1,20})?", words, re.ASCII)
    if match is None:
        raise OptionError(f"--offsets {words!r} is not A:B, A: or :B with numbers")
    start, end = (None if group is None else int(group) for group in match.groups())
    if start is not None and end is not None and start > end:
        raise OptionError(f"--offsets {words!r} ends before it begins")
    return start, end


def conditions_of(
    arguments: argparse.Namespace, tests: Iterable[ContentTest] = (), producer_id: int | None = None
) -> Conditions:
    """Return the conditions by `add_selection_options`, and others.

    Raises:
        OptionError: an invalid value.
    """
    offsets = offsets_of(arguments.offsets or ":")
    times = time_of("--since", arguments.since), time_of("--until", arguments.until)
    return Conditions(tuple(tests), *offsets, *times, producer_id)


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
