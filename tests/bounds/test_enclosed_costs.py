"""A damaged wrapper full of sound messages, all of which look like entries, costs what following it does."""

from __future__ import annotations

import struct
import time
import zlib

import pytest
from tests.made.adversaries import GZIP, message

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.segment.scan.nested_messages import NestedMessages

_MANY = 10_000


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
    started = time.process_time()
    with open_segment(message(b"before") + wrapper + behind) as segment:
        events = list(segment.iter_events(on_damage="skip"))
    assert [one.offset for one in events if isinstance(one, Record)] == [0, _MANY + 1]
    assert sum(isinstance(one, Damage) for one in events) == 1
    assert num_asked < 100
    assert time.process_time() - started < 5
