"""A regular expression that takes forever on a record is ended, and the search goes on."""

from __future__ import annotations

import re
import signal

import pytest
from tests.builders.build import batch, record

from kafka_segments.errors import OptionError
from kafka_segments.io.storage import open_source
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.content_tests import MatchesPattern
from kafka_segments.search.found import FoundRecord, UndecidedPlace
from kafka_segments.search.segment_search import SegmentSearch
from kafka_segments.search.time_bound import TimeBound

ENDLESS = re.compile(rb"(a+)+b")


def test_a_test_is_ended_and_the_signal_is_free_again() -> None:
    bound, before = TimeBound(0.02), signal.getsignal(signal.SIGVTALRM)
    with bound.ticking(), pytest.raises(OptionError, match="a test took more than"):
        bound.run(lambda: ENDLESS.search(b"a" * 60))
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_many_short_tests_are_not_ended() -> None:
    bound = TimeBound(0.01)
    with bound.ticking():
        assert all(bound.run(lambda: ENDLESS.search(b"aab")) is not None for _ in range(50_000))


def test_the_records_after_it_are_found() -> None:
    records = [record(0, b"k", b"ab"), record(1, b"k", b"a" * 60), record(2, b"k", b"xaab")]
    bound = TimeBound(0.02)
    with bound.ticking():
        search = SegmentSearch(
            open_source(batch(5, records)), Conditions((MatchesPattern(ENDLESS),)), bound=bound
        )
        found = list(search.events())
    assert [one.record.offset for one in found if isinstance(one, FoundRecord)] == [5, 7]
    (undecided,) = [one for one in found if isinstance(one, UndecidedPlace)]
    assert (undecided.position, undecided.offset) == (0, 6)
    assert "pattern '(a+)+b'" in undecided.detail
