"""`salvage` takes bounded memory, whatever it is given: many short stretches or producers, a huge batch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import crc32c
import pytest
from tests import forms
from tests.builders.directories import append, data
from tests.properties.encoder import Batch, Record

MOST_MIB = 300
NUM_BATCHES = forms.pick(4_000, 400_000)
LEN_HUGE = forms.pick(40 << 20, 600 << 20)
CODE = """
import json, resource, sys
from kafka_segments.cli.main import main
status = main(["salvage", *sys.argv[1:]])
print(json.dumps([status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]), file=sys.stderr)
"""


def measured(folder: Path) -> tuple[int, int]:
    """Exit status of a salvage in a process of its own, and the most memory that it had, in MiB."""
    command = [sys.executable, "-c", CODE, str(folder / "source"), str(folder / "made")]
    done = subprocess.run(command, capture_output=True, text=True)
    status, most = json.loads(done.stderr.splitlines()[-1])
    return int(status), int(most)


def short_stretches() -> Iterator[bytes]:
    """Batches of a producer each, with gaps between their offsets and a wrong byte between their bytes."""
    for number in range(NUM_BATCHES):
        yield data(10 * number, b"", attributes=0x10, producer_id=number, producer_epoch=0)
        yield b"\x55"


@pytest.mark.long
def test_many_short_stretches_and_open_transactions(tmp_path: Path) -> None:
    append(tmp_path / "source" / "t-0", *short_stretches())
    status, most = measured(tmp_path)
    assert status == 1
    assert most <= MOST_MIB


@pytest.mark.long
def test_one_huge_batch(tmp_path: Path) -> None:
    """A batch with a right checksum over zeros, more than memory may hold; its records are not read."""
    head = bytearray(Batch(0, (Record(0, 0, b"k", b"v"),), "none").encode()[:61])
    head[8:12] = (LEN_HUGE - 12).to_bytes(4, "big")
    checksum = crc32c.crc32c(bytes(head[21:]))
    for _ in range((LEN_HUGE - 61) >> 20):
        checksum = crc32c.crc32c(bytes(1 << 20), checksum)
    checksum = crc32c.crc32c(bytes((LEN_HUGE - 61) % (1 << 20)), checksum)
    head[17:21] = checksum.to_bytes(4, "big")
    directory = tmp_path / "source" / "t-0"
    directory.mkdir(parents=True)
    with (directory / f"{0:020}.log").open("wb") as file:
        file.write(head)
        file.truncate(LEN_HUGE)
    status, most = measured(tmp_path)
    assert status == 0
    assert (tmp_path / "made/log/t-0" / f"{0:020}.log").stat().st_size == LEN_HUGE
    assert most <= MOST_MIB
