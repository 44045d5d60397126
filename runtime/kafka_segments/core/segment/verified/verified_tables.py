"""Tables of a segment's entries with facts about their records; see `verified_entries`.

Strategy: `ColumnarReader` goes through windows of entries, with a decoder that folds the records of each
entry into a few numbers (`folding_decoder`). Entries that it leaves to the exact way, wrappers among them,
are read one by one.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from importlib import import_module

from kafka_segments.core.formats.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.arrow_schema import schema_of
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.columnar.fused_scan import FusedScan
from kafka_segments.core.segment.columnar.reader import ColumnarReader, Event
from kafka_segments.core.segment.columnar.wrappers import Unwrapping
from kafka_segments.core.segment.records.batch_records import RecordPlace
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.scanner import HeaderScan
from kafka_segments.core.segment.verified.folding_decoder import FoldingDecoder
from kafka_segments.core.segment.verified.verified_entries import (
    NUM_FACTS,
    NUM_READ,
    VerifiedEvent,
    VerifiedTable,
    read_exactly,
    table_of,
    unread_facts,
)
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["iter_tables_verified"]


def iter_tables_verified(
    source: Source, *, check_crc: bool, max_decompressed: int, max_read: int
) -> Iterator[VerifiedEvent]:
    """Return the events of `verifying.iter_verified`.

    Raises:
        MissingExtraError: numba is not installed; raised at once.
    """
    reader = _WindowReader(source, check_crc=check_crc, max_decompressed=max_decompressed, max_read=max_read)
    return _events_of(reader)


@dataclass(frozen=True, slots=True)
class _Read(SoundBatches):
    """A sound entry that was read record by record, with the damage of its records."""

    batch: Batch
    facts: memoryview
    damage: Damage | None


@dataclass(frozen=True, slots=True)
class _Window(SoundBatches):
    """A window of entries.

    Attributes:
        entries: of the window.
        facts: about each of them. Valid until the next event.
        damages: of the records of entries, by rows.
    """

    entries: EntryTable
    facts: memoryview
    damages: dict[int, Damage]


class _WindowReader(ColumnarReader):
    """Reader that yields a `_Window` for its entries, and a `_Read` for sound ones outside windows."""

    def __init__(self, source: Source, *, check_crc: bool, max_decompressed: int, max_read: int) -> None:
        super().__init__(
            source,
            schema=schema_of(("offset", "timestamp_ms")),
            start=None,
            end=None,
            check_crc=check_crc,
            max_decompressed=max_decompressed,
        )
        self._headers = HeaderScan(
            source, kafka_log_segment, check_crc=check_crc, max_window=min(max_read, source.size)
        )
        self._headers.compile()
        self._max_decompressed, self._max_read = max_decompressed, max_read
        self._facts = memoryview(array("q", bytes(8 * NUM_FACTS * self._headers.max_rows)))
        self._facts[NUM_READ::NUM_FACTS] = array("q", (-1,)) * self._headers.max_rows
        self._folding: dict[int, FoldingDecoder] = {}

    def _decoder_of(self, content: int, is_control: bool) -> RecordDecoder:  # noqa: ARG002
        """Return the decoder of a content's records; it yields none, of control batches either."""
        if content not in self._folding:
            package = self._module.__name__.rpartition(".")[0]
            module = import_module(f"{package}.{self._module.CONTENTS[content].decoder}")
            self._folding[content] = FoldingDecoder(module, self._module, content, self._facts)
        return self._folding[content]

    def _unwrapping_of(self, decoder: RecordDecoder, content: int) -> Unwrapping | None:  # noqa: ARG002
        """Leave wrappers to be read one by one."""
        return None

    def _exactly(self, batch: Batch, start: RecordPlace) -> Iterator[Event]:  # noqa: ARG002
        """Read an entry record by record, from its first record on."""
        if batch.size > self._max_read:
            yield _Read(1, batch.size, batch, unread_facts(batch), None)
            return
        limit = self._max_decompressed
        found = read_exactly(batch, self._scan, check_crc=self._check_crc, max_decompressed=limit)
        yield _Read(1, batch.size, batch, *found)

    def _sound(self, entries: EntryTable, fused: FusedScan | None) -> Iterator[Event]:
        damages: dict[int, Damage] = {}
        read: list[int] = []
        if fused is not None and fused.stop is None and fused.num_decoded == len(entries):
            self._scan.sound_offset = entries.last_offset(len(entries) - 1)
        else:
            found = [event for event in super()._sound(entries, fused) if isinstance(event, _Read)]
            rows = {position: row for row, position in enumerate(entries.values("position") if found else ())}
            for event in found:
                row = rows[event.batch.position]
                read.append(row)
                for fact, value in enumerate(event.facts):
                    self._facts[row * NUM_FACTS + fact] = value
                if event.damage is not None:
                    damages[row] = event.damage
        yield _Window(len(entries), 0, entries, self._facts[: len(entries) * NUM_FACTS], damages)
        for row in read:
            self._facts[row * NUM_FACTS + NUM_READ] = -1

    def _trouble(self, position: int) -> Generator[Event, None, int]:
        for entry in self._scan.region(position):
            position = entry.end_position
            if not isinstance(entry, Batch):
                yield entry
            elif entry.crc_valid is not False:
                yield from self._exactly(entry, RecordPlace())
        return position


def _events_of(reader: _WindowReader) -> Iterator[VerifiedEvent]:
    """Yield tables made of the events of a reader, and its other events in their places."""
    for event in reader.events():
        if isinstance(event, _Window):
            table, start = VerifiedTable(event.entries, event.facts), 0
            for row, damage in sorted(event.damages.items()):
                yield table.part(start, row + 1)
                yield damage
                start = row + 1
            if start < len(table):
                yield table.part(start, len(table))
        elif isinstance(event, _Read):
            yield table_of(event.batch, event.facts)
            if event.damage is not None:
                yield event.damage
        elif isinstance(event, (Damage, Padding)):
            yield event
