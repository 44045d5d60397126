"""Fold of verified entries into runs, in which nothing happens that a check or a copy has to look at.

Strategy: a run ends before an entry that does not continue it: by its offset, its leader epoch or its format.
An entry that has to be looked at is a run of its own, and its flags say why. So is the last one before
offsets fall, which may be the wrong one, and the last of a table.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_segments.core.codecs.bounds import ITEMS_PER_BYTE, MORE_ITEMS
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.native.kernels import (
    CODEC,
    CONTENT,
    END_POSITION,
    POSITION,
    Longs,
    load,
    store,
    wrap,
)
from kafka_segments.core.segment.verified.producer_table import (
    LAST_OF_PRODUCER,
    MISSING,
    TIMESTAMP,
    producer_goes_on,
)
from kafka_segments.core.segment.verified.verified_entries import (
    FIRST_OFFSET,
    GREATEST,
    INCREASES,
    LAST_OFFSET,
    NUM_READ,
    NUM_RECORDS,
    UNKNOWN_TIMESTAMP,
)
from kafka_segments_generated.columns import kafka_log_segment

__all__ = [
    "ALONE",
    "APPEND_TIME",
    "BEFORE",
    "DISORDERED",
    "FIRST",
    "HAS_OPEN",
    "INVALID",
    "LARGE",
    "LEN_FACTS",
    "MANY",
    "MAX_SIZE",
    "NUM_MISSING",
    "NUM_ROWS",
    "NUM_SLOTS",
    "NUM_STATE",
    "PREVIOUS",
    "ROW",
    "TIME",
    "run_folder",
]

INVALID, MANY, DISORDERED, TIME, LARGE, SPECIAL, LOOSE, PRODUCER, APPEND_TIME = (1 << bit for bit in range(9))
"""Flags of a run: an entry whose offsets no log can have; a batch with more records than offsets; records
whose offsets do not increase within the entry's; another greatest timestamp than the header's; too large; a
control batch, or one of a transaction; where producers are followed, an entry that does not continue the one
before it, and a batch that does not continue its producer's last one. And timestamps set by a broker
(LogAppendTime), the only flag of runs of several entries."""
ALONE = APPEND_TIME - 1

# The state: the next row, and how many there are; from an entry's facts to those of the next, 0 for none; the
# last offset of the entry before, and that which the messages of a wrapper follow; the greatest size of an
# entry; places in the table of producers, 0 if they are not followed; offsets that were missing so far; and
# whether transactions are open, within which each batch has to be looked at.
ROW, NUM_ROWS, LEN_FACTS, PREVIOUS, BEFORE, MAX_SIZE, NUM_SLOTS, NUM_MISSING, HAS_OPEN = range(9)
# After it the run; see `SoundRun`.
FIRST, LAST, NUM_BATCHES, NEWEST, LACKING, EPOCH, MAGIC, FLAGS, NUM_DATA = range(9, 18)
NUM_STATE = 18

_WIDTH = kafka_log_segment.WIDTH
_BATCHES = next(at for at, content in enumerate(kafka_log_segment.CONTENTS) if content.is_repeated)
_at = kafka_log_segment.BATCH_COLUMNS.index
_BASE_OFFSET, _LAST_OFFSET_DELTA, _COUNT = map(_at, ("base_offset", "last_offset_delta", "num_records"))
_MAGIC, _LEADER_EPOCH = map(_at, ("magic", "partition_leader_epoch"))
_TIMESTAMP_TYPE, _MAX_TIMESTAMP = map(_at, ("timestamp_type", "max_timestamp"))
_HAS_DELETE_HORIZON, _IS_CONTROL = map(_at, ("has_delete_horizon", "is_control"))
_PRODUCER_ID, _PRODUCER_EPOCH, _BASE_SEQUENCE = map(_at, ("producer_id", "producer_epoch", "base_sequence"))
_IS_TRANSACTIONAL = _at("is_transactional")


def is_batch(table: Longs, place: int) -> bool:
    """Return whether an entry is a batch of records."""
    return load(table, place + CONTENT) == _BATCHES


def first_of(state: Longs, table: Longs, facts: Longs, row: int) -> int:
    """Return the first offset of an entry; of a wrapper that was not opened the lowest one possible."""
    place = row * _WIDTH
    base = load(table, place + _BASE_OFFSET)
    if is_batch(table, place) or load(table, place + CODEC) == 0:
        return base
    if load(state, LEN_FACTS) == 0:
        return min(load(state, BEFORE) + 1, base)
    return load(facts, row * load(state, LEN_FACTS) + FIRST_OFFSET)


def is_overflowing(table: Longs, place: int, first: int) -> bool:
    """Return whether the last offset by the header is below the first one, or above the greatest."""
    if is_batch(table, place):
        delta = load(table, place + _LAST_OFFSET_DELTA)
        return delta < 0 or first > MAX_LONG - delta
    return load(table, place + _BASE_OFFSET) < first


def last_of(table: Longs, place: int, first: int) -> int:
    """Return the last offset of an entry by its header, at least the first."""
    if is_overflowing(table, place, first):
        return first
    if is_batch(table, place):
        return first + load(table, place + _LAST_OFFSET_DELTA)
    return load(table, place + _BASE_OFFSET)


def count_of(state: Longs, table: Longs, facts: Longs, row: int) -> int:
    """Return the number of an entry's records by its header; -1 for a wrapper that was not opened."""
    place = row * _WIDTH
    if is_batch(table, place):
        return load(table, place + _COUNT)
    if load(table, place + CODEC) == 0:
        return 1
    return load(facts, row * load(state, LEN_FACTS) + NUM_RECORDS)


