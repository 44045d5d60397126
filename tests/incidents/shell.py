"""The commands of a page, run where a folder stands for the root directory.

Kafka's programs are Java classes in the jars of the tests, called by names on the PATH as an installation has
them. A call of kafka-segments runs in this process, unless the line needs a shell.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.in_process import run_main
from tests.incidents.incident import Scene
from tests.incidents.incident_pages import ROOT, Command
from tests.oracle.jvm import JVM_OPTIONS, QUIET
from tests.recording.server import Kit

BOOTSTRAP = "localhost:9092"
PROGRAMS = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-dump-log.sh": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-storage.sh": "kafka.tools.StorageTool",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
}
# Where a page has its files.
_PLACES = re.compile(r"(?<![\w.])/(?=(?:var|srv|mnt|backup|etc)\b)")
_NEEDS_SHELL = re.compile(r"[|><;&*?$`]")


def make_programs(folder: Path, kit: Kit) -> None:
    """Make the programs that pages call."""
    folder.mkdir()
    _, environment = kit.command()
    classpath = shlex.quote(environment["CLASSPATH"])
    options = " ".join([*JVM_OPTIONS, *QUIET])
    lines = {name: f"CLASSPATH={classpath} exec java {options} {main}" for name, main in PROGRAMS.items()}
    lines["kafka-segments"] = f"exec {shlex.quote(sys.executable)} -m kafka_segments"
    for name, line in lines.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\n{line} "$@"\n')
        path.chmod(0o755)


def run(command: Command, scene: Scene, programs: Path) -> tuple[int, str]:
    """Run a command of a page: its exit status, and what it printed, with the page's paths.

    Args:
        programs: the folder of `make_programs`.
    """
    line = _PLACES.sub(f"{scene.root}/", command.line).replace(BOOTSTRAP, scene.node.bootstrap)
    words = shlex.split(line, comments=True)
    if words[0] == "kafka-segments" and not _NEEDS_SHELL.search(line):
        status, out, error = run_main(words[1:])
    else:
        roots = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "generated")])
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        done = subprocess.run(
            ["sh", "-c", line],
            env={**os.environ, "PYTHONPATH": roots, "PATH": path},
            cwd=scene.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        status, out, error = done.returncode, done.stdout, done.stderr
    said = (out + error).replace(str(scene.root), "")
    return status, said.replace(scene.node.bootstrap, BOOTSTRAP)
