"""Subcommand `ingest`: write new records of log directories to a table, with an account by partition."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_segments.cli import console, parsing
from kafka_segments.cli.jobs import add_engine_options, add_progress_option, engine_of, shown_progress
from kafka_segments.cli.output import print_table
from kafka_segments.core.formats.file_names import is_address, real_path
from kafka_segments.core.io.new_outputs import new_file
from kafka_segments.core.io.store_settings import store_settings
from kafka_segments.errors import OptionError, OutputError, TimestampRangeError
from kafka_segments.log.findings import Kind, copy_words, worst_first
from kafka_segments.query.options import GivenOptions, option_names
from kafka_segments.query.query_options import files_of, query_of
from kafka_segments.query.table_words import COUNTS, DIVISIONS

if TYPE_CHECKING:
    from kafka_segments.ingest.job import Ingest
    from kafka_segments.ingest.run_plan import Request
    from kafka_segments.ingest.run_report import RunMeter, RunReport
    from kafka_segments.ingest.runs.account import PartitionReport
    from kafka_segments.ingest.runs.run_state import CatalogTable, RunState
    from kafka_segments.ingest.tables import Table

__all__ = ["add_parser", "run", "table_of"]

_OPTIONS = (*option_names("query", "file"), "columns", "timestampOverflow")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `ingest` to the command's parsers."""
    parser = subparsers.add_parser(
        "ingest",
        help="write the new records of log directories to a table",
        description="Write the records of log directories to a table of Parquet files, in directories by "
        "topic and partition. Each later run adds the records that are new since the last one. Control "
        "records, records below the log start offset, and Kafka's internal topics (unless they are named) "
        "are left out. The sources are only read, and may belong to a running broker.",
        epilog="Exit status: 0 clean, 1 damage, missing offsets, or a partition left out (the rest was "
        "written), or a report that could not be written, 2 wrong usage, a path that cannot be opened, or a "
        "log that does not continue where the last run ended, 3 the table could not be written (and is "
        "unchanged, unless the message says that this is unknown), 130, 143 or 129 ended by Ctrl-C, SIGTERM "
        "or SIGHUP.",
    )
    parsing.add_sources(parser, metavar="SRC")
    parser.add_argument(
        "destination",
        metavar="DEST",
        help="a new or empty directory, or a table written by ingest; not below a source",
    )
    _add_read_options(parser)
    _add_table_options(parser)
    _add_run_file_options(parser)
    add_engine_options(parser)
    add_progress_option(parser)
    parsing.add_flag(
        parser, "--timings", "print how long Spark's start and the whole run took (to standard error)"
    )
    parsing.add_examples(
        parser,
        ("ingest /var/lib/kafka/data table", "all topics to Parquet; the next run continues from there"),
        (
            "ingest --subscribe orders --engine local /data1 /data2 table",
            "one topic from two disks, without Spark",
        ),
    )
    parser.set_defaults(run=run)


def _add_read_options(parser: argparse.ArgumentParser) -> None:
    parsing.add_options(
        parser, "subscribe", "subscribePattern", "kafka.isolation.level", "checkCrc", "maxDecompressedBytes"
    )
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what to do with a partition that does not continue where the last run ended (truncated, "
        "recreated, expired), or whose copies contradict each other: stop the run, or skip the partition; "
        "default: stop",
    )
    about = f"an option of the Spark source that selects what is read: {', '.join(_OPTIONS)}"
    parsing.add_named_options(parser, about)


def _add_table_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--table",
        choices=("parquet", "delta", "iceberg"),
        default="parquet",
        help="kind of table; default: parquet",
    )
    parser.add_argument(
        "--layout",
        metavar="NAME",
        help="use the columns of another system's tables: connector (Spark's kafka source), "
        "connector-headers, redpanda, aiven, automq",
    )
    parser.add_argument(
        "--catalog",
        metavar="NAME",
        help="a catalog from pyiceberg's configuration; default: an SQLite catalog below DEST",
    )
    parser.add_argument(
        "--identifier",
        metavar="NAMESPACE.TABLE",
        help="the Iceberg table in that catalog; created if it does not exist",
    )
    parser.add_argument(
        "--divide-by",
        choices=DIVISIONS,
        metavar="|".join(DIVISIONS),
        help="also divide files by the date, or date and hour, of the records' timestamps (UTC)",
    )
    parsing.add_flag(parser, "--bloom-filter", "write a bloom filter of the keys into each file")