def num_data_of(state: Longs, table: Longs, facts: Longs, row: int, count: int) -> int:
    """Return how many data records were read; else those of the header, if its bytes can hold them."""
    place = row * _WIDTH
    num_read = load(facts, row * load(state, LEN_FACTS) + NUM_READ)
    if num_read >= 0:
        return num_read
    if is_batch(table, place) and load(table, place + _IS_CONTROL) != 0:
        return 0
    limit = load(table, place + END_POSITION) - load(table, place + POSITION)
    if load(table, place + CODEC) != 0:
        limit = ITEMS_PER_BYTE * limit + MORE_ITEMS
    return count if 0 <= count <= limit else 0


def time_of(table: Longs, place: int) -> int:
    """Return the greatest timestamp by the header; -1 in magic 0."""
    return load(table, place + _MAX_TIMESTAMP) if load(table, place + _MAGIC) > 0 else -1


def has_right_time(table: Longs, place: int, greatest: int, is_dense: bool) -> bool:
    """Return whether the greatest timestamp of the records is that of the header, or can be."""
    if greatest == UNKNOWN_TIMESTAMP or load(table, place + _MAGIC) < 1:
        return True
    header = load(table, place + _MAX_TIMESTAMP)
    # A broker begins with -1 for the greatest (LogValidator), whatever less the records have.
    if is_batch(table, place) and is_dense and load(table, place + _HAS_DELETE_HORIZON) == 0:
        return max(greatest, -1) == header
    return greatest <= header


def flags_of(  # noqa: PLR0917
    state: Longs, table: Longs, facts: Longs, row: int, first: int, last: int, count: int
) -> int:
    """Return the flags of an entry, but for that of its producer."""
    place, fact = row * _WIDTH, row * load(state, LEN_FACTS)
    flags = 0
    if load(state, NUM_SLOTS) != 0 and first - 1 != load(state, PREVIOUS):
        flags |= LOOSE
    if first < 0 or is_overflowing(table, place, first):
        flags |= INVALID
    if load(table, place + END_POSITION) - load(table, place + POSITION) > load(state, MAX_SIZE):
        flags |= LARGE
    if load(table, place + _TIMESTAMP_TYPE) != 0 and load(table, place + _MAGIC) > 0:
        flags |= APPEND_TIME
    room = wrap(last - first + 1)
    is_control = False
    if is_batch(table, place):
        is_control = load(table, place + _IS_CONTROL) != 0
        if count > room:
            flags |= MANY
        if is_control or load(table, place + _IS_TRANSACTIONAL) != 0:
            flags |= SPECIAL
        if count <= 0:
            return flags
    if load(state, LEN_FACTS) == 0:
        return flags
    is_inside = load(facts, fact + FIRST_OFFSET) >= first and load(facts, fact + LAST_OFFSET) <= last
    if load(facts, fact + INCREASES) == 0 or not is_inside:
        flags |= DISORDERED
    if not is_control and not has_right_time(table, place, load(facts, fact + GREATEST), count == room):
        flags |= TIME
    return flags


