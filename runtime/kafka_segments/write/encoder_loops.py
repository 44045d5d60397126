"""Loops around the generated encoders: many batches, or messages, with one call from Python.

Strategy: as in `native_chain`, a compiled function calls two others by their addresses: the encoder of
records and that of headers. They share a state (`native.kernels`, `ENC_*`), and a table with a row
for each batch, which begins as a copy of `template`. A loop returns to Python when memory is full, a batch is
ready to be compressed, the rows are at their end, or a value cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_segments.core.native.kernels import (
    DONE,
    ENC_AT,
    ENC_BATCH,
    ENC_COUNT,
    ENC_END_ROW,
    ENC_HEAD,
    ENC_LIMIT,
    ENC_PAYLOAD,
    ENC_ROW,
    FULL,
    REFUSED,
    Longs,
    load,
    store,
)
from kafka_segments.core.segment.scan.native_chain import DECODER, FIRST, NUM_CHAINED, run
from kafka_segments.write.batch_options import MAX_INT
from kafka_segments_generated.columns.kafka_log_segment import (
    COL_BASE_OFFSET,
    COL_BASE_SEQUENCE,
    COL_BASE_TIMESTAMP,
    COL_END_POSITION,
    COL_LAST_OFFSET_DELTA,
    COL_MAX_TIMESTAMP,
    COL_NUM_RECORDS,
    COL_POSITION,
    WIDTH,
)

__all__ = [
    "CLOSED",
    "HEADS",
    "HEADS_LATER",
    "HEADS_NOW",
    "NO_HEADS",
    "NUM_STATE",
    "RECORDS",
    "REFUSED_HEAD",
    "batcher",
    "messenger",
]

RECORDS, HEADS = FIRST, DECODER
"""Slots of the state for the two functions that are called."""

# Other slots of the loops' state, set by Python: the batch's row in the table, the table's number of rows;
# whether a batch is open, and where it (or the next one) begins; bytes of a header, of a batch and of the
# memory; who writes headers; whether the open batch is the last; the base offset if the caller sets it; the
# next sequence number, -1 for none; whether the base timestamp is the template's; whether entries are
# wrappers, and inner offsets relative.
BATCH, MAX_BATCHES, IS_OPEN, START, SIZE_HEAD, SIZE_BATCH, SIZE_OUT, HAS_HEADS, IS_LAST = range(
    NUM_CHAINED, NUM_CHAINED + 9
)
GIVEN_BASE, SEQUENCE, HAS_HORIZON, IS_WRAPPER, IS_RELATIVE = range(NUM_CHAINED + 9, NUM_CHAINED + 14)
NUM_STATE = NUM_CHAINED + 14

HEADS_LATER, HEADS_NOW, NO_HEADS = range(3)
"""Whether Python writes the headers, the loop does, or none are written, where only sizes are computed."""

CLOSED, ENDED = 3, 4
"""A batch is complete except for its header, which Python writes (CLOSED) or the loop (ENDED)."""
REFUSED_HEAD = -3
"""A header cannot be written."""


def begin(state: Longs, encode: Longs, table: Longs, template: Longs) -> int:
    """Begin a batch; return the position of its row in the table."""
    place = load(state, BATCH) * WIDTH
    for at in range(WIDTH):
        store(table, place + at, load(template, at))
    store(encode, ENC_BATCH, load(state, BATCH))
    store(encode, ENC_COUNT, 0)
    store(encode, ENC_HEAD, load(state, START))
    store(encode, ENC_AT, load(state, START) + load(state, SIZE_HEAD))
    store(encode, ENC_PAYLOAD, load(state, START) + load(state, SIZE_HEAD))
    store(table, place + COL_POSITION, load(state, START))
    store(state, IS_OPEN, 1)
    return place


def end(state: Longs, encode: Longs, table: Longs) -> None:
    """End a batch; the next one begins after it."""
    place = load(state, BATCH) * WIDTH
    store(table, place + COL_END_POSITION, load(encode, ENC_AT))
    store(state, START, load(encode, ENC_AT))
    store(state, BATCH, load(state, BATCH) + 1)
    store(state, IS_OPEN, 0)


def close(state: Longs, encode: Longs, table: Longs) -> int:
    """Write the header of the open batch, and end the batch; or return CLOSED for Python to do so."""
    if load(state, HAS_HEADS) == HEADS_LATER:
        return CLOSED
    if load(state, HAS_HEADS) == NO_HEADS:
        end(state, encode, table)
        return DONE
    if run(state, HEADS) != DONE:
        return REFUSED_HEAD
    place = load(state, BATCH) * WIDTH
    if load(state, SEQUENCE) >= 0:
        following = load(state, SEQUENCE) + load(table, place + COL_LAST_OFFSET_DELTA) + 1
        # 0 comes after the greatest (DefaultRecordBatch.incrementSequence).
        store(state, SEQUENCE, following if following <= MAX_INT else following - MAX_INT - 1)
    end(state, encode, table)
    return DONE


def begin_batch(  # noqa: PLR0917
    state: Longs, encode: Longs, table: Longs, template: Longs, first: int, time: int
) -> None:
    """Begin a batch whose first record has an offset and a timestamp."""
    place = begin(state, encode, table, template)
    given = load(state, GIVEN_BASE)
    store(table, place + COL_BASE_OFFSET, given if given >= 0 else first)
    if load(state, HAS_HORIZON) == 0:
        store(table, place + COL_BASE_TIMESTAMP, time)
    store(table, place + COL_BASE_SEQUENCE, load(state, SEQUENCE))


def one_record(state: Longs, encode: Longs) -> int:
    """Encode a batch's first record, of any size; ENDED if more rows follow, which need another batch."""
    end_row = load(encode, ENC_END_ROW)
    store(encode, ENC_END_ROW, load(encode, ENC_ROW) + 1)
    store(encode, ENC_LIMIT, load(state, SIZE_OUT))
    status = run(state, RECORDS)
    store(encode, ENC_END_ROW, end_row)
    if status == DONE and load(encode, ENC_ROW) < end_row:
        return ENDED
    return status