def _add_run_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the files."""
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write a report of the run to this file as JSON, even if the run fails",
    )
    parser.add_argument(
        "--metrics",
        metavar="FILE",
        help="also write the report as OpenMetrics text; node_exporter's textfile collector wants a name "
        "that ends in .prom",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.ingest.run_report import RunMeter

    _check_run_files(arguments)
    meter = RunMeter(arguments.destination)
    try:
        status, done = _run(arguments, meter)
    except BaseException as error:
        _write_run_files(arguments, meter.report(console.status_of(error), error=error))
        raise
    is_written = _write_run_files(arguments, meter.report(status, done=done))
    return status if is_written else max(status, console.FINDINGS)


def _run(arguments: argparse.Namespace, meter: RunMeter) -> tuple[int, Ingest]:
    from kafka_segments.ingest.job import ingest
    from kafka_segments.ingest.run_plan import plan_ingest

    started = time.monotonic()
    request = _request(arguments)
    with console.waiting("listing and opening segments"):
        plan = plan_ingest(request, console.say)
    meter.planned(plan)
    if plan.internal:
        console.say(
            f"left out: internal topics {', '.join(plan.internal)}; --subscribe includes those it names"
        )
    engine, name = engine_of(arguments)
    console.say(
        f"partitions: {len(plan.logs)}, segments: {plan.num_segments}, bytes of files: {plan.num_bytes:,}; "
        f"starting {name}"
    )
    with shown_progress(arguments, name) as show:
        try:
            done = ingest(plan, meter.metered(engine), show=show, say=console.say)
        except TimestampRangeError as error:
            raise OutputError(
                f"{error.detail}; nothing was written. Use -o timestampOverflow=null to write null in its "
                "place, or clamp to write the nearest time that fits"
            ) from error
    status = _report_findings(done.partitions)
    if plan.has_earlier_damage:
        status = max(status, console.FINDINGS)
    _print_partitions(done.partitions)
    if arguments.timings:
        whole = time.monotonic() - started
        console.say(
            f"{name} started in {done.start_seconds:.1f} s, its job took {done.job_seconds:.1f} s; "
            f"whole job {whole:.1f} s"
        )
    return status, done


def _check_run_files(arguments: argparse.Namespace) -> None:
    """Check that the files can be written, before a run does anything.

    Raises:
        OptionError: one is not a file on this machine, in an existing directory.
    """
    for option in ("report", "metrics"):
        path = getattr(arguments, option)
        if path is None:
            continue
        if is_address(path):
            raise OptionError(f"--{option} takes a file on this machine", path=path)
        if os.path.isdir(path):
            raise OptionError(f"--{option} takes a file, but this is a directory", path=path)
        parent = os.path.dirname(path) or "."
        if not os.path.isdir(parent) or not os.access(parent, os.W_OK | os.X_OK):
            raise OptionError(
                f"--{option} cannot be written: {parent} is not a directory, or is not writable", path=path
            )


def _write_run_files(arguments: argparse.Namespace, report: RunReport) -> bool:
    """Write the files that are asked for; return whether that worked, and say if it did not."""
    from kafka_segments.ingest.run_report import report_to_json, to_open_metrics

    is_written = True
    for path, text_of in ((arguments.report, report_to_json), (arguments.metrics, to_open_metrics)):
        if path is None:
            continue
        try:
            with new_file(path, path, replaces=True) as output:
                output.write(text_of(report))
        except OutputError as error:
            console.say(f"{error}; this run is not in that file")
            is_written = False
    return is_written


def _request(arguments: argparse.Namespace) -> Request:
    from kafka_segments.ingest.files.parquet import check_bloom_filter
    from kafka_segments.ingest.run_plan import Request
    from kafka_segments.ingest.runs.run_state import TableSettings

    options = parsing.named_options(arguments.option, _OPTIONS) | parsing.options_of(arguments)
    given = GivenOptions({"timestampOverflow": "null"} | options)
    columns = _columns(given["columns"], arguments.layout)
    if arguments.bloom_filter:
        check_bloom_filter()
    query, division, catalog = query_of(options), arguments.divide_by, _catalog(arguments)
    return Request(
        sources=tuple(arguments.sources),
        destination=arguments.destination,
        query=query,
        settings=TableSettings(
            arguments.table, columns, query.isolation, division, arguments.layout, catalog
        ),
        files=files_of(options),
        bloom_filter=arguments.bloom_filter,
        check_crc=given["checkCrc"],
        max_decompressed=given["maxDecompressedBytes"],
        store_settings=store_settings(options),
        on_error=arguments.on_error,
        timestamp_overflow=given["timestampOverflow"],
    )


def _columns(asked: Sequence[str] | None, layout: str | None) -> tuple[str, ...]:
    """The names of the columns: those that are asked for, or of the layout."""
    from kafka_segments.core.segment.columnar.arrow_schema import schema_of
    from kafka_segments.ingest.files.layouts import LAYOUTS, check_layout

    if layout is not None:
        check_layout(layout)
        if asked is not None:
            raise OptionError("--layout determines the columns: use it without the option columns")
        return tuple(column.field.name for column in LAYOUTS[layout])
    columns = tuple(schema_of(asked).names)
    if "offset" not in columns:
        raise OptionError("the option columns lacks offset, which later runs need: add it")
    return columns


def _catalog(arguments: argparse.Namespace) -> CatalogTable | None:
    """Where the Iceberg table is; None below the destination."""
    from kafka_segments.ingest.runs.run_state import CatalogTable

    catalog, identifier = arguments.catalog, arguments.identifier
    if catalog is None and identifier is None:
        return None
    if arguments.table != "iceberg":
        raise OptionError("--catalog and --identifier are for --table iceberg")
    if catalog is None or identifier is None or "." not in identifier.strip("."):
        raise OptionError("--catalog NAME and --identifier NAMESPACE.TABLE must be given together")
    return CatalogTable(catalog, identifier)


def _report_findings(partitions: Sequence[PartitionReport]) -> int:
    """Print findings on standard error; return the exit status."""
    status = console.CLEAN
    for partition in partitions:
        if partition.timestamps_beyond:
            console.say(
                f"{partition.account.topic}-{partition.account.partition}: timestamps that the table cannot "
                f"hold: {partition.timestamps_beyond}; null or the nearest time was written "
                "(timestampOverflow)"
            )
            status = max(status, console.FINDINGS)
        if any(finding.is_loss for finding in partition.findings):
            name = f"{partition.account.topic}-{partition.account.partition}"
            console.say(copy_words(name, partition.findings))
        for finding in sorted(partition.findings, key=worst_first):
            console.say(str(finding))
            if finding.kind is Kind.NOT_OPENED or finding.is_missing_codec:
                status = max(status, console.NOT_OPENED)
            elif finding.kind not in (Kind.PENDING, Kind.AFTER_END, Kind.REMARK):
                status = max(status, console.FINDINGS)
    return status


_TITLES = (
    "topic", "partition", "first offset", "end offset", *COUNTS, "batches", "bytes in", "bytes out", "damage"
)  # fmt: skip


def _print_partitions(reports: Sequence[PartitionReport]) -> None:
    """Print the partitions of which something was taken, how many others there are, and the totals."""
    rows = [_row(one) for one in reports if not one.is_idle]
    num_idle = len(reports) - len(rows)
    words = "1 partition has" if num_idle == 1 else f"{num_idle:,} partitions have"
    print_table(_TITLES, rows, _totals(reports), note=f"{words} nothing new" if num_idle else "")


def _row(report: PartitionReport) -> tuple[str, ...]:
    account = report.account
    offsets = account.first_offset, account.end_offset
    return (account.topic, str(account.partition), *map(str, offsets), *_numbers([report]))


def _totals(reports: Sequence[PartitionReport]) -> tuple[str, ...]:
    return ("total", f"{len(reports):,}", "", "", *_numbers(reports))


def _numbers(reports: Sequence[PartitionReport]) -> list[str]:
    """The sums of all columns but the offsets."""
    names = (*COUNTS, "batches", "num_bytes")
    sums = [sum(getattr(one.account, name) for one in reports) for name in names]
    sums += [sum(one.bytes_out for one in reports), sum(one.num_damaged for one in reports)]
    return [f"{number:,}" for number in sums]


def table_of(arguments: argparse.Namespace) -> tuple[Table, RunState]:
    """Open the table at DEST; return it with its newest run.

    Raises:
        OptionError: there is no table, or an option that stores do not have.
        MissingExtraError: a package that the kind needs is not installed.
        ReadError: its newest run cannot be read.
    """
    from kafka_segments.ingest.runs.run_log import RunLog, newest_run
    from kafka_segments.ingest.tables import open_table

    destination = real_path(arguments.destination)
    settings = store_settings(parsing.named_options(arguments.option, ()))
    newest = newest_run(RunLog(destination, settings), arguments.destination)
    written = newest.settings
    table = open_table(written.kind, destination, settings, written.catalog)
    if written.catalog is not None and not table.is_published(newest):
        raise OptionError(
            f"the newest run names the table {written.catalog}, but is not in it: run ingest with --catalog "
            "and --identifier first, which adds it",
            path=arguments.destination,
        )
    return table, newest
