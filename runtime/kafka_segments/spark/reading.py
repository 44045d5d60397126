"""From a split to its data records, and what is to be done about what is not sound.

Strategy: everything goes through one place, `iter_batches`, for the data source and for `ingest`. They
differ in the `Findings` they pass: one raises or warns, the other counts and lists.

Pending: in the newest segment of a partition a broker may be writing at this moment. A last batch that is
cut off by the end of the file, or in a preallocated file by the zeros up to it, is not yet there: no damage.
Its first bytes, so far as they are there, must be those of an entry that could follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from kafka_segments.entries import Batch, Damage, Padding, SoundBatches
from kafka_segments.errors import KafkaFormatError, TruncatedError
from kafka_segments.layout import LEN_PREFIX, read_prefix
from kafka_segments.segment import open_segment
from kafka_segments.spark.splits import SegmentSplit
from kafka_segments.storage import open_source

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_segments.columnar.reader import Event

__all__ = ["Findings", "describe", "iter_batches", "name_partition"]


class Findings(Protocol):
    """What is told about a segment beside its records, in file order. Any of these may raise."""

    def batches(self, batches: SoundBatches) -> None:
        """Sound batches and messages that hold offsets at or above the log start offset."""

    def damage(self, damage: Damage) -> None:
        """A damaged region that may have cost records."""

    def pending(self, damage: Damage) -> None:
        """The newest segment's last batch is not whole yet."""


def iter_batches(
    split: SegmentSplit, findings: Findings, columns: Sequence[str], *, check_crc: bool, max_decompressed: int
) -> Iterator[pa.RecordBatch]:
    """Yield the data records at or above the log start offset; control records are left out.

    Args:
        split: what to read.
        findings: who is told of the rest.
        columns: names of the columns wanted, see `columnar.schema`.
        check_crc: verify the checksum of every batch.
        max_decompressed: bytes that one batch may decompress to.

    Raises:
        KafkaFormatError: the file cannot be opened or is another program's; and whatever `findings` raises.
    """
    start = split.log_start_offset
    with open_segment(split.path, check_crc=check_crc, max_decompressed=max_decompressed) as segment:
        events = segment.iter_columnar(columns, (start, None))
        for event, is_pending in _judge(events, split.is_newest):
            if isinstance(event, SoundBatches):
                findings.batches(event)
            elif isinstance(event, Damage):
                if is_pending:
                    findings.pending(event)
                elif event.touches(start, None):
                    findings.damage(event)
            elif not isinstance(event, Batch | Padding):  # the damage of such a batch follows it
                yield event


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
