"""Files that a broker deletes between the listing of its directories and their opening."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from kafka_segments.errors import ReadError

__all__ = ["again_if_gone"]

P = ParamSpec("P")
R = TypeVar("R")

_NUM_TRIES = 5
"""Maximum: no broker deletes faster than that, and a source that does not exist stays missing."""


def again_if_gone(lists: Callable[P, R]) -> Callable[P, R]:
    """Make a function that lists and opens files do so again where one has gone meanwhile.

    Retention and the log cleaner delete and replace segments at any moment; what they leave is listed then.

    Args:
        lists: begins with the listing.

    Returns:
        The same, which raises `ReadError` for a missing file only after some tries.
    """

    @wraps(lists)
    def listing_again(*arguments: P.args, **named: P.kwargs) -> R:
        for _ in range(_NUM_TRIES - 1):
            try:
                return lists(*arguments, **named)
            except ReadError as error:
                if error.errno != errno.ENOENT:
                    raise
        return lists(*arguments, **named)

    return listing_again
