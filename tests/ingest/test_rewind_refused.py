"""`kafka-segments rewind` where it is cut short, or has to refuse."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from tests.builders.directories import append, run_of
from tests.ingest.ingested import Run, parquet_rows
from tests.ingest.test_rewind import rewind

from kafka_segments.errors import UndecidedRunError
from kafka_segments.ingest.history import read_history
from kafka_segments.ingest.local_table_files import LocalTableFiles
from kafka_segments.ingest.run_log import RunLog
from kafka_segments.ingest.run_state import PartitionState


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return append(tmp_path / "logs" / "t-0", *run_of(0, 9)).parent


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_a_commit_without_an_answer_leaves_what_was_written(
    ingest: Run,
    audit: Run,
    logs: Path,
    out: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ingest(logs, out)[0] == 0
    late: list[tuple[str, bytes]] = []

    def create(_self: LocalTableFiles, path: str, data: bytes) -> bool:
        late.append((path, data))
        raise UndecidedRunError("no answer came", path=path)

    with monkeypatch.context() as patch:
        patch.setattr(LocalTableFiles, "create", create)
        assert rewind(capsys, out, "t-0", "--to-offset", "0")[0] == 3
    assert LocalTableFiles().create(*late[0]), "the request is served after all"
    status, table, err = ingest(logs, out)
    assert (status, table["t", 0]["records"]) == (0, "9"), err
    assert [row.offset for row in parquet_rows(out)] == list(range(9))
    assert audit(out, logs)[0] == 0


def test_a_history_holds_the_partitions_of_one_run(ingest: Run, logs: Path, out: Path) -> None:
    for partition in range(1, 5):
        append(logs / f"t-{partition}", *run_of(0, 1))
    for end in (9, 10, 11):
        append(logs / "t-0", *run_of(end, end + 1))
        assert ingest(logs, out)[0] == 0
    gc.collect()
    before = sum(isinstance(one, PartitionState) for one in gc.get_objects())
    history = read_history(RunLog(str(out)), str(out))
    gc.collect()
    assert sum(isinstance(one, PartitionState) for one in gc.get_objects()) - before == 5
    assert [number for number, _ in history.accounts()["t", 0]] == [1, 2, 3]
