"""A regular expression that takes forever on a record is ended, and the search goes on."""

from __future__ import annotations

import re
import signal

import pytest
from tests.made.build import batch, record

from kafka_segments.core.io.storage import open_source
from kafka_segments.errors import OptionError
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.content_tests import MatchesPattern
from kafka_segments.search.found import FoundRecord, UndecidedPlace
from kafka_segments.search.segment_search import SegmentSearch
from kafka_segments.search.time_bound import TimeBound

ENDLESS = re.compile(rb"(a+)+b")


def test_a_test_is_ended_and_the_signal_is_free_again() -> None:
    bound, before = TimeBound(0.02), signal.getsignal(signal.SIGVTALRM)
    with bound.ticking(), pytest.raises(OptionError, match="the test takes more than"):
        bound.run(lambda: ENDLESS.search(b"a" * 60), 60)
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_many_short_tests_are_not_ended() -> None:
    """Each tick finds another one at work."""
    bound = TimeBound(1000)
    with bound.ticking():
        for _ in range(6):
            bound.run(lambda: signal.raise_signal(signal.SIGVTALRM), 3)
        bound = TimeBound()
        assert all(bound.run(lambda: ENDLESS.search(b"aab"), 3) is not None for _ in range(50_000))


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


def test_many_records_that_take_long_are_no_more_than_some() -> None:
    """The rest is undecided at once: a log of any size costs what its bytes allow."""
    records = [record(at, b"k", b"a" * 60) for at in range(1000)]
    bound = TimeBound(0.05)
    with bound.ticking():
        search = SegmentSearch(
            open_source(batch(0, records)), Conditions((MatchesPattern(ENDLESS),)), bound=bound
        )
        found = list(search.events())
    undecided = [one.detail for one in found if isinstance(one, UndecidedPlace)]
    assert len(undecided) == 1000
    assert sum("the test takes more than" in one for one in undecided) <= 4  # after two ticks each, of six
    assert "tests before it have taken too long" in found[-1].detail  # type: ignore[union-attr]


def test_what_is_tested_pays_for_more() -> None:
    bound = TimeBound(0.02)
    with bound.ticking():
        for _ in range(5):
            with pytest.raises(OptionError):
                bound.run(lambda: ENDLESS.search(b"a" * 60), 60)
        with pytest.raises(OptionError, match="before it"):
            bound.run(lambda: None, 60)
        bound.run(lambda: None, 100_000_000)
