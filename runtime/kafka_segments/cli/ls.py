"""Subcommand `ls`: list topics, partitions, copies and segments, with offsets, times, sizes and codecs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial

from kafka_segments.cli import console, parsing
from kafka_segments.cli.jobs import SECONDS_BEFORE, add_progress_option, shown_progress
from kafka_segments.cli.ls_rows import (
    LEVELS,
    SORT_KEYS,
    ListRow,
    csv_of,
    listing_lines,
    row_of,
    rows_at,
    sorted_rows,
)
from kafka_segments.cli.output import print_lines
from kafka_segments.cli.sources import paths_of, places_of
from kafka_segments.core.formats.file_names import real_path
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.threads import in_threads
from kafka_segments.errors import KafkaFormatError, OptionError, raise_unless_file_at_fault
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import LEFT_OUT_KINDS, Kind, of_kinds
from kafka_segments.log.model import PartitionCopy, StoredSegment
from kafka_segments.log.opening import NUM_REQUESTS, is_remote
from kafka_segments.log.segment_figures import SegmentFigures, figures_by_ends, figures_by_headers
from kafka_segments.log.skipped_files import SkippedFiles

__all__ = ["add_parser", "run"]

Read = Callable[[Places, StoredSegment], SegmentFigures]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `ls` to the command's parsers."""
    parser = subparsers.add_parser(
        "ls",
        help="list topics, partitions, copies or segments",
        description="List the contents of log directories, partitions' directories and tiers: offsets, "
        "times, sizes, codecs and message formats. Only headers are read: without --headers the first one "
        "of each segment, the last entry of its time index, and the last batches of the newest segment. "
        "Sizes and offsets are then exact if the files have their right names; codecs and formats are those "
        "at the ends of segments.",
        epilog="Exit status: 0 clean, 1 a segment whose first header is unreadable, or a wrong file beside "
        "the segments, 2 a path that cannot be opened (the rest was listed), 3 the output could not be "
        "written.",
    )
    parsing.add_sources(parser)
    levels = parser.add_mutually_exclusive_group()
    levels.add_argument(
        "--level", choices=LEVELS, default="copies", help="what each line describes; default: copies"
    )
    levels.add_argument(
        "-l", dest="level", action="store_const", const="segments", help="short for --level segments"
    )
    parsing.add_flag(
        parser,
        "--headers",
        "read all headers, for exact numbers of batches and records, and bytes by codec and format",
    )
    parser.add_argument("--sort", choices=SORT_KEYS, default="name", help="order of lines; default: name")
    parser.add_argument("-r", "--reverse", action="store_true", help="reverse the order")
    parsing.add_flag(parser, "--bytes", "print sizes as numbers of bytes")
    parsing.add_format(parser, "csv")
    parsing.add_count(parser, "--jobs", "number of segments to read at a time", default=1)
    parsing.add_named_options(parser)
    add_progress_option(parser)
    parsing.add_examples(
        parser,
        ("ls /var/lib/kafka/data", "one line for each partition's directory"),
        ("ls --level topics --sort size -r /data1 /data2", "the largest topics of two disks first"),
        ("ls -l --headers /data1/orders-0", "each segment of a partition, with exact numbers"),
        ("ls --format csv -l /var/lib/kafka/data > segments.csv", "all segments, for a spreadsheet"),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    places = places_of(arguments, keep_cache=False)
    skipped: list[SkippedFiles] = []
    with console.waiting("listing directories"):
        copies, status = _copies(places, arguments.sources, skipped)
    read = figures_by_headers if arguments.headers else figures_by_ends
    with shown_progress(arguments, "reading headers", wait=SECONDS_BEFORE) as show:
        segments = list(_rows(places, copies, read, arguments.jobs, show))
    rows = sorted_rows(rows_at(arguments.level, segments), arguments.sort, is_reversed=arguments.reverse)
    findings = [one for copy in copies for one in copy.findings]
    for row in segments:
        for error in row.errors:
            console.say(f"{error if error.path else error.with_context(path=row.path)}")
            status = max(status, console.status_of(error))
    # Partitions share the checkpoints of their log directory.
    for words in dict.fromkeys(one.message for one in of_kinds(findings, Kind.UNUSED)):
        console.say(words)
        status = max(status, console.FINDINGS)
    for other in (*skipped, *of_kinds(findings, *LEFT_OUT_KINDS)):
        console.say(str(other))
    with console.printing():
        if arguments.format == "csv":
            console.write(csv_of(rows).encode())
        else:
            (total,) = rows_at("total", segments)
            is_human = not arguments.bytes
            lines = listing_lines(arguments.level, rows, total, skipped, findings, is_human=is_human)
            print_lines(lines, arguments.format)
    return status


def _copies(
    places: Places, given: Sequence[str], skipped: list[SkippedFiles]
) -> tuple[list[PartitionCopy], int]:
    """Find the copies at all paths, each directory once; say what cannot be listed."""
    found: dict[str, PartitionCopy] = {}
    status = console.CLEAN
    for path in paths_of(places, given):
        try:
            if isinstance(path, KafkaFormatError):
                raise path
            if path == "-":
                raise OptionError("standard input cannot be listed: give directories or .log files")
            aside: list[SkippedFiles] = []
            for copy in discover(places, [path], skipped=aside, prefer_names=True):
                _take(found, copy)
            skipped += [other for other in aside if other not in skipped]
        except KafkaFormatError as error:
            console.say(str(error))
            status = max(status, console.NOT_OPENED)
    return sorted(found.values(), key=lambda copy: (copy.topic, copy.partition, copy.path)), status


def _take(found: dict[str, PartitionCopy], copy: PartitionCopy) -> None:
    """Take a copy; of the same directory given file by file, all files that were given."""
    key = real_path(copy.path or ".")
    known = found.get(key)
    if known is None or len(copy.segments) > len(known.segments):
        found[key] = copy


def _rows(
    places: Places,
    copies: Sequence[PartitionCopy],
    read: Read,
    num_jobs: int,
    show: Callable[[int, int], None],
) -> Iterator[ListRow]:
    """Yield a row for each segment, in order."""
    work = [(copy, segment) for copy in copies for segment in copy.segments]
    total = sum(segment.size for _copy, segment in work)
    done = 0
    for (copy, segment), figures in zip(work, _figures(places, read, work, num_jobs), strict=True):
        yield row_of(copy, segment, figures)
        done += segment.size
        show(done, total)


def _figures(
    places: Places, read: Read, work: Sequence[tuple[PartitionCopy, StoredSegment]], num_jobs: int
) -> Iterator[SegmentFigures]:
    """Yield the figures of segments, in order; in threads if several are read at once."""
    segments = [segment for _copy, segment in work]
    is_far = any(is_remote(segment.file) for segment in segments[:1])
    num_threads = max(num_jobs, NUM_REQUESTS if is_far else 1)
    found_in = partial(_read, places, read)
    with closing(in_threads(found_in, segments, num_threads, num_waiting=None)) as found:
        yield from (figures for _, figures in found)


def _read(places: Places, read: Read, segment: StoredSegment) -> Generator[SegmentFigures, None, None]:
    try:
        yield read(places, segment)
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        end = segment.base_offset if segment.end_offset is None else segment.end_offset
        yield SegmentFigures(False, segment.base_offset, end, errors=(error,))
