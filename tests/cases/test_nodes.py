"""Directories of nodes that a broker does not start on, or changes when it starts (`tests/vectors/cases`)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.made.partitions import RECORDED
from tests.salvage import made

from kafka_segments.cli.main import main

CASES = Path(__file__).resolve().parents[1] / "vectors" / "cases"


def verified(path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> tuple[dict[str, str], dict[str, Any]]:
    """The findings of `verify`, detail by check, and the summary."""
    status = main(["verify", "--format", "jsonl", str(path)])
    *found, summary = map(json.loads, capfdbinary.readouterr().out.splitlines())
    assert status == (1 if found else 0)
    return {one["check"]: f"{one['path']}: {one['detail']}" for one in found}, summary


def test_lost_and_found(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    logs = shutil.copytree(CASES / "lost-and-found" / "logs", tmp_path / "logs")
    (logs / "lost+found").mkdir()
    found, summary = verified(logs, capfdbinary)
    assert list(found) == ["directory-name"]
    (log_dir,) = summary["log_dirs"]
    assert not log_dir["starts"] and log_dir["stops"] == ["lost+found"]
    assert log_dir["detail"] == f"{logs}: a Kafka 4.3 broker does not start, for lost+found"


@pytest.mark.parametrize("name", ["empty", "zeros"])
def test_quorum_state(name: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    case = CASES / "kraft-quorum-state"
    logs = shutil.copytree(case / "logs", tmp_path / "logs")
    assert verified(logs, capfdbinary)[0] == {}
    shutil.copy(case / f"quorum-state.{name}", logs / "__cluster_metadata-0" / "quorum-state")
    found, summary = verified(logs, capfdbinary)
    assert list(found) == ["quorum-state"]
    assert not summary["log_dirs"][0]["starts"]


def test_meta_properties_empty(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    found, summary = verified(CASES / "meta-properties-empty" / "logs", capfdbinary)
    assert list(found) == ["meta-properties"] and "it is empty" in found["meta-properties"]
    assert summary["log_dirs"][0]["stops"] == ["meta.properties"]


def test_newest_snapshot(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    source = CASES / "kraft-snapshot-flip" / "in" / "r0"
    assert list(verified(source, capfdbinary)[0]) == ["cluster-metadata"]
    assert main(["salvage", str(source), str(tmp_path / "out")]) == 1
    copied = tmp_path / "out" / "log" / "__cluster_metadata-0"
    assert [path.name for path in copied.glob("*.checkpoint")] == [
        "00000000000000000327-0000000001.checkpoint"
    ]
    assert (copied / "00000000000000000000.log").exists() and (copied / "quorum-state").exists()


def test_snapshot_of_another_copy_is_taken(tmp_path: Path) -> None:
    """Of two copies the one has a damaged snapshot, the other the sound one."""
    source = CASES / "kraft-quorum-state" / "logs" / "__cluster_metadata-0"
    name = "00000000000000000397-0000000001.checkpoint"
    copies = [shutil.copytree(source, tmp_path / one / "__cluster_metadata-0") for one in ("a", "b")]
    (copies[0] / name).write_bytes((source / name).read_bytes()[:-30])
    assert main(["salvage", str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "out")]) == 0
    salvaged = tmp_path / "out" / "log" / "__cluster_metadata-0" / name
    assert salvaged.read_bytes() == (source / name).read_bytes()


def test_names_that_stop_a_broker(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    logs = shutil.copytree(CASES / "names-that-stop-a-broker" / "in" / "r0", tmp_path / "logs")
    (logs / "lost+found").mkdir(exist_ok=True)
    found, _summary = verified(logs, capfdbinary)
    assert {"directory-name", "file-name", "meta-properties"} <= set(found)
    assert "99999999999999999999.log" in found["file-name"]


def test_topic_id_from_the_metadata_log(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    logs = CASES / "topic-id-from-metadata" / "logs"
    found, _summary = verified(logs, capfdbinary)
    assert "it is empty" in found["partition-metadata"] and "terminator" not in found["partition-metadata"]
    assert main(["salvage", str(logs), str(tmp_path / "out")]) == 0
    written = (tmp_path / "out" / "log" / "multi-0" / "partition.metadata").read_text()
    assert written == "version: 0\ntopic_id: 70H-x9TwTvGO9F0lqir87w"
    assert main(["salvage", str(logs / "multi-0"), str(tmp_path / "alone")]) == 1, "no source has it"
    assert not (tmp_path / "alone" / "log" / "multi-0" / "partition.metadata").exists()


def test_last_stable_offset_of_a_transaction_index(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    found, _summary = verified(CASES / "txnindex-lso" / "in" / "r0", capfdbinary)
    assert list(found) == ["transaction-index"] and str(1 << 40) in found["transaction-index"]


def test_checkpoint_that_ends_a_broker(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    found, summary = verified(CASES / "checkpoint-cut" / "logs", capfdbinary)
    assert list(found) == ["checkpoint-file"] and "a broker stops" in found["checkpoint-file"]
    assert summary["log_dirs"][0]["stops"] == ["replication-offset-checkpoint"]
    page = (CASES.parents[2] / "docs" / "verify-reference.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith("| `checkpoint-file` ")]
    assert "move it away before a broker starts" in row


def test_partition_under_a_name_that_fsck_gave(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    case = shutil.copytree(CASES / "fsck-names", tmp_path / "disk")
    shutil.copytree(CASES / "lost-and-found" / "logs", case, dirs_exist_ok=True)
    found, _summary = verified(case, capfdbinary)
    told = found["directory-name"]
    assert "#131073 has 2 segments, from offset 0, of the topic with id 70H-x9TwTvGO9F0lqir87w" in told
    assert "give a link to it named TOPIC-PARTITION" in told
    os.symlink(case / "lost+found" / "#131073", tmp_path / "multi-0")
    assert main(["ls", str(tmp_path / "multi-0")]) == 0
    assert b"multi" in capfdbinary.readouterr().out


def test_inner_wrappers_are_the_same_in_all_replicas(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    partition = CASES / "legacy-double-compressed" / "double0-0"
    found, _summary = verified(partition, capfdbinary)
    assert "every replica has the same" in found["records"]
    assert main(["dump", str(partition)]) == 1
    captured = capfdbinary.readouterr()
    assert b"a client wrote it like this, so other copies are the same" in captured.out
    assert b"from a replica" not in captured.out


def test_record_of_a_later_kafka_is_named(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """4.3.1, whose tool this one follows, does not know it either, and says so in these words."""
    log = CASES / "kafka-4.4-metadata" / "__cluster_metadata-0" / "00000000000000000000.log"
    assert main(["dump", "--like-kafka", "--cluster-metadata-decoder", "--files", str(log)]) == 0
    assert b"Unknown metadata id 29" in b"".join(capfdbinary.readouterr())


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """A log directory with two partitions after a clean shutdown; the metadata log is elsewhere."""
    for name in ("multi-0", "idempotent-0"):
        made.copy_of(f"clean/{name}", tmp_path / "logs")
    shutil.copy(RECORDED / "clean" / "meta.properties", tmp_path / "logs")
    (tmp_path / "logs" / ".kafka_cleanshutdown").touch()
    return tmp_path / "logs"


def rotten_batch(logs: Path) -> None:
    made.hurt(logs / "multi-0", 2)


def rotten_batch_without_index(logs: Path) -> None:
    rotten_batch(logs)
    made.segment(logs / "multi-0").with_suffix(".index").unlink()


def log_start_beyond_the_ends(logs: Path) -> None:
    made.copy_of("clean/codec-none-0", logs)
    noted = "0\n2\ncodec-none 0 1000\nidempotent 0 1000\n"
    (logs / "log-start-offset-checkpoint").write_text(noted)


@pytest.mark.parametrize(
    ("happens", "starts"),
    [
        (lambda _logs: None, "and serves all"),
        (rotten_batch, "and serves all but what the findings name"),
        (rotten_batch_without_index, "and truncates 1 partition"),
        (log_start_beyond_the_ends, "and deletes 2 segments"),
    ],
)
def test_what_a_broker_does_when_it_starts(
    happens: Callable[[Path], None], starts: str, clean: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What real brokers did: docs/operations/incidents, kubeless-781 and kafka-10101."""
    happens(clean)
    (log_dir,) = verified(clean, capfdbinary)[1]["log_dirs"]
    known = "as far as is known without its __cluster_metadata"
    assert log_dir["detail"] == f"{clean}: a Kafka 4.3 broker starts, {starts} ({known})"


def test_nothing_is_said_of_a_directory_of_which_a_part_was_verified(
    clean: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert verified(clean / "multi-0", capfdbinary)[1]["log_dirs"] == []
    shutil.rmtree(clean / "idempotent-0")
    assert len(verified(clean / "multi-0", capfdbinary)[1]["log_dirs"]) == 1
