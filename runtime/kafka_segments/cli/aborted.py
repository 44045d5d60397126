"""Subcommand `aborted`: list aborted, open and doubtful transactions of partitions."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator

from kafka_segments.cli import console, parsing, text
from kafka_segments.cli.output import Line, attributes_of, error_values, line_values, print_lines
from kafka_segments.cli.sources import places_of
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import with_ends
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError, OptionError, OutputError
from kafka_segments.errors.escaping import escape
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import Kind, of_kinds
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
    with console.waiting("listing and opening segments"):
        # A transaction may begin and end in other segments than those that were asked for.
        if any(of_kinds(copy.findings, Kind.LEFT_OUT) for copy in copies):
            copies = discover(places, [copy.path for copy in copies], skipped=[], prefer_names=True)
        logs = resolve(places, copies)
    with console.printing():
        for log in logs:
            if not log.pieces:
                raise OptionError(
                    "it has no live segment, whose transactions could be listed: read it with dump or cat",
                    path=log.copies[0],
                )
            status = max(status, _print(places, log, asked, arguments))
    return status


def _print(places: Places, log: PartitionLog, asked: Collection[str], arguments: argparse.Namespace) -> int:
    """Print one partition; returns its status."""
    try:
        with open_log(places, log, check_crc=arguments.check_crc) as partition:
            words = f"reading the batches of {partition.topic}-{partition.partition}"
            return print_lines(console.waited(_lines(partition, asked), words), arguments.format)
    except OutputError:
        raise
    except KafkaFormatError as error:
        console.say(str(error.with_context(path=error.path or log.copies[0])))
        return console.NOT_OPENED


def _lines(partition: Partition, asked: Collection[str]) -> Iterator[Line]:
    """Yield lines for a partition, its transactions, and findings.

    Args:
        partition: all of it.
        asked: paths of the segments that were asked for.
    """
    segments = with_ends(partition.segments)
    ranges = [(one.base_offset, end) for one, end in segments if one.path in asked]
    is_all = len(ranges) == len(partition.segments)

    def touches(first: int, last: int | None) -> bool:
        return is_all or any(
            (end is None or first < end) and (last is None or last >= start) for start, end in ranges
        )

    errors = partition.check_indexes()  # in the pass that determines the outcomes
    yield _summary(partition)
    yield from _transactions(partition, touches)
    for damage in partition.outcome.damage:
        if is_all or damage.path in asked:
            status = console.NOT_OPENED if is_unopened(damage) else console.FINDINGS
            path = escape(damage.path).encode()
            yield Line(damage, b"    " + path + b": " + text.line(damage), status)
    for error in errors:
        yield Line({"type": "finding"} | error_values(error), f"    {error}", console.FINDINGS)


def _transactions(partition: Partition, touches: Callable[[int, int | None], bool]) -> Iterator[Line]:
    name, outcome = attributes_of(partition, "topic", "partition"), partition.outcome
    for one in outcome.aborted:
        if touches(one.first_offset, one.last_offset):
            values = attributes_of(one, "producer_id", "first_offset", "last_offset", "last_stable_offset")
            words = f"    aborted: producer {one.producer_id}, offsets {one.first_offset} to "
            yield Line({"type": "aborted"} | name | values, f"{words}{one.last_offset} (the marker)")
    for doubtful in outcome.doubtful:
        if touches(doubtful.first_offset, doubtful.last_offset):
            values = attributes_of(doubtful, "producer_id", "first_offset", "last_offset")
            words = f"    in doubt: producer {doubtful.producer_id}, offsets {doubtful.first_offset} to "
            words += f"{doubtful.last_offset}: {_place(doubtful.damage)}"
            yield Line({"type": "doubtful"} | name | values, words, console.FINDINGS)
    for unended in outcome.open:
        if touches(unended.first_offset, None):
            values = attributes_of(unended, "producer_id", "first_offset")
            values["is_doubtful"] = unended.damage is not None
            words = f"    open: producer {unended.producer_id}, from offset {unended.first_offset} on"
            words += "" if unended.damage is None else f"; it may have ended: {_place(unended.damage)}"
            status = console.CLEAN if unended.damage is None else console.FINDINGS
            yield Line({"type": "open"} | name | values, words, status)


def _summary(partition: Partition) -> Line:
    outcome = partition.outcome
    numbers = {"aborted": len(outcome.aborted), "doubtful": len(outcome.doubtful), "open": len(outcome.open)}
    values = line_values("partition", partition, "path", "topic", "partition", "log_start_offset")
    values |= attributes_of(outcome, "end_offset", "last_stable_offset")
    words = (
        f"{partition.topic}-{partition.partition}: last stable offset {outcome.last_stable_offset} of "
        f"{outcome.end_offset}; transactions aborted: {numbers['aborted']}, open: {numbers['open']}, "
        f"in doubt: {numbers['doubtful']}"
    )
    return Line(values | {f"num_{name}": number for name, number in numbers.items()}, words)


def _place(damage: Damage) -> str:
    if is_unopened(damage):
        return f"{damage.path} cannot be opened"
    return f"{damage.path}, position {damage.position} is damaged"
