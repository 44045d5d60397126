"""One broker in three lives: topics are made, files put in and read, and the log recovered as after a crash.

Strategy: a life costs seconds, so one serves all topics; what came of it is kept and the tests look at it.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import confluent_kafka
from tests.broker.by_hand import ByHand
from tests.broker.clients import create, put_in
from tests.broker.partitions import Partition, Row, row_of, segment_files
from tests.recording.kafka43 import Node
from tests.recording.server import Kit, RecordingError

HERE = Path(__file__).resolve().parent
ISOLATIONS = ("read_uncommitted", "read_committed")
# Who speaks of a partition's files in a broker's log, and what they say of any partition at every start.
SPEAKERS = re.compile(r"internals\.log\.(LogLoader|LogSegment|LogManager|LocalLog|UnifiedLog|\w*Index\w*) - ")
ORDINARY = re.compile(
    r"Loading producer state till offset|Reloading from producer snapshot|Producer state recovery took"
)
# Warnings of every start and stop.
ORDINARY_WARNINGS = (
    "Performing controller activation",
    "close NetworkClient that has already been closed",
    # A broker that is stopped while it loads its own topics, on a busy machine.
    "Stopped loading records from __consumer_offsets",
    "failed due to EventProcessor is closed",
)
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


@dataclass
class Observed:
    """What a run of the broker showed.

    Attributes:
        partitions: what was put in.
        java: lines of the Java consumer.
        librdkafka: rows by isolation level and topic.
        log: of the life that took the files.
        files: topic -> name -> bytes, after that life.
        recovered: the same after a life that had no index files.
        snapshots: topic -> name and content of the last snapshot of producers, after that life.
        recovery_log: of it.
        dump: what DumpLogSegments says of the index files.
    """

    partitions: Sequence[Partition]
    java: list[dict[str, Any]] = field(default_factory=list)
    librdkafka: dict[str, dict[str, list[Row]]] = field(default_factory=dict)
    log: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    recovered: dict[str, dict[str, bytes]] = field(default_factory=dict)
    snapshots: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    recovery_log: str = ""
    dump: dict[str, str] = field(default_factory=dict)


def run(given: Sequence[Partition], by_hand: ByHand, work: Path) -> Observed:
    """Let a broker of 4.3.1 take partitions, and read them; one is put in as a page says."""
    kit = Kit("k4", str(HERE / "java"))
    node = Node(kit, work / "node")
    partitions = [*given, by_hand.partition]
    seen = Observed(partitions)
    with node.start():
        create(node.bootstrap, {one.topic: one.config for one in given})
        by_hand.while_running(node)
    for partition in given:
        put_in(partition.folder, node.data / f"{partition.topic}-0")
    by_hand.while_stopped(node)
    with node.start() as broker:
        by_hand.when_started(node)
        topics = [partition.topic for partition in partitions]
        seen.java = [json.loads(line) for line in kit.run("Read", node.bootstrap, *topics).splitlines()]
        seen.librdkafka = {level: read_by_librdkafka(node.bootstrap, topics, level) for level in ISOLATIONS}
    seen.log = broker.log.read_text(errors="replace")
    seen.files = files_of(partitions, node.data)
    seen.dump = dump_of(kit, partitions, node.data)
    forget(partitions, node.data)
    with node.start() as broker:
        pass
    seen.recovery_log = broker.log.read_text(errors="replace")
    seen.recovered = files_of(partitions, node.data)
    seen.snapshots = {one.topic: snapshot_of(node.data / f"{one.topic}-0") for one in partitions}
    return seen


def forget(partitions: Sequence[Partition], data: Path) -> None:
    """Leave a log directory as a crash leaves it, and without our index files and snapshots."""
    (data / CLEAN_SHUTDOWN).unlink()
    (data / "recovery-point-offset-checkpoint").unlink()
    for partition in partitions:
        directory = data / f"{partition.topic}-0"
        for path in [*segment_files(directory), *directory.glob("*.snapshot")]:
            if path.suffix != ".log":
                path.unlink()


def files_of(partitions: Sequence[Partition], data: Path) -> dict[str, dict[str, bytes]]:
    """Segments and index files of the topics as they are now."""
    return {
        one.topic: {path.name: path.read_bytes() for path in segment_files(data / f"{one.topic}-0")}
        for one in partitions
    }


def snapshot_of(folder: Path) -> tuple[str, bytes]:
    """Name and content of the last snapshot of producers in a folder."""
    last = max(folder.glob("*.snapshot"))
    return last.name, last.read_bytes()


def read_by_librdkafka(bootstrap: str, topics: Sequence[str], isolation: str) -> dict[str, list[Row]]:
    """Everything in partition 0 of topics."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    beginning = confluent_kafka.OFFSET_BEGINNING
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, beginning) for topic in topics])
    rows: dict[str, list[Row]] = {topic: [] for topic in topics}
    waiting = set(topics)
    while waiting:
        message = consumer.poll(20)
        if message is None:
            raise RecordingError(f"librdkafka waited in vain for {waiting}")
        if message.error() is None:
            rows[message.topic()].append(row_of_librdkafka(message))
        elif message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
            waiting.discard(message.topic())
        else:
            raise RecordingError(f"librdkafka: {message.error()}")
    consumer.close()
    return rows