def has_right_producer(  # noqa: PLR0917
    state: Longs, table: Longs, producers: Longs, place: int, first: int, last: int
) -> bool:
    """Return whether a batch of no transaction continues its producer's last one, which is then noted."""
    if load(state, NUM_SLOTS) == 0 or not is_batch(table, place) or load(table, place + _PRODUCER_ID) < 0:
        return True
    if load(state, HAS_OPEN) != 0:
        return False
    found = producer_goes_on(
        producers,
        load(state, NUM_SLOTS),
        load(table, place + _PRODUCER_ID),
        load(table, place + _PRODUCER_EPOCH),
        load(table, place + _BASE_SEQUENCE),
        last - first,
    )
    if found < 0:
        return False
    store(producers, found + LAST_OF_PRODUCER, last)
    store(producers, found + TIMESTAMP, load(table, place + _MAX_TIMESTAMP))
    store(producers, found + MISSING, load(state, NUM_MISSING))
    return True


def goes_on(state: Longs, first: int, epoch: int, magic: int, flags: int) -> bool:
    """Return whether an entry continues the run, if nothing happens in it."""
    is_next = first - 1 == load(state, PREVIOUS) and flags == load(state, FLAGS)
    return is_next and epoch == load(state, EPOCH) and magic == load(state, MAGIC)


def is_alone(state: Longs, table: Longs, facts: Longs, row: int, last: int, flags: int) -> bool:  # noqa: PLR0917
    """Return whether an entry is a run of its own: by its flags, as the last, or as offsets fall next."""
    if (flags & ALONE) != 0 or row + 1 == load(state, NUM_ROWS):
        return True
    before = load(state, BEFORE)
    store(state, BEFORE, last)
    following = first_of(state, table, facts, row + 1)
    store(state, BEFORE, before)
    return following <= last


def add(state: Longs, is_first: bool, first: int, last: int, lacking: int, time: int) -> None:  # noqa: PLR0917
    """Add the offsets and timestamps of an entry to the run."""
    if is_first:
        store(state, FIRST, first)
        store(state, NUM_BATCHES, 0)
        store(state, NUM_DATA, 0)
        store(state, LACKING, 0)
        store(state, NEWEST, time)
    store(state, LAST, last)
    store(state, NUM_BATCHES, load(state, NUM_BATCHES) + 1)
    store(state, LACKING, load(state, LACKING) + lacking)
    store(state, NEWEST, max(load(state, NEWEST), time))
    store(state, PREVIOUS, last)
    store(state, BEFORE, last)


def run_folder() -> Callable[..., int]:
    """Return a function that folds the next rows into a run, and returns the first of them."""

    def fold_run(state: Longs, table: Longs, facts: Longs, producers: Longs) -> int:
        start = row = load(state, ROW)
        is_last = False
        while row < load(state, NUM_ROWS) and not is_last:
            place = row * _WIDTH
            first = first_of(state, table, facts, row)
            last, count = last_of(table, place, first), count_of(state, table, facts, row)
            flags = flags_of(state, table, facts, row, first, last, count)
            epoch = load(table, place + _LEADER_EPOCH) if is_batch(table, place) else -1
            magic = load(table, place + _MAGIC)
            if row > start and not goes_on(state, first, epoch, magic, flags):
                break
            is_last = is_alone(state, table, facts, row, last, flags)
            if row > start and is_last:
                break
            if (flags & ALONE) == 0 and not has_right_producer(state, table, producers, place, first, last):
                if row > start:
                    break
                flags, is_last = flags | PRODUCER, True
            lacking = 0 if count < 0 else max(0, wrap(last - first + 1) - count)
            add(state, row == start, first, last, lacking, time_of(table, place))
            num_data = num_data_of(state, table, facts, row, count)
            store(state, NUM_DATA, load(state, NUM_DATA) + num_data)
            store(state, EPOCH, epoch)
            store(state, MAGIC, magic)
            store(state, FLAGS, flags)
            row += 1
        store(state, ROW, row)
        return start

    return fold_run
