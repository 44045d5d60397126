"""Recorded sets: what is copied out of a broker's log directory, and what is written beside it.

A set is one log directory under `tests/vectors/recorded/<name>`. Beside it stand Kafka's own reading of it
(`tests/vectors/oracle/<name>`, written by the Java program in tests/oracle, never by our decoder) and where
its bytes come from (`tests/vectors/provenance/<name>.toml`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

from tests.oracle import run as oracle_run

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
RECORDED = VECTORS / "recorded"
ORACLE = VECTORS / "oracle"
PROVENANCE = VECTORS / "provenance"


@dataclass(frozen=True)
class Topic:
    """A topic, how it is configured, and what it is there to show."""

    name: str
    shows: str
    partitions: int = 1
    config: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedSet:
    """One committed log directory."""

    name: str
    shows: str
    broker: str
    clients: tuple[str, ...]
    topics: tuple[Topic, ...] = ()


def topic_of(directory: str) -> str:
    """Topic of a partition directory's name, of `<topic>-<partition>.<id>-delete` too."""
    stem = directory.rsplit(".", 1)[0] if directory.endswith("-delete") else directory
    return stem.rsplit("-", 1)[0]


def copy_log_dir(source: Path, target: Path, keep: Callable[[str], bool]) -> None:
    """Copy a log directory's own files and the partition directories whose topics `keep` wants."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for entry in sorted(source.iterdir()):
        if entry.is_dir() and keep(topic_of(entry.name)):
            shutil.copytree(entry, target / entry.name)
        elif entry.is_file():
            shutil.copyfile(entry, target / entry.name)


def prune_snapshots(metadata_dir: Path, keep: int = 2) -> None:
    """Leave the first and the newest snapshots of the metadata log: each holds all records before it."""
    snapshots = sorted(metadata_dir.glob("*.checkpoint"))
    for snapshot in snapshots[1 : len(snapshots) - keep + 1]:
        snapshot.unlink()


def segment_files(name: str) -> list[str]:
    """The files of a set that the oracle reads, relative to the recorded sets' root."""
    found = [path for end in ("*.log", "*.checkpoint") for path in (RECORDED / name).rglob(end)]
    return sorted(path.relative_to(RECORDED).as_posix() for path in found)


def finish(recorded: RecordedSet, scratch: Path) -> None:
    """Replace the committed set by a freshly recorded one, with oracle lines and provenance.

    Raises:
        SystemExit: Kafka's own classes could not read it.
    """
    target = RECORDED / recorded.name
    shutil.rmtree(target, ignore_errors=True)
    # Without modes: Kafka makes its snapshots read-only.
    shutil.copytree(scratch, target, copy_function=shutil.copyfile)
    shutil.rmtree(ORACLE / recorded.name, ignore_errors=True)
    result = oracle_run.oracle(segment_files(recorded.name), out=ORACLE, cwd=RECORDED)
    if result.returncode:
        raise SystemExit(f"{recorded.name}: Kafka's own reader complains:\n{result.stderr}")
    write_provenance(recorded)


def keep_topics(data: Path, recorded: RecordedSet, scratch: Path) -> set[str]:
    """Copy the set's topics out of a broker's log directory and commit them to the vectors.

    Returns:
        Topics of the set that the log directory has no partition of; then nothing is committed.
    """
    wanted = {topic.name for topic in recorded.topics}
    copy_log_dir(data, scratch, lambda topic: topic in wanted)
    missing = wanted - {topic_of(entry.name) for entry in scratch.iterdir() if entry.is_dir()}
    if not missing:
        finish(recorded, scratch)
    return missing


def all_cleaned(data: Path, topics: list[str]) -> bool:
    """Whether the log cleaner has cleaned all that it may of these topics: up to the active segment."""
    checkpoint = data / "cleaner-offset-checkpoint"
    rows = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
    cleaned = {row.split(" ")[0]: int(row.split(" ")[2]) for row in rows}
    active = {topic: max(int(path.stem) for path in (data / f"{topic}-0").glob("*.log")) for topic in topics}
    return all(cleaned.get(topic) == active[topic] for topic in topics)


def write_provenance(recorded: RecordedSet) -> None:
    """Write who made the bytes of a set, and the digest of every file."""
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    lines = [
        "# Written by tests/recording/record.py; the set and this file change together.",
        f"set = {json.dumps(recorded.name)}",
        f"shows = {json.dumps(recorded.shows)}",
        f"broker = {json.dumps('Apache Kafka ' + recorded.broker)}",
        f"java = {json.dumps(java.splitlines()[0])}",
        f"recorded = {date.today().isoformat()}",
        f'command = "python tests/recording/record.py {recorded.name.split("/")[0]}"',
        'oracle = "Apache Kafka clients 4.3.1, tests/oracle"',
        f"clients = {json.dumps(list(map(_with_version, recorded.clients)))}",
        "",
        "[sha256]",
    ]
    root = RECORDED / recorded.name
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        lines.append(f'"{path.relative_to(root).as_posix()}" = "{digest}"')
    target = PROVENANCE / f"{recorded.name}.toml"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _with_version(client: str) -> str:
    """A client's name with its version; librdkafka is what confluent-kafka is built on."""
    if client == "confluent-kafka":
        import confluent_kafka

        return f"{client} {version(client)} (librdkafka {confluent_kafka.libversion()[0]})"
    return client if " " in client else f"{client} {version(client)}"
