"""Subcommand `report`: make one HTML page about segments, partitions or log directories."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import kafka_segments
from kafka_segments.cli import console, parsing
from kafka_segments.cli.input_check import checked_file, is_single_file
from kafka_segments.core.formats.file_names import absolute_path, is_address
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.new_outputs import new_file
from kafka_segments.core.io.outputs import check_absent
from kafka_segments.core.io.store_settings import store_settings
from kafka_segments.errors import KafkaFormatError, MissingCodecError, OptionError
from kafka_segments.log.checkpoints import Checkpoints
from kafka_segments.log.log_dir import refuse_below_sources
from kafka_segments.log.model import LogPiece, PartitionLog
from kafka_segments.log.skipped_files import SkippedFiles
from kafka_segments.query.options import option_names
from kafka_segments.query.query import Topics
from kafka_segments.query.query_options import files_of, query_of
from kafka_segments.query.resolve import logs_asked_for, select

if TYPE_CHECKING:
    from kafka_segments.report.report_totals import ReportTotals

__all__ = ["add_parser", "run"]

_OPTIONS = option_names("file")
_MAX_DETAILS = 200


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `report` to the command's parsers."""
    parser = subparsers.add_parser(
        "report",
        help="make one HTML page about segments, partitions or log directories",
        description="Make one HTML page that needs no network: records and bytes over time, compression, "
        "sizes of batches, producers, transactions, leader epochs, missing offsets, and a map of the damage "
        "in each segment. Headers are read, checksums verified; no message content is in the page unless "
        "--with-payload asks for it.",
        epilog="Exit status: 0 clean, 1 damage, missing offsets, a transaction in doubt or a wrong file "
        "beside the segments (the page is written), 2 a path that cannot be opened (the page has the rest), "
        "or wrong usage, 3 the page could not be written.",
    )
    parsing.add_sources(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the page to write: a file that does not exist"
    )
    parsing.add_flag(
        parser,
        "--with-payload",
        "also show the bytes of damaged places, and the first and last messages of each partition that "
        "is shown in detail: keys, values and headers",
    )
    parsing.add_no_crc(parser, "do not verify batch checksums: damage inside batches is not found")
    parser.add_argument(
        "--max-partitions",
        type=int,
        default=12,
        metavar="N",
        help=f"show this many partitions in detail, at most {_MAX_DETAILS}: those with damage first, then "
        "the largest; default: 12",
    )
    parsing.add_options(parser, "subscribe", "subscribePattern")
    parsing.add_named_options(parser, f"which files to read: {', '.join(_OPTIONS)}", flags=("--option",))
    parsing.add_examples(
        parser,
        ("report /var/lib/kafka/data -o logs.html", "one page about all partitions"),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.report.chart_svg import check_addresses
    from kafka_segments.report.log_dirs import log_dirs_of
    from kafka_segments.report.page import PageFacts, page_of
    from kafka_segments.report.page_tables import headline, not_read, verdict
    from kafka_segments.report.report_totals import ReportTotals

    if not 0 <= arguments.max_partitions <= _MAX_DETAILS:
        raise OptionError(f"--max-partitions is {arguments.max_partitions}; give 0 to {_MAX_DETAILS}")
    check_addresses()
    destination = _checked_destination(arguments.sources, arguments.output)
    options = parsing.named_options(arguments.option, _OPTIONS)
    places = Places(store_settings(options))
    skipped: list[SkippedFiles] = []
    checkpoints = Checkpoints(places)
    with console.waiting("listing segments"):
        logs = list(_logs(arguments, options, places, skipped, checkpoints))
    totals = ReportTotals(arguments.max_partitions)
    _add_all(totals, logs, places, arguments)
    facts = PageFacts(
        tuple(arguments.sources),
        kafka_segments.__version__,
        time.time_ns() // 1_000_000,
        arguments.check_crc,
        arguments.with_payload,
        tuple(map(str, skipped)),
        log_dirs_of(places, (log for log, _is_whole in logs)),
    )
    _add_gone(totals, [path for path, *_what in facts.log_dirs], checkpoints, arguments)
    with console.waiting("drawing charts"):
        page = page_of(totals, facts)
    with new_file(destination, arguments.output) as output:
        output.write(page.encode("utf-8", "backslashreplace"))
    rest = not_read(totals, facts.skipped)
    more = f" Not read: {'. '.join(rest)}." if rest else ""
    said = " ".join(filter(None, (headline(totals), verdict(totals, rest)[1])))
    console.say(f"{arguments.output}: {said}{more}")
    return totals.status


def _add_all(
    totals: ReportTotals,
    logs: Sequence[tuple[PartitionLog, bool]],
    places: Places,
    arguments: argparse.Namespace,
) -> None:
    """Sum up the logs, one by one; one that cannot be read is named."""
    from kafka_segments.report.log_summary import summarize_log

    for log, is_whole in logs:
        name = f"{log.topic}-{log.partition}" if log.topic else log.pieces[0].segment.path
        try:
            with console.waiting(f"reading {name}"):
                summary = summarize_log(
                    places,
                    log,
                    check_crc=arguments.check_crc,
                    with_payload=arguments.with_payload,
                    is_whole=is_whole,
                )
        except MissingCodecError:
            raise  # fatal: with the codec installed, the figures are complete
        except KafkaFormatError as error:
            error = error.with_context(path=error.path or log.pieces[0].segment.path)
            console.say(str(error))
            totals.fail(name, error)
        else:
            totals.add(summary)


def _add_gone(
    totals: ReportTotals, log_dirs: Sequence[str], checkpoints: Checkpoints, arguments: argparse.Namespace
) -> None:
    """Note what is gone from the log directories that are to be reported as a whole."""
    if query_of(parsing.options_of(arguments)).topics == Topics():
        given = {absolute_path(one).rstrip("/") for one in arguments.sources}
        for path in (one for one in log_dirs if one.rstrip("/") in given):
            totals.miss(checkpoints.gone_from(path))


def _logs(
    arguments: argparse.Namespace,
    options: dict[str, str],
    places: Places,
    skipped: list[SkippedFiles],
    checkpoints: Checkpoints,
) -> Iterator[tuple[PartitionLog, bool]]:
    """Yield the logs at the paths, and whether each has all of its segments.

    A file of this machine that is in no partition's directory is a log by itself.
    """
    single = [path for path in arguments.sources if is_single_file(path)]
    others = [path for path in arguments.sources if path not in single]
    query = query_of(parsing.options_of(arguments))
    paths = list(map(absolute_path, others))
    if paths:
        is_all = query.topics == Topics()  # the verdict is about internal topics, too
        is_merged = (lambda _topic: True) if is_all else None
        files = files_of(options)
        found = logs_asked_for(
            places,
            paths,
            query,
            files,
            skipped,
            prefer_names=True,
            checkpoints=checkpoints,
            is_merged=is_merged,
        )
        chosen = [log for log in (found if is_all else select(found, query.topics)[0]) if log.pieces]
        if not chosen and not single:
            raise OptionError("there is no segment to report on in these paths", path=", ".join(paths))
        if not is_all:
            skipped.append(SkippedFiles(("other topics",), "they were not requested"))
        yield from ((log, True) for log in chosen)
    yield from ((_log_of(path), False) for path in single)


def _log_of(path: str) -> PartitionLog:
    """Make a log of one file.

    Raises:
        OptionError: it is not a segment.
        ReadError: it cannot be opened.
    """
    stored = checked_file(path)
    piece = LogPiece(stored.base_offset, None, stored)
    return PartitionLog("", -1, (piece,), copies=(os.path.dirname(os.path.abspath(path)),))


def _checked_destination(sources: Sequence[str], output: str) -> str:
    """Return the destination with links resolved.

    Raises:
        OptionError: it exists, is an address, or is in the log directory of a source.
        OutputError: its directory does not exist.
    """
    if is_address(output) or output == "-":
        raise OptionError("-o takes a file on this machine", path=output)
    destination = os.path.realpath(output)
    check_absent(destination)
    refuse_below_sources(sources, destination, output)
    return destination
