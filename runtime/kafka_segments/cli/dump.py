"""`kafka-segments dump`: everything in segment files, in file order, as JSON lines or for people.

Strategy: one pass over each file's events. `--offsets` holds a batch's line back until one of its records is
in the range, and decodes no batch outside it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Protocol

from kafka_segments.cli import console, jsonl, text
from kafka_segments.disposal import OnDamage
from kafka_segments.entries import Batch, Damage, Padding, Record
from kafka_segments.errors import (
    KafkaFormatError,
    MissingCodecError,
    MissingExtraError,
    OptionError,
    OutputError,
    ReadError,
    TruncatedError,
)
from kafka_segments.partition import Partition, open_partition_of
from kafka_segments.records import Rows
from kafka_segments.segment import Segment, fast_rows, open_segment

__all__ = ["OffsetRange", "add_parser", "run"]

Event = Batch | Record | Damage | Padding

_LEAST_FOR_FAST_ROWS = 1 << 20  # bytes of a segment; below, it is done before the fast way is loaded


class OffsetRange:
    """Offsets `start <= offset < end`; None is open.

    Example:
        >>> OffsetRange.parse("5:").start
        5
    """

    def __init__(self, start: int | None, end: int | None) -> None:
        self.start = start
        self.end = end

    @classmethod
    def parse(cls, words: str) -> OffsetRange:
        """Read `A:B`, `A:` or `:B`; raises `OptionError` for anything else."""
        match = re.fullmatch(r"(-?\d{1,20})?:(-?\d{1,20})?", words, re.ASCII)
        if match is None:
            raise OptionError(f"--offsets {words!r} is not A:B, A: or :B with numbers")
        start, end = (None if group is None else int(group) for group in match.groups())
        if start is not None and end is not None and start > end:
            raise OptionError(f"--offsets {words!r} ends before it begins")
        return cls(start, end)

    def __contains__(self, offset: int) -> bool:
        return self.overlaps(offset, offset)

    def overlaps(self, first: int | None, last: int) -> bool:
        """Whether one of `first` to `last` (None: unknown) may be in the range."""
        after_start = self.start is None or last >= self.start
        return after_start and (self.end is None or first is None or first < self.end)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `dump` to the command's parsers."""
    parser = subparsers.add_parser(
        "dump",
        help="print every batch and record of segment files",
        description="Print every batch and record of segment files, and every damaged place.",
        epilog="Exit status: 0 clean, 1 damage, 2 a file that cannot be opened.",
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a .log or .checkpoint file; - is standard input"
    )
    parser.add_argument(
        "--format", choices=("jsonl", "text"), default="text", help="default: text, for people"
    )
    parser.add_argument("--headers-only", action="store_true", help="batches only; payloads are not read")
    parser.add_argument(
        "--offsets", metavar="A:B", help="only records with A <= offset < B; either may be left out"
    )
    parser.add_argument(
        "--no-crc",
        dest="check_crc",
        action="store_false",
        help="do not compute checksums (crc_valid is null)",
    )
    parser.add_argument(
        "--isolation",
        choices=("read_uncommitted", "read_committed"),
        default="read_uncommitted",
        help="read_committed: only the batches that a consumer is given who reads committed records; the "
        "partition's other segments, beside FILE, are read for that",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit status."""
    offsets = None if arguments.offsets is None else OffsetRange.parse(arguments.offsets)
    line = jsonl.line if arguments.format == "jsonl" else text.line
    options = {"check_crc": arguments.check_crc, "headers_only": arguments.headers_only}
    with ExitStack() as stack:
        way: Callable[[str], AbstractContextManager[Readable]] = partial(open_segment, **options)
        if arguments.isolation == "read_committed":
            way = stack.enter_context(_Committed(options)).open
        dump = _Dump(line, offsets, way, headers_only=arguments.headers_only)
        try:
            for path in arguments.files:
                dump.file(path)
            dump.flush()
        except BrokenPipeError:
            console.silence_stdout()
    return dump.status


class Readable(Protocol):
    """A segment, or what is to be seen of it."""

    @property
    def path(self) -> str:
        """The file."""
        ...

    @property
    def size(self) -> int:
        """Its bytes."""
        ...

    def iter_events(
        self,
        *,
        on_damage: OnDamage = "raise",
        wanted: Callable[[Batch], bool] | None = None,
        rows: Rows | None = None,
    ) -> Iterator[Event]:
        """See `Segment.iter_events`."""
        ...


class _Committed:
    """Opens files as a consumer of committed records sees them; a partition once for files that follow."""

    def __init__(self, options: dict[str, bool]) -> None:
        self._options = options
        self._partition: Partition | None = None

    def __enter__(self) -> _Committed:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._partition is not None:
            self._partition.close()

    def open(self, path: str) -> AbstractContextManager[Readable]:
        """Open a file."""
        if self._partition is None or not self._partition.holds(path):
            if self._partition is not None:
                self._partition.close()
            self._partition = open_partition_of(path, **self._options)
            if not self._partition.is_whole:
                console.say(
                    f"{path}: no live segment in a partition's directory, so transactions are judged by this "
                    "file alone: of one that ends elsewhere, nothing is printed"
                )
        return self._partition.open_isolated(path)


class _Dump:
    """Files to standard output; `status` is the worst of them.

    Args:
        line: makes the bytes of an event.
        offsets: what to print; None prints everything.
        open_file: opens a file.
        headers_only: print no records.
    """

    def __init__(
        self,
        line: Callable[[Event], bytes],
        offsets: OffsetRange | None,
        open_file: Callable[[str], AbstractContextManager[Readable]],
        *,
        headers_only: bool,
    ) -> None:
        self.status = console.CLEAN
        self._open = open_file
        self._headers_only = headers_only
        self._line = line
        self._offsets = offsets
        self._rows: Rows | None = None
        self._has_looked = False
        self._said: set[str] = set()

    def file(self, path: str) -> None:
        """Print one file; one that cannot be opened is told on standard error."""
        try:
            with self._open(path) as segment:
                self._segment(segment)
        except OutputError:
            raise
        except KafkaFormatError as error:
            error.path = error.path or path
            if str(error) not in self._said:  # such as a directory that cannot be listed, for each file in it
                console.say(str(error))
            self._said.add(str(error))
            self._found(console.NOT_OPENED)

    def flush(self) -> None:
        """Hand over what is buffered."""
        with console.writing() as stdout:
            stdout.flush()

    def _found(self, status: int) -> None:
        self.status = max(self.status, status)

    def _fast_rows(self, segment: Readable) -> Rows | None:
        """A faster way to records, where there are so many that looking for it is worth the time."""
        if self._headers_only or segment.size < _LEAST_FOR_FAST_ROWS:
            return None
        if not self._has_looked:
            self._has_looked = True
            try:
                self._rows = fast_rows()
            except MissingExtraError as error:
                console.say(f"records are decoded one by one, which is slow: {error.detail}")
        return self._rows

    def _segment(self, segment: Readable) -> None:
        num_sound = num_damaged = 0
        for event in self._selected(segment):
            if isinstance(event, Batch):
                num_sound += event.crc_valid is not False
            elif isinstance(event, Damage):
                num_damaged += 1
                self._tell_damage(event)
            with console.writing() as stdout:
                stdout.write(self._line(event))
        if num_damaged and not num_sound and self._offsets is None and isinstance(segment, Segment):
            console.say(
                f"{segment.path}: this does not look like a Kafka segment: not one sound batch is in it"
            )

    def _selected(self, segment: Readable) -> Iterator[Event]:
        if self._offsets is None:
            return segment.iter_events(on_damage="skip", rows=self._fast_rows(segment))
        return _select(segment, self._offsets, self._headers_only, self._fast_rows(segment))

    def _tell_damage(self, damage: Damage) -> None:
        is_missing = isinstance(damage.error, MissingCodecError)
        self._found(console.NOT_OPENED if is_missing else console.FINDINGS)
        console.say(
            f"{damage.path}, position {damage.position} to {damage.end_position}: "
            f"{type(damage.error).__name__}: {damage.error.detail}; "
            f"{text.lost_offsets(damage)}; {_remedy(damage)}"
        )


def _select(
    segment: Readable, offsets: OffsetRange, headers_only: bool, rows: Rows | None
) -> Iterator[Event]:
    """The events of a range: records in it, the batches that hold them, damage that may have cost some."""

    def may_hold(batch: Batch) -> bool:
        first = batch.base_offset
        if first is None and batch.previous_offset is not None:  # a wrapper of the old formats
            first = batch.previous_offset + 1
        return offsets.overlaps(first, batch.highest_offset)

    held: Batch | None = None
    for event in segment.iter_events(on_damage="skip", wanted=may_hold, rows=rows):
        if isinstance(event, Batch):
            held = event
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


def _remedy(damage: Damage) -> str:
    error = damage.error
    if isinstance(error, ReadError):
        return "check the disk, and take these offsets from a replica"
    if isinstance(error, TruncatedError) and damage.next_offset is None:
        return "a broker may still be writing here; if none is, take these offsets from a replica"
    if isinstance(error, MissingCodecError):
        return "then dump again"
    return "take these offsets from a replica"
