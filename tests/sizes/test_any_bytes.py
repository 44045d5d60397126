"""Any bytes have a table of `sizes` or an error of ours: extreme header fields, damage, any options."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.forms import pick
from tests.made.build import batch, message, record
from tests.report.logs import write
from tests.report.test_hostile_logs import damaged_segment, extreme_segment

from kafka_segments.cli.main import main

NUM_CASES = pick(10, 400)
CODECS = ("none", "gzip:1", "snappy", "lz4:1", "zstd:1")


def words_of(random: Random) -> list[str]:
    """Options: a few forms, and perhaps batches of another size, magic 3, a sample."""
    words = [word for codec in random.sample(CODECS, 2) for word in ("--compression", codec)]
    words += random.choice([[], ["--batch-size", "300"], ["--batch-size", "1m"]])
    words += random.choice([[], ["--experimental-magic3"]])
    return words + random.choice([["--whole"], ["--sample", "20k"], []])


def check(directory: Path, data: bytes, random: Random, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(directory / "any-0", 0, data)
    words = words_of(random)
    status = main(["sizes", str(path), *words])
    said = capsys.readouterr()
    assert status in (0, 1, 2), words
    if status == 2:
        assert said.err.count("kafka-segments: ") == 1, (words, said.err)
    else:
        assert "magic 2" in said.out
        assert ("position " in said.err) == (status == 1), (words, said.err)


@pytest.mark.long
@pytest.mark.parametrize("make", [extreme_segment, damaged_segment], ids=["extreme headers", "damage"])
def test_any_bytes_have_sizes_or_an_error(
    make: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(make)
    for number in range(NUM_CASES):
        random = Random(number)
        check(tmp_path, make(random), random, capsys)


@pytest.mark.parametrize(
    "data",
    [
        bytes(100_000),
        bytes(100_000) + b"x",
        Random(1).randbytes(100_000),
        b"\0\1" * 50_000,
        batch(0, [record()], count=2**31 - 1),
        batch(2**63 - 1, [record()]),
        message(-5, magic=0) + message(3, magic=1, time=-9),
    ],
    ids=["zeros", "zeros and a byte", "random", "00 01", "a count", "the last offset", "negative numbers"],
)
def test_what_is_no_log_has_sizes_or_an_error(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(tmp_path, data, Random(3), capsys)
