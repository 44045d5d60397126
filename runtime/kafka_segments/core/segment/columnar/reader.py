"""Records of a segment as Arrow batches, with damage and other events in their places.

Strategy: windows of sound entries come from the scanner, and their records from the decoder, hundreds of
batches with one call; ordinary windows with a single call for both (`fused_scan`). Whatever these refuse is
left to the exact readers, whose errors describe it: `entry_scan` for a damaged entry, `record_rows` for a
batch with damaged content. They deliver the sound part, the fast reader continues after it, and both share
the state of the scan.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from kafka_segments.core.codecs.bounds import is_trusted
from kafka_segments.core.formats.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.core.io.storage import Source
from kafka_segments.core.native import library
from kafka_segments.core.native.engine import has_crc32c, is_loaded
from kafka_segments.core.segment.columnar.arrow_schema import decoded_schema, has_views
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.columnar.decompressed import PlainRecords
from kafka_segments.core.segment.columnar.fused_expansion import FusedExpansion
from kafka_segments.core.segment.columnar.fused_scan import FusedScan, fused_loop
from kafka_segments.core.segment.columnar.read_range import Ending, OffsetRange, ReadRange
from kafka_segments.core.segment.columnar.record_rows import ExactRecords
from kafka_segments.core.segment.columnar.wrappers import Unwrapping
from kafka_segments.core.segment.records.batch_records import MAX_NUM_HEADERS, RecordPlace
from kafka_segments.core.segment.scan import entry_table as kinds_of
from kafka_segments.core.segment.scan.entry_rows import row_of
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.core.segment.scan.entry_table import EntryTable, count_alike
from kafka_segments.core.segment.scan.scanner import HeaderScan, returned
from kafka_segments.core.segment.transactions.state import ExcludedBatches
from kafka_segments.errors import KafkaFormatError
from kafka_segments_generated.columns import kafka_log_segment, kafka_log_segment_experimental

__all__ = ["ColumnarReader", "Event"]


_COMPILED_FROM = 8 << 20  # a position: smaller files are not worth compiling scanner and fused loop

Event: TypeAlias = pa.RecordBatch | SoundBatches | Batch | Damage | Padding
T = TypeVar("T")
_Steps: TypeAlias = Generator[Event, None, tuple[int, RecordPlace] | None]


class ColumnarReader:
    """A pass over one source.

    Args:
        source: the segment's bytes.
        schema: the columns, see `arrow_schema.schema_of`.
        start: only records from this offset on; None is open.
        end: only records below this offset; None is open.
        check_crc: verify the checksum of every entry.
        max_decompressed: bytes that one batch may decompress to.
        excluded: transactions whose records are left out.
        read_range: the part of the source to read; all of it if None.
        module: the generated module with the scanner; what reads the records, its `CONTENTS` say. The slow
            way knows Kafka's own formats only.
    """

    def __init__(
        self,
        source: Source,
        *,
        schema: pa.Schema,
        start: int | None,
        end: int | None,
        check_crc: bool,
        max_decompressed: int,
        excluded: ExcludedBatches | None = None,
        read_range: ReadRange | None = None,
        module: ModuleType = kafka_log_segment,
    ) -> None:
        self._source = source
        self._read_range = read_range = read_range or ReadRange()
        self._coverage, self._misplaced = read_range.coverage, read_range.misplaced
        self._counts = read_range.counts
        self._excluded = excluded or None
        self._schema = schema
        self._module = module
        self._range = OffsetRange(start, end)
        self._ending = Ending(source, self._range, read_range.end_position, check_crc=check_crc)
        self._bounds = start, end
        self._is_bounded = not is_trusted(max_decompressed)
        self._check_crc = check_crc
        keeps = has_views(schema)
        self._headers = HeaderScan(
            source, module, check_crc=check_crc, end_position=read_range.end_position or None, keeps=keeps
        )
        self._scan = Scan(
            source,
            check_crc=check_crc,
            max_decompressed=max_decompressed,
            experimental_magic3=module is kafka_log_segment_experimental,
        )
        if read_range.sound_offset is not None:
            self._scan.sound_offset = read_range.sound_offset
        if read_range.items is not None:
            self._scan.items = read_range.items
        if library.is_there():  # else for many entries or bytes only, as compiling takes a second
            self._headers.compile()
        self._exact = ExactRecords(
            self._scan,
            schema=schema,
            offsets=self._range,
            check_crc=check_crc,
            max_decompressed=max_decompressed,
        )
        self._plain = PlainRecords(max_decompressed, keeps=keeps)
        self._decoded = decoded_schema(schema, bool(self._range))
        # Whether rows that wait may be out of the range. Of a part, the entries on either side are looked
        # at by others too, which go by their headers as well: so each record comes once, whatever it says.
        self._has_edges = self._is_strict = bool(self._range) and not read_range.is_shared
        self._decoders: dict[tuple[int, bool], RecordDecoder] = {}
        self._decoder: RecordDecoder | None = None
        self._fused_scans: dict[int, FusedScan] = {}
        self._unwrapping: Unwrapping | None = None
        self._refused: Batch | None = None  # the entry that is read, if the scanner did not take it
        self._plain_content: int | None = None  # of the last records, if they were not compressed

    def _decoder_of(self, content: int, is_control: bool) -> RecordDecoder:
        """Return the decoder of a content's records; control records are decoded without columns."""
        key = content, is_control
        if key not in self._decoders:
            package = self._module.__name__.rpartition(".")[0]
            module = import_module(f"{package}.{self._module.CONTENTS[content].decoder}")
            schema = pa.schema([]) if is_control else self._decoded
            self._decoders[key] = RecordDecoder(module, schema, max_items=MAX_NUM_HEADERS)
        return self._decoders[key]

    def events(self) -> Iterator[Event]:
        """Yield everything in file order; Arrow batches before any event that follows their records.

        A batch whose checksum is wrong comes as `Batch`, before its damage.
        """
        position = self._read_range.position
        while True:
            fused = self._next_fused(position)
            found = self._headers.scan(position, fused)
            entries, position, is_trouble = yield from self._chosen(found)
            if len(entries):
                num_wanted = self._num_wanted(entries, self._scan.sound_offset)
                if num_wanted:
                    yield from self._sound(entries.before(num_wanted), fused)
                if num_wanted < len(entries):
                    break
            elif not is_trouble:
                break
            if is_trouble:
                yield from self._flush()
                position = yield from self._trouble(position)
        yield from self._flush()

    def _num_wanted(self, entries: EntryTable, previous: int | None) -> int:
        """Return how many of some entries precede the end of the range; see `Ending.num_before`."""
        num_wanted = self._ending.num_before(entries, previous)
        if self._coverage is not None:
            self._coverage.is_ended = num_wanted < len(entries)
        return num_wanted

    def _next_fused(self, position: int) -> FusedScan | None:
        """Return the fused loop for the next window if it pays off, after uncompressed records; else None."""
        if position >= _COMPILED_FROM:
            self._headers.compile()
        content = self._plain_content
        if content is None or not self._headers.can_fuse or position >= self._source.size:
            return None
        if position < _COMPILED_FROM and not (is_loaded(fused_loop) or library.is_there()):
            return None
        if content not in self._fused_scans:
            decoder = self._decoder_of(content, False)
            self._fused_scans[content] = FusedScan(
                self._headers,
                decoder,
                content,
                self._module,
                is_selective=self._excluded is not None,
                offsets=self._bounds,
            )
        return self._fused_scans[content]

    def _flush(self) -> Iterator[pa.RecordBatch]:
        if self._decoder is not None:
            yield from self._selected(self._decoder.flush())

    def _selected(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows in the range of offsets, with the selected columns."""
        for batch in batches:
            if self._coverage is not None:
                self._coverage.rows(batch)
            if self._has_edges:
                yield from self._range.select(batch, self._schema.names)
            else:
                yield batch if self._decoded is self._schema else batch.select(self._schema.names)
            del batch  # so that the next one is decoded into its memory, if the caller has dropped it

    def _trouble(self, position: int) -> Generator[Event, None, int]:
        """Yield the events from where the scanner stopped; return the position where it can continue."""
        for entry in self._scan.region(position):
            position = entry.end_position
            if isinstance(entry, Batch) and entry.crc_valid is not False:
                entries = row_of(entry, self._module)
                if not self._num_wanted(entries, entry.previous_offset):
                    return self._source.size
                self._refused = entry
                yield from self._sound(entries, None)
                self._refused = None
                continue
            if isinstance(entry, Damage) and self._coverage is not None:
                self._coverage.damaged()
            yield entry
        return position

    def _sound(self, entries: EntryTable, fused: FusedScan | None) -> Iterator[Event]:
        """The records of sound entries; of those that a fused scan has taken already, none."""
        if self._coverage is not None:
            self._coverage.entries(entries)
        if self._counts is not None:
            self._counts.entries(entries, None if self._excluded is None else self._excluded.mask(entries))
        if self._misplaced is not None:
            for last_offset in entries.ordering_offsets():
                self._misplaced.note_sound(last_offset)
        first = 0 if fused is None else fused.num_decoded
        if first < len(entries) and self._range and not entries.is_inside(*self._bounds):
            self._has_edges = True
        stopped = None if fused is None or fused.stop is None else (0, fused.stop)
        kinds = self._kinds(entries) if first < len(entries) else np.empty(0)
        wanted = first + np.flatnonzero(kinds[first:] != kinds_of.SKIPPED)
        before, slow_row = self._scan.sound_offset, -1
        while len(wanted):
            alike = entries.alike(wanted, kinds)
            if stopped is None:
                stopped = yield from self._decode(entries, alike, kinds[alike[0]])
            decoded = alike if stopped is None else alike[: stopped[0]]
            self._scan.items.add(entries.len_compressed(decoded, kinds))
            if stopped is None:
                wanted = wanted[len(alike) :]
                continue
            (at, start), stopped = stopped, None
            row = int(alike[at])
            if row != slow_row + 1:
                before = entries.last_offset(row - 1)
            yield from self._flush()
            self._scan.sound_offset = before
            batch = self._refused or self._scan.batch_at(entries.value(row, "position"))
            yield from self._exactly(batch, start)
            before, slow_row = self._scan.sound_offset, row
            wanted = wanted[at + 1 :]
        if slow_row != len(entries) - 1:
            self._scan.sound_offset = entries.last_offset(len(entries) - 1)
        if self._has_edges and not self._is_strict:
            yield from self._flush()
            self._has_edges = False
        yield entries.count(*(self._bounds if first < len(entries) else (None, None)))

    def _exactly(self, batch: Batch, start: RecordPlace) -> Iterator[Event]:
        """Yield the records of a sound entry from a place on, and its damage, record by record."""
        return self._exact.events(batch, start, is_strict=self._is_strict)

    def _kinds(self, entries: EntryTable) -> Any:
        kinds = entries.kinds(*self._bounds, is_bounded=self._is_bounded)
        if self._refused is not None:
            kinds[kinds != kinds_of.SKIPPED] = kinds_of.SLOW
        if self._excluded is not None:
            kinds[self._excluded.mask(entries)] = kinds_of.SKIPPED
        return kinds

    def _decode(self, entries: EntryTable, rows: Any, kind: int) -> _Steps:
        """Decode some rows of one kind.

        Returns:
            None, or which of them has to be read slowly, and from where on.
        """
        content = entries.value(int(rows[0]), "content")
        if kind != kinds_of.CONTROL:
            is_plain = kind == kinds_of.PLAIN and self._module.CONTENTS[content].is_repeated
            self._plain_content = content if is_plain else None
        if kind == kinds_of.SLOW:
            return 0, RecordPlace()
        decoder = self._decoder_of(content, kind == kinds_of.CONTROL)
        if kind != kinds_of.CONTROL and decoder is not self._decoder:
            yield from self._flush()
            self._decoder = decoder
        if kind == kinds_of.COMPRESSED:
            return (yield from self._decode_compressed(decoder, entries, rows))
        if kind == kinds_of.WRAPPED:
            return (yield from self._decode_wrapped(decoder, entries, rows))
        spans = entries.spans(rows, self._headers.window_position)
        data, is_lent = memoryview(self._headers.window), self._headers.is_lent
        return (yield from self._decode_spans(decoder, data, spans, is_lent=is_lent))

    def _decode_spans(
        self,
        decoder: RecordDecoder,
        data: memoryview,
        spans: Any,
        fused: FusedExpansion | None = None,
        *,
        is_lent: bool = False,
    ) -> _Steps:
        steps = decoder.decode(data, self._headers.table, spans, fused, is_lent=is_lent)
        if decoder is self._decoder:
            return (yield from self._chosen(steps))
        return returned(steps)

    def _decode_compressed(self, decoder: RecordDecoder, entries: EntryTable, rows: Any) -> _Steps:
        window, codec = memoryview(self._headers.window), entries.value(int(rows[0]), "codec")
        spans = entries.spans(rows, self._headers.window_position)
        places = np.ascontiguousarray(spans[:, :2])
        done, plain = 0, self._plain
        while done < len(rows):
            try:
                fused = plain.fused(decoder, window, codec, places[done:], spans[done:])
                if fused is not None:
                    refused = yield from self._decode_spans(decoder, plain.view, spans[done:], fused)
                    plain.keep(fused.used)
                    following = done + fused.num_done
                if fused is None or (following == done and refused is None):
                    following = done + plain.fill(window, codec, places[done:])
                    spans[done:following, :2] = places[done:following]
                    refused = yield from self._decode_spans(decoder, plain.view, spans[done:following])
            except KafkaFormatError:
                return done, RecordPlace()
            if refused is not None:
                return done + refused[0], refused[1]
            done = following
        return None

    def _decode_wrapped(self, decoder: RecordDecoder, entries: EntryTable, rows: Any) -> _Steps:
        """The messages in wrappers; those of one magic and timestamp type together."""
        unwrapping = self._unwrapping_of(decoder, entries.value(int(rows[0]), "content"))
        if unwrapping is None:
            return 0, RecordPlace()
        window, codec = memoryview(self._headers.window), entries.value(int(rows[0]), "codec")
        places = np.ascontiguousarray(entries.spans(rows, self._headers.window_position)[:, :2])
        columns = {name: entries.column(name)[rows] for name in ("magic", "timestamp_type")}
        times, done = entries.column("max_timestamp")[rows], 0
        while done < len(rows):
            same = slice(done, done + count_alike([column[done:] for column in columns.values()]))
            magic = int(columns["magic"][done])
            contents = places[same].copy()  # some may have to be decompressed again
            try:
                num_plain = self._plain.fill(window, codec, contents, magic)
            except KafkaFormatError:
                return done, RecordPlace()
            these = slice(done, done + num_plain)
            appended = times[these] if magic and columns["timestamp_type"][done] else None
            batches = self._headers.table
            steps = unwrapping.run(
                self._plain.view,
                contents[:num_plain],
                batches,
                rows[these],
                times=appended,
                bounds=entries.items_bounds(is_bounded=self._is_bounded)[rows[these]],
            )
            num_done, num_yielded = yield from self._chosen(steps)
            done += num_done
            if num_done == 0 or num_yielded is not None:
                return done, RecordPlace(num_yielded or 0)
        return None

    def _chosen(self, steps: Generator[pa.RecordBatch, None, T]) -> Generator[Event, None, T]:
        """Yield the decoded rows in the range of offsets; return the result of the steps."""
        while True:
            try:
                batch = next(steps)
            except StopIteration as stop:
                result: T = stop.value
                return result
            yield from self._selected(iter((batch,)))
            del batch

    def _unwrapping_of(self, decoder: RecordDecoder, content: int) -> Unwrapping | None:
        """Return the wrappers' loop for a decoder; None where no scanner can verify checksums."""
        if self._unwrapping is None and has_crc32c():
            check_crc = self._check_crc
            self._unwrapping = Unwrapping(decoder, content, self._module, check_crc=check_crc)
        return self._unwrapping
