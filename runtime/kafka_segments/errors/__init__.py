"""Errors of kafka-segments, and escaping of text before it is shown.

Every error has a `position` (bytes from the start of the file or buffer, or None) and a `path` (as the caller
passed it, or None), and can be pickled: Spark sends errors from workers to the driver.
"""

from __future__ import annotations

import errno
from contextlib import AbstractContextManager
from typing import Any, Self

from kafka_segments.errors.escaping import escape, mask_secrets

__all__ = [
    "AccountError",
    "ChecksumMismatchError",
    "ConflictError",
    "CorruptBatchError",
    "CorruptIndexError",
    "DataLossError",
    "DecodeError",
    "DecompressionError",
    "EncodeError",
    "ExpiredOffsetsError",
    "KafkaFormatError",
    "LengthMismatchError",
    "LogChangedError",
    "MachineCodeError",
    "MissingCodecError",
    "MissingExtraError",
    "OptionError",
    "OutputError",
    "ReadError",
    "RecordTooLargeError",
    "RecreatedTopicError",
    "ReplicaMismatchError",
    "SegmentOrderError",
    "StoreError",
    "TimestampRangeError",
    "TransactionInDoubtError",
    "TruncatedError",
    "TruncatedLogError",
    "UndecidedRunError",
    "UnknownFormatError",
    "UnsupportedMagicError",
]


class KafkaFormatError(Exception):
    """Root of the errors of kafka-segments.

    Args:
        detail: what is wrong and what to do about it, without the path (an attribute).
        position: bytes from the start of the file or buffer.
        path: the file, as the caller named it; credentials in an address are masked.

    `topic` and `partition` name the partition, where it is known.

    `str()` escapes unprintable characters, so that no file's name and no store's message can control a
    terminal; `detail` and `path` are not escaped.
    """

    position: int | None = None
    path: str | None = None
    topic: str | None = None
    partition: int | None = None

    def __init__(self, detail: str = "", **attributes: Any) -> None:
        detail = mask_secrets(detail)
        super().__init__(detail)
        self.detail = detail
        for name, value in attributes.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; mask credentials in a `path` that is an address."""
        super().__setattr__(name, mask_secrets(value) if name == "path" and isinstance(value, str) else value)

    def __reduce__(self) -> tuple[Any, ...]:
        # The default pickles only `args`; the attributes go into the state.
        return (type(self), (self.detail,), self.__dict__)

    def with_context(self, suffix: str = "", **attributes: Any) -> Self:
        """Return this error with other attributes, and with words after its detail.

        The new error takes over the traceback: otherwise a frame that refers to this one would hold its data.
        """
        changed = type(self)(self.detail + suffix)
        kept = {name: value for name, value in self.__dict__.items() if name != "detail"}
        for name, value in {**kept, **attributes}.items():
            setattr(changed, name, value)
        changed.__cause__ = self.__cause__
        changed.__traceback__, self.__traceback__ = self.__traceback__, None
        return changed

    def __str__(self) -> str:
        where = self.path or ""
        if self.position is not None:
            where += f"{', ' if where else ''}position {self.position}"
        return escape(f"{where}: {self.detail}" if where else self.detail)


class DecodeError(KafkaFormatError, ValueError):
    """Invalid bytes in a file or buffer."""


class TruncatedError(DecodeError, EOFError):
    """An entry that goes past the end: fetch more and retry. `.needed` and `.available` are bytes."""

    needed: int | None = None
    available: int | None = None


class CorruptBatchError(DecodeError):
    """An inconsistent batch; permanent: skip it or stop.

    `.is_in_every_copy` is True if a client wrote it like this: then replicas have the same.
    """

    is_in_every_copy: bool = False


class ChecksumMismatchError(CorruptBatchError):
    """A stored checksum that differs from the computed one (CRC-32C in magic 2, CRC-32 in 0 and 1).

    `.between`, for messages in a wrapper: the offsets of the sound messages before and after the lost ones;
    None if those are the neighbours of the wrapper.
    """

    stored: int | None = None
    computed: int | None = None
    between: tuple[int | None, int | None] | None = None


class CorruptIndexError(DecodeError):
    """An inconsistent index file, snapshot or checkpoint; Kafka rebuilds index files from the segment."""


class DataLossError(KafkaFormatError):
    """Requested offsets that do not exist; raised if `failOnDataLoss` of the Spark source is set.

    `.topic`, `.partition`, `.first_offset` and `.last_offset` identify them.
    """

    first_offset: int | None = None
    last_offset: int | None = None


class SegmentOrderError(DecodeError):
    """Offsets that, by the segments' names, belong to another one: swapped, renamed or overlapping files."""


class LengthMismatchError(CorruptBatchError):
    """An impossible length field of an entry."""


class TransactionInDoubtError(DecodeError):
    """A transaction whose marker may be lost to damage, so that its outcome is unknown.

    `.producer_id` is its producer.
    """

    producer_id: int | None = None


