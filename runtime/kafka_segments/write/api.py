"""Encoding of records to the bytes of batches, messages and wrappers, as a broker stores them.

The options are the attributes of `BatchOptions`, as keywords; see `inputs` for the forms of data.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from io import BytesIO
from typing import Unpack

from kafka_segments.core.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)

# isort: split
import numpy as np

from kafka_segments.core.native import kernels
from kafka_segments.core.native.engine import load_decoder
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
from kafka_segments.write.compressing import CompressedEncoding, VaryingHeads, WrapperEncoding
from kafka_segments.write.encoder import EncodedBatches, new_state, template_of
from kafka_segments.write.encoding import Encoding, EncodingStart, Exact, PlainEncoding, Sizing, len_head
from kafka_segments.write.inputs import Data, iter_incoming
from kafka_segments.write.refusals import refused
from kafka_segments_generated.columns import kafka_log_segment
from kafka_segments_generated.columns.kafka_log_segment import COL_BASE_OFFSET

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
    sizing = Sizing(checked, start_of(checked))
    _consume(sizing, data)
    return sizing.size


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
    return encode_exactly(data, checked, Exact(base_offset, last_offset))


def encode_exactly(data: Data, options: BatchOptions, exact: Exact, sequence: int | None = None) -> bytes:
    """Encode all records as one batch, see `encode_batch`; `sequence` replaces the base sequence."""
    start = start_of(options)
    if exact.base_offset is not None:
        check_numbers(base_offset=exact.base_offset)
        start = EncodingStart(exact.base_offset, exact.base_offset - 1, start.sequence)
    if sequence is not None:
        start.sequence = sequence
    encoding = new_encoding(options, start, exact)
    pieces = [(bytes(piece.data), piece.heads) for piece in _pieces(encoding, data)]
    num_batches = sum(len(heads) for _data, heads in pieces)
    if num_batches == 0:
        raise refused("no_records", "a batch without records")
    if num_batches > 1:
        first = int(pieces[0][1][0, COL_BASE_OFFSET])
        raise refused("offset_delta", f"the records make {num_batches} batches or messages", offset=first)
    return pieces[0][0]


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
    encoder = load_decoder(kafka_log_segment.head_encoder, writes=True)
    table = encoder.new_table()
    for name, array in (("batches", row), ("state", state), ("out", out)):
        table.set(name, array.ctypes.data, array.size)
    if encoder(table) != kernels.DONE:
        raise refused("unwritable", "a value does not fit its field", offset=fields.get("base_offset"))
    return ctypes.string_at(out.ctypes.data, size)


def start_of(options: BatchOptions) -> EncodingStart:
    """Return where encoding begins according to the options."""
    sequence = options.base_sequence
    if sequence is None:
        sequence = -1 if options.producer_id == -1 else 0
    return EncodingStart(options.base_offset or 0, -1, sequence)


def iter_pieces(data: Data, options: BatchOptions, start: EncodingStart) -> Iterator[EncodedBatches]:
    """Encode from `start` on, and advance it."""
    return _pieces(new_encoding(options, start), data)


def new_encoding(options: BatchOptions, start: EncodingStart, exact: Exact | None = None) -> Encoding:
    """Return an encoder of batches, or in magic 0 and 1 of messages or wrappers."""
    if options.is_experimental:
        return VaryingHeads(options, start, exact=exact)
    if not options.is_compressed:
        return PlainEncoding(options, start, exact=exact)
    if options.magic >= 2:
        return CompressedEncoding(options, start, exact=exact)
    return WrapperEncoding(options, start, exact=exact)


def _pieces(encoding: Encoding, data: Data) -> Iterator[EncodedBatches]:
    for incoming in iter_incoming(data):
        yield from encoding.feed(incoming)
    yield from encoding.finish()


def _consume(encoding: Encoding, data: Data) -> None:
    for _piece in _pieces(encoding, data):
        pass
