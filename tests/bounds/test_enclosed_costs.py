"""What little files could cost: sound messages in a damaged wrapper, payloads kept long, wide products."""

from __future__ import annotations

import gc
import struct
import zlib
from random import Random

import numpy as np
import pytest
from tests import work
from tests.made.adversaries import GZIP, ZSTD, batch, message, record, squeezed
from tests.python import traced

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.segment.scan.crc_spans import CRC32_POLYNOMIAL, CRC32C_POLYNOMIAL, multiply
from kafka_segments.core.segment.scan.nested_messages import NestedMessages

_MANY = 3000


def _stored(content: bytes) -> bytes:
    """Content in gzip's stored blocks, so that it stands in the file byte for byte."""
    out = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    for at in range(0, len(content), 0xFFFF):
        block = content[at : at + 0xFFFF]
        is_last = at + 0xFFFF >= len(content)
        out += bytes([is_last]) + struct.pack("<HH", len(block), len(block) ^ 0xFFFF) + block
    return out + struct.pack("<II", zlib.crc32(content), len(content))


@pytest.mark.parametrize("way", ["by expression", "by machine code"])
def test_messages_of_a_cut_wrapper_are_passed_over_at_once(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "by machine code":
        pytest.importorskip("numba")
        monkeypatch.setattr("kafka_segments.core.segment.scan.resync._LEN_SLOW", 0)
    inner = b"".join(message(b"", offset=number) for number in range(_MANY))
    wrapper = message(_stored(inner), GZIP, offset=_MANY, wrong_by=1)[:-20]
    behind = message(b"behind", offset=_MANY + 1)
    num_asked = 0
    original = NestedMessages.end_of

    def counting(self: NestedMessages, batch: Batch) -> int | None:
        nonlocal num_asked
        num_asked += 1
        return original(self, batch)

    monkeypatch.setattr(NestedMessages, "end_of", counting)
    with work.at_most(60 * len(wrapper)), open_segment(message(b"before") + wrapper + behind) as segment:
        events = list(segment.iter_events(on_damage="skip"))
    assert [one.offset for one in events if isinstance(one, Record)] == [0, _MANY + 1]
    assert sum(isinstance(one, Damage) for one in events) == 1
    assert num_asked < 100


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
    with open_segment(ENTRIES[name] * _NUM_ENTRIES) as segment, traced() as memory:
        num_records = sum(isinstance(one, Record) for one in segment.iter_events(on_damage="skip"))
        left = memory()[0]
    assert num_records == (0 if "checksum" in name else _NUM_ENTRIES)
    assert left < 2 * _LEN_VALUE


pytest.importorskip("numba")
searching = pytest.importorskip("kafka_segments.core.segment.scan.compiled_search")

EDGES = (0, 1, 2, 1 << 30, 1 << 31, 0x11111111, 0x88888888, (1 << 32) - 1)


@pytest.mark.parametrize("polynomial", [CRC32_POLYNOMIAL, CRC32C_POLYNOMIAL])
def test_products_are_those_bit_by_bit(polynomial: int) -> None:
    tables = np.array(searching._reducing(polynomial), np.int64)
    dice = Random(5)
    pairs = [(one, other) for one in EDGES for other in EDGES]
    pairs += [(dice.getrandbits(32), dice.getrandbits(32)) for _ in range(3000)]
    for one, other in pairs:
        assert searching.product(one, other, tables, 0) == multiply(one, other, polynomial)
