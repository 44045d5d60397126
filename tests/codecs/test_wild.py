"""Payloads from the wild in batches and wrappers, by the slow way and by the compiled decoders."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.made.build import batch, message
from tests.made.segments import damages, row, rows, slowly, told
from tests.made.wild_payloads import BASE, BEHIND, HALF, NUM_INNER, WILD, Case, cases, entry

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core.segment.segment import fast_rows
from kafka_segments.errors import CorruptBatchError, DecompressionError

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_slow_and_fast_way_give_what_kafka_gives(case: Case) -> None:
    with open_segment(case.data) as segment:
        events = list(segment.iter_events(on_damage="skip"))
        fast = list(segment.iter_events(on_damage="skip", rows=fast_rows()))
        assert list(map(comparable, fast)) == list(map(comparable, events))
        damage = [event for event in events if isinstance(event, Damage)]
        delivered = [event.offset for event in events if isinstance(event, Record)]
        assert damages(segment) == list(map(told, damage))
        assert len(damage) == (0 if case.is_taken else 1)
        assert rows(segment.read_batches(on_damage="skip")) == slowly(case.data)
    if case.is_taken:
        assert delivered == case.offsets
        return
    # What does not decompress is refused whole; of what ends too early, a part may be read.
    (one,) = damage
    assert isinstance(one.error, DecompressionError | CorruptBatchError)
    assert delivered[0] == 0 and delivered[-1] == BEHIND
    assert delivered[1:-1] == list(range(BASE, BASE + len(delivered) - 2))
    assert len(delivered) - 2 < NUM_INNER


def comparable(event: object) -> object:
    return told(event) if isinstance(event, Damage) else event


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_loses_what_is_in_a_second_frame(magic: int) -> None:
    """As in Kafka: one frame is read, and an inner set that is cut ends without a word."""
    with open_segment(message(0, magic=magic) + entry(WILD[HALF], magic)) as segment:
        records = [event for event in segment.iter_events() if isinstance(event, Record)]
        assert rows(segment.read_batches()) == [row(one) for one in records]
    assert NUM_INNER // 2 < len(records) < NUM_INNER


def test_many_at_once() -> None:
    """All payloads one behind the other, so that compiled loops stop at some and go on behind them."""
    data, offset, expected = b"", 0, 0
    for magic in (2, 1, 0):
        for case in CASES:
            if case.magic != magic:
                continue
            with open_segment(case.data) as segment:
                entries = list(segment.iter_entries())
            middle = entries[1]
            data += batch(offset) if magic == 2 else message(offset, magic=magic)
            data += case.data[middle.position : middle.end_position]
            expected += 1 + NUM_INNER * case.is_taken
            offset += BEHIND
    assert len(rows(read(data))) >= expected
    assert rows(read(data)) == slowly(data)
    with open_segment(data) as segment:
        found = [event for event in segment.iter_events(on_damage="skip") if isinstance(event, Damage)]
        assert len(damages(segment)) == len(found) == sum(not case.is_taken for case in CASES)


def read(data: bytes):
    with open_segment(data) as segment:
        yield from segment.read_batches(on_damage="skip")


def test_every_codec_has_both_kinds() -> None:
    counts = Counter((wild.codec, bool(wild.taken)) for wild in WILD.values())
    assert all(counts[codec, kind] >= 2 for codec in ("gzip", "snappy", "lz4", "zstd") for kind in (0, 1))
    assert all(wild.origin for wild in WILD.values())
