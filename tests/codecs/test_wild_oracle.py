"""Kafka's own reader over the payloads from the wild, and over a batch with all unused attribute bits set."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from tests.codegen.vectors import VECTORS
from tests.made import recorded
from tests.made.wild_payloads import cases
from tests.oracle import run

from kafka_segments import Record, open_segment

pytestmark = pytest.mark.oracle

CASES = list(cases())


def test_kafka_takes_and_refuses_the_same(tmp_path: Path) -> None:
    for index, case in enumerate(CASES):
        (tmp_path / f"{index}.log").write_bytes(case.data)
    result = run.oracle([f"{index}.log" for index in range(len(CASES))], out=tmp_path, cwd=tmp_path)
    complaints = dict(re.findall(r"^(\d+)\.log, position \d+: (.*)$", result.stderr, re.MULTILINE))
    for index, case in enumerate(CASES):
        lines = (tmp_path / f"{index}.log.jsonl").read_text(encoding="utf-8").splitlines()
        theirs = recorded.rows_of(lines)
        assert (str(index) in complaints) != case.is_taken, (case.name, complaints.get(str(index)))
        if case.is_taken:
            assert [row.offset for row in theirs] == case.offsets, case.name
            with open_segment(case.data) as segment:
                ours = [one for one in segment.iter_events() if isinstance(one, Record)]
            assert [(row.offset, row.timestamp, row.key, row.value) for row in theirs] == [
                (one.offset, one.timestamp, one.key, one.value) for one in ours
            ], case.name
    assert len(complaints) > 20


def test_kafka_ignores_the_bits_that_mean_nothing(tmp_path: Path) -> None:
    body = (VECTORS / "kafka_record_batch_v2" / "reserved_bits.bin").read_bytes()
    (tmp_path / "0.log").write_bytes(struct.pack(">qi", 0, len(body)) + body)
    result = run.oracle(["0.log"], cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert [row.value for row in recorded.rows_of(result.stdout.splitlines())] == [b"hello", b"world"]
