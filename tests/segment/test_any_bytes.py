"""Any bytes: a pass ends, raises only our errors, and its batches, damage and padding tile the file."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.made.build import batch, control, message, record

from kafka_segments import Batch, Damage, Padding, Record, open_segment
from kafka_segments.cli import jsonl, text
from kafka_segments.errors import KafkaFormatError

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"

HEADERS = ((b"h", b"v"), (b"\xff", None))
SEEDS = [
    batch(0, [record(0, b"k", b"v" * 30, HEADERS), record(1)])
    + batch(2)
    + batch(3, [], last_offset_delta=4)
    + batch(9),
    message(0, magic=0) + message(1) + message(4, b"x" * 20, attributes=1) + batch(5),
    control(0, (b"\0\0\0\1", b"\0\0\0\0\0\7"), (b"\0\0\0\2", b"\0\0\0\0\0\1\2\0\0\0\1\0\2\0\0\0\1\0\0"))
    + batch(2),
    batch(7, [record(0, None, batch(8) + batch(9))]) + batch(8) + bytes(100),
    *(path.read_bytes()[:3000] for path in sorted(RECORDED.rglob("*.log"))[::9]),
]

edits = st.one_of(
    st.tuples(st.just("set"), st.integers(0, 3000), st.binary(min_size=1, max_size=4)),
    st.tuples(st.just("insert"), st.integers(0, 3000), st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("delete"), st.integers(0, 3000), st.integers(1, 60)),
    st.tuples(st.just("cut"), st.integers(0, 3000), st.just(0)),
    st.tuples(st.just("zeros"), st.integers(0, 3000), st.integers(1, 60)),
)


def edited(data: bytes, changes: list[tuple[str, int, object]]) -> bytes:
    for verb, position, what in changes:
        at = position % (len(data) + 1)
        if verb == "set" and isinstance(what, bytes):
            data = data[:at] + what + data[at + len(what) :]
        elif verb == "insert" and isinstance(what, bytes):
            data = data[:at] + what + data[at:]
        elif verb == "cut":
            data = data[:at]
        elif isinstance(what, int):
            data = data[:at] + bytes(what if verb == "zeros" else 0) + data[at + what :]
    return data


def assert_tiles(data: bytes, **options: bool) -> None:
    """Every event can be printed, and regions cover the file without a gap or an overlap."""
    regions: list[tuple[int, int]] = []
    damaged: list[tuple[int, int]] = []
    position = -1
    with open_segment(data, **options) as segment:
        for event in segment.iter_events(on_damage="skip"):
            json.loads(jsonl.line(event, "x.log"))
            assert text.line(event).endswith(b"\n")
            if isinstance(event, Batch):
                position = event.position
                if event.crc_valid is not False:
                    regions.append((event.position, event.end_position))
            elif isinstance(event, Record):
                assert event.position == position
            else:
                region = (event.position, event.end_position)
                # What is wrong inside a batch that was framed soundly has the batch's region.
                if not (isinstance(event, Damage) and regions and regions[-1] == region):
                    regions.append(region)
                    damaged += [region] * isinstance(event, Damage)
                assert isinstance(event, Padding) or isinstance(event.error, KafkaFormatError)
    places = [0, *(place for region in regions for place in region), len(data)]
    assert all(start < end for start, end in regions)
    assert places[::2] == places[1::2]
    assert not any(one[1] == other[0] for one, other in pairwise(damaged))


@given(st.sampled_from(SEEDS), st.lists(edits, max_size=4), st.booleans())
@settings(max_examples=400)
def test_mutated_segments(data: bytes, changes: list[tuple[str, int, object]], check_crc: bool) -> None:
    assert_tiles(edited(data, changes), check_crc=check_crc)


@given(st.sampled_from(SEEDS), st.lists(edits, max_size=3))
def test_headers_only(data: bytes, changes: list[tuple[str, int, object]]) -> None:
    assert_tiles(edited(data, changes), headers_only=True)


@given(st.binary(max_size=400))
@settings(max_examples=300)
def test_random_bytes(data: bytes) -> None:
    assert_tiles(data)


@given(st.binary(max_size=200), st.integers(-3, 9), st.integers(0, 255))
@settings(max_examples=300)
def test_random_payloads_under_a_right_checksum(payload: bytes, count: int, attributes: int) -> None:
    assert_tiles(batch(5, payload=payload, count=count, attributes=attributes) + batch(9))
