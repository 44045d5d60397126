"""Kafka's own classes that write: `MemoryRecordsBuilder`, and the indexes that `LogSegment` makes."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.oracle import jvm

HERE = Path(__file__).resolve().parent
BUILDER_POM = HERE.parent / "oracle" / "pom.xml"
STORAGE_POM = HERE.parent / "segment" / "pom.xml"

DEFAULTS: dict[str, Any] = {
    "magic": 2,
    "compression": "none",
    "timestamp_type": "CreateTime",
    "log_append_time": -1,
    "base_offset": None,
    "last_offset": None,
    "partition_leader_epoch": -1,
    "producer_id": -1,
    "producer_epoch": -1,
    "base_sequence": -1,
    "is_transactional": False,
    "is_control": False,
    "delete_horizon_ms": -1,
    "batch_size": 1 << 20,
    "max_timestamp": -1,
}


def built(cases: Sequence[Mapping[str, Any]]) -> list[bytes | str]:
    """What the builder makes of each case: bytes, or what it throws."""
    lines = "".join(json.dumps(DEFAULTS | dict(case)) + "\n" for case in cases)
    output = _run("Built", BUILDER_POM, [], lines)
    return [line if line.startswith("!") else base64.b64decode(line) for line in output.splitlines()]


def recover(directories: Sequence[tuple[Path, int]]) -> list[int]:
    """Make the indexes of the segment in each directory anew, by an interval; how many bytes were cut off."""
    arguments = [part for directory, interval in directories for part in (str(directory), str(interval))]
    return list(map(int, _run("Recovered", STORAGE_POM, arguments, "").split()))


def record(
    offset: int,
    timestamp: int = -1,
    key: bytes | None = None,
    value: bytes | None = None,
    headers: Sequence[tuple[bytes | None, bytes | None]] = (),
) -> dict[str, Any]:
    """A record as `Built` takes it."""
    pairs = [[_text(key), _text(value)] for key, value in headers]
    fields = {"key": _text(key), "value": _text(value), "headers": pairs}
    return {"offset": offset, "timestamp": timestamp, **fields}


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _run(program: str, pom: Path, arguments: Sequence[str], lines: str) -> str:
    jars = jvm.fetch_jars(pom)
    classes = jvm.compile_java([HERE / "java" / f"{program}.java"], jars)
    command, environment = jvm.java_command([classes, jars], *jvm.QUIET, program, *arguments)
    done = subprocess.run(command, env=environment, input=lines, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout
