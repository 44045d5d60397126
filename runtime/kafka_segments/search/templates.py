"""Formatting of records as bytes by a template, such as `{offset} {key} {value}`."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kafka_segments.core.formats.entries import Record
from kafka_segments.core.formats.file_names import directory_of, parse_directory_name, real_path
from kafka_segments.errors import OptionError

__all__ = ["FIELDS", "RecordFile", "Template", "unescaped"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}
_HEADER = "header:"


@dataclass(frozen=True, slots=True)
class RecordFile:
    """The file that records are of.

    Attributes:
        path: as the caller named it.
        topic: by the name of its directory; empty if that is not a partition's.
        partition: likewise; -1.
    """

    path: str
    topic: str = ""
    partition: int = -1

    @classmethod
    def of(cls, path: str) -> RecordFile:
        """Return topic and partition of a path or address."""
        found = parse_directory_name(real_path(directory_of(path)).rpartition("/")[2])
        return cls(path) if found is None else cls(path, found.topic, found.partition)


Content = bytes | None
Field = Callable[[Record, RecordFile], Content]


def _time(record: Record, _file: RecordFile) -> Content:
    if record.timestamp < 0:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=record.timestamp)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()


def _headers(record: Record, encode: Callable[[Content], bytes]) -> bytes:
    return b",".join(encode(name) + b"=" + encode(value) for name, value in record.headers)


def _size(data: Content) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)


# What is printed as it is, or in base64 if that is asked for.
_CONTENTS: dict[str, Field] = {
    "key": lambda record, _file: record.key,
    "value": lambda record, _file: record.value,
}
_NUMBERS: dict[str, Field] = {
    "offset": lambda record, _file: b"%d" % record.offset,
    "timestamp": lambda record, _file: b"%d" % record.timestamp,
    "time": _time,
    "position": lambda record, _file: b"%d" % record.position,
    "key_size": lambda record, _file: _size(record.key),
    "value_size": lambda record, _file: _size(record.value),
    "num_headers": lambda record, _file: b"%d" % len(record.headers),
    "topic": lambda _record, file: file.topic.encode(),
    "partition": lambda _record, file: b"%d" % file.partition,
    "path": lambda _record, file: file.path.encode("utf-8", "surrogateescape"),
}

FIELDS = (*_NUMBERS, *_CONTENTS, "headers", f"{_HEADER}NAME")
"""Names of the fields of a template.

`timestamp` is in milliseconds, -1 if there is none; `time` the same in ISO 8601, or null; `position` that of
the batch in the file; sizes are in bytes, -1 for null; `headers` all of them as `name=value`, with commas
between them; `header:NAME` the last value with this name, or null.
"""


class Template:
    r"""Template of records.

    Args:
        text: with names of `FIELDS` in braces; `{{` and `}}` are braces; `\n`, `\t`, `\0`, `\\`, `\xff`
            single bytes.
        null: what stands for null.
        is_base64: whether keys, values and headers are written in base64.

    Raises:
        OptionError: an unknown field, or a brace alone.

    Example:
        >>> Template(r"{offset}\t{{}}").render(Record(0, 7, -1, "CreateTime", -1, None, b"", (), None))
        b'7\t{}'
    """

    def __init__(self, text: str, *, null: bytes = b"null", is_base64: bool = False) -> None:
        self._null, self._is_base64 = null, is_base64
        self._parts: list[bytes | Field] = []
        for match in _PART.finditer(text):
            word = match[0]
            if match[1] is not None:
                self._parts.append(self._field(match[1]))
            elif word in {"{", "}"}:
                raise OptionError(f"the template {text!r} has a single brace: write {word * 2} for one")
            else:
                self._parts.append(unescaped({"{{": "{", "}}": "}"}.get(word, word)))

    def render(self, record: Record, file: RecordFile | None = None) -> bytes:
        """Return a record as bytes."""
        file = file or RecordFile("")
        rendered: Sequence[Content] = [
            part if isinstance(part, bytes) else part(record, file) for part in self._parts
        ]
        return b"".join(self._null if part is None else part for part in rendered)

    def _field(self, name: str) -> Field:
        if name in _NUMBERS:
            return _NUMBERS[name]
        if name in _CONTENTS:
            content = _CONTENTS[name]
            return lambda record, file: self._encoded(content(record, file))
        if name == "headers":
            return lambda record, _file: _headers(record, self._encoded)
        if name.startswith(_HEADER):
            wanted = name.removeprefix(_HEADER).encode("utf-8", "surrogateescape")
            return lambda record, _file: self._encoded(dict(record.headers).get(wanted))
        raise OptionError(f"a template has no field {name!r}; it has {', '.join(FIELDS)}")

    def _encoded(self, data: Content) -> bytes:
        if data is None:
            return self._null
        return b64encode(data) if self._is_base64 else data


def unescaped(text: str) -> bytes:
    r"""Return the bytes of a text with `\n`, `\t`, `\r`, `\0`, `\\` and `\xff` as single bytes.

    Raises:
        OptionError: another character after a backslash.
    """

    def single(match: re.Match[bytes]) -> bytes:
        escape = match[1]
        if len(escape) > 1:
            return bytes.fromhex(escape[1:].decode())
        if escape not in _ESCAPES:
            raise OptionError(f"{text!r}: a backslash needs n, t, r, 0, another backslash or xff after it")
        return _ESCAPES[escape]

    return _ESCAPE.sub(single, text.encode("utf-8", "surrogateescape"))
