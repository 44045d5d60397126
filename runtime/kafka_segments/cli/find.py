"""Subcommand `find`: find records by conditions, in segments and in damaged places."""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import chain
from typing import Any

from kafka_segments.cli import console, parsing
from kafka_segments.cli.find_output import FindOutput, output_of, undecided_words
from kafka_segments.cli.input_check import check_is_log, refuse_other_file
from kafka_segments.cli.jobs import SECONDS_BEFORE, add_progress_option, is_drawn, shown_progress
from kafka_segments.cli.opened_files import GivenFiles, fast_rows_if_there
from kafka_segments.cli.selection import add_isolation_option, add_selection_options, conditions_of
from kafka_segments.cli.sources import GivenFile, places_of
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.jobs import Progress, in_processes
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.records.batch_records import ManyRows
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.errors import KafkaFormatError, OptionError, ReadError
from kafka_segments.log.findings import Finding, Kind, damage_words
from kafka_segments.log.isolation_view import IsolatedSegment
from kafka_segments.log.log_dir import refuse_below_sources
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.content_tests import (
    Contains,
    ContentTest,
    HasHeader,
    HasJson,
    HasKey,
    MatchesPattern,
    compiled_pattern,
)
from kafka_segments.search.found import Finds, FoundRecord, RawPlace, SearchCounts, UndecidedPlace
from kafka_segments.search.json_paths import parse_json_test
from kafka_segments.search.segment_search import Checked, SegmentSearch, position_to_begin
from kafka_segments.search.time_bound import TimeBound

__all__ = ["add_parser", "run"]

_MAX_BYTES, _MAX_EVENTS = 256 << 10, 1000  # of one message of a process


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `find` to the command's parsers."""
    parser = subparsers.add_parser(
        "find",
        help="find records by key, content, header, JSON, offset, time or producer",
        description="Find the records that meet all conditions. The bytes of damaged places are searched as "
        "they are stored. Only the checksums of batches that may contain such a record are verified.",
        epilog="Exit status: 0 clean, whether or not something was found, 1 damage or a record that could "
        "not be judged, 2 wrong usage or a file that cannot be opened, 3 the output could not be written.",
    )
    parsing.add_files(parser, "; - reads standard input")
    _add_conditions(parser)
    add_isolation_option(parser)
    _add_output_options(parser)
    checks = parser.add_mutually_exclusive_group()
    parsing.add_flag(checks, "--all-crc", "verify the checksums of all batches, to find all damage")
    parsing.add_no_crc(checks)
    parsing.add_count(
        parser, "--jobs", "number of processes; the output keeps the order of the files", default=1
    )
    parsing.add_named_options(parser)
    add_progress_option(parser)
    parsing.add_examples(
        parser,
        ("find --key user-42 logs", "the records with this key"),
        ("find --text 'card declined' --since 2026-01-31 logs", "text in records of this day or later"),
        ("find --regex 'timeout after \\d+ ms' --in value logs/orders-*", "a regular expression in values"),
        (
            "find --json '$.amount >= 1000' --header source=shop --format jsonl logs/orders-0",
            "JSON values of records with this header, as JSON lines",
        ),
        ("find --bytes 'cafe 00ff' --count logs", "the number of records that contain these bytes"),
        ("find --text 'card declined' --to-segment found logs", "the batches of these records, as segments"),
    )
    parser.set_defaults(run=run)


