"""Topics whose names leave little room in the names of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ingest.ingested import Run, parquet_rows
from tests.made.directories import append, run_of

from kafka_segments.ingest.destination import partition_path


@pytest.mark.parametrize("topic", ["x" * 249, "1" + "x" * 246], ids=["text", "encoded"])
def test_damage_of_the_longest_names_is_kept(ingest: Run, tmp_path: Path, topic: str) -> None:
    append(tmp_path / "logs" / f"{topic}-0", *run_of(0, 3), b"\xff" * 50, *run_of(3, 9))
    status, table, err = ingest(tmp_path / "logs", tmp_path / "out")
    assert (status, table[topic, 0]["damage"]) == (1, "1"), err
    assert [row.offset for row in parquet_rows(tmp_path / "out")] == list(range(9))
    (kept,) = (tmp_path / "out" / "_kafka_segments" / "quarantine").iterdir()
    assert kept.read_bytes() == b"\xff" * 50
    assert kept.name.startswith(topic[:100])


@pytest.mark.parametrize("topic", ["1" + "x" * 247, "1" + "x" * 248], ids=["248", "249"])
def test_a_name_too_long_for_a_directory_is_refused_first(ingest: Run, tmp_path: Path, topic: str) -> None:
    logs, out = append(tmp_path / "logs" / "t-0", *run_of(0, 3)).parent, tmp_path / "out"
    append(logs / f"{topic}-0", *run_of(0, 3))
    status, _, err = ingest(logs, out)
    assert (status, out.exists()) == (2, False)
    assert f"the topic {topic} has {len(topic)} characters" in err
    assert "--subscribe-pattern" in err
    assert ingest(logs, out, "--subscribe-pattern", "^[^1]")[0] == 0
    assert partition_path(topic, 0, is_typed=True) == f"topic={topic}/partition=0"
