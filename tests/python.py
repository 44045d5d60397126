"""Python in processes of its own, and the memory that it takes there and here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def environment(**variables: str) -> dict[str, str]:
    """The variables of this process, some others, and all that can be imported here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}


def run_python(
    *words: object, status: int | None = 0, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run Python with some words; it has to end with a status, if there is one."""
    options = {"capture_output": True, "text": True, **options}
    done = subprocess.run([sys.executable, *map(str, words)], env=environment(**(env or {})), **options)
    assert status in (None, done.returncode), done.stderr
    return done


_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.lockf(file, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def locked(path: Path) -> Iterator[Path]:
    """Another process holds the POSIX lock of a file that a broker holds, Java's FileLock."""
    command = [sys.executable, "-c", _LOCK, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        yield path


def peak() -> int:
    """The most bytes that this process had; Linux' `ru_maxrss` would begin with what the parent had."""
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (kib,) = re.findall(r"VmHWM:\s+([0-9]+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(kib) << 10


@contextmanager
def traced() -> Iterator[Callable[[], tuple[int, int]]]:
    """Follow what Python's allocator gives: the bytes that are held, and that were at most."""
    tracemalloc.start()
    try:
        yield tracemalloc.get_traced_memory
    finally:
        tracemalloc.stop()
