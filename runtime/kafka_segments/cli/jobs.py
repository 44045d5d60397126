"""What the verbs that run tasks share: engines and progress."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kafka_segments.cli import console
from kafka_segments.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from kafka_segments.core.io.jobs import Engine, Progress

__all__ = [
    "SECONDS_BEFORE",
    "add_engine_options",
    "add_progress_option",
    "engine_of",
    "is_drawn",
    "shown_progress",
    "size_words",
]

SECONDS_BEFORE = 2.0
"""That no progress is shown of work that may be short."""
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


@contextmanager
def shown_progress(arguments: argparse.Namespace, work: str, *, wait: float = 0.0) -> Iterator[Progress]:
    """Provide a function that shows progress: as a bar, or as a line from time to time.

    It is called with numbers of bytes: that are done, and of all.

    Args:
        arguments: of a verb with `add_progress_option`.
        work: what is done, or does it.
        wait: seconds before anything is shown; 0 also shows that the work is starting.

    Raises:
        MissingExtraError: as `is_drawn`.
    """
    draw, began = is_drawn(arguments), time.monotonic()
    with ExitStack() as stack, ExitStack() as starting:
        if not wait:
            starting.enter_context(console.waiting(f"starting {work}"))
        shown = _Bar(stack, arguments.verb) if draw else _Lines()

        def show(done: int, total: int) -> None:
            starting.close()
            if time.monotonic() - began >= wait:
                shown.show(done, total)

        yield show


class _Lines:
    """A line on standard error from time to time."""

    def __init__(self) -> None:
        self._begun: tuple[float, int] | None = None  # when, and the bytes that were done by then
        self._last_done, self._next_line = -1, 0.0

    def show(self, done: int, total: int) -> None:
        now = time.monotonic()
        started, first_done = self._begun = self._begun or (now, done)
        if done != self._last_done and total and now >= self._next_line:
            self._last_done, self._next_line = done, now + _SECONDS_BETWEEN_LINES
            rate = (done - first_done) / max(now - started, 1e-3)
            each = f", {size_words(rate)}/s" if rate else ""
            console.say(f"{size_words(done)} of {size_words(total)} done{each}")


class _Bar:
    """A bar of tqdm, named after the verb, which the stack closes."""

    def __init__(self, stack: ExitStack, verb: str) -> None:
        self._stack, self._verb = stack, verb
        self._bar: Any = None

    def show(self, done: int, total: int) -> None:
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
