"""Subcommand `audit`: check that a table has what its runs have written, and what logs have."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafka_segments.cli import console, parsing
from kafka_segments.cli.ingest import table_of
from kafka_segments.cli.output import print_table
from kafka_segments.core.formats.file_names import absolute_path
from kafka_segments.core.io.store_settings import store_settings
from kafka_segments.query.table_words import COUNTS

if TYPE_CHECKING:
    from kafka_segments.ingest.audit import AuditedPartition, ComparedPartition, Problem

__all__ = ["add_parser", "run"]

_TITLES = ("topic", "partition", "runs", "files", "first offset", "end offset", *COUNTS, "problems")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `audit` to the command's parsers."""
    parser = subparsers.add_parser(
        "audit",
        help="check that a table written by ingest has every offset of its logs once",
        description="Count the rows of a table that `kafka-segments ingest` has written, and compare them "
        "with the accounts of its runs: every offset must be a row, a control record, a record of an "
        "aborted transaction, lawfully absent, or lost. With SRC, also read the logs again: records that "
        "the table lacks are a problem, records that the logs have since removed (retention, compaction) "
        "are not.",
        epilog="Exit status: 0 everything adds up, 1 it does not, or offsets were lost, 2 wrong usage or a "
        "path that cannot be opened.",
    )
    parser.add_argument("destination", metavar="DEST", help="a table written by ingest")
    parser.add_argument("sources", nargs="*", metavar="SRC", help="the sources that ingest was given")
    parser.add_argument(
        "--since",
        type=int,
        default=0,
        metavar="RUN",
        help="accept losses of runs before this one: they are reported, but do not change the exit status",
    )
    parsing.add_named_options(parser)
    parsing.add_examples(
        parser,
        ("audit table", "check that the table has every offset once"),
        ("audit table /var/lib/kafka/data", "also check that it has every record of its logs"),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.ingest.audit import audit_logs, audit_table
    from kafka_segments.ingest.runs.run_log import read_history

    table, _ = table_of(arguments)
    history = read_history(table.log, arguments.destination)
    with console.waiting("counting rows"):
        partitions, problems = audit_table(table, history)
    compared: list[ComparedPartition] = []
    if arguments.sources:
        paths = list(map(absolute_path, arguments.sources))
        with console.waiting("reading logs"):
            settings = store_settings(parsing.named_options(arguments.option, ()))
            compared = list(audit_logs(table, history, partitions, paths, settings))
    status = _report([*problems, *(one for found in partitions for one in found.problems)])
    status = max(status, _report_logs(compared))
    for (topic, partition), accounts in history.accounts.items():
        for number, account in accounts:
            if account.lost:
                console.say(f"{topic}-{partition}: {account.lost} offsets were lost in run {number}")
                status = max(status, console.FINDINGS if number >= arguments.since else console.CLEAN)
    print_table(_TITLES, [*map(_row, partitions)], _totals(partitions))
    return status


def _report(problems: Iterable[Problem]) -> int:
    status = console.CLEAN
    for one in problems:
        console.say(str(one))
        status = console.FINDINGS
    return status


def _report_logs(compared: Iterable[ComparedPartition]) -> int:
    """Say what logs have that the table lacks, and the other way round."""
    status = console.CLEAN
    for one in compared:
        account = one.table.account
        name = f"{account.topic}-{account.partition}"
        if one.log is None:
            console.say(f"{name}: not compared, because it is not in the logs that were given")
            continue
        gone = account.records - one.log.records + one.num_missing
        if gone > 0:
            console.say(f"{name}: the log no longer has {gone} of its {account.records} records")
        status = max(status, _report(one.problems))
    return status


def _row(one: AuditedPartition) -> tuple[str, ...]:
    account = one.account
    ranges = one.num_runs, one.num_files, account.first_offset, account.end_offset
    return (account.topic, str(account.partition), *map(str, ranges), *_numbers([one]))


def _totals(partitions: Sequence[AuditedPartition]) -> tuple[str, ...]:
    num_files = sum(one.num_files for one in partitions)
    return ("total", f"{len(partitions):,}", "", f"{num_files:,}", "", "", *_numbers(partitions))


def _numbers(partitions: Sequence[AuditedPartition]) -> list[str]:
    sums = [sum(getattr(one.account, name) for one in partitions) for name in COUNTS]
    sums.append(sum(len(one.problems) for one in partitions))
    return [f"{number:,}" for number in sums]
