"""Runs of entries end where offsets do not continue, whichever way they are found."""

from __future__ import annotations

import gzip

import pytest
from tests.made.build import batch, message, record

from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.verified import verified_tables
from kafka_segments.core.segment.verified.sound_runs import SoundRun, iter_sound_runs
from kafka_segments.errors import MissingExtraError

GZIP = 1


def wrapper(offset: int) -> bytes:
    """A wrapper of magic 1 with one message in it, whose offset it has."""
    return message(offset, gzip.compress(message(0), mtime=0), attributes=GZIP)


@pytest.fixture(params=["in tables", "one by one"])
def runs(request, monkeypatch):
    """Offsets of the runs in some bytes."""
    if request.param == "one by one":

        def missing(*_arguments, **_options):
            raise MissingExtraError("not installed")

        monkeypatch.setattr(verified_tables, "iter_tables_verified", missing)

    def of(data: bytes) -> list[tuple[int, int]]:
        found = list(iter_sound_runs(open_source(data)))
        assert all(isinstance(one, SoundRun) for one in found)
        return [(one.first, one.last) for one in found]

    return of


def test_a_wrapper_has_the_offsets_of_its_messages(runs):
    data = batch(9, [record(0), record(1)]) + wrapper(11) + wrapper(18)
    assert runs(data) == [(9, 10), (11, 11), (18, 18)]


def test_a_wrapper_that_repeats_an_offset_continues_nothing(runs):
    """Nor do those after it, which continue the wrapper."""
    data = batch(9, [record(0), record(1)]) + wrapper(10) + wrapper(18)
    assert runs(data) == [(9, 10), (10, 10), (18, 18)]
