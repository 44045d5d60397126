"""The cookbook's recipe that hands a partition to a broker, followed as its page says.

Strategy: the page is cut where the broker is stopped and started, which the harness does; its other commands
are typed by the reader of guides, and Kafka's scripts are the classes that they start.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from tests.broker.partitions import Partition, Row
from tests.guides.guide import ROOT, Reader, make_place
from tests.recording.kafka43 import Node

PAGE = ROOT / "docs" / "cookbook" / "broker.md"
SCRIPTS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
}
ROWS = (
    Row(0, 1714000000000, "CreateTime", b"order-1", b'{"city":"Lisbon"}'),
    Row(1, 1714000060000, "CreateTime", b"order-2", b'{"city":"Porto"}'),
)


class ByHand:
    """A reader of the page beside a broker.

    Attributes:
        partition: what the page writes, and consumers read.
    """

    def __init__(self, work: Path) -> None:
        """Take the page and a folder to work in."""
        self._work = work
        place = make_place(work)
        self.partition = Partition("orders", place / "build" / "orders-0", ROWS, len(ROWS))
        programs = [str(work / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        self._reader = Reader(place, {**os.environ, "PATH": os.pathsep.join(programs)})
        text = PAGE.read_text(encoding="utf-8")
        self._running, self._stopped, self._started = re.split(
            r"^kafka-server-\w+\.sh.*$", text, flags=re.MULTILINE
        )

    def while_running(self, node: Node) -> None:
        """Write the partition and create the topic."""
        self._install(node)
        self._reader.variables["DATA"] = str(node.data)
        self._follow(self._running + "```\n", node)

    def while_stopped(self, node: Node) -> None:
        """Put the files in."""
        self._follow(self._stopped.removeprefix("\n```\n") + "```\n", node)

    def when_started(self, node: Node) -> None:
        """Look at what the broker has."""
        self._follow(self._started.removeprefix("\n```\n"), node)
        self._reader.close()

    def _follow(self, text: str, node: Node) -> None:
        self._reader.follow(text.replace("localhost:9092", node.bootstrap))

    def _install(self, node: Node) -> None:
        # Their loggers are not set up as those of Kafka's own scripts, which print warnings alone.
        (self._work / "bin").mkdir()
        for name, java_class in SCRIPTS.items():
            words, environment = node.kit.command(java_class)
            variables = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in environment.items())
            path = self._work / "bin" / name
            path.write_text(f'#!/bin/sh\n{variables}exec {shlex.join(words)} "$@" 2>>"$0.log"\n')
            path.chmod(0o755)
