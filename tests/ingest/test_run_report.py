"""Reports of runs: JSON and OpenMetrics text of runs that take something, nothing, or fail."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus_text
from tests.ingest.ingested import Run, data_files, locally
from tests.made import directories
from tests.made.directories import append, run_of
from tests.python import locked

from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.core.io.new_outputs import new_file
from kafka_segments.core.io.store_requests import Patience, RequestCounts, requests_so_far
from kafka_segments.errors import KafkaFormatError
from kafka_segments.ingest.run_report import RunMeter
from kafka_segments.ingest.task import Output

GenericError = pytest.importorskip("obstore").exceptions.GenericError

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
Reported = Callable[..., tuple[int, dict[str, Any], Samples, str]]


def samples_of(text: str, destination: Path, parse: Any = open_metrics) -> Samples:
    """Values by name and labels; all families are gauges, and all samples have the table's destination."""
    found: Samples = {}
    for family in parse(text):
        assert family.type == "gauge"
        for one in family.samples:
            labels = dict(one.labels)
            assert labels.pop("destination") == str(destination)
            assert one.timestamp is None, "node_exporter refuses samples with timestamps"
            key = one.name.removeprefix("kafka_segments_ingest_"), tuple(sorted(labels.items()))
            assert key not in found
            found[key] = one.value
    return found


@pytest.fixture
def reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Reported:
    """`ingest --engine local` with both files; gives status, report, samples, messages."""
    ingest = locally(capsys)
    report, metrics = tmp_path / "report.json", tmp_path / "ingest.prom"

    def run(source: Path, destination: Path, *words: Any) -> tuple[int, dict[str, Any], Samples, str]:
        before = time.time()
        status, _, err = ingest(source, destination, "--report", report, "--metrics", metrics, *words)
        text = metrics.read_text()
        assert text.endswith("\n# EOF\n")
        found = samples_of(text, destination)
        assert found == samples_of(text, destination, prometheus_text), "node_exporter reads the same"
        content = json.loads(report.read_text())
        assert (content["format"], content["version"]) == ("kafka-segments ingest report", 1)
        assert content["status"] == found["exit_status", ()] == status
        assert before - 1 <= found["start_timestamp_seconds", ()] <= found["end_timestamp_seconds", ()]
        assert found["end_timestamp_seconds", ()] <= time.time() + 1
        assert [name for name in os.listdir(tmp_path) if "writing" in name] == []
        return status, content, found, err

    return run


def of(topic: str, partition: int, **more: Any) -> tuple[tuple[str, str], ...]:
    labels = {"topic": topic, "partition": partition, **more}
    return tuple(sorted((name, str(value)) for name, value in labels.items()))


