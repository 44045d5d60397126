"""Bombs in segments: batches and wrappers that decompress to much, and lengths inside that claim much.

Each runs in a process of its own, which has read a sound segment of the same sort before, and reports by how
much its peak of resident memory grew. Kafka's reader runs out of memory at most of these.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.made.build import batch, message, record, sized, varint
from tests.made.codecs import gzip_member
from tests.made.payloads import ORDINARY, zstd_frame
from tests.made.wild_payloads import IDS, zstd_stream
from tests.python import run_python

KIB, MIB = 1 << 10, 1 << 20
BOUND = MIB
CONTENT = 48 * MIB
# The bound, joined chunks, one block of the largest sort, and what allocators and arenas keep.
ALLOWED_GROWTH = 14 * MIB

PROGRAM = """
import sys
from kafka_segments import Damage, Record, open_segment
from tests.python import peak

def read(path, bound):
    rows, wrong = 0, []
    with open_segment(path, max_decompressed=bound) as segment:
        if sys.argv[1] == "slow":
            for event in segment.iter_events(on_damage="skip"):
                rows += isinstance(event, Record)
                wrong += [type(event.error).__name__] if isinstance(event, Damage) else []
        else:
            report = lambda damage: wrong.append(type(damage.error).__name__)
            for one in segment.read_batches(on_damage=report):
                rows += len(one)
    return rows, wrong

bound = int(sys.argv[4])
read(sys.argv[2], bound)
before = peak()
rows, wrong = read(sys.argv[3], bound)
print(peak() - before, rows, *wrong)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the peak of memory")


def wrap(codec: str, payload: bytes, magic: int, count: int = 1) -> bytes:
    """An entry with a payload, between two that are sound."""
    attributes = IDS[codec]
    if magic == 2:
        one = batch(1, payload=payload, count=count, attributes=attributes, last_offset_delta=0)
        return batch(0) + one + batch(2)
    sound = message(0, magic=magic)
    return sound + message(1, payload, magic=magic, attributes=attributes) + message(2, magic=magic)


def run(tmp_path: Path, way: str, warm: bytes, bomb: bytes, bound: int = BOUND) -> tuple[int, int, list[str]]:
    paths = tmp_path / "warm.log", tmp_path / "bomb.log"
    for path, data in zip(paths, (warm, bomb), strict=True):
        path.write_bytes(data)
    growth, rows, *wrong = run_python("-c", PROGRAM, way, *paths, bound).stdout.split()
    return int(growth), int(rows), wrong


def zeros(codec: str, size: int) -> bytes:
    """Compressed zeros; in zstd some KiB of them make tens of MiB."""
    return zstd_stream(bytes(size)) if codec == "zstd" else ORDINARY[codec](bytes(size))


CASES = [(codec, magic) for codec in ORDINARY for magic in (0, 1, 2) if codec != "zstd" or magic == 2]
# In every run each codec and each magic in both ways; the other pairs in make test-long.
BOTH_WAYS = [
    pytest.param(
        *case,
        way,
        id="-".join(map(str, (*case, way))),
        marks=() if case[0] == "zstd" or (number + (way == "fast")) % 2 else pytest.mark.long(short=False),
    )
    for number, case in enumerate(CASES)
    for way in ("slow", "fast")
]


@pytest.mark.parametrize(("codec", "magic", "way"), BOTH_WAYS)
def test_what_decompresses_to_too_much(tmp_path: Path, way: str, codec: str, magic: int) -> None:
    inner = record(value=b"v") if magic == 2 else message(0, magic=magic)
    warm = wrap(codec, ORDINARY[codec](inner), magic)
    bomb = wrap(codec, zeros(codec, CONTENT), magic)
    growth, rows, wrong = run(tmp_path, way, warm, bomb)
    assert (rows, wrong) == (2, ["DecompressionError"])
    assert growth < ALLOWED_GROWTH


def test_a_bomb_of_a_kib(tmp_path: Path) -> None:
    """zstd makes 32 MiB of it; with a bound above that it is just a batch, and below it costs nothing."""
    value = bytes(32 * MIB - 100)
    records = record(value=value)
    payload = zstd_frame(records, level=19)
    assert len(payload) < 4 * KIB
    warm, bomb = wrap("zstd", zstd_frame(record()), 2), wrap("zstd", payload, 2)
    growth, rows, wrong = run(tmp_path, "fast", warm, bomb)
    assert (rows, wrong) == (2, ["DecompressionError"])
    assert growth < ALLOWED_GROWTH
    growth, rows, wrong = run(tmp_path, "fast", warm, bomb, bound=33 * MIB)
    assert (rows, wrong) == (3, [])
    assert growth > 32 * MIB, "the measurement sees it"


def claims() -> dict[str, Callable[[int], bytes]]:
    """Contents of a payload whose lengths claim what is not there, by the entry's magic."""
    huge = (1 << 30) - 1
    inner = message(0, magic=1)
    return {
        "a message of a GiB": lambda magic: message(0, magic=magic) + struct.pack(">qi", 1, huge) + bytes(99),
        "a key of a GiB": lambda magic: inner[:26] + struct.pack(">i", huge) + inner[30:],
        "a record of a GiB": lambda _magic: varint(huge) + bytes(99),
        "a value of a GiB": lambda _magic: varint(9) + b"\0\0\0" + sized(None) + varint(huge) + b"\0",
        "a million headers": lambda _magic: varint(9) + b"\0\0\0" + sized(None) * 2 + varint(10**6) + b"\0\0",
        "two thousand million headers": (
            lambda _magic: varint(10) + b"\0\0\0" + sized(None) * 2 + varint(huge * 2) + b"\0\0"
        ),
    }


@pytest.mark.parametrize("way", ["slow", "fast"])
@pytest.mark.parametrize("name", claims())
def test_what_claims_to_be_large(tmp_path: Path, way: str, name: str) -> None:
    magic = 2 if "record" in name or "value" in name or "headers" in name else 1
    content = claims()[name](magic)
    sound = record() if magic == 2 else message(0, magic=magic)
    # A tail that is cut, so that the slow way, to which all of these are left, has been gone before.
    warm = wrap("gzip", gzip_member(sound), magic) + wrap("gzip", gzip_member(sound + b"\0\0\0"), magic)
    growth, rows, wrong = run(tmp_path, way, warm, wrap("gzip", gzip_member(content), magic), bound=1 << 40)
    # A message that goes beyond the end is not there, as for Kafka; all else is damage.
    assert (rows, wrong) == ((3, []) if "message" in name else (2, ["CorruptBatchError"]))
    assert growth < 2 * MIB


@pytest.mark.parametrize("way", ["slow", "fast"])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_bomb_within_a_wrapper_is_not_opened(tmp_path: Path, way: str, magic: int) -> None:
    """Kafka opens one level only; so do we."""
    bomb = gzip_member(bytes(CONTENT))
    nested = gzip_member(message(0, bomb, magic=magic, attributes=1))
    warm = wrap("gzip", gzip_member(message(0, magic=magic)), magic)
    growth, rows, wrong = run(tmp_path, way, warm, wrap("gzip", nested, magic))
    assert (rows, wrong) == (2, ["CorruptBatchError"])
    assert growth < 2 * MIB
