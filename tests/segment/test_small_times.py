"""Times of small segments that are read in one pass: each one's own, whatever stands beside it."""

from __future__ import annotations

import gzip
import random
from itertools import accumulate, pairwise

import pytest
from tests.made.build import batch, message, patched, record

from kafka_segments.core.segment.columnar.small_segments import SmallTimes, read_times


def timed(offset: int, *times: int, **fields: int) -> bytes:
    """A batch of records with such times, the first one being the base timestamp."""
    records = [record(at, timestamp_delta=time - times[0]) for at, time in enumerate(times)]
    return batch(offset, records, base_timestamp=times[0], max_timestamp=max(times), **fields)


def alone(first: int, last_offsets: list[int], latest: list[int], has_append_time: bool) -> SmallTimes:
    return SmallTimes(first, last_offsets, latest, 0, len(latest), has_append_time)


def parts_of(times: SmallTimes) -> tuple[list[int], list[int]]:
    """Last offsets and times of the segment's own batches."""
    own = slice(times.start, times.end)
    return list(times.last_offsets[own]), list(times.latest[own])


GZIPPED = gzip.compress(record(), mtime=0)  # a time of the clock would be in the names of tests
LARGE = batch(40, [record(0, value=bytes(9000))], max_timestamp=8)
SOUND = {
    "one batch": (timed(7, 20, 10), alone(7, [8], [20], False)),
    "times that fall": (
        timed(0, 5, 6) + timed(2, 3) + timed(9, 4, 9),
        alone(0, [1, 2, 10], [6, 6, 9], False),
    ),
    "append time": (timed(0, 5) + timed(1, 6, attributes=8), alone(0, [0, 1], [5, 6], True)),
    "no times": (timed(0, -1) + timed(1, -1), alone(0, [0, 1], [-1, -1], False)),
    "large": (LARGE, alone(40, [40], [8], False)),
}
OTHERS = {
    "offsets that fall": timed(5, 1) + timed(3, 2),
    "twice the same": timed(5, 1) + timed(5, 1),
    "more records than offsets": batch(0, [record(), record()], last_offset_delta=0),
    "cut off": (timed(0, 5) + timed(1, 6))[:-2],
    "zeros after it": timed(0, 5) + bytes(70),
    "zeros": bytes(100),
    "one byte": b"\x00",
    "a wrong checksum": patched(timed(0, 5), 66, b"\xff") + timed(1, 6),
    "a wrong size": patched(timed(0, 5), 8, b"\x00\x10\x00\x00") + timed(1, 6),
    "old messages": message(0) + message(1),
    "the first half of a batch": timed(0, 5) + LARGE[:4000],
    "the second half of a batch": LARGE[4000:] + timed(41, 9),
}


def read(segments: list[bytes]) -> list[SmallTimes | None]:
    ends = list(accumulate(map(len, segments)))
    return [
        one and alone(one.first_offset, *parts_of(one), one.has_append_time)
        for one in read_times(memoryview(b"".join(segments)), ends)
    ]


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_segment(name: str) -> None:
    data, expected = SOUND[name]
    assert read([data]) == [expected]


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_segment_has_none(name: str) -> None:
    assert read([OTHERS[name]]) == [None]


def test_a_batch_across_two_segments_is_in_neither() -> None:
    before, after = OTHERS["the first half of a batch"], OTHERS["the second half of a batch"]
    assert read([LARGE, before, after, LARGE]) == [SOUND["large"][1], None, None, SOUND["large"][1]]
    # Its last byte is that of the other one's first, so that the checksum is right.
    assert read([LARGE[:-1], LARGE, LARGE]) == [None, None, SOUND["large"][1]]


def test_each_has_its_own_times_whatever_stands_beside_it() -> None:
    known = {**{name: data for name, (data, _times) in SOUND.items()}, **OTHERS}
    expected = {name: times for name, (_data, times) in SOUND.items()}
    rng = random.Random(7)
    halves = ("the first half of a batch", "the second half of a batch")
    for _ in range(200):
        names = rng.choices(list(known), k=rng.randint(1, 12))
        if halves not in pairwise(names):
            assert read([known[name] for name in names]) == [expected.get(name) for name in names], names


def test_more_batches_than_the_table_has_rows() -> None:
    segments = [b"".join(timed(base + at, at) for at in range(700)) for base in range(0, 7000, 700)]
    found = read(segments)
    assert [one and (one.first_offset, one.last_offset, len(parts_of(one)[0])) for one in found] == [
        (base, base + 699, 700) for base in range(0, 7000, 700)
    ]


def test_a_look_up_by_time() -> None:
    found = read_times(
        memoryview(SOUND["one batch"][0] + SOUND["times that fall"][0]),
        [len(SOUND["one batch"][0]), len(SOUND["one batch"][0] + SOUND["times that fall"][0])],
    )
    for times, (last_offsets, latest) in zip(found, [([8], [20]), ([1, 2, 10], [6, 6, 9])], strict=True):
        assert times is not None and times.last_offset == last_offsets[-1]
        for wanted in range(-2, 25):
            below = [pair for pair in zip(last_offsets, latest, strict=True) if pair[1] < wanted]
            assert times.last_below(wanted) == (below[-1] if below else None)


def test_nothing() -> None:
    assert read([]) == []
