"""Any bytes make a page or an error of ours: extreme header fields with valid checksums, damaged files."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from tests.forms import pick
from tests.made.build import batch, record
from tests.made.segments import recorded
from tests.report import logs
from tests.report.test_page import Page

from kafka_segments.cli.main import main

NUM_EXTREME, NUM_DAMAGED = pick(12, 400), pick(12, 400)
INT16, INT32, INT64 = 1 << 15, 1 << 31, 1 << 63
FIELDS = {
    "leader_epoch": INT32,
    "attributes": INT16,
    "last_offset_delta": INT32,
    "base_timestamp": INT64,
    "max_timestamp": INT64,
    "producer_id": INT64,
    "producer_epoch": INT16,
    "base_sequence": INT32,
    "count": INT32,
}
"""Header fields with the number above their greatest value."""


def extreme(random: Random, end: int) -> int:
    """A number of a field: its least or greatest, one beside these or 0, or any."""
    return random.choice([-end, 1 - end, -1, 0, 1, end - 2, end - 1, random.randrange(-end, end)])


def extreme_segment(random: Random) -> bytes:
    """Batches with right checksums, each with some extreme fields."""
    entries, offset = [], 0
    for _number in range(random.randrange(1, 8)):
        names = random.sample(sorted(FIELDS), random.randrange(4))
        base_offset = extreme(random, INT64) if random.random() < 0.3 else offset
        fields = {name: extreme(random, FIELDS[name]) for name in names}
        entries.append(batch(base_offset, [record(), record(1)], **fields))
        offset += 2
    return b"".join(entries)


def damaged_segment(random: Random) -> bytes:
    """A recorded file with some bytes changed, and perhaps cut off."""
    data = bytearray(random.choice(recorded()).read_bytes()[:100_000])
    for _number in range(random.randrange(1, 12) if data else 0):
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data[: random.randrange(len(data) + 1)] if random.random() < 0.3 else data)


def check_page(directory: Path, data: bytes, words: list[str]) -> None:
    """Make a page of a segment: it is written, unless there is an error of ours."""
    logs.write(directory / "any-0", 0, data)
    output = directory / "page.html"
    status = main(["report", str(directory / "any-0"), "-o", str(output), *words])
    assert status in (0, 1, 2)
    assert output.exists() or status == 2
    if output.exists():
        Page(output.read_text(encoding="utf-8"))
        os.unlink(output)


@pytest.mark.long
@pytest.mark.parametrize("block", range(4))
def test_extreme_headers(tmp_path: Path, block: int) -> None:
    for number in range(block, NUM_EXTREME, 4):
        words = random_words(number)
        check_page(tmp_path, extreme_segment(Random(number)), words)


@pytest.mark.long
@pytest.mark.parametrize("block", range(4))
def test_damaged_files(tmp_path: Path, block: int) -> None:
    for number in range(block, NUM_DAMAGED, 4):
        check_page(tmp_path, damaged_segment(Random(number)), random_words(number))


def random_words(number: int) -> list[str]:
    """Options by the number of a case."""
    return [word for at, word in enumerate(("--with-payload", "--no-crc")) if number >> at & 1]
