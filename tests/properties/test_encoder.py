"""The encoder is right: Kafka's own classes read from its bytes what was put into them."""

from __future__ import annotations

import struct
from collections import Counter
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given, seed, settings
from tests.made import encoder, recorded
from tests.made.codecs import IDS
from tests.made.encoder import Batch, Entry, Message, Record
from tests.made.shapes import QUICK, segments
from tests.oracle import run
from tests.properties import census

NUM_SEGMENTS = 250


def test_the_published_examples() -> None:
    """Numbers that others have computed: ZigZag as protobuf documents it, and the layout of a message."""
    known = {0: "00", -1: "01", 1: "02", 63: "7e", 64: "8001", -64: "7f", 2147483647: "feffffff0f"}
    assert {value: encoder.varint(value).hex() for value in known} == known
    assert encoder.varint(-(1 << 63)).hex() == "ff" * 9 + "01"
    plain = Message(offset=0, magic=0, key=b"k", value=b"v").encode()
    assert plain == bytes.fromhex("0000000000000000 00000010") + plain[12:16] + bytes.fromhex(
        "00 00 00000001 6b 00000001 76"
    )


def test_the_worked_example_has_its_known_checksum() -> None:
    """Two records, hello and world, at 2024-04-24T23:06:40Z: 85 bytes."""
    records = (Record(0, 0, None, b"hello"), Record(1, 0, None, b"world"))
    data = Batch(records=records, base_timestamp=1_714_000_000_000).encode()
    assert (len(data), struct.unpack_from(">i", data, 8)[0]) == (85, 73)
    assert data[17:21].hex() == "dbda21c9"


def drawn(codec: str, count: int) -> list[list[Entry]]:
    """Segments as the other tests draw them, the same in every run."""
    found: list[list[Entry]] = []

    @seed(codec)
    @settings(QUICK, max_examples=count, database=None)
    @given(segments(4, codec))
    def keep(entries: list[Entry]) -> None:
        found.append(entries)

    keep()
    return found


@pytest.mark.oracle
def test_kafka_reads_what_was_written(tmp_path: Path) -> None:
    generated = [entries for codec in IDS for entries in drawn(codec, NUM_SEGMENTS)]
    counts: Counter[str] = Counter()
    for index, entries in enumerate(generated):
        (tmp_path / f"{index}.log").write_bytes(encoder.encode_segment(entries))
        counts.update(census.count(entries))
    assert {*census.SHAPES, *(name for codec in IDS for name in census.forms(codec))} <= counts.keys()

    result = run.oracle([f"{index}.log" for index in range(len(generated))], out=tmp_path, cwd=tmp_path)

    assert (result.returncode, result.stderr.splitlines()) == (0, [])
    for index, entries in enumerate(generated):
        lines = (tmp_path / f"{index}.log.jsonl").read_text().splitlines()
        assert recorded.rows_of(lines) == [row for entry in entries for row in entry.rows()], entries
        sizes = [len(entry.encode()) for entry in entries]
        ends = [entry.end_position for entry in recorded.entries_of(lines)]
        assert ends == list(accumulate(sizes))
