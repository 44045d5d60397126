"""Common parts of readers: streams for the generated classes, their errors and enums."""

from __future__ import annotations

import re
from enum import IntEnum
from io import BytesIO
from typing import TypeVar

from kaitaistruct import KaitaiStream, KaitaiStruct, KaitaiStructError, ValidationFailedError

__all__ = ["PARSE_ERRORS", "constants", "explain", "name", "release", "release_failed", "stream"]

T = TypeVar("T")

# What generated classes raise on wrong bytes: their own errors, the stream's end, a negative size, bad UTF-8.
PARSE_ERRORS = (KaitaiStructError, EOFError, ValueError)
_NO_NUMBER = re.compile(r"invalid literal for int\(\) with base 10: (.*)", re.DOTALL)  # of Python's int()
_NO_END = re.compile(r"end of stream reached, but no terminator b'(.*)' found")  # of KaitaiStream


def explain(error: Exception) -> str:
    """A parse error on one line, without whole values or addresses of objects."""
    if not isinstance(error, ValidationFailedError):
        if number := _NO_NUMBER.fullmatch(str(error)):
            return f"{number[1]:.60} is not a number"
        ended = _NO_END.fullmatch(str(error))
        return str(error) if ended is None else f"it ends before the {ended[1]!r} that must follow"
    found = getattr(error, "actual", None)
    if found == b"":  # of a field that is there for bytes that are refused
        return f"a length or count before byte {error.io.pos()} does not fit its content"
    found = getattr(found, "value", found)
    return f"{found!r:.60}, before byte {error.io.pos()}, is not a value of this format"


def stream(data: bytes | memoryview) -> KaitaiStream:
    """A stream for the generated classes."""
    return KaitaiStream(BytesIO(data))


def release(parsed: KaitaiStruct) -> None:
    """Release the bytes that an object and those in it hold, after their values were taken.

    Each object refers to itself (as its root) and to its stream, so that a value of many MiB would stay in
    memory until the garbage collector runs, which only the number of objects triggers.
    """
    pending = [parsed]
    while pending:
        members = vars(pending.pop())
        values = list(members.values())
        members.clear()
        for value in values:
            if isinstance(value, KaitaiStruct):
                pending.append(value)
            elif type(value) is list:
                pending.extend(one for one in value if isinstance(one, KaitaiStruct))


def release_failed(error: Exception) -> None:
    """Release the objects whose reading a parse error ended; the caller has caught it."""
    # Whose own frame holds the error, and would hold it for good if its locals were asked for.
    trace = error.__traceback__ and error.__traceback__.tb_next
    while trace is not None:
        reading = trace.tb_frame.f_locals.get("self")
        if isinstance(reading, KaitaiStruct):
            release(reading)
        trace = trace.tb_next


def constants(cls: type[T]) -> T:
    """An unread object: enough for value instances that depend on no field."""
    return cls.__new__(cls)


def name(value: int) -> str | None:
    """An enum value's name in the schema; None for a number without one."""
    return value.name if isinstance(value, IntEnum) else None
