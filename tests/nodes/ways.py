"""What is done to the files of a recorded node: each of `FILES` in each of `WAYS`, and `PLANTS` of names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = (
    "meta.properties",
    "bootstrap.checkpoint",
    ".kafka_cleanshutdown",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
FIRST, LAST = 0, -1
# Directory, the end of the file's name, and which of those with that end.
IN_PARTITIONS = (
    ("__cluster_metadata-0", "quorum-state", FIRST),
    ("__cluster_metadata-0", "leader-epoch-checkpoint", FIRST),
    ("__cluster_metadata-0", "partition.metadata", FIRST),
    ("__cluster_metadata-0", ".checkpoint", LAST),
    ("__cluster_metadata-0", ".checkpoint", FIRST),
    ("__cluster_metadata-0", ".log", LAST),
    ("__cluster_metadata-0", ".timeindex", LAST),
    ("__cluster_metadata-0", ".snapshot", LAST),
    ("events-0", "leader-epoch-checkpoint", FIRST),
    ("events-0", "partition.metadata", FIRST),
    ("events-0", ".log", FIRST),
    ("events-0", ".index", FIRST),
    ("events-0", ".timeindex", FIRST),
    ("events-0", ".log", LAST),
    ("events-0", ".timeindex", LAST),
    ("events-0", ".snapshot", LAST),
    ("payments-0", ".txnindex", FIRST),
    ("payments-0", ".snapshot", LAST),
    ("__consumer_offsets-0", ".log", LAST),
    ("__transaction_state-0", ".log", LAST),
)
WAYS = ("0 bytes", "zeros", "cut", "one byte", "another node's")


class Case(NamedTuple):
    """A change of a recorded node: the name of the file or of the plant, and the way."""

    state: str
    name: str
    way: str

    def __str__(self) -> str:
        return f"{self.state}: {self.name}: {self.way}"


def files_of(node: Path) -> Iterator[str]:
    """Names of the files of a node that are changed, relative to its log directory."""
    for name in ROOT:
        if (node / name).exists():
            yield name
    for directory, end, which in IN_PARTITIONS:
        yield f"{directory}/{_found(node / directory, end)[which].name}"


def cases_of(state: str, node: Path) -> Iterator[Case]:
    """All changes of a node."""
    yield Case(state, "", "nothing")
    for name in files_of(node):
        for way in WAYS:
            yield Case(state, name, way)
    for plant in PLANTS:
        yield Case(state, "", plant)


def change(case: Case, node: Path, other: Path) -> None:
    """Do to a copy of a node what a case says; `other` is the other node."""
    if case.way in PLANTS:
        PLANTS[case.way](node)
    elif case.name:
        path = node / case.name
        path.write_bytes(changed(path.read_bytes(), case.way, _counterpart(node, case.name, other)))


def changed(data: bytes, way: str, others: bytes) -> bytes:
    """The content of a file after a change in some way."""
    if way == "0 bytes":
        return b""
    if way == "zeros":
        return bytes(len(data))
    written = len(data.rstrip(b"\0"))  # the rest of an index is preallocated
    if way == "cut":
        return data[: written // 2]
    if way == "one byte":
        at = written // 2
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] if written else data
    assert way == "another node's"
    return others


def _found(directory: Path, end: str) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.name.endswith(end))


def _counterpart(node: Path, name: str, other: Path) -> bytes:
    """The content of the other node's file of a name, or of the one in the same place among its kind."""
    if (other / name).exists():
        return (other / name).read_bytes()
    directory, _, file = name.rpartition("/")
    if not directory:
        return b""
    end = file[20:] if "-" not in file[:31] else file[31:]
    at = [path.name for path in _found(node / directory, end)].index(file)
    theirs = _found(other / directory, end)
    return theirs[min(at, len(theirs) - 1)].read_bytes()


def _directory(name: str, node: Path) -> None:
    (node / name).mkdir()


def _link(name: str, node: Path) -> None:
    if (node / name).is_dir():
        shutil.rmtree(node / name)
    os.symlink("nowhere", node / name)


def _file(name: str, node: Path) -> None:
    (node / name).write_bytes(b"")


def _gone(name: str, node: Path) -> None:
    shutil.rmtree(node / name) if (node / name).is_dir() else (node / name).unlink()


def _renamed(name: str, to: str, node: Path) -> None:
    (node / name).rename(node / to)


PLANTS: Mapping[str, Callable[[Path], None]] = {
    "an empty directory lost+found": partial(_directory, "lost+found"),
    "an empty directory archive": partial(_directory, "archive"),
    "an empty directory remote-log-index-cache": partial(_directory, "remote-log-index-cache"),
    "an empty directory orders-3": partial(_directory, "orders-3"),
    "an empty directory orders-3x": partial(_directory, "orders-3x"),
    "a file lost+found": partial(_file, "lost+found"),
    "a link orders-3 to nowhere": partial(_link, "orders-3"),
    "events-0 is a link to nowhere": partial(_link, "events-0"),
    "events-0/99999999999999999999.log": partial(_file, "events-0/99999999999999999999.log"),
    "events-0/notes.log": partial(_file, "events-0/notes.log"),
    "events-0/notes.txt": partial(_file, "events-0/notes.txt"),
    "events-0/99999999999999999999.snapshot": partial(_file, "events-0/99999999999999999999.snapshot"),
    "meta.properties is gone": partial(_gone, "meta.properties"),
    "bootstrap.checkpoint is gone": partial(_gone, "bootstrap.checkpoint"),
    "quorum-state is gone": partial(_gone, "__cluster_metadata-0/quorum-state"),
    "__cluster_metadata-0 is gone": partial(_gone, "__cluster_metadata-0"),
    "events-0/partition.metadata is gone": partial(_gone, "events-0/partition.metadata"),
    "events-0/leader-epoch-checkpoint is gone": partial(_gone, "events-0/leader-epoch-checkpoint"),
    "events-0 is gone": partial(_gone, "events-0"),
    "events-0 is called Events-0": partial(_renamed, "events-0", "Events-0"),
    "recovery-point-offset-checkpoint is gone": partial(_gone, "recovery-point-offset-checkpoint"),
    "log-start-offset-checkpoint is gone": partial(_gone, "log-start-offset-checkpoint"),
    "replication-offset-checkpoint is gone": partial(_gone, "replication-offset-checkpoint"),
}
