"""Options of batches under Kafka's names, their ranges, and their valid combinations."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

from kafka_segments.core import formats
from kafka_segments.core.codecs import check_level
from kafka_segments.core.formats.java import MAX_LONG, MIN_LONG
from kafka_segments.errors import OptionError
from kafka_segments.write.refusals import refused_option

__all__ = [
    "MAX_INT",
    "BatchOptions",
    "Options",
    "RecordOptions",
    "check_choice",
    "check_flags",
    "check_names",
    "check_numbers",
    "is_integer",
    "options_of",
    "segment_options_of",
    "shown",
]

MAX_INT = (1 << 31) - 1
_MAX_SHORT = (1 << 15) - 1

# The least and the greatest value of each number.
_RANGES = {
    "log_append_time": (-1, MAX_LONG),
    "base_offset": (0, MAX_LONG),
    "partition_leader_epoch": (-1, MAX_INT),
    "producer_id": (-1, MAX_LONG),
    "producer_epoch": (-1, _MAX_SHORT),
    "base_sequence": (-1, MAX_INT),
    "delete_horizon_ms": (0, MAX_LONG),
    "batch_size": (0, MAX_INT),
    "max_message_bytes": (0, MAX_INT),
    # Options of one batch, or of files.
    "timestamp": (MIN_LONG, MAX_LONG),
    "max_timestamp": (MIN_LONG, MAX_LONG),
    "last_offset": (0, MAX_LONG),
    "index_interval_bytes": (0, MAX_INT),
    "segment_bytes": (0, MAX_INT),
}
_OPTIONAL = ("log_append_time", "base_offset", "base_sequence", "delete_horizon_ms", "max_message_bytes")


class RecordOptions(TypedDict, total=False):
    """Keyword options of functions that write one batch; see `BatchOptions`."""

    magic: int
    compression: str
    compression_level: int | None
    timestamp_type: str
    log_append_time: int | None
    partition_leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int | None
    is_transactional: bool
    delete_horizon_ms: int | None
    max_message_bytes: int | None
    compacted: bool
    experimental_magic3: bool


class Options(RecordOptions, total=False):
    """Keyword options of functions that write many batches."""

    base_offset: int | None
    batch_size: int


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Options of batches that are written.

    Attributes:
        magic: 0, 1 or 2; with `experimental_magic3` also 3, a proposal that Kafka discarded.
        compression: "none" or one of `codecs.CODEC_NAMES`.
        compression_level: within Kafka's range for the codec; None: the codec's default.
        timestamp_type: "CreateTime" or "LogAppendTime".
        log_append_time: milliseconds, -1 for none; required by "LogAppendTime".
        base_offset: offset of the first record, if the data have no offsets; None continues, at first from 0.
        partition_leader_epoch: -1 for none.
        producer_id: -1 for none.
        producer_epoch: -1 for none.
        base_sequence: number of the first record; None continues if there is a producer id, at first from 0.
            For a writer, the first sequence number of its producers, which continue from call to call.
        is_transactional: whether the records are part of a transaction.
        delete_horizon_ms: milliseconds, as set by the cleaner; None for none.
        batch_size: maximum bytes of a batch, before compression and with all headers; a larger record gets a
            batch of its own (the producer's `batch.size`).
        max_message_bytes: maximum bytes of a stored batch; None for no limit.
        compacted: whether the topic is compacted, so that null keys are refused.
        experimental_magic3: allow magic 3, which no broker and no client of Kafka reads.

    Raises:
        OptionError: a value is out of range, or two contradict each other.
    """

    magic: int = 2
    compression: str = "none"
    compression_level: int | None = None
    timestamp_type: str = "CreateTime"
    log_append_time: int | None = None
    base_offset: int | None = None
    partition_leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int | None = None
    is_transactional: bool = False
    delete_horizon_ms: int | None = None
    batch_size: int = 16384
    max_message_bytes: int | None = 1048588
    compacted: bool = False
    experimental_magic3: bool = False

    def __post_init__(self) -> None:
        flags = ("is_transactional", "compacted", "experimental_magic3")
        check_flags(**{name: getattr(self, name) for name in flags})
        known = formats.EXPERIMENTAL_MAGICS if self.experimental_magic3 else formats.MAGICS
        if not is_integer(self.magic) or self.magic not in tuple(known):
            raise refused_option("unknown_magic", f"magic is {shown(self.magic)}")
        _check_ranges(self)
        _check_timestamps(self)
        _check_compression(self)
        if self.magic < 2:
            _check_legacy(self)
        _check_producer(self)

    @property
    def is_append_time(self) -> bool:
        """Whether all records have the broker's time."""
        return self.timestamp_type == "LogAppendTime"

    @property
    def is_experimental(self) -> bool:
        """Whether no version of Kafka reads the format."""
        return self.magic not in formats.MAGICS

    @property
    def is_compressed(self) -> bool:
        return self.compression != "none"


