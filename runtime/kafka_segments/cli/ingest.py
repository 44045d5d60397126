"""Subcommand `ingest`: log directories to Parquet by a Spark job, with a table of the result."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from kafka_segments.cli import console
from kafka_segments.cli.parsing import add_options, options_of
from kafka_segments.errors import OutputError, TimestampRangeError
from kafka_segments.log.findings import Kind
from kafka_segments.query.options import GivenOptions
from kafka_segments.query.query_options import query_of

if TYPE_CHECKING:
    from kafka_segments.spark.report import PartitionReport

__all__ = ["add_parser", "run"]

_SECONDS_BETWEEN_LINES = 10
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `ingest` to the command's parsers."""
    parser = subparsers.add_parser(
        "ingest",
        help="write the records of log directories to Parquet, with Spark",
        description="Write the records of log directories to Parquet files, in directories by topic and "
        "partition. Control records, what lies below the log start offset, and Kafka's internal topics (if "
        "they are not named) are left out. Nothing is written to the sources; a live broker's are fine.",
        epilog="Exit status: 0 clean, 1 damage, missing offsets, or something left out (the rest was "
        "written), 2 wrong usage or something that cannot be opened, 3 the destination could not be written "
        "(and is not there), 130, 143 or 129 ended by Ctrl-C, SIGTERM or SIGHUP.",
    )
    parser.add_argument(
        "sources", nargs="+", metavar="SRC", help="a log directory, a partition's directory, or a .log file"
    )
    parser.add_argument("destination", metavar="DEST", help="a new or empty directory, not below a source")
    add_options(
        parser, "subscribe", "subscribePattern", "kafka.isolation.level", "checkCrc", "maxDecompressedBytes"
    )
    parser.add_argument(
        "--master", default="local[*]", help="Spark's master; default: local[*], all cores of this machine"
    )
    parser.add_argument(
        "--progress",
        action="store_true",
        help="draw a progress bar even if standard error is not a terminal",
    )
    parser.add_argument(
        "--timings", action="store_true", help="say on standard error how long Spark took to start, and all"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    with _ended_by_signals():
        return _run(arguments)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the job as Ctrl-C does, so that no partial output is left.

    The exit status is that of a shell: 128 plus the signal's number.
    """

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the clean-up
        raise SystemExit(128 + number)

    numbers = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    except SystemExit:
        console.say("terminated")
        raise
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _run(arguments: argparse.Namespace) -> int:
    from kafka_segments.spark.ingest import ingest, plan_ingest

    started = time.monotonic()
    options = options_of(arguments)
    query, given = query_of(options), GivenOptions(options)
    check_crc, max_decompressed = given["checkCrc"], given["maxDecompressedBytes"]
    with console.waiting("listing and opening segments"):
        plan = plan_ingest(arguments.sources, arguments.destination, query.topics, query.isolation)
    if plan.internal:
        console.say(
            f"left out: internal topics {', '.join(plan.internal)}; --subscribe writes those it names"
        )
    console.say(
        f"partitions: {len(plan.reports)}, segments: {len(plan.splits)}, bytes of files: {plan.num_bytes:,}; "
        "starting Spark"
    )
    with ExitStack() as stack:
        progress = _Progress(
            stack, draw=arguments.progress or (sys.stderr is not None and sys.stderr.isatty())
        )
        try:
            done = ingest(
                plan,
                master=arguments.master,
                check_crc=check_crc,
                max_decompressed=max_decompressed,
                show=progress.show,
                say=console.say,
            )
        except TimestampRangeError as error:
            raise OutputError(f"{error.detail}; nothing was written") from error
    status = _report_findings(done.partitions)
    _print_table(done.partitions)
    if arguments.timings:
        whole = time.monotonic() - started
        console.say(
            f"Spark started in {done.start_seconds:.1f} s, its job took {done.job_seconds:.1f} s; "
            f"whole job {whole:.1f} s"
        )
    return status


class _Progress:
    """Progress of the job: a bar, or a line from time to time.

    Args:
        stack: closes the bar.
        draw: whether to draw a bar.
    """

    def __init__(self, stack: ExitStack, draw: bool) -> None:
        self._stack = stack
        self._draw = draw
        self._bar: Any = None
        self._last_done = -1
        self._starting = stack.enter_context(ExitStack())
        self._starting.enter_context(console.waiting("starting Spark"))
        self._next_line = time.monotonic()

    def show(self, done: int, total: int) -> None:
        """Update the bar, or print a line if the last one is old enough."""
        self._starting.close()
        if self._draw:
            self._move(done, total)
        elif done != self._last_done and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            self._last_done = done
            console.say(f"{done} of {total} task{'' if total == 1 else 's'} done")

    def _move(self, done: int, total: int) -> None:
        if self._bar is None:
            from tqdm import tqdm

            bar = tqdm(total=total, unit="task", desc="ingest", dynamic_ncols=True)
            self._bar = self._stack.enter_context(bar)
        self._bar.update(done - self._bar.n)


def _report_findings(partitions: Sequence[PartitionReport]) -> int:
    """Print findings on standard error; return the exit status."""
    status = console.CLEAN
    for partition in partitions:
        for finding in partition.findings:
            console.say(str(finding))
            if finding.kind is Kind.NOT_OPENED or finding.is_missing_codec:
                status = max(status, console.NOT_OPENED)
            elif finding.kind not in (Kind.PENDING, Kind.AFTER_END, Kind.REMARK):
                status = max(status, console.FINDINGS)
    return status


_TITLES = (
    "topic",
    "partition",
    "batches",
    "records",
    "bytes in",
    "bytes out",
    "first offset",
    "last offset",
    "missing",
    "damage",
)


def _print_table(partitions: Sequence[PartitionReport]) -> None:
    rows = [_TITLES, *map(_row, partitions), _totals(partitions)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    lines = [_line(row, widths) for row in rows]
    rule = "  ".join("-" * width for width in widths)
    try:
        with console.writing() as stdout:
            stdout.write("\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1], ""]).encode())
            stdout.flush()
    except BrokenPipeError:
        console.silence_stdout()


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Align text to the left, numbers to the right."""
    numbers = (word.rjust(width) for word, width in zip(row[1:], widths[1:], strict=True))
    return "  ".join([row[0].ljust(widths[0]), *numbers])


def _row(partition: PartitionReport) -> tuple[str, ...]:
    return (
        partition.topic,
        str(partition.partition),
        f"{partition.batches:,}",
        f"{partition.records:,}",
        f"{partition.bytes_in:,}",
        f"{partition.bytes_out:,}",
        "-" if partition.first_offset is None else str(partition.first_offset),
        "-" if partition.last_offset is None else str(partition.last_offset),
        f"{partition.missing:,}",
        f"{partition.num_damaged:,}",
    )


def _totals(partitions: Sequence[PartitionReport]) -> tuple[str, ...]:
    return (
        "total",
        f"{len(partitions):,}",
        f"{sum(partition.batches for partition in partitions):,}",
        f"{sum(partition.records for partition in partitions):,}",
        f"{sum(partition.bytes_in for partition in partitions):,}",
        f"{sum(partition.bytes_out for partition in partitions):,}",
        "",
        "",
        f"{sum(partition.missing for partition in partitions):,}",
        f"{sum(partition.num_damaged for partition in partitions):,}",
    )
