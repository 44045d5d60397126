"""Memory that a few bytes may take once they are objects; for headers of records see test_records.py."""

from __future__ import annotations

import gc
import gzip
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.made.build import batch, control, record, unsigned_varint
from tests.python import traced

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core import formats
from kafka_segments.core.formats.control_records import MAX_LEN_VALUE, decode_control
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import DecodeError
from kafka_segments.log.discovery import discover

T = TypeVar("T")
COUNT = 500_000
MARKER = b"\0\0\0\0\0\7"
VALUES = {
    "tagged fields": (4, b"\0\0" + unsigned_varint(COUNT) + b"\0\0" * COUNT),
    "voters": (2, b"\0\0\0\0\0\1" + unsigned_varint(COUNT + 1) + b"\0\0\0\1\0" * COUNT + b"\1\0"),
    "endpoints": (6, b"\0\0\2" + bytes(20) + unsigned_varint(COUNT + 1) + b"\1\1\0\0\0" * COUNT + bytes(6)),
}


def peak_of(function: Callable[[], T]) -> tuple[T, int]:
    """What a function returns, and the most memory that it held."""
    with traced() as memory:
        return function(), memory()[1]


@pytest.mark.parametrize("name", VALUES)
def test_control_values(name: str) -> None:
    type_id, value = VALUES[name]
    pairs = [(bytes([0, 0, 0, type_id]), value), (b"\0\0\0\1", MARKER)]
    data = control(0, *pairs)

    events, peak = peak_of(lambda: list(open_segment(data).iter_events()))
    records = [event for event in events if isinstance(event, Record)]
    assert [(each.key, each.value) for each in records] == pairs
    controls = [each.control for each in records]
    assert [each and each.type_id for each in controls] == [type_id, 1]
    assert [each and each.value for each in controls] == [None, {"coordinator_epoch": 7}]
    assert peak < 3 * len(data) + (24 << 20)


def test_what_follows_a_short_control_value_may_be_long() -> None:
    decoded = decode_control(b"\0\0\0\1", MARKER + bytes(MAX_LEN_VALUE))
    assert decoded.value == {"coordinator_epoch": 7}


def test_a_control_value_up_to_the_bound_is_read() -> None:
    content = b"\0" * (MAX_LEN_VALUE - len(b"\0\0" + unsigned_varint(1) + b"\5" + unsigned_varint(65_000)))
    tags = unsigned_varint(1) + b"\5" + unsigned_varint(len(content)) + content
    assert len(b"\0\0" + tags) == MAX_LEN_VALUE
    assert decode_control(b"\0\0\0\4", b"\0\0" + tags).value == {"version": 0}


def test_records_are_not_held() -> None:
    data = batch(0, payload=record(0, None, None) * 20_000, count=20_000)

    def count() -> int:
        return sum(1 for _ in open_segment(data).iter_events())

    count()  # what is imported for many records is none of theirs
    seen, peak = peak_of(count)
    assert seen == 1 + 20_000
    assert peak < 2 << 20


@pytest.mark.parametrize("is_columnar", [False, True], ids=["events", "columnar"])
def test_damage_does_not_hold_what_was_read(is_columnar: bool) -> None:
    payload = gzip.compress(record() + bytes(1 << 20))  # bytes are left behind the only record
    data = b"".join(batch(at, payload=payload, count=1, attributes=1) for at in range(30))

    def read() -> list[Damage]:
        found: list[Damage] = []
        with open_segment(data) as segment:
            if is_columnar:
                list(segment.read_batches(on_damage=found.append))
            else:
                found += [each for each in segment.iter_events(on_damage="skip") if isinstance(each, Damage)]
        return found

    read()  # imports what it needs
    with traced() as memory:
        found = read()
        gc.collect()
        held = memory()[0]
    assert len(found) == 30
    assert held < 3 << 20


def checkpoint(count: int) -> bytes:
    return b"0\n%d\n" % count + b"".join(b"topic-%d 0 17\n" % number for number in range(count))


def test_offset_checkpoints(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert len(formats.read_offset_checkpoint(checkpoint(20_000))) == 20_000
    large = checkpoint(200_000)
    assert len(large) > formats.MAX_LEN_OFFSET_CHECKPOINT
    with pytest.raises(DecodeError, match="bytes that are read of an offset checkpoint"):
        formats.read_offset_checkpoint(large)

    (tmp_path / "topic-3").mkdir()
    (tmp_path / "topic-3" / "00000000000000000000.log").write_bytes(b"")
    with (tmp_path / "log-start-offset-checkpoint").open("wb") as file:
        file.write(large)
        file.truncate(1 << 36)  # nearly all of it a hole
    with caplog.at_level(logging.WARNING):
        (found,), peak = peak_of(lambda: discover(Places(), [str(tmp_path)]))
    assert found.log_start_offset is None
    assert "bytes that are read of an offset checkpoint" in caplog.text
    assert peak < 8 << 20