def row_of_librdkafka(message: Any) -> Row:
    """A message of librdkafka as a row."""
    kinds = {
        confluent_kafka.TIMESTAMP_NOT_AVAILABLE: "NoTimestampType",
        confluent_kafka.TIMESTAMP_CREATE_TIME: "CreateTime",
        confluent_kafka.TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime",
    }
    kind, timestamp = message.timestamp()
    headers = tuple((key.encode(), value) for key, value in message.headers() or ())
    return Row(message.offset(), timestamp, kinds[kind], message.key(), message.value(), headers)


def as_librdkafka_has_it(row: Row) -> Row:
    """A row as librdkafka gives it, for whom a message of magic 0 is of time 0."""
    return row._replace(timestamp=0) if row.timestamp_type == "NoTimestampType" else row


def read_by_java(seen: Observed, kind: str, isolation: str, topic: str) -> list[dict[str, Any]]:
    """The Java consumer's lines of a kind."""
    wanted = (kind, isolation, topic)
    return [line for line in seen.java if (line["type"], line["isolation"], line["topic"]) == wanted]


def rows_by_java(seen: Observed, isolation: str, topic: str) -> list[Row]:
    """What the Java consumer read."""
    return [row_of(line) for line in read_by_java(seen, "record", isolation, topic)]


def dump_of(kit: Kit, partitions: Sequence[Partition], data: Path) -> dict[str, str]:
    """What DumpLogSegments says of all index files, by its option."""
    files = [
        str(path)
        for one in partitions
        for path in segment_files(data / f"{one.topic}-0")
        if path.suffix != ".log" and path.stat().st_size
    ]
    said = {}
    for option in ("--index-sanity-check", "--verify-index-only"):
        command, environment = kit.command(
            "org.apache.kafka.tools.DumpLogSegments", option, "--files", ",".join(files)
        )
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        said[option] = f"{done.stdout}{done.stderr}\nstatus {done.returncode}"
    return said


def distrust(log: str, topic: str) -> list[str]:
    """Lines of a broker's log that say it did not take the files of a topic as they were."""
    own = re.compile(rf"\b{re.escape(topic)}-0\b")
    return [line for line in said_of_files(log) if own.search(line)]


def said_of_files(log: str) -> list[str]:
    """What a broker's log says of files beyond what it says at every start."""
    return [line for line in log.splitlines() if SPEAKERS.search(line) and not ORDINARY.search(line)]


def warnings(log: str) -> list[str]:
    """Warnings and errors in a broker's log that are not there at every start."""
    found = [line for line in log.splitlines() if re.search(r"\] (WARN|ERROR|FATAL) ", line)]
    return [line for line in found if not any(usual in line for usual in ORDINARY_WARNINGS)]
