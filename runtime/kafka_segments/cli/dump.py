"""Subcommand `dump`: print segment files, in file order, as JSON lines or as text.

Strategy: one pass over the events of each file. With `--offsets` the line of a batch is delayed until one of
its records is in the range, and batches outside it are not decoded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from kafka_segments.cli import console, jsonl, parsing, text
from kafka_segments.cli.opened_files import Event, GivenFiles, Readable, fast_rows_if_there
from kafka_segments.cli.selection import add_isolation_option, offsets_of
from kafka_segments.cli.sources import GivenFile, places_of
from kafka_segments.core.formats.entries import Batch, Damage, Record
from kafka_segments.core.segment.records.batch_records import ManyRows
from kafka_segments.core.segment.segment import Segment
from kafka_segments.errors import OptionError
from kafka_segments.log.findings import damage_words
from kafka_segments.search.conditions import Conditions

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `dump` to the command's parsers."""
    parser = subparsers.add_parser(
        "dump",
        help="print every batch and record of segment files",
        description="Print every batch and record of segment files, and every damaged place.",
        epilog="Exit status: 0 clean, 1 damage, 2 a file that cannot be opened or is not a log, 3 the "
        "output could not be written.",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a .log or .checkpoint file, a pattern of these, or the directory of a partition, log or tier "
        "(all its segments, in order); paths or addresses; - reads standard input",
    )
    parsing.add_format(parser)
    parsing.add_flag(parser, "--headers-only", "print batches, but no records")
    parser.add_argument(
        "--offsets", metavar="A:B", help="only records with A <= offset < B; either may be left out"
    )
    parsing.add_no_crc(parser, "do not compute checksums (crc_valid is null)")
    add_isolation_option(parser)
    parsing.add_flag(
        parser,
        "--experimental-magic3",
        "also read batches of magic 3, a proposal that Kafka discarded; not for other files, where one "
        "wrong bit can make a batch look like magic 3",
    )
    parsing.add_named_options(parser)
    parser.add_argument(
        parsing.LIKE_KAFKA,
        dest="like_kafka",
        action="store_const",
        const=(),
        help="print what kafka-dump-log.sh of Kafka 4.3.1 prints, byte for byte; everything after this "
        "option is an argument of that tool, as in --like-kafka --files 0.log --print-data-log",
    )
    parsing.add_examples(
        parser,
        ("dump /data1/orders-3", "all segments of a partition"),
        ("dump --offsets 500:510 --format jsonl /data1/orders-3/*.log", "ten records as JSON lines"),
        ("dump --isolation read_committed /data1/orders-3", "what a consumer of committed records receives"),
        ("ssh broker cat 00000000000000000000.log | kafka-segments dump -", "a segment on another machine"),
    )
    parser.set_defaults(run=partial(_checked, parser))


