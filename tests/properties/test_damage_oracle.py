"""Damage under a right checksum: what Kafka takes without complaint is read here too, with the same records.

Where Kafka complains, so do we. We are stricter in two things: bytes behind a count of 0, and messages inside
a wrapper whose magic is neither 0 nor 1.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given, seed, settings
from tests.oracle import run
from tests.properties import oracle
from tests.properties.mutations import sealed_entries
from tests.properties.readers import KAITAI
from tests.properties.reading import Reading
from tests.properties.shapes import QUICK

NUM_ENTRIES = 3000
# What Kafka says of messages larger than its heap, and only when it is asked what a control record means.
OF_ITS_OWN = re.compile("OutOfMemoryError|version found for control record")
LEAST = 18
"""Fewer bytes than this are no entry."""


def drawn() -> list[bytes]:
    """Damaged entries, the same in every run."""
    found: dict[bytes, None] = {}

    @seed(4)
    @settings(QUICK, max_examples=NUM_ENTRIES, database=None)
    @given(sealed_entries())
    def keep(data: bytes) -> None:
        if len(data) > LEAST:
            found[data] = None

    keep()
    return list(found)


def is_stricter(data: bytes, reading: Reading) -> bool:
    """Whether the complaint is one of those that Kafka does not have."""
    if data[16] == 2:
        return struct.unpack_from(">i", data, 57) == (0,) and reading.rows == []
    return data[17] & 7 != 0


@pytest.mark.oracle
def test_what_kafka_takes_is_taken(tmp_path: Path) -> None:
    entries = drawn()
    for index, data in enumerate(entries):
        (tmp_path / f"{index}.log").write_bytes(data)
    result = run.oracle([f"{index}.log" for index in range(len(entries))], out=tmp_path, cwd=tmp_path)
    complaints = dict(re.findall(r"^(\d+)\.log, position \d+: (.*)$", result.stderr, re.MULTILINE))
    taken = 0
    for index, data in enumerate(entries):
        reading = KAITAI.read(data)
        if str(index) in complaints:
            assert reading.damage or OF_ITS_OWN.search(complaints[str(index)]), data.hex()
        elif reading.damage:
            assert is_stricter(data, reading), data.hex()
        else:
            taken += 1
            lines = (tmp_path / f"{index}.log.jsonl").read_text(encoding="utf-8").splitlines()
            assert reading.rows == oracle.rows_of(lines), data.hex()
    assert taken > NUM_ENTRIES // 10
    assert len(complaints) > NUM_ENTRIES // 3
