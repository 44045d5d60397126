"""Runs of entries end where offsets do not continue, whichever way they are found."""

from __future__ import annotations

import gzip
from unittest import mock

import pytest
from tests.builders.build import batch, message, record

from kafka_segments.io.storage import open_source
from kafka_segments.segment import sound_runs
from kafka_segments.segment.sound_runs import SoundRun, iter_sound_runs

GZIP = 1


def wrapper(offset: int) -> bytes:
    """A wrapper of magic 1 with one message in it, whose offset it has."""
    return message(offset, gzip.compress(message(0), mtime=0), attributes=GZIP)


@pytest.fixture(params=["in tables", "one by one"])
def runs(request):
    """Offsets of the runs in some bytes."""

    def of(data: bytes) -> list[tuple[int, int]]:
        found = list(iter_sound_runs(open_source(data)))
        assert all(isinstance(one, SoundRun) for one in found)
        return [(one.first, one.last) for one in found]

    if request.param == "one by one":
        with mock.patch.object(sound_runs, "_found_in", sound_runs._plain_runs):
            yield of
    else:
        yield of


def test_a_wrapper_continues_what_is_below_its_offset(runs):
    data = batch(9, [record(0), record(1)]) + wrapper(12) + wrapper(18)
    assert runs(data) == [(9, 18)]


def test_a_wrapper_that_repeats_an_offset_continues_nothing(runs):
    """Nor do those after it, which continue the wrapper."""
    data = batch(9, [record(0), record(1)]) + wrapper(10) + wrapper(18)
    assert runs(data) == [(9, 10), (10, 18)]
