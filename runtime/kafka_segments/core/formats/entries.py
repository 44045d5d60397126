"""The values that a scan yields: batches, records, damage and padding, with Kafka's names and null rules.

Plain values: nothing here reads bytes. `*_offset` is a log offset, `position` a place in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.errors import KafkaFormatError

__all__ = [
    "Batch",
    "ControlRecord",
    "Damage",
    "ExperimentalBatch",
    "Header",
    "Padding",
    "Record",
    "SoundBatches",
]

Header = tuple[bytes, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A record batch (magic 2) or an outer entry of the old formats (a message or a wrapper, magic 0 and 1).

    `size` counts all bytes, the offset and length fields included. `crc_valid` is None where the checksum was
    not computed. `compression` is None for an unknown codec number (`compression_id`). In magic 0 and 1
    `base_timestamp` is None, and `base_offset` and `num_records` are None where only the inner messages have
    them. The file does not store `previous_offset`, the last sound offset before this entry, and `num_left`,
    the bytes after the last whole message in a wrapper. Defaults are for fields that magic 0 and 1 lack.
    """

    path: str
    position: int
    size: int
    magic: int
    base_offset: int | None
    last_offset: int
    partition_leader_epoch: int = -1
    crc: int
    crc_valid: bool | None = None
    compression: str | None
    compression_id: int
    timestamp_type: str
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon_ms: int | None = None
    base_timestamp: int | None = None
    max_timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    last_sequence: int = -1
    num_records: int | None
    previous_offset: int | None = field(default=None, compare=False, repr=False)
    num_left: int = field(default=0, compare=False, repr=False)

    @property
    def end_position(self) -> int:
        """Position in the file where the entry ends."""
        return self.position + self.size

    @property
    def highest_offset(self) -> int:
        """An upper bound of the records' offsets, according to the header.

        `last_offset` may be too low, because Kafka's reader accepts any lastOffsetDelta; then the count
        decides. For a wrapper that was not opened it is in the header, unless that has the 0 of old
        librdkafka versions.
        """
        if self.base_offset is None or self.num_records is None:
            return self.last_offset or MAX_LONG
        return max(self.last_offset, self.base_offset + self.num_records - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentalBatch(Batch):
    """A batch of the discarded magic 3.

    Attributes:
        len_head: bytes before its payload, the offset and length fields included.
        ignores_message_attributes: whether its records have no attributes.
        has_metadata_first: whether the metadata of all records precede all keys, values and headers.
    """

    len_head: int
    ignores_message_attributes: bool
    has_metadata_first: bool


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """Content of a control record: `type` is Kafka's name, UNKNOWN or INVALID; `value` None if unreadable."""

    type: str
    type_id: int | None
    version: int | None
    value: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Record:
    """One record as a consumer receives it. Null (None) and empty (b"") keys and values differ.

    `position` is the position of its batch; `timestamp` is in milliseconds, -1 if there is none.
    """

    position: int
    offset: int
    timestamp: int
    timestamp_type: str
    sequence: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    control: ControlRecord | None


@dataclass(frozen=True, slots=True)
class Damage:
    """Damaged bytes `[position, end_position)`, and the offsets lost with them.

    The lost offsets are None where unknown, and both None where the neighbours leave no gap.
    `previous_offset` and `next_offset` are the sound neighbours themselves (None: unknown).
    """

    path: str
    position: int
    end_position: int
    error: KafkaFormatError
    first_lost_offset: int | None
    last_lost_offset: int | None
    previous_offset: int | None = field(default=None, compare=False, repr=False)
    next_offset: int | None = field(default=None, compare=False, repr=False)

    def touches(self, start: int | None, end: int | None) -> bool:
        """Whether offsets in `[start, end)` (None: open) may have been lost here.

        A next offset that is not above the previous one is not evidence of a loss.
        """
        previous, following = self.previous_offset, self.next_offset
        if end is not None and previous is not None and previous + 1 >= end:
            return False
        is_falling = previous is not None and following is not None and following <= previous
        return start is None or following is None or is_falling or following > start


@dataclass(frozen=True, slots=True)
class Padding:
    """Zeros from `position` to the end of the file: the unused rest of a preallocated segment."""

    path: str
    position: int
    end_position: int


@dataclass(frozen=True, slots=True)
class SoundBatches:
    """Batches of magic 2 with sound headers that may hold offsets in the range; control batches too.

    Batches with damaged records are included; their damage is yielded, too.
    """

    num_batches: int
    num_bytes: int
