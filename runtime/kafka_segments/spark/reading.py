"""From a split to its data records, and what is to be done about what is not sound.

Strategy: everything goes through one place, `iter_data_records`, for the data source and for `ingest`. They
differ in the `Findings` they pass: one raises or warns, the other counts and lists.

Pending: in the newest segment of a partition a broker may be writing at this moment. A last batch that is
cut off by the end of the file, or in a preallocated file by the zeros up to it, is not yet there: no damage.
Its first bytes, so far as they are there, must be those of an entry that could follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Protocol

from kafka_segments.entries import Batch, Damage, Padding, Record
from kafka_segments.errors import KafkaFormatError, TruncatedError, UnsupportedMagicError
from kafka_segments.layout import LEN_PREFIX, read_prefix
from kafka_segments.records import is_undecoded
from kafka_segments.segment import open_segment
from kafka_segments.spark.splits import SegmentSplit
from kafka_segments.storage import open_source

__all__ = ["Findings", "describe", "iter_data_records", "name_partition", "undecoded_error"]

Event = Batch | Record | Damage | Padding


class Findings(Protocol):
    """What is told about a segment beside its records, in file order. Any of these may raise."""

    def batch(self, batch: Batch) -> None:
        """A sound batch (of magic 2) that holds offsets at or above the log start offset."""

    def damage(self, damage: Damage) -> None:
        """A damaged region that may have cost records."""

    def pending(self, damage: Damage) -> None:
        """The newest segment's last batch is not whole yet."""

    def undecoded(self, batch: Batch) -> None:
        """A sound entry of an old format, which is not decoded into records yet."""


def iter_data_records(
    split: SegmentSplit, findings: Findings, *, check_crc: bool, max_decompressed: int
) -> Iterator[Record]:
    """Yield the data records at or above the log start offset; control records are left out.

    Raises:
        KafkaFormatError: the file cannot be opened or is another program's; and whatever `findings` raises.
    """
    start = split.log_start_offset

    def is_wanted(batch: Batch) -> bool:
        return start is None or batch.highest_offset >= start

    with open_segment(split.path, check_crc=check_crc, max_decompressed=max_decompressed) as segment:
        events = segment.iter_events(on_damage="skip", wanted=is_wanted)
        for event, is_pending in _judge(events, split.is_newest):
            if isinstance(event, Record):
                if event.control is None and (start is None or event.offset >= start):
                    yield event
            elif isinstance(event, Batch):
                if is_wanted(event):
                    _tell_batch(event, findings)
            elif isinstance(event, Damage):
                if is_pending:
                    findings.pending(event)
                elif event.touches(start, None):
                    findings.damage(event)


def describe(damage: Damage) -> str:
    """Where a damaged region is, what is wrong, and the offsets that it may have cost, for people."""
    first, last = damage.first_lost_offset, damage.last_lost_offset
    if first is None and last is None:
        lost = "offsets lost: unknown or none"
    else:
        lost = f"offsets lost: {'?' if first is None else first} to {'?' if last is None else last}"
    where = f"{damage.path}, position {damage.position} to {damage.end_position}"
    return f"{where}: {type(damage.error).__name__}: {damage.error.detail}; {lost}"


def name_partition(error: KafkaFormatError, split: SegmentSplit) -> KafkaFormatError:
    """The error, with file, topic and partition in its message."""
    error.path = error.path or split.path
    error.detail += f" (topic {split.topic}, partition {split.partition})"
    return error


def undecoded_error(batch: Batch) -> UnsupportedMagicError:
    """What is to be said of an entry of magic 0 or 1."""
    return UnsupportedMagicError(
        f"the entry of magic {batch.magic} at offset {batch.last_offset} is not yet decoded into records; "
        "`kafka-segments dump` lists such entries",
        magic=batch.magic,
        position=batch.position,
        path=batch.path,
    )


def _tell_batch(batch: Batch, findings: Findings) -> None:
    if is_undecoded(batch):
        findings.undecoded(batch)
    elif batch.magic == 2 and batch.crc_valid is not False:
        findings.batch(batch)
    # Of any other, its damage follows.


def _judge(events: Iterable[Event], is_newest: bool) -> Iterator[tuple[Event, bool]]:
    """Events, and of each whether it is a pending batch, which only the event behind it can tell."""
    batch: Batch | None = None
    before: Event | None = None
    for event in chain(events, [None]):
        if before is not None:
            is_pending = is_newest and isinstance(before, Damage) and _is_pending(before, event, batch)
            yield before, is_pending
            if isinstance(before, Batch):
                batch = before
        before = event


def _is_pending(damage: Damage, behind: Event | None, batch: Batch | None) -> bool:
    if behind is not None and not isinstance(behind, Padding):
        return False
    if behind is not None and damage.end_position - damage.position < LEN_PREFIX:
        return True  # a few bytes before the zeros
    is_cut = isinstance(damage.error, TruncatedError)
    if behind is not None and batch is not None and batch.position == damage.position:
        # Its header is there, and the entry that it announces ends among the zeros.
        is_cut = is_cut or batch.end_position > damage.end_position
    return is_cut and _could_follow(damage)


def _could_follow(damage: Damage) -> bool:
    """Whether what begins there could be the log's next entry, so far as its bytes are there."""
    if damage.end_position - damage.position < LEN_PREFIX:
        return True
    source = open_source(damage.path)
    try:
        prefix = read_prefix(source.read(damage.position, LEN_PREFIX))
    finally:
        source.close()
    if not prefix.is_known or prefix.len_body < prefix.min_len_body:
        return False
    return damage.first_lost_offset is None or prefix.base_offset >= damage.first_lost_offset