def options_of(options: RecordOptions, base: BatchOptions | None = None) -> BatchOptions:
    """Build options from keywords, with the defaults of `base`.

    Raises:
        OptionError: an unknown name, or values that `BatchOptions` refuses.
    """
    check_names(options, {field.name for field in fields(BatchOptions)})
    values: dict[str, Any] = dict(options)
    return BatchOptions(**values) if base is None else replace(base, **values)


def segment_options_of(options: RecordOptions, base: BatchOptions | None = None) -> BatchOptions:
    """Build options of batches in segments, which hold Kafka's own formats; as `options_of`."""
    checked = options_of(options, base)
    if checked.is_experimental:
        raise OptionError("no segment of Kafka holds magic 3: encode_records and encode_batch write it")
    return checked


def check_names(options: Mapping[str, object], known: AbstractSet[str]) -> None:
    """Raise `OptionError` for an unknown option."""
    unknown = sorted(set(options) - known)
    if unknown:
        raise OptionError(f"unknown option {unknown[0]!r}; known options are {', '.join(sorted(known))}")


def check_numbers(**numbers: object) -> None:
    """Raise `OptionError` for a number out of its range; the ranges are those of `BatchOptions`."""
    for name, value in numbers.items():
        least, most = _RANGES[name]
        if not is_integer(value) or not least <= value <= most:  # type: ignore[operator]
            raise OptionError(f"{name} is {shown(value)}; it must be an integer from {least} to {most}")


def check_flags(**flags: object) -> None:
    """Raise `OptionError` for a value other than True and False."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise OptionError(f"{name} is {shown(value)}; it must be True or False")


def check_choice(choices: tuple[str, ...], **named: object) -> None:
    """Raise `OptionError` for a value that is not among `choices`."""
    for name, value in named.items():
        if not isinstance(value, str) or value not in choices:
            raise OptionError(f"{name} is {shown(value)}; it must be {' or '.join(choices)}")


def shown(value: object) -> str:
    """Format any value for a message, in at most 60 characters."""
    try:
        return f"{value!r:.60}"
    except Exception:  # a number of too many digits, or an arbitrary `__repr__`
        return f"an unprintable value of type {type(value).__name__}"


def is_integer(value: object) -> bool:
    """Return whether `value` is an integer; a bool is not, though Python derives it from int."""
    return isinstance(value, int) and not isinstance(value, bool)


def _check_ranges(options: BatchOptions) -> None:
    names = [field.name for field in fields(options) if field.name in _RANGES]
    values = {name: getattr(options, name) for name in names}
    check_numbers(**{name: one for name, one in values.items() if one is not None or name not in _OPTIONAL})


def _check_timestamps(options: BatchOptions) -> None:
    check_choice(("CreateTime", "LogAppendTime"), timestamp_type=options.timestamp_type)
    if options.is_append_time != (options.log_append_time is not None):
        raise OptionError(
            f"timestamp_type is {options.timestamp_type} and log_append_time {options.log_append_time}: "
            "log_append_time and LogAppendTime require each other"
        )


_INTS = range(-MAX_INT - 1, MAX_INT + 1)
"""Levels that a codec is asked about; others cannot be valid."""


def _check_compression(options: BatchOptions) -> None:
    codec: object = options.compression
    level: object = options.compression_level
    if not isinstance(codec, str):
        raise refused_option("unknown_compression", f"compression is {shown(codec)}")
    if level is not None and not (is_integer(level) and options.compression_level in _INTS):
        raise refused_option("compression_level", f"compression_level is {shown(level)}")
    if options.compression == "none":
        if options.compression_level is not None:
            raise refused_option("compression_level", "compression_level without compression")
        return
    check_level(options.compression, options.compression_level)


def _check_legacy(options: BatchOptions) -> None:
    """Refuse what messages of magic 0 and 1 do not support."""
    where = f"in magic {options.magic}"
    if options.compression == "zstd":
        raise refused_option("zstd_below_magic_2", f"zstd {where}")
    if options.is_transactional:
        raise refused_option("transactional_below_magic_2", f"a transaction {where}")
    if options.producer_id != -1 or options.producer_epoch != -1 or options.base_sequence not in (None, -1):
        raise refused_option("idempotent_below_magic_2", f"a producer id, epoch or sequence {where}")
    if options.delete_horizon_ms is not None:
        raise refused_option("horizon_below_magic_2", f"a delete horizon {where}")
    if options.partition_leader_epoch != -1:
        raise refused_option("leader_epoch_below_magic_2", f"a partition leader epoch {where}")
    if options.is_append_time and options.magic == 0:
        raise refused_option("append_time_in_magic_0", f"LogAppendTime {where}")


def _check_producer(options: BatchOptions) -> None:
    if options.producer_id == -1:
        if options.is_transactional:
            raise refused_option(
                "transactional_without_producer_id", "is_transactional without a producer_id"
            )
        return
    if options.producer_epoch == -1:
        raise refused_option("producer_epoch", f"producer_id {options.producer_id} without a producer_epoch")
    if options.base_sequence == -1:
        raise refused_option("base_sequence", f"producer_id {options.producer_id} with base_sequence -1")
