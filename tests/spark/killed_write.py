"""Run by test_write_destination: a write in a process that kills itself at a call of the system.

Arguments: the directory, `append` or `overwrite`, a name of `CALLS`, and the number of the call at which it
dies; 0 for never. Prints how many calls there were.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from tests.spark.written_frames import batch, write

from kafka_segments.io import outputs

CALLS = ("mkdir", "rename", "fsync")


def counted(function: Callable[..., Any], calls: list[int], last: int) -> Callable[..., Any]:
    """The function, which kills the process in place of a call."""

    @wraps(function)
    def wrapped(*arguments: Any, **more: Any) -> Any:
        calls[0] += 1
        if calls[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **more)

    return wrapped


def run(path: Path, mode: str, call: str, last: int) -> int:
    """Write topics b and c, a task each; return the number of calls."""
    calls = [0]
    setattr(outputs.os, call, counted(getattr(os, call), calls, last))
    tasks = [[batch([{"topic": topic, "value": b"new"}] * 3)] for topic in "bc"]
    write(path, *tasks, overwrite=mode == "overwrite")
    return calls[0]


if __name__ == "__main__":
    print(run(Path(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4])))