def fill(state: Longs, encode: Longs) -> int:
    """Add records to the open batch; ENDED if it is full."""
    limit = load(state, START) + load(state, SIZE_BATCH)
    store(encode, ENC_LIMIT, min(limit, load(state, SIZE_OUT)))
    status = run(state, RECORDS)
    if status != FULL:
        return status
    if load(encode, ENC_COUNT) == 0:
        return one_record(state, encode)
    return ENDED if limit <= load(state, SIZE_OUT) else FULL


def is_too_far(state: Longs, encode: Longs, table: Longs, offsets: Longs) -> bool:
    """Return whether the refused record only has an offset too far from the batch's base offset."""
    if load(encode, ENC_COUNT) == 0 or load(state, GIVEN_BASE) >= 0:
        return False
    base = load(table, load(state, BATCH) * WIDTH + COL_BASE_OFFSET)
    return load(offsets, load(encode, ENC_ROW)) - base > MAX_INT


def batcher() -> Callable[..., int]:
    """Return a function that encodes batches of records.

    It returns DONE at the end of the rows, with an open batch unless `IS_LAST`; FULL if memory or the table
    is full, and the same call continues with more of it; CLOSED; REFUSED with `ENC_ROW`; REFUSED_HEAD.
    """

    def batch(  # noqa: PLR0917
        state: Longs, encode: Longs, table: Longs, template: Longs, offsets: Longs, timestamps: Longs
    ) -> int:
        while True:
            if load(state, IS_OPEN) == 0:
                row, start = load(encode, ENC_ROW), load(state, START)
                if row == load(encode, ENC_END_ROW):
                    return DONE
                if load(state, BATCH) == load(state, MAX_BATCHES):
                    return FULL
                if start > 0 and start + load(state, SIZE_BATCH) > load(state, SIZE_OUT):
                    return FULL
                first = load(offsets, row)
                time = load(timestamps, row)
                begin_batch(state, encode, table, template, first, time)
            status = fill(state, encode)
            if status == REFUSED and is_too_far(state, encode, table, offsets):
                status = ENDED
            if status != ENDED and (status != DONE or load(state, IS_LAST) == 0):
                return status
            status = close(state, encode, table)
            if status != DONE:
                return status

    return batch


def one_message(state: Longs, encode: Longs) -> int:
    """Encode one message, if the wrapper has room or there is none; ENDED if the wrapper is full."""
    end_row, limit = load(encode, ENC_END_ROW), load(state, SIZE_OUT)
    if load(state, IS_WRAPPER) != 0 and load(encode, ENC_COUNT) > 0:
        limit = min(limit, load(state, START) + load(state, SIZE_BATCH))
    store(encode, ENC_END_ROW, load(encode, ENC_ROW) + 1)
    store(encode, ENC_LIMIT, limit)
    status = run(state, RECORDS)
    store(encode, ENC_END_ROW, end_row)
    return ENDED if status == FULL and limit < load(state, SIZE_OUT) else status


def count_message(state: Longs, encode: Longs, table: Longs, offset: int, time: int) -> None:
    """Add a message to the table."""
    place = load(state, BATCH) * WIDTH
    base = load(table, place + COL_BASE_OFFSET)
    store(table, place + COL_LAST_OFFSET_DELTA, offset - base)
    store(table, place + COL_NUM_RECORDS, load(encode, ENC_COUNT))
    if load(encode, ENC_COUNT) == 1 or time > load(table, place + COL_MAX_TIMESTAMP):
        store(table, place + COL_MAX_TIMESTAMP, time)


def messenger() -> Callable[..., int]:
    """Return a function that encodes messages of magic 0 and 1, as entries or as content of wrappers.

    It returns what that of `batcher` does. `inner` gets the offsets that are written, one for each row.
    """

    def message(  # noqa: PLR0917
        state: Longs,
        encode: Longs,
        table: Longs,
        template: Longs,
        offsets: Longs,
        timestamps: Longs,
        inner: Longs,
    ) -> int:
        is_wrapper = load(state, IS_WRAPPER) != 0
        while load(encode, ENC_ROW) < load(encode, ENC_END_ROW):
            row = load(encode, ENC_ROW)
            offset = load(offsets, row)
            time = load(timestamps, row)
            place = load(state, BATCH) * WIDTH + COL_BASE_OFFSET
            if load(state, IS_OPEN) == 0:
                if load(state, BATCH) == load(state, MAX_BATCHES):
                    return FULL
                begin(state, encode, table, template)
                given = load(state, GIVEN_BASE)
                store(table, place, given if given >= 0 else offset)
            base = load(table, place)
            if load(encode, ENC_COUNT) > 0 and offset - base > MAX_INT:
                return CLOSED
            store(inner, row, offset - base if load(state, IS_RELATIVE) != 0 else offset)
            status = one_message(state, encode)
            if status != DONE:
                return CLOSED if status == ENDED else status
            count_message(state, encode, table, offset, time)
            if not is_wrapper:
                end(state, encode, table)
        return CLOSED if load(state, IS_LAST) != 0 and load(state, IS_OPEN) != 0 else DONE

    return message
