"""Open segments: the public interface for one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.codecs.bounds import ItemBudget
from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.formats.on_damage import OnDamage, check_on_damage, handle_damage
from kafka_segments.core.io.filesystem import Handle
from kafka_segments.core.io.storage import Source, SourceLike, open_source
from kafka_segments.core.segment.records.batch_records import Rows, open_records
from kafka_segments.core.segment.scan.entry_scan import Readable, Scan, read_payload
from kafka_segments.core.segment.scan.foreign_logs import refuse_foreign
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.transactions.markers import Hear, iter_steps
from kafka_segments.core.segment.transactions.state import ExcludedBatches, Step
from kafka_segments.errors import KafkaFormatError, OptionError

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.core.segment.columnar.arrow_schema import Binary
    from kafka_segments.core.segment.columnar.read_range import ReadRange
    from kafka_segments.core.segment.columnar.reader import Event

__all__ = ["Segment", "fast_rows", "open_segment"]


def fast_rows() -> Rows:
    """Return the compiled decoder of records, for `Segment.iter_events`; for one thread.

    Raises:
        MissingExtraError: pyarrow or numba is not installed.
    """
    from kafka_segments.core.segment.columnar.record_objects import RowDecoder

    return RowDecoder()


def open_segment(
    source: SourceLike,
    *,
    mmap: bool = False,
    check_crc: bool = True,
    headers_only: bool = False,
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
    only_files: bool = False,
    closes_source: bool = False,
    experimental_magic3: bool = False,
) -> Segment:
    """Open a segment (`.log`, `.checkpoint` of KRaft) for reading. Nothing is ever written or locked.

    Args:
        source: a path, `-` for standard input, bytes, a binary file object, or what `Places.open` returned.
        mmap: map the file into memory. Only for reliable disks, and files that are not truncated meanwhile:
            reading a bad sector, or after the new end, kills the process (SIGBUS).
        check_crc: verify the checksum of every batch.
        headers_only: read no payloads; then no records are yielded, and no checksums verified.
        max_decompressed: bytes that one batch may decompress to.
        only_files: refuse a pipe, a socket or a device instead of reading it to its end. For paths that were
            found in a directory.
        closes_source: close what `Places.open` returned together with the segment, or if this fails.
        experimental_magic3: read batches of magic 3, too, a proposal that Kafka discarded. Not for other
            files: one wrong bit makes a batch of magic 2 look like magic 3. Only `iter_entries`,
            `iter_records`, `iter_events`, `read_entry` and `read_batches` support it.

    Raises:
        ReadError: the file cannot be opened; `errno` says why.
        UnknownFormatError: the file is Redpanda's or Kafka 0.7's.

    Example:
        >>> with open_segment(b"") as segment:
        ...     list(segment.iter_events())
        []
    """
    opened = open_source(source, mmap=mmap, only_files=only_files, closes_source=closes_source)
    try:
        if max_decompressed < 0:
            raise OptionError(f"max_decompressed is {max_decompressed}; give a number of bytes")
        refuse_foreign(opened)
    except BaseException:
        opened.close()
        raise
    options: dict[str, Any] = {
        "check_crc": check_crc,
        "headers_only": headers_only,
        "max_decompressed": max_decompressed,
        "experimental_magic3": experimental_magic3,
    }
    segment = Segment(opened, **options)
    if isinstance(source, (str, PathLike)) and fspath(source) != "-":
        segment.reopen = partial(open_segment, fspath(source), mmap=mmap, only_files=only_files, **options)
    return segment


class Segment(Handle):
    """A segment that is open for reading; a context manager.

    Each iteration reads the file again from its start, and needs memory for a read window and one batch.
    Iterations may overlap, and threads may share a segment; an iterator is for one thread. A segment that was
    opened by its path can be pickled: unpickling opens the file.

    Attributes:
        path: the file, as the caller named it.
        size: in bytes.
        reopen: opens it again, for pickling; None if it was not opened by its path.
    """

    def __init__(
        self,
        source: Source,
        *,
        check_crc: bool,
        headers_only: bool,
        max_decompressed: int,
        experimental_magic3: bool = False,
    ) -> None:
        self.path = source.name
        self.size = source.size
        self._opened = source
        self._check_crc = check_crc
        self._headers_only = headers_only
        self._max_decompressed = max_decompressed
        self._experimental_magic3 = experimental_magic3
        self.reopen: Callable[[], Segment] | None = None

    def __reduce__(self) -> tuple[Callable[[], Segment], tuple[()]]:
        if self.reopen is None:
            raise OptionError("only a segment that was opened by its path can be pickled", path=self.path)
        return self.reopen, ()

    def close(self) -> None:
        """Close the file once no iteration is running; idempotent."""
        super().close()
        self._opened.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path!r}, {self.size} bytes, {self._state}>"

    @property
    def _source(self) -> Source:
        self._check_open("segment")
        return self._opened

    def _walk(self) -> Walk:
        return Walk(
            self._source,
            check_crc=self._check_crc and not self._headers_only,
            whole=not self._headers_only,
            reads_payloads=not self._headers_only,
            max_decompressed=self._max_decompressed,
            experimental_magic3=self._experimental_magic3,
        )

    def iter_entries(self, on_damage: OnDamage = "raise") -> Iterator[Batch | Damage | Padding]:
        """Yield batches and padding in file order, and damage if `on_damage` is "skip".

        A batch whose checksum is wrong comes too (`crc_valid` is False), before its damage.

        Raises:
            OptionError: an invalid `on_damage`.
            KafkaFormatError: damage, if `on_damage` is "raise".
        """
        check_on_damage(on_damage)
        return _entries(self._walk(), on_damage)

    def iter_records(self, batch: Batch) -> Iterator[Record]:
        """Yield the records of a batch of this segment, up to the first bad one.

        Raises:
            KafkaFormatError: a record is bad; see `damage_of`.
        """
        _batch, records = self._open(batch, self._source)
        yield from records

    def read_entry(self, batch: Batch) -> bytes:
        """Read all bytes of a batch or message of this segment, as they are stored.

        Raises:
            ReadError: the file cannot be read there.
        """
        return bytes(self._source.read(batch.position, batch.size))

    def _open(
        self,
        batch: Batch,
        source: Readable,
        rows: Rows | None = None,
        items: ItemBudget | None = None,
    ) -> tuple[Batch, Iterator[Record]]:
        return open_records(
            batch,
            read_payload(source, batch),
            max_decompressed=self._max_decompressed,
            check_crc=self._check_crc,
            rows=rows,
            items=items,
        )

    def read_batches(
        self,
        columns: Sequence[str] | None = None,
        offsets: tuple[int | None, int | None] | None = None,
        on_damage: OnDamage = "raise",
        *,
        binary: Binary = "copy",
    ) -> pa.RecordBatchReader:
        """Read the data records as a stream of Arrow batches; needs the extra `arrow`.

        Each batch has up to 131,072 rows and a few MiB, and is immutable; its memory is reused when it is no
        longer referenced. Control records are left out. The stream can be passed on as Arrow's C stream, e.g.
        to polars, duckdb or pandas, and belongs to one thread at a time. It reads from this segment: close
        the segment afterwards.

        `timestamp` is null where Kafka has none. It can be any number of 64 bits, beyond what Python, pandas
        and polars take for a time: `columns=["timestamp_ms", ...]` gives the numbers as they are stored.

        Args:
            columns: names of the columns, in order; those of `table.SCHEMA` if None.
            offsets: `(start, end)`: only records with start <= offset < end; None on either side is open.
                Damage that cannot have touched these offsets is ignored.
            on_damage: "raise" raises the error of the first damage, after the sound records before it; "skip"
                ignores damage; a function is called with each `Damage`, and reading continues.
            binary: "copy" copies keys, values and headers into the columns (`pa.binary()`). "view" makes them
                views (`pa.binary_view()`) into the bytes that were read or decompressed, which stay in memory
                as long as a batch refers to them; of bytes in memory, and with `mmap`, into the caller's own.
                Batches that would hold more than twice their own bytes are copied.

        Raises:
            OptionError: an unknown column, invalid offsets, or an invalid `on_damage` or `binary`.
            MissingExtraError: pyarrow or numba is not installed.
            KafkaFormatError: while reading, for damage.
        """
        from kafka_segments.core.segment.columnar.arrow_schema import schema_of
        from kafka_segments.core.segment.columnar.stream import check_offsets, only_records

        bounds = check_offsets(offsets)
        schema = schema_of(columns, binary)
        return only_records(self.iter_columnar(columns, bounds, binary=binary), schema, bounds, on_damage)

    def read_headers(self, on_damage: OnDamage = "raise") -> pa.Table:
        """Read the headers of all entries as an Arrow table, unverified; needs the extra `arrow`.

        Args:
            on_damage: "raise", "skip", or a function to call with each `Damage`.

        Returns:
            A row for each entry: `position` and `end_position` in the file, and the header's fields under the
            names that the schemas give them; null for a field that the entry's magic does not have, and for
            timestamp -1. After these `last_offset`, `compression_name`, `timestamp_type_name`.

        Raises:
            OptionError: an invalid `on_damage`, or a segment that was opened with `experimental_magic3`.
            KafkaFormatError: damage, if `on_damage` is "raise".
        """
        from kafka_segments.core.segment.columnar.header_table import read_headers

        if self._experimental_magic3:
            detail = "read_headers knows Kafka's own formats only; iter_entries gives those of magic 3, too"
            raise OptionError(detail, path=self.path)
        return read_headers(self._source, on_damage)

    def iter_columnar(
        self,
        columns: Sequence[str] | None,
        offsets: tuple[int | None, int | None],
        excluded: ExcludedBatches | None = None,
        read_range: ReadRange | None = None,
        binary: Binary = "copy",
    ) -> Iterator[Event]:
        """Yield Arrow batches as `read_batches`, and damage and other events in their places.

        `excluded`: transactions whose records are left out. `read_range`: where to read; everywhere if None.
        """
        from kafka_segments.core.segment.columnar.arrow_schema import schema_of
        from kafka_segments.core.segment.columnar.reader import ColumnarReader
        from kafka_segments_generated.columns import kafka_log_segment, kafka_log_segment_experimental

        start, end = offsets
        reader = ColumnarReader(
            self._source,
            schema=schema_of(columns, binary),
            start=start,
            end=end,
            check_crc=self._check_crc,
            max_decompressed=self._max_decompressed,
            excluded=excluded,
            read_range=read_range,
            module=kafka_log_segment_experimental if self._experimental_magic3 else kafka_log_segment,
        )
        return reader.events()

    def iter_steps(self, hears: Sequence[Hear] = ()) -> Iterator[Step]:
        """Yield the steps of transactions in the segment; see `markers.iter_steps`."""
        most = self._max_decompressed
        return iter_steps(self._source, check_crc=self._check_crc, max_decompressed=most, hears=hears)

    def find_batch(self, base_offset: int, position: int = 0) -> Batch | None:
        """Return the batch with a base offset, by headers from an entry's position on, or None."""
        for entry in Scan(self._source, headers_only=True).entries(position):
            if not isinstance(entry, Batch) or entry.last_offset >= base_offset:
                return entry if isinstance(entry, Batch) and entry.base_offset == base_offset else None
        return None

    def damage_of(self, batch: Batch, error: KafkaFormatError, last_offset: int | None) -> Damage:
        """Return the damage of a batch with bad records, whose checksum is right or unchecked.

        Later damage from `iter_entries` counts lost offsets from the batch's last offset; `iter_events`
        counts from the last record that was delivered.

        Args:
            batch: a batch of this segment.
            error: what `iter_records` raised.
            last_offset: the offset of the last record that it yielded; None if there was none.
        """
        return self._walk().scan.damage_of(batch, error, last_offset)

    def iter_events(
        self,
        *,
        on_damage: OnDamage = "raise",
        wanted: Callable[[Batch], bool] | None = None,
        rows: Rows | None = None,
    ) -> Iterator[Batch | Record | Damage | Padding]:
        """Yield batches, each with its records, damage and padding, in file order.

        A wrapper of the old formats has its first offset and its number of messages, if it could be opened. A
        compressed batch with very many headers for its size, which `read_batches` delivers, is a
        `DecompressionError` here (`bounds`).

        Args:
            on_damage: "raise", "skip" (damage is yielded), or a function to call with it.
            wanted: whether the records of a batch are decoded; None decodes all.
            rows: `fast_rows()`, or None for a decoder without extras; the records are the same.

        Raises:
            OptionError: an invalid `on_damage`.
            KafkaFormatError: damage, if `on_damage` is "raise"; sound events before it were yielded.
        """
        check_on_damage(on_damage)
        return self._events(on_damage, wanted, rows)

    def _events(
        self, on_damage: OnDamage, wanted: Callable[[Batch], bool] | None, rows: Rows | None
    ) -> Iterator[Batch | Record | Damage | Padding]:
        walk = self._walk()
        if rows is not None:
            rows.follow(walk)
        for entry in _entries(walk, on_damage):
            if not isinstance(entry, Batch) or entry.crc_valid is False or self._headers_only:
                yield entry
            elif wanted is None or wanted(entry):
                yield from self._batch_events(walk, entry, on_damage, rows)
            else:
                yield entry

    def _batch_events(
        self, walk: Walk, batch: Batch, on_damage: OnDamage, rows: Rows | None
    ) -> Iterator[Batch | Record | Damage]:
        opened, last_offset = None, None
        try:
            opened, records = self._open(batch, walk, rows, walk.scan.items)
            yield opened
            for record in records:
                last_offset = record.offset
                yield record
        except KafkaFormatError as error:
            if opened is None:
                yield batch
            yield from handle_damage(walk.scan.damage_of(batch, error, last_offset), on_damage)


def _entries(walk: Walk, on_damage: OnDamage) -> Iterator[Batch | Damage | Padding]:
    for entry in walk.entries():
        if isinstance(entry, Damage):
            yield from handle_damage(entry, on_damage)
        else:
            yield entry
