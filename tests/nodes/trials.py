"""Start a real broker on each change of a recorded node: `python -m tests.nodes.trials [--jobs 2]`.

Strategy: a copy of the node is changed, and a Kafka 4.3.1 broker started on it, with retention on. What it
serves is compared with what it serves of the unchanged node: records at both isolation levels, lookups by
offset and time, a group's offsets; and what it leaves on disk with what it leaves of the unchanged one. The
outcomes are appended to tests/nodes/outcomes.jsonl; a run that is repeated tries those that are missing.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from tests.nodes.recording import EVENTS, GROUP, NODES, PAYMENTS, SETTINGS, STATES
from tests.nodes.ways import Case, cases_of, change
from tests.recording.kafka43 import Node
from tests.recording.server import Kit, RecordingError

OUTCOMES = Path(__file__).resolve().parent / "outcomes.jsonl"
STATES_OF_NODE = ("clean", "killed")
CONSUMER = {
    "group.id": GROUP,
    "enable.partition.eof": True,
    "enable.auto.commit": False,
    "check.crcs": True,
    "fetch.wait.max.ms": 5,
    "log_level": 0,
}
TOPICS = (EVENTS, PAYMENTS, STATES, "__consumer_offsets", "__transaction_state")
_PATIENCE = 10.0  # seconds that a fetch or a lookup may take
_EXCEPTION = re.compile(r"^(?:Caused by: )?(?:\w+\.)+(\w+(?:Exception|Error): .*)$", re.MULTILINE)
_NEW = re.compile(r"\.[0-9a-f]{32}-")


@dataclass
class Outcome:
    """What a broker made of a changed node.

    Attributes:
        state, name, way: the case.
        starts: whether it started, and still ran when all was read.
        why: the last error that it said if it did not.
        strayed: directories that it put aside.
        deleted: files that were there before, and are not any more, nor with the unchanged node.
        cut: logs that have lost bytes.
        fate: what became of the changed file: `kept`, `made anew` (other bytes), `deleted`.
        served: topics of which it served something else than of the unchanged node.
    """

    state: str
    name: str
    way: str
    starts: bool
    why: str
    strayed: list[str]
    deleted: list[str]
    cut: list[str]
    fate: str
    served: list[str]

    @property
    def case(self) -> Case:
        """The case."""
        return Case(self.state, self.name, self.way)


def unpack(state: str, folder: Path) -> Path:
    """Make a copy of a recorded node; return its log directory."""
    with tarfile.open(NODES / f"{state}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / state


class Lab:
    """Where trials are made.

    Args:
        work: a folder for what need not be kept.
    """

    def __init__(self, work: Path) -> None:
        self._work, self._kit = work, Kit("k4", "k4")
        self.other = unpack("other", work)
        self._unchanged: dict[str, tuple[dict[str, Any], dict[str, int], set[str]]] = {}

    def try_out(self, case: Case) -> Outcome:
        """Start a broker on a changed node; once more where it serves something else, or says nothing.

        A busy machine may be the cause, too: what counts is what happens both times.
        """
        first = self._once(case)
        if not first.served and (first.starts or first.why):
            return first
        second = self._once(case)
        second.served = [topic for topic in second.served if topic in first.served]
        return second

    def _once(self, case: Case) -> Outcome:
        folder = Path(tempfile.mkdtemp(dir=self._work))
        try:
            return self._tried(case, folder)
        finally:
            shutil.rmtree(folder)

    def begin(self, state: str) -> Outcome:
        """Try out the unchanged node, with which the others are compared."""
        return self.try_out(Case(state, "", "nothing"))

    def _tried(self, case: Case, folder: Path) -> Outcome:
        node = Node(self._kit, folder / "node", settings=SETTINGS, cluster_id=None)
        unpack(case.state, folder).rename(node.data)
        change(case, node.data, self.other)
        before = _sizes(node.data)
        content = (node.data / case.name).read_bytes() if case.name else b""
        served, why = self._served(node)
        after = _sizes(node.data)
        strayed = sorted(_NEW.sub(".ID-", path.name) for path in node.data.glob("*-stray"))
        gone = {name for name in before if name not in after}
        cut = [
            name for name, size in before.items() if name.endswith(".log") and after.get(name, size) < size
        ]
        if case.way == "nothing":
            assert served is not None, why
            self._unchanged[case.state] = served, after, gone
        expected, _after, always_gone = self._unchanged.get(case.state, ({}, {}, set()))
        deleted = sorted(name for name in gone - always_gone if not _moved(name, strayed))
        differs = {
            name.partition(" ")[0] for name in expected if served and served.get(name) != expected[name]
        }
        fate = _fate(node.data / case.name, content) if case.name else ""
        return Outcome(*case, served is not None, why, strayed, deleted, cut, fate, sorted(differs))

    def _served(self, node: Node) -> tuple[dict[str, Any] | None, str]:
        """What a broker serves; None if it does not start, with why."""
        served = None
        with suppress(RecordingError), node.start() as server:
            time.sleep(2)  # retention
            served = _read_all(node.bootstrap)
            if not server.running:
                served = None
        return served, "" if served is not None else _last_error(node.folder / "broker-1.log")


def _moved(name: str, strayed: list[str]) -> bool:
    return any(name.startswith(f"{one.partition('.ID-')[0]}/") for one in strayed)


def _fate(path: Path, content: bytes) -> str:
    if not path.exists():
        return "deleted"
    return "kept" if path.read_bytes() == content else "made anew"


def _sizes(data: Path) -> dict[str, int]:
    return {
        path.relative_to(data).as_posix(): path.stat().st_size for path in data.rglob("*") if path.is_file()
    }


def _last_error(log: Path) -> str:
    """The error with which a broker has ended: the one that names a cause, without what varies."""
    said = _EXCEPTION.findall(log.read_text(errors="replace"))
    return re.sub(r"/\S*/node/data", "DIR", said[-1])[:160] if said else "?"


def _read_all(bootstrap: str) -> dict[str, Any]:
    """What consumers are given: records, the first one at some offsets, lookups by time, groups' offsets."""
    found: dict[str, Any] = {}
    for level in ("read_uncommitted", "read_committed"):
        consumer = Consumer({"bootstrap.servers": bootstrap, "isolation.level": level, **CONSUMER})
        try:
            rows = _rows(consumer, [TopicPartition(topic, 0, OFFSET_BEGINNING) for topic in TOPICS])
            found |= {f"{topic} {level}": rows[topic] for topic in TOPICS}
            for topic in TOPICS if level == "read_uncommitted" else ():
                found |= _lookups(consumer, topic, rows[topic])
        finally:
            consumer.close()
    return found


