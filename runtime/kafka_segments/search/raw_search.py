"""Search of damaged bytes, as they are stored: what is compressed there is not found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.storage import BLOCK_SIZE, Source
from kafka_segments.errors import OptionError, ReadError
from kafka_segments.search.content_tests import ContentTest
from kafka_segments.search.found import RawPlace, UndecidedPlace
from kafka_segments.search.time_bound import TimeBound

__all__ = ["search_damage"]

_LEN_WINDOW = 1 << 20
_LEN_OVERLAP = 64 << 10
"""Bytes that two windows share: what is longer may not be found where they meet."""


def search_damage(
    source: Source, damage: Damage, tests: tuple[ContentTest, ...], bound: TimeBound
) -> Iterator[RawPlace | UndecidedPlace]:
    """Yield where something that the tests look for stands in damaged bytes, whatever the other tests say.

    Args:
        source: the segment's bytes.
        damage: of it.
        tests: those that look for bytes; those of JSON find nothing here.
        bound: of the time for each window.
    """
    position = damage.position
    while position < damage.end_position:
        data, following = _readable(source, position, min(damage.end_position, position + _LEN_WINDOW))
        is_last = following > position + len(data) or following >= damage.end_position
        limit = len(data) if is_last else len(data) - _LEN_OVERLAP
        for test in tests:
            yield from _places(damage.path, position, (data, limit), test, bound)
        position = following if is_last else position + limit


def _readable(source: Source, position: int, end: int) -> tuple[bytes, int]:
    """Read up to the first unreadable block; return the bytes, and where what follows begins."""
    try:
        return bytes(source.read(position, end - position)), end
    except ReadError as error:
        bad = position if error.position is None else max(error.position, position)
    following = (bad // BLOCK_SIZE + 1) * BLOCK_SIZE
    try:
        return bytes(source.read(position, bad - position)), following
    except ReadError:
        return b"", following


def _places(
    path: str, position: int, window: tuple[bytes, int], test: ContentTest, bound: TimeBound
) -> Iterator[RawPlace | UndecidedPlace]:
    data, limit = window
    at = 0
    try:
        while at < limit:
            place = bound.run(partial(test.find_raw, data, at), 0 if at else len(data))
            if place is None or place[0] >= limit:
                return
            if place[1] > place[0]:
                yield RawPlace(path, position + place[0], position + place[1], test.words)
            at = max(place[1], place[0] + 1)
    except OptionError:  # of the bound
        detail = f"{test.words} takes too long in damaged bytes: look for something simpler"
        yield UndecidedPlace(path, position + at, None, detail)
