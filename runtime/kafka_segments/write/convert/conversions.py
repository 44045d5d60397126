"""Public conversions: bytes, entry by entry, with a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.formats import MAGICS
from kafka_segments.core.formats.entries import Batch, Record
from kafka_segments.core.formats.on_damage import OnDamage, check_on_damage
from kafka_segments.core.io.storage import SourceLike
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.api import encode_exactly, encode_head, encode_records
from kafka_segments.write.batch_options import BatchOptions, check_numbers, is_integer
from kafka_segments.write.convert.down import down_pieces, has_to_go_down
from kafka_segments.write.convert.filter import Cleaning, Retention
from kafka_segments.write.convert.loss_report import ConversionReport
from kafka_segments.write.convert.rules import NOTHING
from kafka_segments.write.convert.source_entries import (
    Piece,
    Recoded,
    Rewritten,
    SourceEntry,
    Untouched,
    read_entries,
)
from kafka_segments.write.convert.up import has_to_go_up, up_pieces

__all__ = ["Conversion", "down_convert", "filter_batches", "up_convert"]

# Fields of `Batch` that are options of the same name.
_V2_OPTIONS = (
    "compression",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "is_transactional",
    "delete_horizon_ms",
)
# Fields that are copied to the header of a batch without records.
_HEADER_FIELDS = (
    "base_offset",
    "max_timestamp",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
)

Pieces = Callable[[Iterator[SourceEntry], ConversionReport], Iterator[Piece | Recoded]]


class Conversion:
    """Bytes of a conversion, with a report. Iterate it once, or call `to_bytes`.

    Entries that cannot be written end it, whatever `on_damage` is: they are not damage, but Kafka refuses
    them.

    Attributes:
        report: covers the bytes taken so far; complete at the end.
    """

    def __init__(
        self,
        source: SourceLike | Segment,
        wanted: Callable[[Batch], bool],
        pieces: Pieces,
        on_damage: OnDamage,
        max_decompressed: int,
        *,
        experimental_magic3: bool = False,
    ) -> None:
        check_on_damage(on_damage)
        self.report = ConversionReport()
        self._source = source
        self._open = partial(
            open_segment, max_decompressed=max_decompressed, experimental_magic3=experimental_magic3
        )
        self._encoded = self._run(wanted, pieces, on_damage)
        self._is_taken = False

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over pieces of whole entries.

        Raises:
            OptionError: it was iterated before.
            KafkaFormatError: damage, if `on_damage` is "raise".
            EncodeError: an entry that Kafka would refuse to write.
        """
        if self._is_taken:
            raise OptionError("these bytes were taken already; make another conversion")
        self._is_taken = True
        return self._encoded

    def to_bytes(self) -> bytes:
        """Return all bytes; raises as iterating does."""
        return b"".join(self)

    def _run(self, wanted: Callable[[Batch], bool], pieces: Pieces, on_damage: OnDamage) -> Iterator[bytes]:
        source = self._source
        with nullcontext(source) if isinstance(source, Segment) else self._open(source) as segment:
            entries = read_entries(segment, wanted, on_damage, self.report)
            for piece in pieces(entries, self.report):
                if isinstance(piece, Untouched):
                    data = segment.read_entry(piece.batch)
                    self.report.num_untouched += 1
                    self.report.num_records_copied += max(piece.batch.num_records or 0, 0)
                elif isinstance(piece, Recoded):
                    data = piece.recode(segment.read_entry(piece.batch))
                    self.report.num_records += piece.num_records
                else:
                    data = _encoded(piece)
                    self.report.num_records += len(piece.records)
                self.report.num_bytes += len(data)
                yield data


