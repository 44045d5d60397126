"""Payloads are let go of with their batch, not when the garbage collector runs, which counts no bytes."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from tests.made.adversaries import GZIP, ZSTD, batch, message, record, squeezed

from kafka_segments import Record, open_segment

_LEN_VALUE = 4 << 20
_NUM_ENTRIES = 8
_VALUE = bytes(_LEN_VALUE)
ENTRIES = {
    "plain records": batch(record(_VALUE), 1),
    "compressed records": batch(squeezed(ZSTD, record(_VALUE)), 1, ZSTD),
    "a count too high": batch(squeezed(ZSTD, record(_VALUE)), 2, ZSTD),
    "bytes behind a record": batch(squeezed(ZSTD, record(_VALUE) + b"x"), 1, ZSTD),
    "plain messages": message(_VALUE, 0, 1),
    "wrapped messages": message(squeezed(GZIP, message(_VALUE)), GZIP),
    "a wrong checksum inside": message(squeezed(GZIP, message(_VALUE, wrong_by=1)), GZIP),
}


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()
    gc.collect(1)  # what is young: all that was made meanwhile


@pytest.mark.parametrize("name", ENTRIES)
def test_values_do_not_pile_up(name, no_collector):
    with open_segment(ENTRIES[name] * _NUM_ENTRIES) as segment:
        tracemalloc.start()
        try:
            num_records = sum(isinstance(one, Record) for one in segment.iter_events(on_damage="skip"))
            left = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert num_records == (0 if "checksum" in name else _NUM_ENTRIES)
    assert left < 2 * _LEN_VALUE
