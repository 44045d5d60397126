"""Some messages of a log, for a report that was asked for message content."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from kafka_segments.core.formats.entries import Record
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.errors import DecodeError, ReadError

__all__ = ["MessageSample", "MessageSamples"]

_NUM_FIRST = 8
_NUM_LAST = 8
_MAX_KEPT = 256
_MAX_HEADERS = 8


@dataclass(frozen=True, slots=True)
class MessageSample:
    """A record, its parts cut to 256 bytes each.

    Attributes:
        offset: of the record.
        timestamp: milliseconds, -1 for none.
        key: None is null.
        value: likewise.
        headers: the first eight.
        len_key: bytes of the whole key, 0 for null.
        len_value: likewise.
        num_headers: of all headers.
        control: name of a control record's type, or None.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]
    len_key: int
    len_value: int
    num_headers: int
    control: str | None

    @classmethod
    def of(cls, record: Record) -> MessageSample:
        """Cut a record."""
        headers = tuple((key[:_MAX_KEPT], _cut(value)) for key, value in record.headers[:_MAX_HEADERS])
        lengths = len(record.key or b""), len(record.value or b""), len(record.headers)
        control = None if record.control is None else record.control.type
        parts = _cut(record.key), _cut(record.value), headers
        return cls(record.offset, record.timestamp, *parts, *lengths, control)


def _cut(data: bytes | None) -> bytes | None:
    return None if data is None else bytes(data[:_MAX_KEPT])


class MessageSamples:
    """The first records of a log, up to its first damage, and those of its last batch."""

    def __init__(self) -> None:
        self._first: list[MessageSample] = []
        self._is_begun = True  # more of the first ones may come
        self._last = b""

    def stop(self) -> None:
        """Take no more of the first records: here is damage."""
        self._is_begun = False

    def add(self, walk: Walk, entries: EntryTable, *, is_first: bool, is_last: bool) -> None:
        """Add the next entries of the first or of the last segment."""
        for row in range(len(entries) if is_first else 0):
            if not self._is_begun or len(self._first) == _NUM_FIRST:
                break
            self._is_begun = False
            with suppress(DecodeError, ReadError):
                records = _records(walk.entry(entries, row))
                self._first += islice(records, _NUM_FIRST - len(self._first))
                self._is_begun = True
        if is_last:
            with suppress(ReadError):
                self._last = bytes(walk.entry(entries, len(entries) - 1))

    @property
    def found(self) -> list[MessageSample]:
        """The records in the order of their offsets."""
        last: deque[MessageSample] = deque(maxlen=_NUM_LAST)
        with suppress(DecodeError):
            last.extend(_records(self._last))
        found = {one.offset: one for one in (*self._first, *last)}
        return [found[offset] for offset in sorted(found)]


def _records(entry: bytes | memoryview) -> Iterator[MessageSample]:
    """Yield the records of an entry; each is cut before the next one is read: values may be large."""
    with open_segment(entry) as segment:
        for event in segment.iter_events():
            if isinstance(event, Record):
                yield MessageSample.of(event)
