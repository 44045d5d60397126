"""Subcommand `dump`: print segment files, in file order, as JSON lines or as text.

Strategy: one pass over the events of each file. With `--offsets` the line of a batch is delayed until one of
its records is in the range, and batches outside it are not decoded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from kafka_segments.cli import console, jsonl, parsing, text
from kafka_segments.cli.file_outcomes import FileOutcomes
from kafka_segments.cli.opened_files import Event, Open, Readable, fast_rows_if_there, file_opener
from kafka_segments.cli.selection import RequestedOffsets, add_isolation_option
from kafka_segments.cli.sources import GivenFile, files_of, places_of
from kafka_segments.core.formats.entries import Batch, Damage, Record
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.batch_records import ManyRows
from kafka_segments.core.segment.segment import Segment
from kafka_segments.errors import (
    KafkaFormatError,
    OptionError,
)
from kafka_segments.log.findings import damage_words

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
    parser.add_argument("--headers-only", action="store_true", help="print batches, but no records")
    parser.add_argument(
        "--offsets", metavar="A:B", help="only records with A <= offset < B; either may be left out"
    )
    parsing.add_no_crc(parser, "do not compute checksums (crc_valid is null)")
    add_isolation_option(parser)
    parser.add_argument(
        "--experimental-magic3",
        action="store_true",
        help="also read batches of magic 3, a proposal that Kafka discarded; not for other files, where one "
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
    from kafka_segments.cli.like_kafka.tool import run_like_kafka

    return run_like_kafka(arguments.like_kafka)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    offsets = None if arguments.offsets is None else RequestedOffsets.parse(arguments.offsets)
    is_text = arguments.format == "text"
    options = {"check_crc": arguments.check_crc, "headers_only": arguments.headers_only}
    is_experimental = arguments.experimental_magic3
    if is_experimental and arguments.isolation == "read_committed":
        raise OptionError("--experimental-magic3 reads files one by one, without --isolation read_committed")
    if arguments.headers_only and arguments.check_crc:
        console.say("--headers-only does not verify checksums: damage inside batches is not found")
    places = places_of(arguments)
    with file_opener(places, arguments.isolation, options, is_experimental=is_experimental) as way:
        dump = _Dump(offsets, way, is_text=is_text, headers_only=arguments.headers_only)
        with console.printing():
            files = list(files_of(places, arguments.files))
            dump.files(files)
            console.flush()
            if not is_experimental:  # the headers of other segments are read as Kafka's own formats
                dump.gaps(places, [file.path for file in files if isinstance(file, GivenFile)])
    return dump.outcomes.status


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
        offsets: what to print; None prints everything.
        open_file: opens a file.
        is_text: print for people.
        headers_only: print no records.
    """

    def __init__(
        self, offsets: RequestedOffsets | None, open_file: Open, *, is_text: bool, headers_only: bool
    ) -> None:
        self.outcomes = FileOutcomes()
        self._open = open_file
        self._headers_only = headers_only
        self._is_text = is_text
        # If both streams are terminals, damage is printed only once, in its place.
        self._is_damage_repeated = not (
            is_text and console.is_terminal(sys.stdout) and console.is_terminal(sys.stderr)
        )
        self._is_coloured = is_text and console.is_coloured(sys.stdout)
        self._offsets = offsets
        self._rows = ManyRows(fast_rows_if_there)
        self._span = _Span()

    def files(self, found: Sequence[GivenFile | KafkaFormatError]) -> None:
        """Print files; report those that cannot be opened on standard error."""
        for one in found:
            if self._is_text and len(found) > 1 and isinstance(one, GivenFile):
                console.write(text.file_line(one.path))
            self.outcomes.read(self._open, one, self._segment)
        if self._offsets is not None and not self._offsets.is_empty and not self._span.num_shown:
            console.say(f"nothing is printed: --offsets {self._offsets} selects none of {self._span}")

    def gaps(self, places: Places, paths: Sequence[str]) -> None:
        """Report on standard error what segments of one partition lack between them."""
        start, end = (None, None) if self._offsets is None else (self._offsets.start, self._offsets.end)
        self.outcomes.report_gaps(places, paths, lambda gap: gap.touches(start, end))

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
        if num_damaged and not num_sound and self._offsets is None and isinstance(segment, Segment):
            console.say(f"{segment.path}: this does not look like a Kafka segment: it has no sound batch")

    def _selected(self, segment: Readable) -> Iterator[Event]:
        if self._offsets is None:
            return self._events(segment, None)
        return _select(partial(self._events, segment), self._offsets, self._headers_only, self._span)

    def _events(self, segment: Readable, wanted: Callable[[Batch], bool] | None) -> Iterator[Event]:
        return self.outcomes.events(segment, wanted, self._rows)

    def _tell_damage(self, damage: Damage) -> None:
        self.outcomes.damaged(damage)
        if self._is_damage_repeated:
            console.say(f"{damage_words(damage)}; {text.remedy(damage)}")


def _select(
    events: Callable[[Callable[[Batch], bool]], Iterator[Event]],
    offsets: RequestedOffsets,
    headers_only: bool,
    span: _Span,
) -> Iterator[Event]:
    """Yield the events of a range: its records, their batches, and damage that may have lost some of it."""

    def may_hold(batch: Batch) -> bool:
        first = batch.base_offset
        if first is None and batch.previous_offset is not None:  # a wrapper of the old formats
            first = batch.previous_offset + 1
        return offsets.overlaps(first, batch.highest_offset)

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
            if event.offset in offsets:
                if held is not None:
                    yield held
                    held = None
                yield event
        elif isinstance(event, Damage) and event.touches(offsets.start, offsets.end):
            if held is not None and held.position == event.position:
                yield held
                held = None
            yield event
