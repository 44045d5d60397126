"""Whatever bytes a log has: two runs end, take each offset once at most, and account for the rows."""

from __future__ import annotations

import shutil
import struct
import tomllib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow.parquet
import pytest
from tests import forms
from tests.damage.edits import apply
from tests.ingest.ingested import request_of
from tests.mutations import cases
from tests.mutations.found import FOUND

import kafka_segments
from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.errors import TruncatedLogError
from kafka_segments.ingest import splits
from kafka_segments.ingest.job import ingest
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.ingest.runs.account import Account
from kafka_segments.query.query import Limits, Query

NUM_SHORT, NUM_FULL = 50, 2_000
VECTORS = Path(__file__).parents[1] / "vectors"
DAMAGED = tomllib.loads((VECTORS.parent / "damage" / "cases.toml").read_text())["case"]
COLUMNS = ("offset", "timestamp_ms", "key", "value")
NAME = "00000000000000000000.log"


def account(sources: Path, destination: Path) -> Account:
    """Run `ingest`; return the account of its one partition."""
    request = request_of((str(sources),), str(destination), Query(fail_on_data_loss=False), COLUMNS)
    done = ingest(plan_ingest(request), LocalEngine(1))
    (report,) = done.partitions
    return report.account


def ingest_twice(folder: Path, data: bytes, first: int) -> None:
    """Ingest the first bytes of a log, then all of them; look at what is in the table."""
    log, destination = folder / "logs" / "t-0" / NAME, folder / "table"
    shutil.rmtree(folder, ignore_errors=True)
    log.parent.mkdir(parents=True)
    accounts = []
    for part in (data[:first], data):
        log.write_bytes(part)
        accounts.append(account(log.parents[1], destination))
    files = [path for path in destination.rglob("*.parquet") if "_kafka_segments" not in path.parts]
    columns = [pyarrow.parquet.ParquetFile(path).read(["offset"])["offset"] for path in files]
    rows = [offset for column in columns for offset in column.to_pylist()]
    assert len(set(rows)) == len(rows)
    for one in accounts:
        assert one.is_balanced
        assert sum(one.first_offset <= offset < one.end_offset for offset in rows) == one.records
    assert accounts[1].first_offset == accounts[0].end_offset
    assert sum(one.records for one in accounts) == len(rows)


def logs() -> Iterator[tuple[bytes, int]]:
    """Damaged copies of recorded segments, what mutations found, mutated entries; and where to cut them."""
    for case in DAMAGED:
        data = apply((VECTORS / "recorded" / case["source"]).read_bytes(), case.get("edits", []))
        yield data, len(data) // 2
    for data, _ in FOUND.values():
        yield data + data, len(data)
    for index in range(forms.pick(NUM_SHORT, NUM_FULL)):
        dice = Random(index)
        entries = [cases.case(f"ingest:{index}.{number}").data for number in range(3)]
        if index % 2:  # near each other: overlapping, or with gaps
            entries = [struct.pack(">q", dice.randrange(12)) + one[8:] for one in entries]
        yield b"".join(entries), len(entries[0]) + dice.choice([0, len(entries[1]) // 2, len(entries[1])])


def falls_back(data: bytes, first: int) -> bool:
    """Whether an entry that ends behind the first part begins at or below the last offset in it."""
    with kafka_segments.open_segment(data, check_crc=False) as segment:
        entries = [one for one in segment.iter_entries("skip") if isinstance(one, kafka_segments.Batch)]
    last = max((one.last_offset for one in entries if one.end_position <= first), default=-1)
    return any(one.end_position > first and (one.base_offset or 0) <= last for one in entries)


@pytest.mark.long
@pytest.mark.parametrize("most", [1 << 28, 150], ids=["whole", "cut"])
def test_each_offset_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """No error comes from what is in a log: it would come in each later run, too.

    But for one: where a later batch has lower offsets than those that were read, the log looks cut back. To
    go on would leave out all up to the offset that was reached.
    """
    monkeypatch.setattr(splits, "_LIMITS", Limits(max_partition_bytes=most))
    for number, (data, first) in enumerate(logs()):
        try:
            ingest_twice(tmp_path / "one", data, first)
        except TruncatedLogError:
            assert falls_back(data, first), number
        except BaseException as error:
            error.add_note(f"log {number}, whose first part has {first} of {len(data)} bytes")
            raise
