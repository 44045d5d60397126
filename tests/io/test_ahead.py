"""Reading ahead: the same bytes in any order of requests, bounded memory, and no more than is wanted."""

from __future__ import annotations

import random
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_segments.core.io import readahead, store_requests
from kafka_segments.core.io.readahead import AheadSource
from kafka_segments.errors import StoreError

DATA = random.Random(6).randbytes(300_000)


class Remembered:
    """Bytes in memory, and what was asked of them."""

    address, identity = "memory://data", "1"

    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.size = len(data)
        self.asked: list[tuple[int, int]] = []
        self.failing_from = len(data) + 1

    async def fetch(self, position: int, view: memoryview) -> None:
        self.asked.append((position, len(view)))
        if position + len(view) > self.failing_from:
            raise StoreError("it failed", path=self.address)
        view[:] = self.data[position : position + len(view)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of the true sizes."""
    monkeypatch.setattr(readahead, "LEN_PIECE", 8 << 10)
    monkeypatch.setattr(readahead, "_LEN_FIRST", 64)
    monkeypatch.setattr(readahead, "_LEN_AHEAD_FROM", 1 << 10)


requests = st.lists(
    st.tuples(st.sampled_from(["on", "back", "jump"]), st.integers(0, 30_000), st.integers(0, len(DATA)))
)


@given(requests=requests, end=st.none() | st.integers(0, len(DATA)))
def test_whatever_is_asked_for_comes(requests: list[tuple[str, int, int]], end: int | None) -> None:
    ranges = Remembered()
    source = AheadSource(ranges, end)
    buffer = memoryview(bytearray(30_000))
    last = 0
    for how, most, anywhere in requests:
        position = {"on": last, "back": max(0, last - 500), "jump": anywhere}[how]
        size = min(most, len(DATA) - position)
        assert source.window(position, size, buffer) == DATA[position : position + size]
        assert source.read(position, size) == DATA[position : position + size]
        assert sum(len(piece.data) for piece in source._pieces) <= 5 * readahead.LEN_PIECE
        last = position + size
    source.close()


def pass_through(source: AheadSource, size: int, step: int = 4 << 10, overlap: int = 100) -> None:
    """As a scan does it: each window begins a little before the last one's end."""
    buffer = memoryview(bytearray(step))
    position = 0
    while position < size:
        part = min(step, size - position)
        assert source.window(position, part, buffer) == DATA[position : position + part]
        position += part if position + part >= size else part - overlap


def test_a_pass_gets_each_byte_once_in_large_pieces() -> None:
    ranges = Remembered()
    pass_through(AheadSource(ranges), len(DATA))
    assert sum(size for _position, size in ranges.asked) == len(DATA)
    assert len(ranges.asked) <= len(DATA) // readahead.LEN_PIECE + 4
    assert sorted(ranges.asked)[0] == (0, 4 << 10)


def test_a_look_gets_little() -> None:
    ranges = Remembered()
    assert AheadSource(ranges).read(100, 20) == DATA[100:120]
    time.sleep(0.05)
    assert ranges.asked == [(100, 64)]


def test_nothing_is_read_ahead_behind_the_end_that_was_hinted() -> None:
    ranges = Remembered()
    source = AheadSource(ranges, end=50_000)
    pass_through(source, 50_000)
    time.sleep(0.05)
    assert max(position + size for position, size in ranges.asked) == 50_000
    assert source.read(60_000, 100) == DATA[60_000:60_100]  # a hint is no limit


def test_the_next_two_pieces_come_while_the_reader_is_busy() -> None:
    ranges = Remembered()
    source = AheadSource(ranges)
    for position in range(0, 200_000, 4 << 10):
        source.window(position, 4 << 10, memoryview(bytearray(4 << 10)))
        ends = [piece.end for piece in source._pieces]
        assert position == 0 or max(ends) >= position + 2 * readahead.LEN_PIECE
        assert max(ends) <= position + 4 * readahead.LEN_PIECE


def test_an_error_comes_where_its_bytes_are_asked_for_and_not_before() -> None:
    ranges = Remembered()
    ranges.failing_from = 40_000
    source = AheadSource(ranges)
    pass_through(source, 20_000)
    with pytest.raises(StoreError, match="it failed"):
        pass_through(source, 60_000)
    ranges.failing_from = len(DATA) + 1
    assert source.read(40_000, 100) == DATA[40_000:40_100]


def test_without_a_thread_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(store_requests, "_loop", store_requests._loop.__wrapped__)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with pytest.raises(StoreError, match="can't start new thread"):
        AheadSource(Remembered()).read(0, 10)


def test_without_memory_nothing_is_got_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges, left = Remembered(), [0]

    def scarce(size: int) -> bytearray:
        left[0] -= 1
        if left[0] < 0:
            raise MemoryError
        return bytearray(size)

    monkeypatch.setattr(readahead, "bytearray", scarce, raising=False)
    source, buffer = AheadSource(ranges), memoryview(bytearray(5000))
    with pytest.raises(MemoryError):
        source.window(0, 5000, buffer)
    left[0] = 1
    assert source.window(0, 5000, buffer) == DATA[:5000]
    assert len(ranges.asked) == 1, "what would be next is not asked for"
    left[0] = 1_000_000
    pass_through(source, len(DATA))


def test_what_is_not_there_is_an_error() -> None:
    source = AheadSource(Remembered())
    with pytest.raises(StoreError, match="300000"):
        source.read(len(DATA) - 5, 6)
    source.close()
    with pytest.raises(StoreError, match="closed"):
        source.read(0, 1)


def test_threads_may_share_a_source() -> None:
    source = AheadSource(Remembered())
    wrong: list[int] = []

    def look(seed: int) -> None:
        places = random.Random(seed)
        for _ in range(100):
            position = places.randrange(len(DATA) - 5000)
            if source.read(position, 5000) != DATA[position : position + 5000]:
                wrong.append(position)

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
