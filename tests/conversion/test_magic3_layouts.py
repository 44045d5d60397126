"""`tools/magic3_layouts.py`: sizes of the three layouts, as the page of the second one has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.made.build import batch, message, record
from tests.made.magic3 import MAGIC_2
from tests.python import run_python
from tools import magic3_layouts

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "formats" / "kafka_record_batch_v3_metadata_first.md"
RECORDED = ROOT / "tests" / "vectors" / "recorded" / "kafka-4.3" / "clean"


def test_the_example(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(MAGIC_2 + message(2) + batch(3, []))
    num_batches, num_records, found = magic3_layouts.measured([str(path)])
    assert (num_batches, num_records) == (1, 2)
    assert found["none"] == magic3_layouts.Sizes([85, 71, 71], whole=22, prefix=12)
    assert [found[name].prefix for name in ("gzip", "snappy", "lz4", "zstd")] == [12, 22, 22, 22]
    lines = magic3_layouts.table(found).splitlines()
    assert lines[2] == "| none | 85 | 71 (-16.5 %) | 71 (-16.5 %) | 12 (54.5 %) | 22 |"


def test_a_large_batch_is_decompressed_up_to_a_block(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(batch(0, [record(at, None, b"v" * 2000) for at in range(200)]))
    found = magic3_layouts.measured([str(path)])[2]
    assert [found[name].prefix for name in ("snappy", "lz4", "zstd")] == [32 << 10, 64 << 10, 128 << 10]
    assert found["gzip"].prefix < 2000 < 400_000 < found["gzip"].whole


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(MAGIC_2)
    command = ROOT / "tools" / "magic3_layouts.py", path
    done = run_python(*command)
    assert done.stderr == ""
    assert done.stdout.startswith("1 batches of magic 2, 2 records\n\n| codec | magic 2 |")
    path.write_bytes(MAGIC_2[:-1] + b"x")
    done = run_python(*command, status=2)
    assert "stored 0xdbda21c9" in done.stderr


@pytest.mark.long(short=False)
def test_the_page_has_the_sizes_of_recorded_logs() -> None:
    """Of what no version of a codec's library changes: without a codec, and what validation decompresses."""
    num_batches, num_records, found = magic3_layouts.measured(sorted(map(str, RECORDED.glob("*/*.log"))))
    page = PAGE.read_text(encoding="utf-8")
    assert f"{num_batches} small batches of {num_records} records" in page
    lines = page.splitlines()
    first, *others = magic3_layouts.table(found).splitlines()[2:]
    assert first in page
    for line in others:
        codec, *_sizes, prefix, whole, _end = line.split("|")[1:]
        assert any(
            shown.startswith(f"|{codec}|") and shown.endswith(f"|{prefix}|{whole}|") for shown in lines
        )
