"""What the record-by-record way delivers, `read_batches` delivers too: both are allowed as much in a pass."""

from __future__ import annotations

from random import Random

import pytest
from tests.made.adversaries import EMPTY_RECORD, GZIP, ZSTD, batch, message, record, squeezed
from tests.made.encoder import varint

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core.codecs import bounds
from kafka_segments.core.segment.records.legacy_messages import iter_frames

pytest.importorskip("numba")
pytest.importorskip("pyarrow")

_MORE = 1000
_NUM_DENSE = 5000


@pytest.fixture(autouse=True)
def few_items(monkeypatch):
    monkeypatch.setattr(bounds, "MORE_ITEMS", _MORE)


def _large(kind: str) -> bytes:
    """An ordinary entry of one record that allows for more than `_NUM_DENSE` others."""
    value = Random(1).randbytes(_NUM_DENSE)
    if kind == "batch":
        return batch(squeezed(ZSTD, record(value)), 1, ZSTD)
    return message(squeezed(GZIP, message(value)), GZIP)


def _dense(kind: str) -> bytes:
    """An entry of so many records for its size that they are counted."""
    if kind == "batch":
        return batch(squeezed(ZSTD, EMPTY_RECORD * _NUM_DENSE), _NUM_DENSE, ZSTD, offset=1)
    return message(squeezed(GZIP, message(None, offset=1) * _NUM_DENSE), GZIP, offset=1)


def _num_read(data: bytes) -> tuple[int, int]:
    """Records by `iter_events`, and by `read_batches`."""
    with open_segment(data) as segment:
        one_by_one = sum(isinstance(event, Record) for event in segment.iter_events(on_damage="skip"))
        return one_by_one, segment.read_batches(on_damage="skip").read_all().num_rows


@pytest.mark.parametrize("kind", ["batch", "wrapper"])
def test_dense_entries_alone_are_refused_by_both(kind):
    one_by_one, together = _num_read(_dense(kind))
    assert one_by_one < _NUM_DENSE
    assert one_by_one == together


@pytest.mark.parametrize("first", ["batch", "wrapper"])
@pytest.mark.parametrize("second", ["batch", "wrapper"])
def test_what_came_before_allows_for_more_in_both(first, second):
    one_by_one, together = _num_read(_large(first) + _dense(second))
    assert one_by_one == 1 + _NUM_DENSE
    assert together == one_by_one


def test_headers_are_bounded_where_they_become_objects():
    """Arrow takes headers as the bytes that they are: the one difference, which `iter_events` names."""
    data = batch(squeezed(ZSTD, record(b"", varint(_NUM_DENSE) + b"\0\x01" * _NUM_DENSE)), 1, ZSTD)
    assert _num_read(data) == (0, 1)


def test_wrappers_are_asked_for_their_first_offsets_no_more_than_they_may_be_read(monkeypatch):
    """Behind each damage stands a wrapper of many messages, whose first offset says what was lost."""
    damaged = message(b"", 0, 1, wrong_by=1)
    inner = message(None, 0, 1) * (_NUM_DENSE - 1) + message(None, 0, 1, _NUM_DENSE - 1)
    wrappers = [
        message(squeezed(GZIP, inner), GZIP, 1, (number + 2) * _NUM_DENSE * 2 - 1) for number in range(6)
    ]
    num_opened = 0
    original = iter_frames

    def counting(data):
        nonlocal num_opened
        for one in original(data):
            num_opened += 1
            yield one

    monkeypatch.setattr("kafka_segments.core.segment.records.legacy_messages.iter_frames", counting)
    monkeypatch.setattr(bounds, "MORE_ITEMS", _NUM_DENSE)
    data = b"".join(damaged + wrapper for wrapper in wrappers)
    with open_segment(data) as segment:
        entries = list(segment.iter_entries(on_damage="skip"))
    regions = [one for one in entries if isinstance(one, Damage)]
    assert len(regions) == len(wrappers)
    assert regions[0].next_offset == 3 * _NUM_DENSE
    assert regions[-1].next_offset is None
    assert num_opened <= _NUM_DENSE + bounds.ITEMS_PER_BYTE * len(data) + 1
