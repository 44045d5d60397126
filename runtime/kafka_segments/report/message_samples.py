"""Some messages of a log, for a report that was asked for message content."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.core.segment.records.batch_records import open_records
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import DecodeError
from kafka_segments.log.log_files import UNOPENED
from kafka_segments.log.model import LogPiece
from kafka_segments.log.opening import open_stored

if TYPE_CHECKING:
    from kafka_segments.core.io.filesystems import Places

__all__ = ["MessageSample", "read_messages"]

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


def read_messages(
    places: Places, pieces: Sequence[LogPiece], last_positions: Sequence[int]
) -> list[MessageSample]:
    """Read the first records of a log and those of its last batch, as far as these are sound.

    Args:
        places: opens files.
        pieces: of the log.
        last_positions: where the last sound entry of each begins.
    """
    # Each is cut before the next one is read: values may be large.
    first = list(islice(map(MessageSample.of, _records(places, pieces[0], 0)), _NUM_FIRST))
    last = deque(map(MessageSample.of, _records(places, pieces[-1], last_positions[-1])), _NUM_LAST)
    found = {one.offset: one for one in (*first, *last)}
    return [found[offset] for offset in sorted(found)]


def _records(places: Places, piece: LogPiece, position: int) -> Iterator[Record]:
    """Yield the records of the entries from a position on, up to the first damage."""
    # What cannot be opened, and damage, the report has found by itself.
    with suppress(DecodeError, *UNOPENED), closing(open_stored(places, piece.segment)) as source:
        scan = Scan(source)
        for entry in scan.entries(position):
            if not isinstance(entry, Batch) or entry.crc_valid is False:
                return
            payload = scan.payload(entry)
            most = DEFAULT_MAX_DECOMPRESSED
            _batch, records = open_records(entry, payload, max_decompressed=most, items=scan.items)
            yield from records