def _rows(consumer: Consumer, where: list[TopicPartition], count: int = 1 << 30) -> dict[str, list[Any]]:
    """Offset, value and time of records by topic; the name of the error that ended them as the last one."""
    consumer.assign(where)
    rows: dict[str, list[Any]] = {one.topic: [] for one in where}
    waiting = set(rows)
    end = time.monotonic() + _PATIENCE
    while waiting and time.monotonic() < end:
        message = consumer.poll(1)
        if message is None or message.topic() not in waiting:
            continue
        error = message.error()
        found = rows[message.topic()]
        if error is None:
            found.append((message.offset(), message.value(), message.timestamp()))
        elif error.code() != KafkaError._PARTITION_EOF:
            found.append(error.name())
        if error is not None or len(found) == count:
            waiting.discard(message.topic())
    for topic in waiting:
        rows[topic].append("no answer")
    return rows


def _lookups(consumer: Consumer, topic: str, rows: list[Any]) -> dict[str, Any]:
    try:
        bounds = consumer.get_watermark_offsets(TopicPartition(topic, 0), _PATIENCE)
        asked = [row for row in rows[:: max(len(rows) // 6, 1)] if isinstance(row, tuple)]
        times = [TopicPartition(topic, 0, row[2][1]) for row in asked]
        found = [consumer.offsets_for_times([each], _PATIENCE)[0].offset for each in times]
        group = consumer.committed([TopicPartition(topic, 0)], _PATIENCE)[0].offset
    except KafkaException as error:
        return {f"{topic} lookups": str(error.args[0].name())}
    at = [_rows(consumer, [TopicPartition(topic, 0, row[0])], 1) for row in asked]
    return {
        f"{topic} bounds": bounds,
        f"{topic} times": found,
        f"{topic} offsets": at,
        f"{topic} group": group,
    }


def recorded() -> dict[Case, Outcome]:
    """The outcomes that are recorded."""
    lines = OUTCOMES.read_text().splitlines() if OUTCOMES.exists() else []
    return {one.case: one for one in (Outcome(**json.loads(line)) for line in lines)}


def missing(state: str, folder: Path, known: Mapping[Case, Outcome]) -> Iterator[Case]:
    """Cases of a state whose outcome is not recorded."""
    yield from (case for case in cases_of(state, unpack(state, folder)) if case not in known)


def main() -> None:
    """Try out what is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--state", choices=STATES_OF_NODE, action="append")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(arguments.jobs) as pool:
        lab = Lab(Path(scratch))
        for state in arguments.state or STATES_OF_NODE:
            folder = Path(tempfile.mkdtemp(dir=scratch))
            cases = list(missing(state, folder, recorded()))
            if not cases:
                continue
            begun = lab.begin(state)
            todo = [case for case in cases if case.way != "nothing"]
            with OUTCOMES.open("a") as file:
                for outcome in [begun]:
                    if outcome.case in cases:
                        file.write(json.dumps(asdict(outcome)) + "\n")
                for outcome in pool.map(lab.try_out, todo):
                    file.write(json.dumps(asdict(outcome)) + "\n")
                    file.flush()
                    print(outcome, flush=True)


if __name__ == "__main__":
    main()
