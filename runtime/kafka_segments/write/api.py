"""Encoding of records to the bytes of batches, messages and wrappers, as a broker stores them.

The options are the attributes of `BatchOptions`, as keywords; see `inputs` for the forms of data.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Unpack

from kafka_segments.core.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)

# isort: split
import numpy as np

from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.native import kernels
from kafka_segments.core.native.engine import Compiled
from kafka_segments.errors import OptionError
from kafka_segments.write.batch_options import (
    MAX_INT,
    BatchOptions,
    Options,
    RecordOptions,
    check_flags,
    check_numbers,
    options_of,
)
from kafka_segments.write.compressing import BatchEncoding, WrapperEncoding
from kafka_segments.write.encoder import EncodedBatches, new_state, template_of
from kafka_segments.write.encoding import Encoding, EncodingStart, PlainEncoding, Sizing, len_head
from kafka_segments.write.given_batches import GivenBatch
from kafka_segments.write.inputs import Data, Incoming, iter_incoming
from kafka_segments.write.refusals import refused
from kafka_segments_generated.columns import kafka_log_segment
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_IS_CONTROL,
    COL_LAST_OFFSET_DELTA,
)

__all__ = [
    "encode_batch",
    "encode_empty_batch",
    "encode_exactly",
    "encode_head",
    "encode_records",
    "iter_encoded",
    "iter_pieces",
    "new_encoding",
    "predicted_size",
    "start_of",
]


def encode_records(data: Data, **options: Unpack[Options]) -> bytes:
    """Encode records as batches of magic 2, messages or wrappers, one after the other.

    Args:
        data: Arrow data or rows, see `inputs`. Timestamps are milliseconds since 1970, or times with a zone;
            a time with a fraction of a millisecond, as of `datetime.now`, is refused, because Kafka cannot
            store it: round it first.
        options: `magic`, `compression`, `compression_level`, `timestamp_type`, `log_append_time`,
            `base_offset`, `partition_leader_epoch`, `producer_id`, `producer_epoch`, `base_sequence`,
            `is_transactional`, `delete_horizon_ms`, `batch_size`, `max_message_bytes`, `compacted`,
            `experimental_magic3`; see `BatchOptions`.

    Returns:
        The content of a segment with these records; empty for no records.

    Raises:
        EncodeError: a record or batch that Kafka would refuse; `rule` names the reason.
        OptionError: options that contradict each other, or data of an unsupported type.
        MissingCodecError: the codec's package is not installed.

    Example:
        >>> len(encode_records([{"value": b"hello"}, {"value": b"world"}]))
        85
    """
    out = BytesIO()
    for piece in iter_encoded(data, **options):
        out.write(piece)
    return out.getvalue()


def iter_encoded(data: Data, **options: Unpack[Options]) -> Iterator[memoryview]:
    """Encode records as `encode_records`, in pieces of whole batches and in bounded memory.

    A piece is immutable; its memory is reused when the piece is no longer referenced.
    """
    checked = options_of(options)
    start = start_of(checked)
    for piece in iter_pieces(data, checked, start):
        yield piece.data


def predicted_size(data: Data, **options: Unpack[Options]) -> int:
    """Return the exact size in bytes of the result of `encode_records`, without encoding.

    Raises:
        OptionError: compression is on, or magic 3: the size of such batches cannot be predicted.
        EncodeError: a record that cannot be written.
    """
    checked = options_of(options)
    if checked.is_compressed:
        raise OptionError(f"the size of batches compressed with {checked.compression} cannot be predicted")
    if checked.is_experimental:
        raise OptionError("the size of batches of magic 3, whose headers vary in length, cannot be predicted")
    return sum(int(piece.sizes.sum()) for piece in _pieces(Sizing(checked, start_of(checked)), data))


def encode_batch(
    data: Data,
    *,
    base_offset: int | None = None,
    last_offset: int | None = None,
    **options: Unpack[RecordOptions],
) -> bytes:
    """Encode records as exactly one batch, one wrapper, or (one record) one message of magic 0 or 1.

    Args:
        data: Arrow data or rows; records without offsets are numbered from `base_offset` on.
        base_offset: the batch's; may be below the first record's offset. In a wrapper of magic 1 the inner
            offsets are relative to it. None: the first record's offset.
        last_offset: the batch's; may be above the last record's offset, as after compaction; magic 2 only.
            None: the last record's offset.
        options: `magic`, `compression`, `compression_level`, `timestamp_type`, `log_append_time`,
            `base_offset`, `partition_leader_epoch`, `producer_id`, `producer_epoch`, `base_sequence`,
            `is_transactional`, `delete_horizon_ms`, `max_message_bytes`, `compacted`,
            `experimental_magic3`; see `BatchOptions`. Only `max_message_bytes` bounds the batch's size.

    Raises:
        EncodeError: no records, records that do not fit into one batch, and as `encode_records`.
        OptionError: as `encode_records`.
    """
    checked = options_of(options)
    if last_offset is not None:
        check_numbers(last_offset=last_offset)
    if last_offset is not None and checked.magic < 2:
        raise OptionError(f"last_offset in magic {checked.magic}, where it is that of the last message")
    return encode_exactly(data, checked, base_offset=base_offset, last_offset=last_offset)


def encode_exactly(
    data: Data,
    options: BatchOptions,
    *,
    base_offset: int | None = None,
    last_offset: int | None = None,
    sequence: int | None = None,
    is_control: bool = False,
) -> bytes:
    """Encode all records as one batch, see `encode_batch`; `sequence` replaces the base sequence."""
    start = start_of(options)
    if base_offset is not None:
        check_numbers(base_offset=base_offset)
        start.next_offset, start.last_offset = base_offset, base_offset - 1
    start.sequence = start.sequence if sequence is None else sequence
    encoding, fields = new_encoding(options, start), {COL_IS_CONTROL: int(is_control)}
    derived: tuple[str, ...] = ()
    pieces: list[EncodedBatches] = []
    for incoming in iter_incoming(data):
        if last_offset is not None and incoming.num_rows and COL_LAST_OFFSET_DELTA not in fields:
            fields[COL_LAST_OFFSET_DELTA] = _last_delta(incoming, start.next_offset, base_offset, last_offset)
            derived = ("last_offset_delta",)
        batch = GivenBatch(MAX_LONG, fields, base_offset, start.sequence, derived)
        pieces += encoding.feed_batches(incoming, [batch])
    pieces += encoding.finish()
    num_batches = sum(len(piece.heads) for piece in pieces)
    if num_batches == 0:
        raise refused("no_records", "a batch without records")
    if num_batches > 1:
        first = int(pieces[0].heads[0, COL_BASE_OFFSET])
        raise refused("offset_delta", f"the records make {num_batches} batches or messages", offset=first)
    end_offset = encoding.start.next_offset
    if last_offset is not None and last_offset < end_offset - 1:
        found = f"last_offset is below the last record's, {end_offset - 1}"
        raise refused("offset_order", found, offset=last_offset)
    return bytes(pieces[0].data)


def _last_delta(incoming: Incoming, next_offset: int, base_offset: int | None, last_offset: int) -> int:
    """Return what a last offset is in the header of a batch that begins with some records."""
    offsets = incoming.columns.get("offset")
    first = base_offset
    if first is None:
        first = next_offset if offsets is None else int(offsets[0].as_py())
    if last_offset - first > MAX_INT:
        raise refused("offset_delta", f"in a batch from offset {first} on", offset=last_offset)
    return max(0, last_offset - first)


def encode_empty_batch(
    *,
    base_offset: int,
    last_offset: int,
    max_timestamp: int = -1,
    timestamp_type: str = "CreateTime",
    partition_leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """Encode a batch of magic 2 without records, as the cleaner keeps it.

    Like DefaultRecordBatch.writeEmptyHeader: numbers must fit their fields; Kafka's rules for new batches do
    not apply to what is left of an old one.

    Args:
        base_offset: the original batch's.
        last_offset: the original batch's.
        max_timestamp: the original batch's, in milliseconds.

    Raises:
        EncodeError: the offsets are more than 2^31 - 1 apart, or in the wrong order.
        OptionError: a number is out of range.
    """
    numbers = {"producer_id": producer_id, "producer_epoch": producer_epoch, "base_sequence": base_sequence}
    check_numbers(base_offset=base_offset, last_offset=last_offset, max_timestamp=max_timestamp, **numbers)
    check_flags(is_transactional=is_transactional, is_control=is_control)
    kind: object = timestamp_type
    options = BatchOptions(
        timestamp_type=timestamp_type,
        log_append_time=-1 if isinstance(kind, str) and kind == "LogAppendTime" else None,
        partition_leader_epoch=partition_leader_epoch,
    )
    if last_offset < base_offset:
        raise refused("offset_order", f"the last offset, with {base_offset} as the first", offset=last_offset)
    if last_offset - base_offset > MAX_INT:
        raise refused("offset_delta", f"in a batch from offset {base_offset} on", offset=last_offset)
    return encode_head(
        options,
        is_control=is_control,
        base_offset=base_offset,
        last_offset_delta=last_offset - base_offset,
        max_timestamp=max_timestamp,
        is_transactional=int(is_transactional),
        **numbers,
    )


def encode_head(options: BatchOptions, *, is_control: bool, **fields: int) -> bytes:
    """Encode a batch of magic 2 without records.

    Args:
        options: fields that are common to all batches.
        is_control: whether it was a control batch.
        fields: the other fields, by the names of the table's columns.

    Raises:
        EncodeError: a value that does not fit its field.
    """
    row = template_of(options, compression="none", is_control=is_control)
    for name, value in fields.items():
        row[kafka_log_segment.BATCH_COLUMNS.index(name)] = value
    size = len_head(options.magic)
    out, state = np.zeros(size, np.uint8), new_state()
    state[kernels.ENC_AT] = state[kernels.ENC_PAYLOAD] = state[kernels.ENC_LIMIT] = size
    state[kernels.ENC_GIVEN] = -1
    encode = Compiled(kafka_log_segment.head_encoder, writes=True)
    for name, array in (("batches", row), ("state", state), ("out", out)):
        encode.set(name, array)
    if encode() != kernels.DONE:
        raise refused("unwritable", "a value does not fit its field", offset=fields.get("base_offset"))
    return out.tobytes()


def start_of(options: BatchOptions) -> EncodingStart:
    """Return where encoding begins according to the options."""
    sequence = options.base_sequence
    if sequence is None:
        sequence = -1 if options.producer_id == -1 else 0
    return EncodingStart(options.base_offset or 0, -1, sequence)


def iter_pieces(data: Data, options: BatchOptions, start: EncodingStart) -> Iterator[EncodedBatches]:
    """Encode from `start` on, and advance it."""
    return _pieces(new_encoding(options, start), data)


def new_encoding(options: BatchOptions, start: EncodingStart) -> Encoding:
    """Return an encoder of batches, or in magic 0 and 1 of messages or wrappers."""
    if not (options.is_compressed or options.is_experimental):
        return PlainEncoding(options, start)
    return BatchEncoding(options, start) if options.magic >= 2 else WrapperEncoding(options, start)


def _pieces(encoding: Encoding, data: Data) -> Iterator[EncodedBatches]:
    for incoming in iter_incoming(data):
        yield from encoding.feed(incoming)
    yield from encoding.finish()
