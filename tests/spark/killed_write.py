"""Run by test_write_destination: writes in processes that kill themselves at a call of the system.

Arguments: `append` or `overwrite`, a name of `CALLS`, then pairs: the number of the call at which the process
dies, 0 for never, and the directory. Prints for each how the process ended, and how many calls there were.
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

from kafka_segments.core.io import outputs

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


def main(mode: str, call: str, *pairs: str) -> None:
    for last, path in zip(pairs[::2], pairs[1::2], strict=True):
        child = os.fork()  # all is imported by now, and no thread was started
        if child == 0:
            print("calls", run(Path(path), mode, call, int(last)), flush=True)
            os._exit(0)
        print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
