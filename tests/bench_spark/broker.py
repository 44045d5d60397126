"""The broker that Spark's `kafka` source reads the corpora from: 4.3.1 on the same files, at full speed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bench_spark.corpus import Corpus
from tests.broker.clients import bounds_now, create, put_in
from tests.connector import served
from tests.oracle import jvm
from tests.recording.kafka43 import Node
from tests.recording.server import Kit, wait_until

# As Kafka's own start script has it, for a broker of this size.
JVM_OPTIONS = ("-Xmx1g", "-Xms1g", "-XX:+UseG1GC", "-Dfile.encoding=UTF-8")

# Kafka's defaults again, where the recordings have small indexes.
SETTINGS = served.SETTINGS | {
    "log.index.size.max.bytes": "10485760",
    "log.index.interval.bytes": "4096",
    "num.network.threads": "3",
    "num.io.threads": "8",
}


class FullSpeedKit(Kit):
    """A release's jars, run by a JVM that compiles as it does in production."""

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """As `Kit.command`, with other options of the JVM."""
        (java, *rest), environment = super().command(*arguments)
        return [java, *JVM_OPTIONS, *rest[len(jvm.JVM_OPTIONS) :]], environment


class Serving(NamedTuple):
    """A broker's address and process id."""

    bootstrap: str
    pid: int


@contextmanager
def serving(corpora: Sequence[Corpus], work: Path) -> Iterator[Serving]:
    """Start a broker on topics; their segments are linked, their indexes copied."""
    node = Node(FullSpeedKit("k4", "k4"), work, settings=SETTINGS)
    with node.start():
        for one in corpora:
            create(node.bootstrap, {one.topic: {}}, one.num_partitions)
    for one in corpora:
        for directory in one.path.iterdir():
            put_in(directory, node.data / directory.name, copy=link_or_copy)
    with node.start() as broker:
        wait_until("the topics", lambda: all(has_all(node.bootstrap, one) for one in corpora))
        yield Serving(node.bootstrap, broker.pid)


def link_or_copy(source: str, target: str) -> None:
    """Link a segment, which a broker does not change; copy an index, which it makes longer while it runs."""
    if source.endswith(".log"):
        os.link(source, target)
    else:
        shutil.copyfile(source, target)


def has_all(bootstrap: str, corpus: Corpus) -> bool:
    """Whether the broker has taken all that there is of a topic."""
    ends = bounds_now(bootstrap, corpus.topic, range(corpus.num_partitions))
    return ends == [(0, corpus.a_partition)] * corpus.num_partitions
