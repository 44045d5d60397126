"""What the verbs that run tasks share: engines and progress."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kafka_segments.cli import console
from kafka_segments.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from kafka_segments.core.io.jobs import Engine

__all__ = [
    "JobProgress",
    "add_engine_options",
    "add_progress_option",
    "delayed_progress",
    "engine_of",
    "is_drawn",
    "size_words",
]

_SECONDS_BEFORE = 2.0  # that no progress is shown
_SECONDS_BETWEEN_LINES = 10


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what runs the tasks."""
    parser.add_argument(
        "--engine",
        choices=("spark", "local"),
        help="what runs the tasks: spark (the default if pyspark and Java are installed), or local: "
        "processes on this machine, without Java",
    )
    parser.add_argument(
        "--master",
        help="the Spark master; default: that of spark-submit, otherwise local[*], all cores of this machine",
    )


def add_progress_option(parser: argparse.ArgumentParser) -> None:
    """Add `--progress`, which `is_drawn` reads."""
    parser.add_argument(
        "--progress",
        action="store_true",
        help="draw a progress bar even if standard error is not a terminal (by default it then gets lines "
        "of text)",
    )


def engine_of(arguments: argparse.Namespace) -> tuple[Engine, str]:
    """Return the engine that the arguments ask for, and its name for people.

    Raises:
        OptionError: `--master` without Spark.
        MissingExtraError: pyspark is not installed.
    """
    from kafka_segments.core.io.jobs import LocalEngine

    if arguments.engine == "local" or (arguments.engine is None and not _has_spark(arguments)):
        if arguments.master is not None:
            raise OptionError("--master is only for --engine spark")
        return LocalEngine(), "tasks"
    try:
        from kafka_segments.spark.task_engine import SparkEngine
    except ImportError as error:
        if isinstance(error, MissingExtraError):
            raise
        raise MissingExtraError(
            "pyspark is not installed: pip install 'kafka-segments[spark]', or --engine local", extra="spark"
        ) from error
    return SparkEngine(arguments.master), "Spark"


def _has_spark(arguments: argparse.Namespace) -> bool:
    if arguments.master is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    has_java = bool(os.environ.get("JAVA_HOME")) or shutil.which("java") is not None
    return has_java and find_spec("pyspark") is not None


def is_drawn(arguments: argparse.Namespace) -> bool:
    """Return whether to draw a bar: on a terminal if tqdm is there, and wherever `--progress` asks for it.

    Raises:
        MissingExtraError: `--progress` without tqdm.
    """
    has_tqdm = find_spec("tqdm") is not None
    if arguments.progress and not has_tqdm:
        raise MissingExtraError("--progress needs tqdm: pip install 'kafka-segments[spark]'", extra="spark")
    return arguments.progress or (has_tqdm and console.is_terminal(sys.stderr))


def delayed_progress(stack: ExitStack, name: str, *, draw: bool, verb: str) -> Callable[[int, int], None]:
    """Return a function that shows progress once two seconds have passed: a bar, or lines.

    It is called with numbers of bytes: that are done, and of all. Arguments as for `JobProgress`.
    """
    began, shown_by = time.monotonic(), list[JobProgress]()

    def show(done: int, total: int) -> None:
        if not shown_by:
            if time.monotonic() - began < _SECONDS_BEFORE:
                return
            shown_by.append(JobProgress(stack, name, draw=draw, verb=verb))
        shown_by[0].show(done, total)

    return show


class JobProgress:
    """Progress of the job: a bar, or a line from time to time.

    Args:
        stack: closes the bar.
        name: of the engine.
        draw: whether to draw a bar.
        verb: the subcommand.
    """

    def __init__(
        self,
        stack: ExitStack,
        name: str,
        *,
        draw: bool,
        verb: str = "ingest",
    ) -> None:
        self._stack = stack
        self._draw, self._verb = draw, verb
        self._begun: tuple[float, int] | None = None  # when, and the bytes that were done by then
        self._bar: Any = None
        self._last_done = -1
        self._starting = stack.enter_context(ExitStack())
        self._starting.enter_context(console.waiting(f"starting {name}"))
        self._next_line = time.monotonic()

    def show(self, done: int, total: int) -> None:
        """Update the bar, or print a line if the last one is old enough.

        Args:
            done: bytes that the tasks that are done had to read.
            total: of all tasks.
        """
        started, first_done = self._begun = self._begun or (time.monotonic(), done)
        self._starting.close()
        if self._draw:
            self._move(done, total)
        elif done != self._last_done and total and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            self._last_done = done
            rate = (done - first_done) / max(time.monotonic() - started, 1e-3)
            each = f", {size_words(rate)}/s" if rate else ""
            console.say(f"{size_words(done)} of {size_words(total)} done{each}")

    def _move(self, done: int, total: int) -> None:
        if self._bar is None:
            from tqdm import tqdm

            settings = {"unit": "B", "unit_scale": True, "unit_divisor": 1024, "dynamic_ncols": True}
            bar = tqdm(total=total, initial=done, desc=self._verb, **settings)
            self._bar = self._stack.enter_context(bar)
        self._bar.update(done - self._bar.n)


def size_words(num_bytes: float) -> str:
    """Return a number of bytes as text with its unit."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if num_bytes < 1024:
            return f"{num_bytes:.0f} {unit}" if unit == "bytes" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1024
    return f"{num_bytes:.1f} TiB"
