"""The commands of docs/operations/broken-disk.md: from a disk with bad sectors to a broker on what is left.

Strategy: an image of ext4 stands for the disk, and the real ddrescue is given a map of its bad blocks; what
needs the rights of root (`mount`) is done by debugfs. The broker's own scripts are its classes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.broker.clients import create, put_in
from tests.broker.harness import HERE
from tests.house.commands import ROOT
from tests.recording.kafka43 import Node
from tests.recording.server import Kit
from tests.salvage.brokers import objections
from tests.salvage.made import batches_of, hurt, segment
from tests.salvage.test_started import written

PAGE = ROOT / "docs" / "operations" / "broken-disk.md"
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
MISSING = [name for name in ("ddrescue", "mke2fs", "debugfs") if shutil.which(name, path=PATH) is None]
LEN_DISK = "64M"
LEN_SECTOR = 512

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif(bool(MISSING), reason=f"not on the PATH: {', '.join(MISSING)}"),
]


def commands() -> list[str]:
    """The lines of the page, in its order."""
    codes = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [line for code in codes for line in code.splitlines()]


@dataclass
class Machine:
    """A machine on which the page's commands run.

    Attributes:
        root: a directory for everything.
        node: the broker.
        environment: of Java.
        done: what each command printed.
    """

    root: Path
    node: Node
    environment: dict[str, str] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        """Those that the page names."""
        paths = {
            "DISK": "disk",
            "IMAGES": "images",
            "LOGS": "images/mounted/kafka",
            "REPLICA": "broker-2",
            "DEST": "salvaged",
        }
        return {name: str(self.root / path) for name, path in paths.items()} | {"DATA": str(self.node.data)}

    def program(self, name: str, line: str) -> None:
        """Put a program on the PATH."""
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def run(self, line: str) -> None:
        """Run a command; it may find something, and must not fail."""
        roots = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "generated")])
        path = os.pathsep.join([str(self.root / "bin"), PATH])
        paths = {"PYTHONPATH": roots, "PATH": path}
        environment = {**os.environ, **self.environment, **self.variables, **paths}
        found = subprocess.run(
            ["sh", "-c", line], env=environment, cwd=self.root, capture_output=True, text=True, timeout=300
        )
        is_verb = line.startswith("kafka-segments")
        assert found.returncode in ((0, 1) if is_verb else (0,)), (line, found.stderr)
        self.done[line] = found.stdout


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A broker's log directory on a disk with bad sectors in `orders-0`, and a replica that lacks the end."""
    root = tmp_path_factory.mktemp("machine")
    node = Node(Kit("k4", str(HERE / "java")), root / "node")
    orders = written(root / "written", "orders")
    with node.start():
        create(node.bootstrap, {"orders": {}})
    put_in(orders.folder, node.data / "orders-0")
    replica = root / "broker-2" / "orders-0"
    shutil.copytree(node.data / "orders-0", replica)
    sorted(replica.glob("*.log"))[-1].unlink()
    hurt(replica, 2)
    (root / "disks").mkdir()
    shutil.move(node.data, root / "disks" / "kafka")
    machine = Machine(root, node)
    bad = make_disk(root, root / "disks" / "kafka" / "orders-0")
    ddrescue = shutil.which("ddrescue")
    machine.program("kafka-segments", f'exec "{sys.executable}" -m kafka_segments "$@"')
    machine.program("ddrescue", f'exec "{ddrescue}" --test-mode="{bad}" "$@"')
    machine.program("umount", "exit 0")
    machine.program("mount", f'debugfs -R "rdump /kafka {root}/images/mounted" "{root}/images/disk.img"')
    words, machine.environment = node.kit.command("org.apache.kafka.tools.GetOffsetShell")
    machine.program("kafka-get-offsets.sh", f'exec {shlex.join(words)} "$@"')
    node.data.mkdir()
    return machine


def make_disk(root: Path, partition: Path) -> Path:
    """Make the disk's image, and the map of its bad sectors: of the second and third batch of a partition."""
    subprocess.run(
        ["mke2fs", "-q", "-t", "ext4", "-d", str(root / "disks"), str(root / "disk"), LEN_DISK],
        env={**os.environ, "PATH": PATH},
        check=True,
    )
    content, disk = segment(partition).read_bytes(), (root / "disk").read_bytes()
    start = disk.index(content[:4096])
    second = batches_of(partition)[1]
    first = (start + second.position) // LEN_SECTOR * LEN_SECTOR
    end = first + LEN_SECTOR
    rows = (0, first, "+"), (first, LEN_SECTOR, "-"), (end, len(disk) - end, "+")
    bad = root / "bad.map"
    bad.write_text("0x0 +\n" + "".join(f"0x{at:X} 0x{size:X} {status}\n" for at, size, status in rows))
    return bad


def test_the_page_leads_to_a_broker_that_serves_what_is_left(machine: Machine) -> None:
    lines = commands()
    at = next(at for at, line in enumerate(lines) if line.startswith("kafka-server-start.sh"))
    for line in lines[:at]:
        machine.run(line)
    findings = [text for line, text in machine.done.items() if line.startswith("kafka-segments verify")]
    assert re.search(r"/orders-0/\S+, position 0 to 716: batch-length: ", findings[0])
    assert findings[-1] == ""
    manifest = json.loads((machine.root / "salvaged/manifest.json").read_text())
    (orders,) = (one for one in manifest["partitions"] if one["topic"] == "orders")
    assert orders["missing"] == [] and orders["num_bytes"]["quarantined"] > 0
    with machine.node.start() as broker:
        for line in lines[at + 1 :]:
            machine.run(line.replace("localhost:9092", machine.node.bootstrap))
    *_, offsets = machine.done.values()
    assert offsets.split() == [f"orders:0:{orders['log_end_offset']}"]
    assert objections(broker.log.read_text(errors="replace"), "orders") == []