def test_a_run_that_takes_something(reported: Reported, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    append(logs / "u-3", *run_of(0, 4))
    status, report, samples, _ = reported(logs, out)
    assert (status, report["error"], report["run"], report["num_files"]) == (0, None, 1, 2)
    size = sum((out / name).stat().st_size for name in data_files(out))
    assert (report["totals"]["records"], report["totals"]["bytes_out"]) == (13, size)
    assert report["totals"]["bytes_in"] == sum(path.stat().st_size for path in logs.rglob("*.log"))
    found = {
        (one["topic"], one["partition"]): (one["end_offset"], one["lag"]) for one in report["partitions"]
    }
    assert found == {("t", 0): (9, 0), ("u", 3): (4, 0)}
    assert report["slowest_split"]["seconds"] > 0
    assert Path(report["slowest_split"]["path"]).is_relative_to(logs)
    assert all(report["seconds"][phase] > 0 for phase in ("plan", "tasks", "commit"))
    whole = (report["ended_ms"] - report["started_ms"]) / 1000
    assert sum(report["seconds"].values()) == pytest.approx(whole, abs=0.01)
    assert samples["offsets", (("kind", "records"),)] == 13
    assert samples["written_bytes", ()] == size
    assert samples["partition_next_offset", of("u", 3)] == 4
    assert samples["commit_timestamp_seconds", ()] == report["committed_ms"] / 1000
    for phase, seconds in report["seconds"].items():
        assert samples["phase_seconds", (("phase", phase),)] == seconds


def test_a_run_with_nothing_new(reported: Reported, logs: Path, tmp_path: Path) -> None:
    _, first, _, _ = reported(logs, tmp_path / "out")
    status, report, samples, _ = reported(logs, tmp_path / "out")
    assert (status, report["run"], report["committed_ms"]) == (0, 1, first["committed_ms"])
    assert (report["totals"]["records"], report["num_files"]) == (0, 0)
    assert (samples["partition_next_offset", of("t", 0)], samples["partition_lag", of("t", 0)]) == (9, 0)


def test_a_run_that_is_refused(reported: Reported, logs: Path, tmp_path: Path) -> None:
    reported(logs, tmp_path / "out")
    directories.segment_path(logs / "t-0", 0).write_bytes(b"".join(run_of(0, 6)))
    status, report, samples, err = reported(logs, tmp_path / "out")
    assert (status, report["error"]) == (2, "TruncatedLogError")
    assert report["message"] in err
    assert samples["error", (("class", "TruncatedLogError"),)] == 1
    assert report["partitions"] == [], "it was not planned"


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_a_run_that_is_interrupted(
    reported: Reported, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Any, status: int
) -> None:
    reported(logs, tmp_path / "out")
    append(logs / "t-0", *run_of(9, 12))

    def run(*_words: Any) -> Any:
        raise error

    monkeypatch.setattr(LocalEngine, "run", run)
    found, report, samples, _ = reported(logs, tmp_path / "out")
    assert (found, report["error"], report["run"]) == (status, type(error).__name__, 1)
    assert samples["partition_next_offset", of("t", 0)] == 9
    assert report["partitions"][0]["lag"] == 3


def test_damage_is_counted(reported: Reported, logs: Path, tmp_path: Path) -> None:
    path = directories.segment_path(logs / "t-0", 0)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    status, report, samples, _ = reported(logs, tmp_path / "out")
    assert (status, report["totals"]["lost"], report["totals"]["damaged_places"]) == (1, 3, 1)
    assert report["totals"]["crc_failures"] == samples["crc_failures", ()] == 1
    assert samples["offsets", (("kind", "lost"),)] == 3


def test_what_holds_a_run_back(reported: Reported, logs: Path, tmp_path: Path) -> None:
    append(logs / "t-0", directories.transactional(9, 7, b"a", b"b"), *run_of(11, 15))
    _, report, samples, _ = reported(logs, tmp_path / "out", "--isolation", "read_committed")
    row = report["partitions"][0]
    assert (row["end_offset"], row["log_end_offset"], row["lag"]) == (9, 15, 6)
    pin = row["open_transaction"]
    assert (pin["producer_id"], pin["first_offset"]) == (7, 9)
    age = time.time() - pin["timestamp_ms"] / 1000
    assert pin["age_seconds"] == pytest.approx(age, abs=60)
    assert samples["open_transaction_first_offset", of("t", 0, producer_id=7)] == 9
    assert samples["open_transaction_age_seconds", of("t", 0, producer_id=7)] == pin["age_seconds"]
    assert samples["partition_lag", of("t", 0)] == 6


@pytest.mark.parametrize("is_live", [False, True])
def test_lag_is_counted_to_what_a_consumer_could_read(
    reported: Reported, logs: Path, tmp_path: Path, is_live: bool
) -> None:
    (logs / "replication-offset-checkpoint").write_text("0\n1\nt 0 6\n")
    (logs / ".lock").touch()
    with locked(logs / ".lock") if is_live else nullcontext():
        choose = json.dumps({"t": {"0": 4}})
        _, report, _, _ = reported(logs, tmp_path / "out", "-o", f"endingOffsets={choose}")
    row = report["partitions"][0]
    assert (row["end_offset"], row["high_watermark"]) == (4, 6)
    assert row["lag"] == (2 if is_live else 5)


def test_labels_are_escaped(reported: Reported, logs: Path, tmp_path: Path) -> None:
    _, _, samples, _ = reported(logs, tmp_path / 'a "b" \\n c\\')
    assert samples["run", ()] == 1


def test_a_file_that_cannot_be_written_is_named_before_the_run(
    ingest: Run, logs: Path, tmp_path: Path
) -> None:
    for path, said in (
        (tmp_path, "this is a directory"),
        (tmp_path / "none" / "x.json", "is not a directory"),
        ("s3a://bucket/x", "a file on this machine"),
    ):
        status, _, err = ingest(logs, tmp_path / "out", "--report", path)
        assert (status, said in err) == (2, True), err
    assert not (tmp_path / "out").exists()


def test_a_file_that_cannot_be_written_after_the_run_is_said(
    ingest: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, report = LocalEngine.run, tmp_path / "report.json"

    def run(self: LocalEngine, tasks: Any, show: Any = None) -> Any:
        report.mkdir()
        return real(self, tasks, show)

    monkeypatch.setattr(LocalEngine, "run", run)
    status, table, err = ingest(logs, tmp_path / "out", "--report", report)
    assert (status, table["t", 0]["records"]) == (1, "9"), "the table has them all the same"
    assert f"{report}: cannot be written" in err
    assert "this run is not in that file" in err


def test_a_file_is_replaced_whole_or_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"

    def replace(data: bytes) -> None:
        with new_file(str(path), str(path), replaces=True) as output:
            output.write(data)

    replace(b"one")
    replace(b"two")

    def full(*_words: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KafkaFormatError, match="No space left"):
        replace(b"three")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"two", ["x"])


async def answer() -> int:
    return 0


def test_requests_to_stores_and_their_repetitions_are_counted() -> None:
    answers = iter([GenericError("status code: 503"), None])

    async def ask() -> int:
        if (error := next(answers)) is not None:
            raise error
        return 1

    before = requests_so_far()
    assert Patience(10, ()).run("s3://b/x", ask) == 1
    assert requests_so_far().since(before) == RequestCounts(2, 1)


@dataclass(frozen=True)
class Asking:
    """A task that asks a store three times."""

    num_bytes: int = 1

    def run(self) -> Output:
        before = requests_so_far()
        for _ in range(3):
            Patience(10, ()).run("s3://b/x", answer)
        return Output(requests=requests_so_far().since(before))


@pytest.mark.parametrize("num_processes", [1, 2])
def test_requests_of_tasks_are_counted_once(tmp_path: Path, num_processes: int) -> None:
    meter = RunMeter(str(tmp_path))
    Patience(10, ()).run("s3://b/x", answer)
    meter.metered(LocalEngine(num_processes)).run([Asking(), Asking()])
    assert meter.report(0).requests == RequestCounts(7, 0)