def _add_conditions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("conditions", "all of them must hold; those with + may be repeated")
    many: dict[str, Any] = {"action": "append", "default": []}
    group.add_argument("--key", metavar="TEXT", help="records with this key")
    group.add_argument("--text", metavar="TEXT", help="+ records that contain this text, in UTF-8", **many)
    group.add_argument("--bytes", metavar="HEX", help="+ records that contain these bytes", **many)
    group.add_argument(
        "--regex", metavar="PATTERN", help="+ records that match, as Python's re on bytes", **many
    )
    group.add_argument(
        "--in",
        dest="part",
        choices=("any", "key", "value", "headers"),
        default="any",
        help="the parts that --text, --bytes and --regex search; default: any",
    )
    group.add_argument(
        "--header", metavar="NAME[=VALUE]", help="+ records with this header (and value)", **many
    )
    group.add_argument(
        "--json",
        metavar="'PATH [OP VALUE]'",
        help="+ records whose value is JSON with something at PATH, such as $.a.b, $.list[0], $.list[*]['a "
        "name']; OP is one of = != < <= > >=",
        **many,
    )
    group.add_argument("--producer-id", type=int, metavar="N", help="records of this producer")
    add_selection_options(group)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=("text", "jsonl", "arrow", "parquet"),
        default="text",
        help="default: text, for people; jsonl prints the lines of dump",
    )
    parsing.add_flag(parser, "--count", "print only the number of records")
    parsing.add_count(parser, "--limit", "stop after N records")
    parser.add_argument(
        "--to-segment",
        metavar="DIR",
        help="write the batches of these records, whole and unchanged, as segments below DIR, a new or "
        "empty directory",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    conditions = _conditions(arguments)
    places = places_of(arguments)
    with console.waiting("listing segments"):
        check_crc = arguments.check_crc
        files = GivenFiles(places, arguments.files, arguments.isolation, check_crc=check_crc)
    is_committed = arguments.isolation == "read_committed"
    if "-" in arguments.files and (arguments.to_segment is not None or arguments.jobs > 1 or is_committed):
        why = "standard input is read only once: write it to a file for --to-segment, --jobs or --isolation"
        raise OptionError(why)
    if arguments.to_segment is not None:
        real = os.path.realpath(arguments.to_segment)
        refuse_below_sources(arguments.files, real, arguments.to_segment)
    output = output_of(arguments.format, directory=arguments.to_segment, is_count=arguments.count)
    find = _Find(files, conditions, output, arguments)
    # There is no bar among the lines of the output.
    is_bar = is_drawn(arguments) and (arguments.progress or not console.is_terminal(sys.stdout))
    with closing(output), console.printing():
        with closing(files), ExitStack() as stack:
            progress = shown_progress(arguments, "the search", wait=SECONDS_BEFORE)
            find.search(stack.enter_context(progress) if is_bar else None)
        output.finish(find.counts)
    return files.status


def _conditions(arguments: argparse.Namespace) -> Conditions:
    found = conditions_of(arguments, _tests(arguments), arguments.producer_id)
    if found == Conditions() and not arguments.count:
        raise OptionError("no condition is given: use --key, --text, --regex, --offsets or another one")
    return found


def _tests(arguments: argparse.Namespace) -> Iterator[ContentTest]:
    part = arguments.part
    if arguments.key is not None:
        yield HasKey(os.fsencode(arguments.key))
    for text in arguments.text:
        yield Contains(os.fsencode(text), part)
    for digits in arguments.bytes:
        try:
            yield Contains(bytes.fromhex(digits), part)
        except ValueError:
            detail = f"--bytes {digits!r}: give two hexadecimal digits for each byte, as in cafe00"
            raise OptionError(detail) from None
    for pattern in arguments.regex:
        yield MatchesPattern(compiled_pattern(pattern), part)
    for header in arguments.header:
        name, equals, value = header.partition("=")
        yield HasHeader(os.fsencode(name), os.fsencode(value) if equals else None)
    for text in arguments.json:
        yield HasJson(parse_json_test(text), text, "key" if part == "key" else "value")


class _Find:
    """Search of files."""

    def __init__(
        self, files: GivenFiles, conditions: Conditions, output: FindOutput, arguments: argparse.Namespace
    ) -> None:
        self.counts = SearchCounts()
        self._files, self._conditions, self._output = files, conditions, output
        self._limit: int | None = arguments.limit
        self._jobs: int = arguments.jobs
        self._checked: Checked = "candidates" if arguments.check_crc else "none"
        if arguments.all_crc:
            self._checked = "all"
        self._is_committed = arguments.isolation == "read_committed"
        num_together = _MAX_EVENTS if self._jobs > 1 else 1
        self._task = _FileTask(files.places, conditions, self._checked, num_together)
        # Text has damage in its place; if both streams are terminals, that is enough.
        self._is_repeated = (
            arguments.format != "text" or arguments.count or not console.is_terminal(sys.stdout)
        )

    @property
    def _is_over(self) -> bool:
        num_found = self.counts.num_records + self.counts.num_raw_places
        return self._limit is not None and num_found >= self._limit

    def search(self, show: Progress | None) -> None:
        """Search files; report those that cannot be opened on standard error."""
        for one in self._files.failed():
            self._files.refuse(one)
        files = self._files.there()
        total, done = sum(map(_size_of, files)), 0
        killed = ReadError("the process that searched this file ended early; search it again")
        with in_processes(self._task.pieces, files, self._jobs, killed) as found:
            for file, pieces in zip(files, found, strict=True):
                self._events(_joined(pieces, file.path), file)
                if self._is_over:
                    console.say(f"--limit {self._limit} is reached; the rest was not searched")
                    return
                done += _size_of(file)
                if show is not None:
                    show(done, total)
        self._files.report_gaps(self._conditions.touches)

    def _events(self, events: Iterator[_FileEvent], file: GivenFile) -> None:
        def read(batch: Batch) -> bytes:
            with closing(file.open(self._files.places)) as source:
                return bytes(source.read(batch.position, batch.size))

        view: IsolatedSegment | None = None
        if self._is_committed:
            try:
                with self._files.open_committed(file) as view:  # its answers need no open file
                    pass
            except KafkaFormatError as error:
                self._files.refuse(error.with_context(path=error.path or file.path))
                deque(events, 0)  # a process may send what it finds in the next file only then
                return
        for event in console.waited(events, f"searching {file.path}"):
            if isinstance(event, SearchCounts):
                self.counts += event
            elif isinstance(event, Finding):
                console.say(str(event.error))
                self._files.note()
            elif isinstance(event, KafkaFormatError):
                self._files.refuse(event)
            elif not (view and isinstance(event, FoundRecord)) or view.shows(event.batch, event.record):
                self._take(event, read)
                if self._is_over:
                    self.counts += SearchCounts(num_files=1)
                    return
        for damage in view.doubts if view else ():
            self._take(damage, read)

    def _take(self, found: Finds, read: Callable[[Batch], bytes]) -> None:
        self._output.add(found, read)
        self.counts += SearchCounts(
            num_records=isinstance(found, FoundRecord),
            num_raw_places=isinstance(found, RawPlace),
            num_damages=isinstance(found, Damage),
            num_undecided=isinstance(found, UndecidedPlace),
        )
        if isinstance(found, UndecidedPlace):
            self._files.note()
            if self._is_repeated:
                console.say(undecided_words(found))
        elif isinstance(found, Damage):
            self._files.damaged(found)
            if self._is_repeated:
                console.say(damage_words(found))


def _size_of(file: GivenFile) -> int:
    return 0 if file.segment is None else file.segment.size


_FileEvent = Finds | Finding | KafkaFormatError | SearchCounts
"""What is found; an index that is wrong; why the file cannot be searched; at the end, counts."""


class _FileTask:
    """Search of one file after the other, in one process.

    Args:
        places: opens files.
        conditions: what is looked for.
        checked: of which batches checksums are verified.
        num_together: events in a list, at most.
    """

    def __init__(self, places: Places, conditions: Conditions, checked: Checked, num_together: int) -> None:
        self._places, self._conditions, self._num_together = places, conditions, num_together
        self._checked: Checked = checked
        self._rows, self._bound = ManyRows(fast_rows_if_there), TimeBound()

    def __reduce__(self) -> tuple[type[_FileTask], tuple[Any, ...]]:
        return _FileTask, (self._places, self._conditions, self._checked, self._num_together)

    def _events(self, file: GivenFile) -> Iterator[_FileEvent]:
        """Yield what is found in a file."""
        try:
            if file.segment is None:
                refuse_other_file(file.path)
            with closing(file.open(self._places)) as source, self._bound.ticking():
                with open_segment(source) as segment:
                    if file.segment is None:
                        check_is_log(segment)
                yield from self._search(file, source)
        except KafkaFormatError as error:
            yield error.with_context(path=error.path or file.path)

    def pieces(self, file: GivenFile) -> Iterator[list[_FileEvent]]:
        """Yield what is found in a file, as lists that are not long, nor large."""
        kept, num_bytes = list[_FileEvent](), 0
        for event in self._events(file):
            kept.append(event)
            if isinstance(event, FoundRecord):
                num_bytes += len(event.record.key or b"") + len(event.record.value or b"")
            if num_bytes >= _MAX_BYTES or len(kept) >= self._num_together:
                yield kept
                kept, num_bytes = [], 0
        yield kept

    def _search(self, file: GivenFile, source: Source) -> Iterator[_FileEvent]:
        unused: list[KafkaFormatError] = []
        position: int | None = 0
        if file.segment is not None:
            position = position_to_begin(self._places, file.segment, source, self._conditions, unused)
        yield from (Finding.of_error(Kind.UNUSED, "", -1, error) for error in unused)
        search = SegmentSearch(
            source, self._conditions, checked=self._checked, rows=self._rows, bound=self._bound
        )
        yield from search.events(source.size if position is None else position)
        yield search.counts


def _joined(pieces: Iterator[list[_FileEvent]], path: str) -> Iterator[_FileEvent]:
    try:
        yield from chain.from_iterable(pieces)
    except ReadError as error:
        yield error.with_context(path=path)
