"""Subcommand `aborted`: list aborted, open and doubtful transactions of partitions."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from kafka_segments.cli import console, jsonl, parsing, text
from kafka_segments.cli.sources import places_of
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import with_ends
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError, OptionError, OutputError
from kafka_segments.errors.escaping import escape
from kafka_segments.log.discovery import discover
from kafka_segments.log.log_files import is_unopened
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.open_partition import open_log
from kafka_segments.log.partition import Partition
from kafka_segments.log.replicas import resolve
from kafka_segments.log.skipped_files import SkippedFiles, log_skipped

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `aborted` to the command's parsers."""
    parser = subparsers.add_parser(
        "aborted",
        help="list aborted and open transactions",
        description="List the aborted and the open transactions of each partition, and its last stable "
        "offset, up to which consumers of committed records can read. Transactions are taken from the "
        "records; an index file that disagrees is reported.",
        epilog="Exit status: 0 clean, 1 damage, a transaction in doubt or a wrong index, 2 a path that "
        "cannot be opened.",
    )
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SRC",
        help="a log directory, the directory of a partition or tier, or a .log file (to list only "
        "transactions that reach into this segment): paths, addresses or patterns. Replicas are merged into "
        "one log",
    )
    parsing.add_format(parser)
    parsing.add_no_crc(parser)
    parsing.add_named_options(parser)
    parsing.add_examples(
        parser,
        ("aborted /data1/orders-3", "aborted and open transactions of a partition"),
        ("aborted --format jsonl /data1", "all partitions, as JSON lines"),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    status = console.CLEAN
    skipped = list[SkippedFiles]()
    places = places_of(arguments)
    with console.waiting("listing segments"):
        copies = discover(places, arguments.sources, skipped=skipped, prefer_names=True)
    log_skipped(skipped, is_all=True)
    asked = {segment.path for copy in copies for segment in copy.segments}
    # A transaction may begin and end in other segments than those that were asked for.
    with console.waiting("listing and opening segments"):
        logs = resolve(
            places, discover(places, [copy.path for copy in copies], skipped=[], prefer_names=True)
        )
    try:
        for log in logs:
            if not log.pieces:
                raise OptionError(
                    "it has no live segment, whose transactions could be listed: read it with dump or cat",
                    path=log.copies[0],
                )
            status = max(status, _print(places, log, asked, arguments))
        with console.writing() as stdout:
            stdout.flush()
    except BrokenPipeError:
        console.silence_stdout()
    return status


def _print(places: Places, log: PartitionLog, asked: Collection[str], arguments: argparse.Namespace) -> int:
    """Print one partition; returns its status."""
    status = console.CLEAN
    try:
        with open_log(places, log, check_crc=arguments.check_crc) as partition:
            words = f"reading the batches of {partition.topic}-{partition.partition}"
            for line in console.waited(_Lines(partition, asked).lines(), words):
                status = max(status, line.status)
                with console.writing() as stdout:
                    stdout.write(line.jsonl() if arguments.format == "jsonl" else line.text())
    except OutputError:
        raise
    except KafkaFormatError as error:
        console.say(str(error.with_context(path=error.path or log.copies[0])))
        status = console.NOT_OPENED
    return status


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of output, as values and as text."""

    values: dict[str, Any]
    words: str
    status: int = console.CLEAN
    damage: Damage | None = None

    def jsonl(self) -> bytes:
        if self.damage is not None:
            return jsonl.line(self.damage, self.damage.path)
        return jsonl.encode(self.values)

    def text(self) -> bytes:
        if self.damage is not None:
            path = escape(self.damage.path).encode("utf-8", "backslashreplace")
            return b"    " + path + b": " + text.line(self.damage)
        return escape(self.words).encode("utf-8", "backslashreplace") + b"\n"


class _Lines:
    """Lines of output of one partition.

    Args:
        partition: all of it.
        asked: paths of the segments that were asked for.
    """

    def __init__(self, partition: Partition, asked: Collection[str]) -> None:
        self._partition = partition
        self._name = {"topic": partition.topic, "partition": partition.partition}
        self._asked = asked
        segments = with_ends(partition.segments)
        self._ranges = [(one.base_offset, end) for one, end in segments if one.path in asked]
        self._is_all = len(self._ranges) == len(partition.segments)

    def lines(self) -> Iterator[_Line]:
        """Yield lines for the partition, its transactions, and findings."""
        outcome = self._partition.outcome
        yield self._summary()
        for one in outcome.aborted:
            if self._touches(one.first_offset, one.last_offset):
                values = self._values("aborted", one, "first_offset", "last_offset", "last_stable_offset")
                words = f"    aborted: producer {one.producer_id}, offsets {one.first_offset} to "
                yield _Line(values, f"{words}{one.last_offset} (the marker)")
        for doubtful in outcome.doubtful:
            if self._touches(doubtful.first_offset, doubtful.last_offset):
                values = self._values("doubtful", doubtful, "first_offset", "last_offset")
                words = f"    in doubt: producer {doubtful.producer_id}, offsets {doubtful.first_offset} to "
                yield _Line(
                    values, f"{words}{doubtful.last_offset}: {_place(doubtful.damage)}", console.FINDINGS
                )
        for unended in outcome.open:
            if self._touches(unended.first_offset, None):
                values = self._values("open", unended, "first_offset")
                values["is_doubtful"] = unended.damage is not None
                words = f"    open: producer {unended.producer_id}, from offset {unended.first_offset} on"
                doubt = "" if unended.damage is None else f"; it may have ended: {_place(unended.damage)}"
                status = console.CLEAN if unended.damage is None else console.FINDINGS
                yield _Line(values, words + doubt, status)
        yield from self._findings()

    def _summary(self) -> _Line:
        partition, outcome = self._partition, self._partition.outcome
        values = {"type": "partition", "path": partition.path, **self._name}
        values |= {
            "log_start_offset": partition.log_start_offset,
            "end_offset": outcome.end_offset,
            "last_stable_offset": outcome.last_stable_offset,
            "num_aborted": len(outcome.aborted),
            "num_doubtful": len(outcome.doubtful),
            "num_open": len(outcome.open),
        }
        words = (
            f"{partition.topic}-{partition.partition}: last stable offset {outcome.last_stable_offset} of "
            f"{outcome.end_offset}; transactions aborted: {len(outcome.aborted)}, open: {len(outcome.open)}, "
            f"in doubt: {len(outcome.doubtful)}"
        )
        return _Line(values, words)

    def _findings(self) -> Iterator[_Line]:
        for damage in self._partition.outcome.damage:
            if self._is_all or damage.path in self._asked:
                status = console.NOT_OPENED if is_unopened(damage) else console.FINDINGS
                yield _Line({}, "", status, damage)
        for error in self._partition.check_indexes():
            values = {"type": "finding", "path": error.path, "error": type(error).__name__}
            values["detail"] = error.detail
            yield _Line(values, f"    {error}", console.FINDINGS)

    def _values(self, kind: str, one: Any, *names: str) -> dict[str, Any]:
        values = {"type": kind, **self._name, "producer_id": one.producer_id}
        return values | {name: getattr(one, name) for name in names}

    def _touches(self, first: int, last: int | None) -> bool:
        """Return whether a transaction overlaps the requested segments."""
        return self._is_all or any(
            (end is None or first < end) and (last is None or last >= start) for start, end in self._ranges
        )


def _place(damage: Damage) -> str:
    if is_unopened(damage):
        return f"{damage.path} cannot be opened"
    return f"{damage.path}, position {damage.position} is damaged"
