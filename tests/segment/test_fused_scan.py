"""Windows that are scanned and decoded in one go: what a fused scan takes, and what it leaves."""

from __future__ import annotations

from random import Random

import pytest
from tests.made.build import batch, record
from tests.made.codecs import gzip_member
from tests.made.segments import rows, slowly, some_record

from kafka_segments import open_segment
from kafka_segments.core.segment.columnar import decoding, fused_scan, reader
from kafka_segments.core.segment.columnar.record_columns import Capacity
from kafka_segments.core.segment.scan import scanner


@pytest.fixture
def fused(monkeypatch):
    """Small windows and pieces; a list of what each fused scan took, and of how many rows its window had."""
    monkeypatch.setattr(scanner, "_LEN_FIRST_WINDOW", 100)
    monkeypatch.setattr(reader, "_COMPILED_FROM", 0)
    monkeypatch.setattr(scanner, "_LEN_MEMORY_WINDOW", 20_000)
    monkeypatch.setattr(fused_scan, "LEN_PIECE", 2000)
    taken = []

    class Watched(fused_scan.FusedScan):
        def run(self, len_window):
            status = yield from super().run(len_window)
            num_rows = int(self._headers.state[fused_scan.ROW])
            taken.append((self.num_decoded, num_rows, self.stop))
            return status

    monkeypatch.setattr(reader, "FusedScan", Watched)
    return taken


def plain_batches(count: int, num_records: int = 20, seed: int = 1) -> list[bytes]:
    random = Random(seed)
    return [
        batch(
            number * num_records,
            [some_record(random, at) for at in range(num_records)],
            count=num_records,
            last_offset_delta=num_records - 1,
        )
        for number in range(count)
    ]


def fast(data: bytes, **options) -> list:
    with open_segment(data) as segment:
        return rows(segment.read_batches(**options))


def test_all_but_the_first_window_is_fused(fused):
    data = b"".join(plain_batches(50))
    assert fast(data) == slowly(data)
    assert sum(decoded for decoded, _rows, _refused in fused) == 49
    assert all(decoded == num_rows and refused is None for decoded, num_rows, refused in fused)


@pytest.mark.parametrize(
    "capacity", [Capacity(1, 900, 3), Capacity(50, 1000, 40), Capacity(33, 100_000, 900)]
)
def test_an_arrow_batch_may_be_full_anywhere(fused, monkeypatch, capacity):
    monkeypatch.setattr(decoding.RecordDecoder.__init__, "__kwdefaults__", {"capacity": capacity})
    data = b"".join(plain_batches(30))
    assert fast(data) == slowly(data)
    assert fused


def test_entries_larger_than_a_piece_and_than_a_window(fused):
    large = record(0, b"key", b"v" * 5000)
    larger = record(0, b"key", b"w" * 50_000)
    some = plain_batches(9)
    data = b"".join([*some, batch(500, [large]), *some, batch(900, [larger]), *some])
    assert fast(data) == slowly(data)
    assert max(decoded for decoded, _rows, _refused in fused) > 1


def test_a_table_that_is_full(fused, monkeypatch):
    monkeypatch.setattr(scanner, "_MAX_ROWS", 5)
    data = b"".join(plain_batches(40))
    assert fast(data) == slowly(data)
    assert {num_rows for _decoded, num_rows, _refused in fused} == {5, 4}


OTHERS = {
    "compressed": batch(
        1000, count=2, payload=gzip_member(record(0) + record(1)), attributes=1, last_offset_delta=1
    ),
    "control": batch(1000, [record(0, b"\0\0\0\1", b"\0\0\0\0\0\0")], attributes=1 << 5),
    "empty": batch(1000, [], count=0, last_offset_delta=3),
    "too few records": batch(1000, [record(0), record(1)], count=1),
    "too many records": batch(1000, [record(0)], count=2, last_offset_delta=1),
    "negative count": batch(1000, [record(0)], count=-1),
    "wrong checksum": batch(1000)[:-1] + b"\xff",
    "garbage": b"\x01" * 777,
}


@pytest.mark.parametrize("before", [1, 4, 30])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_it_stops_at_what_is_not_plain(fused, other, before):
    some = plain_batches(before + 20)
    data = b"".join([*some[:before], other, *some[before:]])
    told = []
    with open_segment(data) as segment:
        assert rows(segment.read_batches(on_damage=told.append)) == slowly(data)
    assert fused
    with open_segment(data) as segment:
        assert [str(one.error) for one in told] == [
            str(event.error) for event in segment.iter_events(on_damage="skip") if hasattr(event, "error")
        ]


def test_a_batch_that_is_refused_after_some_of_it_was_handed_out(fused, monkeypatch):
    capacity = Capacity(7, 1 << 20, 1000)
    monkeypatch.setattr(decoding.RecordDecoder.__init__, "__kwdefaults__", {"capacity": capacity})
    some = plain_batches(12)
    random = Random(3)
    wrong = batch(5000, [some_record(random, at) for at in range(40)] + [b"\x02\0"], count=41)
    data = b"".join([*some[:6], wrong, *some[6:]])
    assert fast(data, on_damage="skip") == slowly(data)
    assert [refused for _decoded, _rows, refused in fused if refused is not None] != []
