"""The fast way leaves out what is void, wherever it meets it, and stays fast."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.made.codecs import gzip_member
from tests.python import run_python
from tests.segment import logs
from tests.segment.logs import Log
from tests.segment.test_interleavings import grow, offsets_of

from kafka_segments.core.segment.columnar import fused_scan, reader
from kafka_segments.core.segment.scan import scanner
from kafka_segments.log.open_partition import open_partition

ROOT = Path(__file__).resolve().parents[2]
# What a process without the extra `arrow` sees of a partition.
PROGRAM = """
import sys
for name in ("pyarrow", "numpy", "numba", "llvmlite"):
    sys.modules[name] = None
from kafka_segments import Record
from kafka_segments.log.open_partition import open_partition
with open_partition(sys.argv[1]) as partition:
    events = partition.iter_events(isolation="read_committed")
    print(*[event.offset for event in events if isinstance(event, Record)])
assert "kafka_segments.core.segment.columnar.reader" not in sys.modules
"""


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Small windows; how many rows of each were taken by a fused scan."""
    monkeypatch.setattr(scanner, "_LEN_FIRST_WINDOW", 100)
    monkeypatch.setattr(scanner, "_LEN_WINDOW", 4000)
    monkeypatch.setattr(reader, "_COMPILED_FROM", 0)
    monkeypatch.setattr(fused_scan, "LEN_PIECE", 500)
    taken: list[int] = []

    class Watched(fused_scan.FusedScan):
        def run(self, len_window):  # type: ignore[no-untyped-def]
            status = yield from super().run(len_window)
            taken.append(self.num_decoded)
            return status

    monkeypatch.setattr(reader, "FusedScan", Watched)
    return taken


def test_fused_scans_take_what_is_neither_transactional_nor_void(tmp_path: Path, fused: list[int]) -> None:
    log = Log()
    for number in range(40):
        for _ in range(30):
            log.data(-1, 3, transactional=False)
        if number % 4 == 0:
            log.data(5, 2)
            log.end(5, is_abort=number % 8 == 0)
    with open_partition(log.write(tmp_path)) as partition:
        assert offsets_of(partition)[0] == logs.committed(log)
    assert len(logs.aborted(log)) == 5
    assert sum(fused) > 500


def test_windows_of_any_size(tmp_path: Path, fused: list[int]) -> None:
    for seed in range(20):
        log = Log()
        grow(log, random.Random(seed), 200)
        with open_partition(log.write(tmp_path / str(seed))) as partition:
            for offsets in offsets_of(partition):
                assert offsets == logs.committed(log)
    assert fused


def test_compressed_batches(tmp_path: Path) -> None:
    log = Log()
    for number in range(50):
        payload = gzip_member(record(0, None, b"v"))
        data = batch(
            log.offset,
            payload=payload,
            attributes=logs.TRANSACTIONAL | 1,
            producer_id=5,
            producer_epoch=0,
            base_sequence=number,
        )
        log.add("data", 5, 1, data)
        if number % 5 == 4:
            log.end(5, is_abort=number % 2 == 0)
    with open_partition(log.write(tmp_path)) as partition:
        for offsets in offsets_of(partition):
            assert offsets == logs.committed(log)


def test_offsets_and_isolation_go_together(tmp_path: Path) -> None:
    log = Log()
    grow(log, random.Random(3), 80)
    with open_partition(log.write(tmp_path)) as partition:
        for start, end in ((0, 5), (7, None), (None, 20), (13, 14), (1000, None)):
            table = partition.read_table(["value", "offset"], (start, end), isolation="read_committed")
            low, high = start or 0, 1 << 62 if end is None else end
            assert table["offset"].to_pylist() == [at for at in logs.committed(log) if low <= at < high]


def test_without_the_extra_the_same_records_come(tmp_path: Path) -> None:
    log = Log()
    grow(log, random.Random(11), 80)
    folder = log.write(tmp_path)
    done = run_python("-c", PROGRAM, folder, cwd=ROOT)
    assert [int(word) for word in done.stdout.split()] == logs.committed(log)