class UnsupportedMagicError(DecodeError):
    """A magic byte other than 0, 1 and 2. `.magic` is the signed byte."""

    magic: int | None = None


class UnknownFormatError(DecodeError):
    """The format of another program (Redpanda, Kafka 0.7). `.format` names it."""

    format: str | None = None


class DecompressionError(DecodeError):
    """A payload that does not decompress, or exceeds the bound.

    `.codec` is Kafka's name or number. `.is_bound` is True if it only exceeds the bound, and may be sound.
    """

    codec: str | int | None = None
    is_bound: bool = False


class ReadError(KafkaFormatError, OSError):
    """A failed read of a disk or store. `.errno` is that of the operating system."""

    errno: int | None = None


class StoreError(KafkaFormatError, OSError):
    """A store that stopped serving an object, or replaced it during the read.

    It does not count as damage: the read ends whatever `on_damage` is. `.errno` is POSIX's number for it.
    """

    errno: int | None = None


class EncodeError(KafkaFormatError, ValueError):
    """Values that do not fit the format, or that Kafka refuses.

    `.rule` is a name in `kafka_segments.write.refusals`, `.offset` that of the record or batch, `.row` the
    record's number in the data, from 0; None where there is none.
    """

    rule: str | None = None
    offset: int | None = None
    row: int | None = None


class RecordTooLargeError(KafkaFormatError, ValueError):
    """A record too large for one Arrow batch. `.size` is in bytes, of the selected columns."""

    offset: int | None = None
    size: int | None = None


class ReplicaMismatchError(DecodeError):
    """Replicas of a partition that differ where they must be equal.

    `.path` and `.position` locate one batch, `.other_path` and `.other_position` the other; `.offset` is
    their first offset.
    """

    other_path: str | None = None
    other_position: int | None = None
    offset: int | None = None


class TimestampRangeError(KafkaFormatError, OverflowError):
    """A `.timestamp` in milliseconds, at `.offset`, that does not fit the requested column type."""

    offset: int | None = None
    timestamp: int | None = None


class OutputError(KafkaFormatError, OSError):
    """A failed write of the output."""


class ConflictError(OutputError):
    """A table that another run has changed since this one began; this one has changed nothing."""


class UndecidedRunError(OutputError):
    """A run that may or may not have been committed: the store or the disk did not answer.

    The next run finds out.
    """


class AccountError(KafkaFormatError):
    """Counts of offsets that contradict each other: by headers, by decoded records, by the range."""


class LogChangedError(KafkaFormatError):
    """A log that does not continue where a run or stream ended; `.topic` and `.partition` name it.

    Attributes:
        parting_offset: from this offset on, at the latest, the log has other records; None if it is unknown.
    """

    parting_offset: int | None = None


class TruncatedLogError(LogChangedError):
    """A log that ends before offsets that were read, or has other records in their place."""


class RecreatedTopicError(LogChangedError):
    """A topic that was deleted and created again: its id has changed (KIP-516)."""


class ExpiredOffsetsError(LogChangedError):
    """Offsets that were deleted before they were read: `.first_offset` to `.last_offset`."""

    first_offset: int | None = None
    last_offset: int | None = None


class MissingCodecError(KafkaFormatError, ImportError):
    """A codec whose package is not installed; the message has the pip command. `.codec` is its name."""

    codec: str | None = None


class MissingExtraError(KafkaFormatError, ImportError):
    """An optional dependency that is not installed; the message has the pip command. `.extra` is its name."""

    extra: str | None = None


class MachineCodeError(KafkaFormatError, ImportError):
    """Machine code in the installation that cannot be loaded, or was made from other sources."""


class OptionError(KafkaFormatError, ValueError):
    """An invalid argument or option, or a combination that is not allowed.

    `.rule` is a name in `kafka_segments.write.refusals` where Kafka has such a rule.
    """

    rule: str | None = None


_NOT_THE_FILES_FAULT = frozenset(
    {errno.EACCES, errno.EPERM, errno.ETIMEDOUT, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)


def raise_unless_file_at_fault(error: KafkaFormatError) -> None:
    """Raise `error` again unless the file itself is at fault: invalid bytes, a bad sector, a missing file.

    For code that is about to continue without a file.

    Raises:
        KafkaFormatError: `error`, if it says nothing about the file: its store stopped serving it
            (`StoreError`), access was denied, this process cannot open it, or the installation is broken.
    """
    if isinstance(error, StoreError | MachineCodeError) or (
        isinstance(error, ReadError) and error.errno in _NOT_THE_FILES_FAULT
    ):
        raise error


class NotingFaults(AbstractContextManager[None]):
    """Context that continues after its block where a file is at fault; see `raise_unless_file_at_fault`.

    Args:
        found: receives the error.
    """

    def __init__(self, found: list[KafkaFormatError] | None = None) -> None:
        self._found = found

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, KafkaFormatError):
            return False
        raise_unless_file_at_fault(error)
        if self._found is not None:
            self._found.append(error)
        return True
