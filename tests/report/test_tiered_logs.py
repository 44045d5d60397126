"""`report` and `sizes` of tiers: what is in a store's objects counts as what is in a broker's files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.log.tiers import aivens, copy_of, kafkas
from tests.made.samples import RECORDED

from kafka_segments.cli.main import main

TRANSACTIONS = RECORDED / "kafka-4.3" / "clean" / "transactions-0"
BOTH = pytest.mark.parametrize("make", [kafkas, aivens])


def size_of_closed() -> int:
    """Bytes of the broker's segments that it does not write to any more: those that a tier has."""
    return sum(path.stat().st_size for path in sorted(TRANSACTIONS.glob("*.log"))[:-1])


@BOTH
def test_a_tier_has_a_report(tmp_path: Path, make: Callable[..., Path]) -> None:
    page = tmp_path / "page.html"
    make(copy_of(TRANSACTIONS), tmp_path / "tier")
    assert main(["report", str(tmp_path / "tier"), "-o", str(page), "--with-payload"]) in (0, 1)
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    assert ">transactions-0</h3>" in text
    assert f", {size_of_closed() / 1024:.1f} KiB</dd>" in text, "the facts of the partition"
    assert "cannot be opened" not in text


@BOTH
def test_a_tier_has_sizes(
    tmp_path: Path, make: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    directory = make(copy_of(TRANSACTIONS), tmp_path / "tier")
    for place in (directory, tmp_path / "tier"):
        words = ["--magic", "2", "--compression", "none", "--format", "jsonl"]
        assert main(["sizes", str(place), *words]) == 0
        source, size = map(json.loads, capsys.readouterr().out.splitlines())
        assert source["num_bytes"] == source["num_file_bytes"] == size_of_closed()
        assert size["num_bytes"] > 0


@BOTH
def test_a_sample_of_a_tier_is_taken(
    tmp_path: Path, make: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    make(copy_of(TRANSACTIONS), tmp_path / "tier")
    words = ["--magic", "2", "--compression", "none", "--sample", "2k", "--format", "jsonl"]
    assert main(["sizes", str(tmp_path / "tier"), *words]) == 0
    source, sample, _size = map(json.loads, capsys.readouterr().out.splitlines())
    assert sample["type"] == "sample" and source["num_bytes"] == size_of_closed()