def down_convert(
    source: SourceLike | Segment,
    to_magic: int,
    *,
    first_offset: int | None = None,
    on_damage: OnDamage = "raise",
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Conversion:
    """Convert a segment to an older format, as brokers up to Kafka 3.9 sent it to old clients (RecordsUtil).

    Entries of this magic or below are copied byte for byte. Records keep offset, key and value, in magic 1
    also the timestamp; a compressed batch becomes a wrapper of the same codec. Control batches, headers and
    everything else that `report.losses` counts are dropped. Needs the extra `arrow`.

    Args:
        source: as for `open_segment`, or an open segment, which stays open.
        to_magic: 0 or 1.
        first_offset: records of uncompressed batches below this offset are left out; None converts all.
        on_damage: "raise", "skip", or a function to call with each `Damage`; sound records are converted.
        max_decompressed: bytes that one batch may decompress to; an open segment has its own.

    Raises:
        OptionError: an invalid magic or `on_damage`.
        EncodeError: while iterating: zstd, or a timestamp below -1, which Kafka refuses.

    Example:
        >>> down_convert(b"", to_magic=1).to_bytes()
        b''
    """
    if not is_integer(to_magic) or to_magic not in MAGICS or to_magic >= 2:
        raise OptionError(f"to_magic is {to_magic!r}; it must be 0 or 1 (up_convert makes magic 2)")
    if first_offset is not None and not is_integer(first_offset):
        raise OptionError(f"first_offset is {first_offset!r}; it must be an integer or None")
    return Conversion(
        source,
        lambda batch: has_to_go_down(batch, to_magic),
        lambda entries, report: down_pieces(entries, to_magic, first_offset, report),
        on_damage,
        max_decompressed,
    )


def up_convert(
    source: SourceLike | Segment,
    *,
    batch_size: int = 16384,
    partition_leader_epoch: int = NOTHING,
    log_append_time: int | None = None,
    on_damage: OnDamage = "raise",
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Conversion:
    """Convert a segment to magic 2, as brokers store batches of old producers (LogValidator).

    Batches of magic 2 are copied byte for byte. A wrapper becomes a batch of the same codec; messages without
    a wrapper are gathered in batches. Records keep offset, timestamp, key and value. Magic 0 has no
    timestamps: they become -1, of type CreateTime. Needs the extra `arrow`.

    Args:
        source: as for `open_segment`, or an open segment, which stays open.
        batch_size: maximum bytes of messages to gather; 0 makes a batch of each, as a cleaner does.
        partition_leader_epoch: the epoch of all new batches; a broker sets the leader's, a cleaner -1.
        log_append_time: milliseconds; makes new batches LogAppendTime, as a broker does in such a topic.
        on_damage: "raise", "skip", or a function to call with each `Damage`; sound records are converted.
        max_decompressed: bytes that one wrapper may decompress to; an open segment has its own.

    Raises:
        OptionError: an invalid `on_damage`, or a number out of its range.
        EncodeError: while iterating: a timestamp below -1, which Kafka refuses.

    Example:
        >>> conversion = up_convert(b"")
        >>> conversion.to_bytes(), conversion.report.num_entries
        (b'', 0)
    """
    check_numbers(batch_size=batch_size, partition_leader_epoch=partition_leader_epoch)
    if log_append_time is not None:
        check_numbers(log_append_time=log_append_time)
    return Conversion(
        source,
        has_to_go_up,
        lambda entries, report: up_pieces(
            entries,
            batch_size=batch_size,
            partition_leader_epoch=partition_leader_epoch,
            log_append_time=log_append_time,
            report=report,
        ),
        on_damage,
        max_decompressed,
    )


def filter_batches(
    source: SourceLike | Segment,
    retain: Callable[[Record], bool],
    *,
    delete_horizon_ms: int,
    retention: Callable[[Batch], Retention] | None = None,
    ends_nothing: Callable[[Batch], bool] | None = None,
    keeps_magic: bool = False,
    on_damage: OnDamage = "raise",
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
) -> Conversion:
    """Filter the records of a segment, as the log cleaner does (MemoryRecords.filterTo).

    An unchanged batch is copied byte for byte. The tables in `rules` define the fields of the others. Needs
    the extra `arrow`.

    Args:
        source: as for `open_segment`, or an open segment, which stays open.
        retain: returns whether a record stays; it is also called with control records.
        delete_horizon_ms: the horizon for batches with tombstones or markers that have none yet: the current
            time plus the topic's delete.retention.ms.
        retention: returns what becomes of a batch; None drops batches without a retained record.
        ends_nothing: returns whether a control batch ends a transaction without any remaining record; it then
            gets a delete horizon. None: no batch does.
        keeps_magic: keep magic 0 and 1, as Kafka up to 3.9 did; otherwise they become magic 2.
        on_damage: "raise", "skip", or a function to call with each `Damage`; sound records are used.
        max_decompressed: bytes that one batch may decompress to; an open segment has its own.

    Raises:
        OptionError: an invalid `on_damage`, a `delete_horizon_ms` that is not an integer; while iterating, a
            result of `retention` that is not a `Retention` or its value.
        EncodeError: while iterating: what Kafka's writer refuses, such as a transaction without a producer.

    Example:
        >>> filter_batches(b"", lambda record: record.value is not None, delete_horizon_ms=0).to_bytes()
        b''
    """
    if not is_integer(delete_horizon_ms):
        raise OptionError(f"delete_horizon_ms is {delete_horizon_ms!r}; it must be an integer")
    cleaning = Cleaning(retain, delete_horizon_ms, retention, ends_nothing, keeps_magic)
    return Conversion(source, lambda _batch: True, cleaning.pieces, on_damage, max_decompressed)


def _encoded(piece: Rewritten) -> bytes:
    """Encode a rewritten batch, wrapper or messages.

    Raises:
        EncodeError: Kafka's builder would refuse it, such as a timestamp below -1 or a transaction without a
            producer; with the position of the original entry.
    """
    try:
        if piece.fields["magic"] < 2:
            return _messages(piece)
        return _batch(piece) if piece.records else _empty_batch(piece)
    except EncodeError as error:
        raise _refused(error, piece.source_of(error.row), error.offset) from error
    except OptionError as error:
        raise _refused(error, piece.source, None) from error


def _refused(error: EncodeError | OptionError, source: Batch, offset: int | None) -> EncodeError:
    return EncodeError(
        f"it cannot be rewritten: {error.detail}",
        rule=error.rule,
        offset=offset,
        position=source.position,
        path=source.path,
    )


def _row(record: Record) -> tuple[Any, ...]:
    return record.offset, record.timestamp, record.key, record.value, record.headers


def _times(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the options for the type of the records' timestamps."""
    if fields["timestamp_type"] == "LogAppendTime":
        return {"timestamp_type": "LogAppendTime", "log_append_time": fields["max_timestamp"]}
    return {}


def _batch(piece: Rewritten) -> bytes:
    fields = piece.fields
    sequence = fields["base_sequence"]
    # A control batch has a producer, but no sequence numbers.
    option = None if fields["is_control"] and sequence == -1 else sequence
    options = BatchOptions(
        **_times(fields),
        **{name: fields[name] for name in _V2_OPTIONS},
        base_sequence=option,
        max_message_bytes=None,
    )
    exact = {name: fields[name] for name in ("base_offset", "last_offset", "is_control")}
    return encode_exactly(map(_row, piece.records), options, **exact, sequence=sequence)


def _empty_batch(piece: Rewritten) -> bytes:
    """Encode the header alone, with no more checks than the cleaner (DefaultRecordBatch.writeEmptyHeader)."""
    fields = piece.fields
    return encode_head(
        BatchOptions(),
        is_control=fields["is_control"],
        is_transactional=fields["is_transactional"],
        timestamp_type=fields["timestamp_type"] == "LogAppendTime",
        last_offset_delta=fields["last_offset"] - fields["base_offset"],
        **{name: fields[name] for name in _HEADER_FIELDS},
    )


def _messages(piece: Rewritten) -> bytes:
    fields = piece.fields
    rows = [(*_row(record)[:-1], ()) for record in piece.records]
    options: dict[str, Any] = {"magic": fields["magic"], "max_message_bytes": None} | _times(fields)
    if fields["compression"] == "none":
        return encode_records(rows, **options)
    checked = BatchOptions(compression=fields["compression"], **options)
    return encode_exactly(rows, checked, base_offset=fields["base_offset"])
