"""Files of JSON that we write and read back, such as snapshots and the runs of tables: none is trusted.

Strategy: a file has the names of a dataclass's attributes (msgspec); missing ones have their defaults. Types
say what a value may be (`file_names.InnerPath`); no integer has more than 64 bits.
"""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any, TypeVar, get_type_hints

import msgspec

from kafka_segments import errors
from kafka_segments.core.formats.java import MAX_LONG, MIN_LONG
from kafka_segments.core.io.storage import Source
from kafka_segments.errors import KafkaFormatError, OptionError

__all__ = ["content_of", "read_document", "write_document"]

_MAX_BYTES = 1 << 30

T = TypeVar("T")


def content_of(source: Source) -> bytes:
    """Return the bytes of a file, and close it.

    Raises:
        OptionError: it is too large to be one of ours.
        ReadError: it cannot be read.
    """
    with closing(source):
        if source.size > _MAX_BYTES:
            detail = f"{source.size} bytes, more than the {_MAX_BYTES} that such a file may have"
            raise OptionError(detail, path=source.name)
        return bytes(source.read(0, source.size))


def write_document(value: Any, name: str, version: int) -> bytes:
    """Return a value as a line of JSON.

    Args:
        value: of a dataclass.
        name: of this kind of files.
        version: of what such files hold.
    """
    content = {"format": f"kafka-segments {name}", "version": version}
    content |= msgspec.to_builtins(value, enc_hook=_plain)
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def read_document(kind: type[T], data: bytes, path: str, name: str, version: int) -> T:
    """Return the value in a file; what others may have written is held against its types.

    Args:
        kind: of the value.
        data: the file's content.
        path: for errors.
        name: of this kind of files.
        version: the one that is known.

    Raises:
        OptionError: it is not such a file, or one of another version.
    """
    try:
        content = json.loads(data, parse_int=_int64)
        if not isinstance(content, dict) or content.pop("format", None) != f"kafka-segments {name}":
            raise OptionError(f"this is not a {name} of kafka-segments", path=path)
        found = content.pop("version", None)
        if found != version:
            raise OptionError(
                f"a {name} of version {found!r:.40}, but only {version} is known: use the version of "
                "kafka-segments that has written it",
                path=path,
            )
        return msgspec.convert(content, kind, dec_hook=_error_of)
    except (
        msgspec.MsgspecError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        if isinstance(error, OptionError) and error.path is not None:
            raise
        raise OptionError(f"this is not a {name} of kafka-segments: {error}", path=path) from error


def _int64(text: str) -> int:
    number = int(text)
    if not MIN_LONG <= number <= MAX_LONG:
        raise OptionError(f"{text:.40} has more than 64 bits")
    return number


def _plain(value: Any) -> Any:
    """The JSON form of an error: its class and attributes."""
    if not isinstance(value, KafkaFormatError):
        raise NotImplementedError
    plain = {name: one for name, one in value.__dict__.items() if isinstance(one, str | int | None)}
    return {"class": type(value).__name__, **plain}


def _error_of(kind: Any, value: dict[str, Any]) -> KafkaFormatError:  # noqa: ARG001
    described = dict(value)
    cls = getattr(errors, str(described.pop("class")))
    if not (isinstance(cls, type) and issubclass(cls, KafkaFormatError)):
        raise OptionError(f"{cls!r:.40} is not an error of ours")
    hints = get_type_hints(cls)  # the attributes that errors of this class have, and their types
    detail = msgspec.convert(described.pop("detail"), str)
    return cls(detail, **{name: msgspec.convert(one, hints[name]) for name, one in described.items()})
