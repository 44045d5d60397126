"""The error tree, and text from files and stores made fit to be shown.

Every error carries `position` (bytes from the start of the file or buffer, or None) and `path` (as
the caller gave it, or None), and survives pickling: Spark sends errors from workers to the driver.
"""

from __future__ import annotations

import errno
from typing import Any

from kafka_segments.errors.escaping import escape, mask_secrets

__all__ = [
    "ChecksumMismatchError",
    "CorruptBatchError",
    "CorruptIndexError",
    "DataLossError",
    "DecodeError",
    "DecompressionError",
    "EncodeError",
    "KafkaFormatError",
    "LengthMismatchError",
    "MissingCodecError",
    "MissingExtraError",
    "OptionError",
    "OutputError",
    "ReadError",
    "RecordTooLargeError",
    "ReplicaMismatchError",
    "SegmentOrderError",
    "StoreError",
    "TimestampRangeError",
    "TransactionInDoubtError",
    "TruncatedError",
    "UnknownFormatError",
    "UnsupportedMagicError",
]


class KafkaFormatError(Exception):
    """Root of everything that kafka-segments raises on purpose.

    Args:
        detail: what is wrong and what to do about it, without the path (that is an attribute).
        position: where, in bytes from the start of the file or buffer.
        path: the file, as the caller named it; keys in an address are masked.

    As text, what is not printable is escaped, so that no name of a file and no word of a store is obeyed by a
    terminal; `detail` and `path` have it as it is.
    """

    position: int | None = None
    path: str | None = None

    def __init__(self, detail: str = "", **attributes: Any) -> None:
        detail = mask_secrets(detail)
        super().__init__(detail)
        self.detail = detail
        for name, value in attributes.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; of an address that becomes `path`, keys are masked."""
        super().__setattr__(name, mask_secrets(value) if name == "path" and isinstance(value, str) else value)

    def __reduce__(self) -> tuple[Any, ...]:
        # The default pickles only `args`; the attributes ride in the state.
        return (type(self), (self.detail,), self.__dict__)

    def __str__(self) -> str:
        where = self.path or ""
        if self.position is not None:
            where += f"{', ' if where else ''}position {self.position}"
        return escape(f"{where}: {self.detail}" if where else self.detail)


class DecodeError(KafkaFormatError, ValueError):
    """The bytes are wrong."""


class TruncatedError(DecodeError, EOFError):
    """An entry runs past the end: fetch more and retry. `.needed` and `.available` are bytes."""

    needed: int | None = None
    available: int | None = None


class CorruptBatchError(DecodeError):
    """A batch contradicts itself; permanent: skip it or stop."""


class ChecksumMismatchError(CorruptBatchError):
    """The stored and the computed checksum differ (CRC-32C in v2, CRC-32 in v0 and v1).

    `.between`, of messages in a wrapper: the offsets of the sound ones before and behind those that are lost;
    None where the wrapper's own neighbours are that.
    """

    stored: int | None = None
    computed: int | None = None
    between: tuple[int | None, int | None] | None = None


class CorruptIndexError(DecodeError):
    """A file beside a segment contradicts itself; Kafka makes such a file anew, from the segment."""


class DataLossError(KafkaFormatError):
    """Offsets that were asked for are not there; `failOnDataLoss` of the Spark source says that this matters.

    `.topic`, `.partition`, `.first_offset`, `.last_offset` say which.
    """

    topic: str | None = None
    partition: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None


class SegmentOrderError(DecodeError):
    """A segment holds offsets that belong to others by the names: swapped, renamed, or overlapping files."""


class LengthMismatchError(CorruptBatchError):
    """The length field of an entry cannot be true."""


class TransactionInDoubtError(DecodeError):
    """Damage may have cost the marker of a transaction: nobody can tell whether it was committed.

    `.producer_id` is whose it is.
    """

    producer_id: int | None = None


class UnsupportedMagicError(DecodeError):
    """The magic byte is not 0, 1 or 2. `.magic` is the signed byte."""

    magic: int | None = None


class UnknownFormatError(DecodeError):
    """These bytes are another program's format (Redpanda, Kafka 0.7). `.format` names it."""

    format: str | None = None


class DecompressionError(DecodeError):
    """A payload does not decompress, or passes the bound. `.codec` is Kafka's name or number."""

    codec: str | int | None = None


class ReadError(KafkaFormatError, OSError):
    """The disk or store failed, not the bytes. `.errno` says how."""

    errno: int | None = None


class StoreError(KafkaFormatError, OSError):
    """The store of a file stopped giving it, or has another one in its place; no byte of it is to blame.

    So it is never damage: whatever was to become of that, the reading ends. `.errno` says how.
    """

    errno: int | None = None


class EncodeError(KafkaFormatError, ValueError):
    """The values cannot be written in the format, or Kafka would refuse them.

    `.rule` is one of `kafka_segments.write.refusals`, `.offset` that of the record or batch, `.row` the
    record's number in the data, from 0; None where there is none.
    """

    rule: str | None = None
    offset: int | None = None
    row: int | None = None


class RecordTooLargeError(KafkaFormatError, ValueError):
    """A record is larger than what can be handed on. `.size` is in bytes, of the columns asked for."""

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    size: int | None = None


class ReplicaMismatchError(DecodeError):
    """Two copies of a partition have different batches where they must be the same.

    `.path` and `.position` are of the one, `.other_path` and `.other_position` of the other, `.offset` is the
    first offset of the batches.
    """

    other_path: str | None = None
    other_position: int | None = None
    offset: int | None = None


class TimestampRangeError(KafkaFormatError, OverflowError):
    """A timestamp in milliseconds does not fit the column asked for. `.offset` and `.timestamp`."""

    offset: int | None = None
    timestamp: int | None = None


class OutputError(KafkaFormatError, OSError):
    """The output could not be written."""


class MissingCodecError(KafkaFormatError, ImportError):
    """A codec's package is not installed; the message has the pip command. `.codec` is its name."""

    codec: str | None = None


class MissingExtraError(KafkaFormatError, ImportError):
    """An optional part is not installed; the message has the pip command. `.extra` is its name."""

    extra: str | None = None


class OptionError(KafkaFormatError, ValueError):
    """The caller asked for something that does not exist or contradicts itself.

    `.rule` is one of `kafka_segments.write.refusals` where Kafka has one for it.
    """

    rule: str | None = None


_NOT_THE_FILES_FAULT = frozenset(
    {errno.EACCES, errno.EPERM, errno.ETIMEDOUT, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)


def raise_unless_file_at_fault(error: KafkaFormatError) -> None:
    """Let an error pass that tells of a file what it is: wrong bytes, a bad sector, gone.

    Whoever goes on without a file that cannot be used calls this first.

    Raises:
        KafkaFormatError: the same, if nothing is known of the file: its store has stopped giving it
            (`StoreError`), it may not be opened, or this process cannot open it.
    """
    if isinstance(error, StoreError) or (
        isinstance(error, ReadError) and error.errno in _NOT_THE_FILES_FAULT
    ):
        raise error
