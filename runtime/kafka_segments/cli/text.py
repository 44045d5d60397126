"""Output of `--format text`: a line for each batch and record. Not stable: programs read jsonl."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from kafka_segments.core.formats.entries import (
    Batch,
    ControlRecord,
    Damage,
    ExperimentalBatch,
    Padding,
    Record,
)
from kafka_segments.errors import (
    CorruptBatchError,
    DecompressionError,
    MissingCodecError,
    ReadError,
    SegmentOrderError,
    TruncatedError,
)
from kafka_segments.errors.escaping import escape
from kafka_segments.log.findings import error_words, lost_offsets

__all__ = ["counted", "file_line", "line", "moment_words", "remedy"]

_LONGEST, _MAX_LEN_SHORTENED = 4096, 1024  # bytes of a value in a line
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def file_line(path: str) -> bytes:
    """Return the line that precedes a file's lines, if there are several files."""
    return f"file {escape(path)}\n".encode()


def line(event: Batch | Record | Damage | Padding, *, is_coloured: bool = False) -> bytes:
    """Return the line for one event, with its newline; unprintable characters are escaped."""
    if isinstance(event, Batch):
        text = _batch(event)
    elif isinstance(event, Record):
        text = "    " + _record(event)
    elif isinstance(event, Damage):
        text = _damage(event)
        if is_coloured:
            return f"\x1b[31m{text}\x1b[0m\n".encode("utf-8", "backslashreplace")
    else:
        text = f"padding at {event.position}: zeros up to {event.end_position}"
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _batch(batch: Batch) -> str:
    first = "?" if batch.base_offset is None else batch.base_offset
    count = "?" if batch.num_records is None else batch.num_records
    words = [
        f"batch at {batch.position}: offsets {first} to {batch.last_offset}",
        counted(count, "record"),
        f"{batch.size} bytes",
        f"magic {batch.magic}",
        batch.compression or f"codec {batch.compression_id}",
        f"{batch.timestamp_type} up to {moment_words(batch.max_timestamp)}",
    ]
    if batch.partition_leader_epoch >= 0:
        words.append(f"leader epoch {batch.partition_leader_epoch}")
    if batch.producer_id >= 0:
        words.append(f"producer {batch.producer_id} epoch {batch.producer_epoch}")
    if batch.base_sequence >= 0:
        words.append(f"sequences {batch.base_sequence} to {batch.last_sequence}")
    if batch.is_transactional:
        words.append("transactional")
    if batch.is_control:
        words.append("control")
    if batch.delete_horizon_ms is not None:
        words.append(f"delete horizon {moment_words(batch.delete_horizon_ms)}")
    if isinstance(batch, ExperimentalBatch):
        words.append("metadata first" if batch.has_metadata_first else "experimental")
    if batch.crc_valid is False:
        words.append("WRONG CHECKSUM")
    return ", ".join(words)


def counted(number: int | str, noun: str, plural: str = "") -> str:
    """Return a number and its noun, in the plural where needed; that is the noun with an s unless given."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def _record(record: Record) -> str:
    words = [f"{record.offset} {moment_words(record.timestamp)}"]
    if record.control is not None:
        words.append(_control(record.control))
    else:
        words += [f"key={_data(record.key)}", f"value={_data(record.value)}"]
    words += [f"{_data(key)}: {_data(value)}" for key, value in record.headers]
    return "  ".join(words)


def _control(control: ControlRecord) -> str:
    said = "" if control.value is None else f" {json.dumps(control.value, ensure_ascii=False)}"
    number = f"({control.type_id})" if control.type == "UNKNOWN" else ""
    return escape(f"{control.type}{number}{said}")


def _damage(damage: Damage) -> str:
    return (
        f"DAMAGE at {damage.position} to {damage.end_position}: {escape(error_words(damage.error))}; "
        f"{lost_offsets(damage)}; {remedy(damage)}"
    )


def remedy(damage: Damage) -> str:
    """Return what to do about damage."""
    error = damage.error
    if isinstance(error, ReadError):
        return "check the disk, and take these offsets from a replica"
    if isinstance(error, TruncatedError) and damage.next_offset is None:
        return "a broker may still be writing here; if not, take these offsets from a replica"
    if isinstance(error, DecompressionError) and error.is_bound:
        return "the batch is sound, but larger than the limit: raise --max-decompressed-bytes to read it"
    if isinstance(error, CorruptBatchError) and error.is_in_every_copy:
        return "a client wrote it like this, so other copies are the same"
    if isinstance(error, MissingCodecError):
        return "then dump again"
    if isinstance(error, SegmentOrderError) and damage.first_lost_offset is None:
        return "compare the names and first offsets of the files with those of a replica"
    return "take these offsets from a replica"


def _data(data: bytes | None) -> str:
    """Return text in quotes, null as null; a long value is shortened, with its length."""
    if data is None:
        return "null"
    suffix = f"... ({len(data):,} bytes; --format jsonl has all)" if len(data) > _LONGEST else ""
    data = data[:_MAX_LEN_SHORTENED] if suffix else data
    text = data.decode("utf-8", "surrogateescape").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escape(text)}"{suffix}'


def moment_words(milliseconds: int) -> str:
    """Return a timestamp in UTC as ISO 8601; a dash for none, a number beyond the year 9999."""
    if milliseconds == -1:
        return "-"
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return f"{milliseconds} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
