"""What all readers share: streams for the generated classes, and what becomes of their errors and enums."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from kaitaistruct import KaitaiStream, KaitaiStructError, ValidationFailedError

__all__ = ["PARSE_ERRORS", "constants", "explain", "name", "number", "stream"]

# What generated classes raise on wrong bytes: their own errors, the stream's end, a negative size, bad UTF-8.
PARSE_ERRORS = (KaitaiStructError, EOFError, ValueError)


def explain(error: Exception) -> str:
    """A parse error on one line: what Kaitai says of a value may hold all of it, or an object's address."""
    if not isinstance(error, ValidationFailedError):
        return str(error)
    found = getattr(error, "actual", None)
    if found == b"":  # a field without bytes is there to check for the end
        return f"its content ends after {error.io.pos()} bytes, before its length does"
    found = getattr(found, "value", found)
    return f"{found!r:.60} is no valid value before byte {error.io.pos()} ({error.src_path})"


def stream(data: bytes | memoryview) -> Any:
    return KaitaiStream(BytesIO(data))


def constants(cls: Any) -> Any:
    """An instance that was never read: enough for value instances that depend on no field."""
    return cls.__new__(cls)


def number(value: Any) -> int:
    """An enum's number; the generated classes leave unknown ones as they are."""
    return int(getattr(value, "value", value))


def name(value: Any) -> str | None:
    """An enum value's name in the schema; None for a number that has none."""
    return getattr(value, "name", None)