def _checked(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    if arguments.like_kafka is None:
        if not arguments.files:
            parser.error("the following arguments are required: FILE")
        return run(arguments)
    if arguments.files:
        parser.error("--like-kafka takes its files after --files, as kafka-dump-log.sh does")
    from kafka_segments.like_kafka.tool import run_like_kafka
    from kafka_segments.like_kafka.tool_output import ToolOutput

    output = ToolOutput(console.writing, console.say)
    try:
        return run_like_kafka(arguments.like_kafka, output, ManyRows(fast_rows_if_there))
    except BrokenPipeError:
        console.silence_stdout()
        return console.CLEAN


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    asked = None if arguments.offsets is None else Conditions((), *offsets_of(arguments.offsets))
    is_text = arguments.format == "text"
    is_experimental = arguments.experimental_magic3
    if is_experimental and arguments.isolation == "read_committed":
        raise OptionError("--experimental-magic3 reads files one by one, without --isolation read_committed")
    if arguments.headers_only and arguments.check_crc:
        console.say("--headers-only does not verify checksums: damage inside batches is not found")
    files = GivenFiles(
        places_of(arguments),
        arguments.files,
        arguments.isolation,
        is_experimental=is_experimental,
        check_crc=arguments.check_crc,
        headers_only=arguments.headers_only,
    )
    with closing(files), console.printing():
        _Dump(files, asked, is_text=is_text, headers_only=arguments.headers_only).all()
        console.flush()
        if not is_experimental:  # the headers of other segments are read as Kafka's own formats
            files.report_gaps((asked or Conditions()).touches)
    return files.status


@dataclass(slots=True)
class _Span:
    """The range of offsets in all files, for a message if `--offsets` selects none of them."""

    first: int | None = None
    last: int | None = None
    num_shown: int = 0

    def add(self, batch: Batch) -> None:
        first = batch.last_offset if batch.base_offset is None else batch.base_offset
        self.first = first if self.first is None else min(self.first, first)
        self.last = batch.last_offset if self.last is None else max(self.last, batch.last_offset)

    def __str__(self) -> str:
        return (
            "the files, which contain no batch"
            if self.first is None
            else (f"the files' offsets {self.first} to {self.last}")
        )


class _Dump:
    """Printer of files on standard output.

    Args:
        files: what to print.
        asked: the offsets to print; None prints everything.
        is_text: print for people.
        headers_only: print no records.
    """

    def __init__(
        self, files: GivenFiles, asked: Conditions | None, *, is_text: bool, headers_only: bool
    ) -> None:
        self._files, self._asked = files, asked
        self._headers_only = headers_only
        self._is_text = is_text
        # If both streams are terminals, damage is printed only once, in its place.
        self._is_damage_repeated = not (
            is_text and console.is_terminal(sys.stdout) and console.is_terminal(sys.stderr)
        )
        self._is_coloured = is_text and console.is_coloured(sys.stdout)
        self._rows = ManyRows(fast_rows_if_there)
        self._span = _Span()

    def all(self) -> None:
        """Print files; report those that cannot be opened on standard error."""
        for one in self._files.found:
            if self._is_text and len(self._files.found) > 1 and isinstance(one, GivenFile):
                console.write(text.file_line(one.path))
            self._files.read(one, self._segment)
        if self._asked is None or self._span.num_shown:
            return
        start, end = ("" if one is None else one for one in (self._asked.start, self._asked.end))
        if start == "" or start != end:
            console.say(f"nothing is printed: --offsets {start}:{end} selects none of {self._span}")

    def _segment(self, segment: Readable) -> None:
        num_sound = num_damaged = 0
        with console.waiting(f"reading {segment.path}"):
            events = self._selected(segment)
            first = next(events, None)
        for event in events if first is None else chain([first], events):
            if isinstance(event, Batch):
                num_sound += event.crc_valid is not False
            elif isinstance(event, Damage):
                num_damaged += 1
                self._tell_damage(event)
            self._span.num_shown += 1
            if self._is_text:
                console.write(text.line(event, is_coloured=self._is_coloured))
            else:
                console.write(jsonl.line(event, segment.path))
        if num_damaged and not num_sound and self._asked is None and isinstance(segment, Segment):
            console.say(f"{segment.path}: this does not look like a Kafka segment: it has no sound batch")

    def _selected(self, segment: Readable) -> Iterator[Event]:
        if self._asked is None:
            return self._events(segment, None)
        return _select(partial(self._events, segment), self._asked, self._headers_only, self._span)

    def _events(self, segment: Readable, wanted: Callable[[Batch], bool] | None) -> Iterator[Event]:
        return self._files.events(segment, wanted, self._rows)

    def _tell_damage(self, damage: Damage) -> None:
        self._files.damaged(damage)
        if self._is_damage_repeated:
            console.say(f"{damage_words(damage)}; {text.remedy(damage)}")


def _select(
    events: Callable[[Callable[[Batch], bool]], Iterator[Event]],
    asked: Conditions,
    headers_only: bool,
    span: _Span,
) -> Iterator[Event]:
    """Yield the events of a range: its records, their batches, and damage that may have lost some of it."""

    def may_hold(batch: Batch) -> bool:
        if batch.base_offset is None and batch.previous_offset is not None:  # a wrapper of the old formats
            batch = replace(batch, base_offset=batch.previous_offset + 1)
        return asked.may_hold(batch)

    held: Batch | None = None
    for event in events(may_hold):
        if isinstance(event, Batch):
            held = event
            span.add(event)
            if event.crc_valid is False or not may_hold(event):
                continue
            if headers_only:
                if event.num_records != 0:  # a batch left empty by compaction holds no offset
                    yield event
                held = None
        elif isinstance(event, Record):
            if asked.holds(event):
                if held is not None:
                    yield held
                    held = None
                yield event
        elif isinstance(event, Damage) and asked.touches(event):
            if held is not None and held.position == event.position:
                yield held
                held = None
            yield event
