"""Lines of DumpLogSegments for a `.timeindex`, and what it finds wrong with one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain

from kafka_segments.core import formats
from kafka_segments.core.io.storage import open_source
from kafka_segments.errors import CorruptIndexError
from kafka_segments.like_kafka.lenient_entries import HIGHEST_INT, EntryFrame, EntryReader
from kafka_segments.like_kafka.stored_index import (
    IndexOptions,
    StoredIndex,
    end_of_slice,
    offset_in_name,
    path_beside,
)
from kafka_segments.like_kafka.tool_output import ToolOutput

__all__ = ["TimeIndexErrors", "dump_time_index"]


Pairs = list[tuple[int, int]]


@dataclass(slots=True)
class _FileErrors:
    """What is wrong with one time index: pairs of what it has, and what the log or the entry before has."""

    mismatches: Pairs = field(default_factory=list)
    out_of_order: Pairs = field(default_factory=list)
    not_found: Pairs = field(default_factory=list)


class TimeIndexErrors:
    """What is wrong with time indexes, by their absolute paths."""

    def __init__(self) -> None:
        self._files: dict[str, _FileErrors] = {}

    def of(self, path: str) -> _FileErrors:
        """The errors of one file, to be added to."""
        return self._files.setdefault(os.path.abspath(path), _FileErrors())

    def messages(self) -> Iterator[str]:
        """The lines about them, kind by kind."""
        yield from self._lines(
            "Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}", "mismatches"
        )
        yield from self._lines(
            "Found out of order timestamp in :",
            "  Index timestamp: {}, Previously indexed timestamp: {}",
            "out_of_order",
        )
        yield from self._lines(
            "The following indexed offsets are not found in :",
            "Indexed offset: {}, found log offset: {}",
            "not_found",
        )

    def _lines(self, title: str, line: str, kind: str) -> Iterator[str]:
        for path, errors in self._files.items():
            pairs = getattr(errors, kind)
            if pairs:
                yield f"{title}{path}"
                yield from (line.format(*pair) for pair in pairs)


def dump_time_index(path: str, output: ToolOutput, options: IndexOptions, errors: TimeIndexErrors) -> None:
    """Print a `.timeindex` while its entries are compared with the log; `errors` takes what is wrong.

    Raises:
        KafkaFormatError: where the tool ends with an exception; all before that was printed.
    """
    base_offset = offset_in_name(path)
    with closing(open_source(path_beside(path, ".log"), only_files=True)) as source:
        log = _FramedLog(EntryReader(source))
        of_offsets = formats.LEN_OFFSET_ENTRY, formats.read_offset_entries, base_offset
        index = StoredIndex(path_beside(path, ".index"), *of_offsets)
        entries = StoredIndex(path, formats.LEN_TIME_ENTRY, formats.read_time_entries, base_offset)
        if options.is_sanity_only:
            _check_times(entries)
            output.line(f"{path} passed sanity check.")
            return
        for number, (timestamp, relative) in enumerate(zip(entries.firsts, entries.seconds, strict=True)):
            offset = base_offset + relative
            if relative == 0 and number > 0:  # zeros of a broker that was killed
                return
            previous = entries.firsts[number - 1] if number else -1
            found = log.find(index.position_of(offset), offset)
            _compare(log, found, (timestamp, offset), previous, errors.of(path))
            if not options.is_verify_only:
                output.write(f"timestamp: {timestamp} offset: {offset}\n")


def _check_times(entries: StoredIndex) -> None:
    if len(entries):
        if entries.firsts[-1] < entries.firsts[0]:
            detail = f"the last timestamp is {entries.firsts[-1]}, below the first, {entries.firsts[0]}"
            raise CorruptIndexError(detail, path=entries.path)
        entries.check_last_offset(entries.seconds[-1])
    entries.check_size()


def _compare(
    log: _FramedLog,
    found: tuple[EntryFrame, int] | None,
    entry: tuple[int, int],
    previous: int,
    errors: _FileErrors,
) -> None:
    """Compare an entry with the batch that was found for it, and its timestamp with that before it."""
    timestamp, offset = entry
    if found is None or found[1] != offset:
        errors.not_found.append((offset, -1 if found is None else found[1]))
        return
    greatest = log.max_timestamp(found[0])
    if greatest != timestamp:
        errors.mismatches.append((timestamp, greatest))
    if previous >= timestamp:
        errors.out_of_order.append((timestamp, previous))


class _FramedLog:
    """A log in which entries are looked up by position and offset."""

    def __init__(self, reader: EntryReader) -> None:
        self._reader = reader
        self._sound_from: set[int] = set()

    def find(self, position: int, offset: int) -> tuple[EntryFrame, int] | None:
        """The first entry from a position on that ends at an offset or above, and its last offset.

        Raises:
            CorruptBatchError: anywhere from that position on; the tool reads them all first.
        """
        end_of_slice(self._reader, position, HIGHEST_INT)
        self._check(position)
        while (frame := self._frame(position)) is not None:
            last_offset = self._reader.last_offset(frame)
            if last_offset >= offset:
                return frame, last_offset
            position = frame.end_position
        return None

    def max_timestamp(self, frame: EntryFrame) -> int:
        """The greatest timestamp of an entry's records, -1 if none is above that."""
        header = self._reader.header(frame)
        if frame.is_batch:
            times = [body.timestamp for body in chain.from_iterable(self._reader.records(header))]
        else:
            times = [record.timestamp for record in self._reader.old_records(header)]
        return max([-1, *times])

    def _check(self, position: int) -> None:
        walked = []
        while position not in self._sound_from and (frame := self._frame(position)) is not None:
            walked.append(position)
            position = frame.end_position
        self._sound_from.update(walked)

    def _frame(self, position: int) -> EntryFrame | None:
        return self._reader.frame(position, self._reader.source.size)
