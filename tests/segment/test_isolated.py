"""Both ways show the same records of a range, also of wrappers whose messages stand in any order of offsets.

No broker takes such wrappers, and Kafka's reader does: it hands out each message with its own offset.
"""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from tests.made.adversaries import GZIP, LZ4, batch, message, record, squeezed

from kafka_segments import Batch, Record, open_segment
from kafka_segments.log.isolation_view import IsolatedSegment, Offsets


def _wrapper(offset: int, own: list[int], magic: int, codec: int) -> bytes:
    inner = b"".join(message(b"v", magic=magic, offset=one) for one in own)
    return message(squeezed(codec, inner), codec, magic, offset)


def _log(seed: int) -> bytes:
    """A few entries, the wrappers among them in order, backwards, or in none."""
    dice, out, following = Random(seed), b"", 0
    for _ in range(dice.randrange(1, 4)):
        magic = dice.randrange(3)
        if magic == 2:
            out += batch(record(b"x"), 1, offset=following)
            following += 1
            continue
        own = [dice.randrange(8) for _ in range(dice.randrange(1, 6))]
        if dice.random() < 0.5:
            own.sort(reverse=True)
        last = following + dice.choice((0, max(own), own[-1]))
        absolute = [one + (0 if magic else following) for one in own]
        out += _wrapper(dice.choice((last, 0)), absolute, magic, dice.choice((GZIP, LZ4)))
        following += max(own) + 1
    return out


def _record_by_record(data: bytes, offsets: Offsets) -> list[int]:
    with open_segment(data) as segment:
        events = list(IsolatedSegment(segment, offsets, None, ()).iter_events(on_damage="skip"))
    return [event.offset for event in events if isinstance(event, Record)]


def _compiled(data: bytes, offsets: Offsets) -> list[int]:
    with open_segment(data) as segment:
        events = list(IsolatedSegment(segment, offsets, None, ()).iter_columnar(["offset"]))
    found = (event for event in events if isinstance(event, pa.RecordBatch))
    return [offset for one in found for offset in one.column("offset").to_pylist()]


@pytest.mark.parametrize("seed", range(40))
def test_both_ways_show_the_same_of_any_range(seed: int) -> None:
    data = _log(seed)
    for start in (None, 0, 2, 3, 5, 9):
        for end in (None, 1, 3, 4, 6, 10):
            assert _record_by_record(data, (start, end)) == _compiled(data, (start, end)), (start, end)


def test_a_wrapper_is_shown_before_its_records_and_only_with_them() -> None:
    data = _wrapper(3, [10, 3], 0, GZIP) + batch(record(b"x"), 1, offset=11)
    with open_segment(data) as segment:
        for end, expected in ((2, []), (5, [Batch, Record]), (12, [Batch, Record, Record, Batch, Record])):
            events = list(IsolatedSegment(segment, (None, end), None, ()).iter_events())
            assert [type(event) for event in events] == expected
