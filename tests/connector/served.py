"""Recorded log directories in a broker of 4.3.1, as its own: what Spark's `kafka` source reads from.

Strategy: the broker makes the topics once, empty, and ends; then copies of the recorded partitions take the
place of its own under the new topic ids, and it starts again. It cleans nothing, deletes nothing by age, and
ends no transaction. A set that was copied from a running or killed broker is recovered, as after a crash.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.broker.clients import bounds_now, create, put_in
from tests.broker.partitions import fates_of
from tests.recording.features import set_names
from tests.recording.kafka43 import METADATA, Node
from tests.recording.server import Kit, wait_until
from tests.recording.sets import RECORDED
from tests.spark import kafka_rows

SETTINGS = {
    "log.cleaner.enable": "false",
    "log.retention.ms": "-1",
    "log.retention.bytes": "-1",
    # The recorded __transaction_state has a transaction that is long overdue.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "86400000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "86400000",
}
UNCLEAN = (
    "kafka-4.3/running",
    "kafka-4.3/killed",
    "kafka-4.3/before-cleaning",
    "kafka-4.3/extreme-timestamps",
)
"""Copied while the broker ran, or after it was killed."""
LOG_STARTS, CLEAN_SHUTDOWN = "log-start-offset-checkpoint", ".kafka_cleanshutdown"


@dataclass(frozen=True)
class Ends:
    """Where a partition ends.

    Attributes:
        log_end: behind the last batch.
        last_stable: where the first transaction begins that is still open; else `log_end`.
    """

    log_end: int
    last_stable: int


def served_sets() -> list[str]:
    """The recorded sets that have a topic beside the metadata log."""
    return [name for name in set_names() if partitions(name)]


def partitions(name: str) -> dict[str, list[int]]:
    """Topics of a set with their partitions, without the metadata log and what was put aside."""
    found: dict[str, list[int]] = {}
    for topic, number in sorted(map(kafka_rows.split_name, kafka_rows.partitions(name))):
        if topic != METADATA:
            found.setdefault(topic, []).append(number)
    return found


def ends(name: str, topic: str, partition: int) -> Ends:
    """Where a recorded partition ends, by Kafka's own reading of it; an empty one where its file begins."""
    lines = kafka_rows.lines_of(name, f"{topic}-{partition}")
    last = kafka_rows.partitions(name)[f"{topic}-{partition}"][-1]
    batches = [line["last_offset"] + 1 for line in lines if line["type"] == "batch"]
    end = max([int(last.name.split(".")[0]), *batches])
    still_open = [offset for offset, fate in fates_of(lines).items() if fate == "open"]
    return Ends(end, min(still_open, default=end))


def fates(name: str, topic: str, partition: int) -> dict[int, str]:
    """What became of each transactional record of a partition: COMMIT, ABORT or open."""
    return fates_of(kafka_rows.lines_of(name, f"{topic}-{partition}"))


def records(name: str) -> list[dict[str, Any]]:
    """What Kafka's own reading says of all data records of a set, by topic, partition and offset."""
    directories = (f"{topic}-{number}" for topic, numbers in partitions(name).items() for number in numbers)
    lines = (line for directory in directories for line in kafka_rows.lines_of(name, directory))
    return [line for line in lines if line["type"] == "record" and line["control"] is None]


@contextmanager
def serving(name: str, work: Path) -> Iterator[str]:
    """Start a broker on copies of a set's partitions; yields its address."""
    node = Node(Kit("k4", "k4"), work, settings=SETTINGS)
    topics = partitions(name)
    with node.start():
        for topic, numbers in topics.items():
            create(node.bootstrap, {topic: {}}, max(numbers) + 1)
    for topic, numbers in topics.items():
        for number in numbers:
            put_in(RECORDED / name / f"{topic}-{number}", node.data / f"{topic}-{number}")
    if (RECORDED / name / LOG_STARTS).exists():
        shutil.copyfile(RECORDED / name / LOG_STARTS, node.data / LOG_STARTS)
    if name in UNCLEAN:
        (node.data / CLEAN_SHUTDOWN).unlink()
        (node.data / "recovery-point-offset-checkpoint").unlink()
    with node.start():
        wait_for_all(name, node.bootstrap)
        yield node.bootstrap


def wait_for_all(name: str, bootstrap: str) -> None:
    """Wait until the broker leads every partition and has all of it; it says that it has started before."""
    for topic, numbers in partitions(name).items():
        wanted = [ends(name, topic, number).log_end for number in numbers]
        wait_until(
            f"{name}: {topic} up to {wanted}",
            functools.partial(has, bootstrap, topic, numbers, wanted),
        )


def has(bootstrap: str, topic: str, numbers: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether a broker's partitions end where they are wanted to."""
    return [end for _start, end in bounds_now(bootstrap, topic, numbers)] == list(wanted)
