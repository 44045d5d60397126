"""Histograms of bounded size: nothing is lost when bins are widened, and outliers do not hide the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_segments.report.bins import OffsetBins, SizeBins, TimeBins

YEAR_10000 = 253_402_300_800_000


def times_of(values: list[int], num_bins: int = 2048) -> TimeBins:
    bins = TimeBins(2)
    times = np.array(values, np.int64)
    bins.add(times, np.stack([np.ones(len(times), np.int64), np.full(len(times), 100)], axis=1))
    return bins


@given(st.lists(st.integers(-1, 1 << 62), max_size=60), st.lists(st.integers(0, 10**7), max_size=60))
def test_each_time_is_drawn_or_counted(first: list[int], second: list[int]) -> None:
    bins = times_of(first)
    bins.add_all(times_of(second))
    window = next(iter(bins.eras()), None)
    drawn = [] if window is None else bins.counts_in(window)
    outside = 0 if window is None else window.num_outside
    assert sum(count for count, _size in drawn) + outside + bins.num_without == len(first) + len(second)
    assert len(drawn) <= 97


def test_times_that_are_none_are_counted() -> None:
    bins = times_of([-1, YEAR_10000, 5])
    assert bins.num_without == 2
    assert bins.range() == (0, 125)


def test_many_times_widen_the_bins() -> None:
    values = [second * 1000 for second in range(100_000)]
    bins = times_of(values)
    assert bins.width == 1000 * 64
    window = next(iter(bins.eras()), None)
    assert window is not None
    counts = bins.counts_in(window)
    assert sum(count for count, _size in counts) == 100_000
    assert sum(size for _count, size in counts) == 10_000_000
    assert 48 <= len(counts) <= 97


def test_one_far_time_does_not_hide_the_others() -> None:
    day = 86_400_000
    values = [20_000 * day + minute * 60_000 for minute in range(5000)]
    bins = times_of([5, *values])
    window = next(iter(bins.eras()), None)
    assert window is not None
    assert window.num_outside == 1
    assert window.start >= 20_000 * day - window.width
    assert sum(count for count, _size in bins.counts_in(window)) == 5000


def test_topics_years_apart_are_eras_of_their_own() -> None:
    """Five seconds ten years ago, a week five years ago, and five seconds now: none is a mere line."""
    year, now = 365 * 86_400_000, 1_760_000_000_000
    seconds = range(0, 5000, 25)
    bins = times_of([now - 10 * year + at for at in seconds])
    bins.add_all(times_of([now - 5 * year + at * 3_600_000 for at in range(168)]))
    bins.add_all(times_of([now + at for at in seconds]))
    eras = bins.eras()
    assert sorted(one.start // year for one in eras) == [now // year - 10, now // year - 5, now // year]
    assert [sum(count for count, _size in bins.counts_in(one)) for one in eras] == [200, 200, 168]
    assert eras[0].start > eras[1].start, "of two of one size, the later one"
    assert all(20 <= one.num_bins <= 96 for one in eras)


def test_a_steady_rhythm_is_one_era() -> None:
    assert len(times_of([day * 86_400_000 for day in range(60)]).eras()) == 1


def test_a_narrow_histogram_fits_the_window_of_a_wide_one() -> None:
    wide, narrow = times_of([second * 1000 for second in range(10_000)]), times_of([1000, 9_999_000])
    window = next(iter(wide.eras()), None)
    assert window is not None
    counts = [count for count, _size in narrow.counts_in(window)]
    assert (counts[0], counts[-1], sum(counts)) == (1, 1, 2)


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 3000)), min_size=1, max_size=40), st.booleans()
)
def test_present_offsets_stay_as_many(entries: list[tuple[int, int]], are_many: bool) -> None:
    bins = OffsetBins(0)
    firsts = np.array([first for first, _count in entries], np.int64)
    counts = np.array([count for _first, count in entries], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kafka_segments.report.bins._MAX_ENTRIES", 5 if are_many else 1000)
        for _time in range(3):
            bins.add(firsts, firsts + counts - 1, counts)
    assert bins._num_kept <= 5 or not are_many
    bins.close(8000)
    assert int(bins._counts.sum()) == 3 * int(counts.sum())


@given(
    st.lists(st.tuples(st.integers(1, 900), st.integers(0, 2)), min_size=1, max_size=60), st.integers(1, 60)
)
def test_offsets_are_counted_alike_however_their_entries_come(
    entries: list[tuple[int, int]], num_first: int
) -> None:
    """Together, where consecutive ones become one, or one by one; entries of `count + lack` offsets."""
    counts = np.array([count for count, _lack in entries], np.int64)
    ends = np.cumsum(counts + np.array([lack for _count, lack in entries], np.int64))
    firsts = np.append(0, ends[:-1])
    found = []
    for cuts in ([num_first], range(1, len(entries))):
        bins = OffsetBins(0)
        for own in np.split(np.arange(len(entries)), list(cuts)):
            if len(own):
                bins.add(firsts[own], ends[own] - 1, counts[own])
        bins.close(int(ends[-1]))
        found.append(bins.shares())
    assert found[0] == found[1]


def test_present_offsets_are_where_they_are() -> None:
    bins = OffsetBins(100)
    bins.add(np.array([100]), np.array([199]), np.array([100]))
    bins.add(np.array([300]), np.array([301]), np.array([1]))
    bins.close(420)
    assert bins.width == 2
    shares = {first: share for first, _end, share in bins.shares()}
    assert {shares[first] for first in range(100, 200, 2)} == {1.0}
    assert {share for first, share in shares.items() if first >= 200} == {0.0, 0.5}
    assert shares[300] == 0.5


def test_an_empty_log_has_offsets_to_draw() -> None:
    bins = OffsetBins(7)
    bins.close(7)
    assert bins.shares() == [(7, 8, 0.0)]


def test_sizes_are_counted_by_powers_of_two() -> None:
    bins = SizeBins()
    bins.add(np.array([0, 1, 2, 3, 4, 1023, 1024]))
    bins.add_all(bins)
    assert bins.bins()[:3] == [(1, 2), (2, 4), (4, 2)]
    assert bins.bins()[-2:] == [(512, 2), (1024, 2)]
    assert (bins.num_all, bins.sum_all, bins.highest) == (12, 2 * 2057, 1024)
