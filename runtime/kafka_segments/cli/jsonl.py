"""Output of `--format jsonl`: one JSON object per line. Keys, their order and the bytes are stable."""

from __future__ import annotations

import json
from binascii import b2a_base64
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any

from kafka_segments.core.formats.entries import Batch, Damage, ExperimentalBatch, Padding, Record
from kafka_segments.errors.escaping import escape_json

__all__ = ["encode", "line"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_RECORD = (
    b'{"type":"record","path":%b,"position":%d,"offset":%d,"timestamp":%d,"timestamp_type":"%b","sequence":%d,'
    b'"key":%b,"value":%b,"headers":[%b],"control":%b}\n'
)
_EXPERIMENTAL_KEYS = ("ignores_message_attributes", "has_metadata_first")
_BATCH_KEYS = tuple(field.name for field in fields(Batch) if field.compare)


def line(event: Batch | Record | Damage | Padding, path: str) -> bytes:
    """Return the line for one event, with its newline.

    In a path that is not UTF-8, invalid bytes are written as `\\udc80` to `\\udcff`, as in Python.

    Args:
        event: an event of a segment.
        path: of the file.
    """
    if isinstance(event, Record):
        return _record(event, _quoted(path))
    return encode(event)


def encode(values: Any) -> bytes:
    """Encode values, or an event, as a line of JSON, with its newline; unprintable characters are escaped."""
    made = _OBJECTS.get(type(values))
    return _encoded(values if made is None else made(values)) + b"\n"


def _batch(batch: Batch) -> dict[str, Any]:
    return {"type": "batch"} | {key: getattr(batch, key) for key in _BATCH_KEYS if key != "compression_id"}


def _experimental_batch(batch: ExperimentalBatch) -> dict[str, Any]:
    return _batch(batch) | {key: getattr(batch, key) for key in _EXPERIMENTAL_KEYS}


def _encoded(value: Any) -> bytes:
    return escape_json(_encode(value)).encode("utf-8", "backslashreplace")


_quoted = lru_cache(maxsize=4)(_encoded)


def _record(record: Record, path: bytes) -> bytes:
    """Encode a record by a template: there are many records, and nothing in them needs escaping."""
    headers = b",".join(
        b'{"key":%b,"value":%b}' % (_base64(key), _base64(value)) for key, value in record.headers
    )
    return _RECORD % (
        path,
        record.position,
        record.offset,
        record.timestamp,
        record.timestamp_type.encode("ascii"),
        record.sequence,
        _base64(record.key),
        _base64(record.value),
        headers,
        b"null" if record.control is None else _encoded(asdict(record.control)),
    )


def _damage(damage: Damage) -> dict[str, Any]:
    return {
        "type": "error",
        "path": damage.path,
        "position": damage.position,
        "end_position": damage.end_position,
        "error": type(damage.error).__name__,
        "detail": damage.error.detail,
        "first_lost_offset": damage.first_lost_offset,
        "last_lost_offset": damage.last_lost_offset,
    }


def _base64(data: bytes | None) -> bytes:
    return b"null" if data is None else b'"%b"' % b2a_base64(data, newline=False)


_OBJECTS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Batch: _batch,
    ExperimentalBatch: _experimental_batch,
    Damage: _damage,
    Padding: lambda padding: {"type": "padding"} | asdict(padding),
}
