"""Tests of what a record holds: key, text, regular expression, header, JSON.

Each test names a byte string that a record must contain to pass, its `needle`, where there is one: a search
looks for that first, in whole batches, and decodes only those that have it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kafka_segments.core.formats.entries import Record
from kafka_segments.errors import DecodeError, OptionError
from kafka_segments.search.json_paths import JsonTest, read_json

__all__ = [
    "Contains",
    "ContentTest",
    "HasHeader",
    "HasJson",
    "HasKey",
    "MatchesPattern",
    "Part",
    "compiled_pattern",
    "needle_in",
]

Part = Literal["any", "key", "value", "headers"]
"""What of a record is looked at; `headers` are their names and values."""

# What may stand in a regular expression without being a literal. A literal that is repeated may be missing.
_TOKEN = re.compile(
    r"(?P<literal>\\[^0-9A-Za-z]|[^\\\[\](){}.^$|?*+])|(?P<repeat>[?*]|\{\d*,?\d*\})"
    r"|\[\^?+\]?+(?:\\.|[^\]\\])*+\]|\\x..|\\\d+|\\.|.",
    re.DOTALL,
)


class ContentTest(ABC):
    """Test of a record's content."""

    @property
    @abstractmethod
    def needle(self) -> bytes | None:
        """Bytes that a record which passes contains in one piece; None if there are none to name."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The test in words."""

    @abstractmethod
    def holds(self, record: Record) -> bool:
        """Return whether a record passes."""

    def find_raw(self, data: bytes, start: int = 0) -> tuple[int, int] | None:
        """Return where bytes that may belong to such a record next stand in damaged data, if anywhere."""
        at = data.find(self.needle, start) if self.needle else -1
        return None if at < 0 else (at, at + len(self.needle or b""))


@dataclass(frozen=True, slots=True)
class HasKey(ContentTest):
    """Test for a key."""

    key: bytes

    @property
    def needle(self) -> bytes | None:
        return self.key or None

    @property
    def words(self) -> str:
        return f"key {_shown(self.key)}"

    def holds(self, record: Record) -> bool:
        return record.key == self.key


@dataclass(frozen=True, slots=True)
class Contains(ContentTest):
    """Test for bytes that occur in a record."""

    data: bytes
    part: Part = "any"

    @property
    def needle(self) -> bytes | None:
        return self.data or None

    @property
    def words(self) -> str:
        return f"bytes {_shown(self.data)}"

    def holds(self, record: Record) -> bool:
        return any(self.data in one for one in _parts(record, self.part))


@dataclass(frozen=True, slots=True)
class MatchesPattern(ContentTest):
    """Test for a regular expression of Python's module `re`, over bytes."""

    pattern: re.Pattern[bytes]
    part: Part = "any"

    @property
    def needle(self) -> bytes | None:
        return needle_in(self.pattern)

    @property
    def words(self) -> str:
        return f"pattern {_shown(self.pattern.pattern)}"

    def holds(self, record: Record) -> bool:
        return any(self.pattern.search(one) for one in _parts(record, self.part))

    def find_raw(self, data: bytes, start: int = 0) -> tuple[int, int] | None:
        found = self.pattern.search(data, start)
        return None if found is None else found.span()


@dataclass(frozen=True, slots=True)
class HasHeader(ContentTest):
    """Test for a header with a name, and a value unless that is None."""

    name: bytes
    value: bytes | None = None

    @property
    def needle(self) -> bytes | None:
        return max(self.name, self.value or b"", key=len) or None

    @property
    def words(self) -> str:
        return f"header {_shown(self.name if self.value is None else self.name + b'=' + self.value)}"

    def holds(self, record: Record) -> bool:
        return any(name == self.name and self.value in {None, value} for name, value in record.headers)


@dataclass(frozen=True, slots=True)
class HasJson(ContentTest):
    """Test of a value, or a key, that is a JSON document; anything else does not pass."""

    test: JsonTest
    text: str
    part: Part = "value"

    @property
    def needle(self) -> bytes | None:
        return None  # names and texts may be written with escapes

    @property
    def words(self) -> str:
        return f"JSON {self.text}"

    def holds(self, record: Record) -> bool:
        data = record.key if self.part == "key" else record.value
        try:
            return data is not None and self.test.holds(read_json(data))
        except DecodeError:
            return False


def needle_in(pattern: re.Pattern[bytes]) -> bytes | None:
    """Return the longest run of bytes that every match of a regular expression contains, if that is plain.

    None for expressions with alternatives, groups or flags, where it would take a parser.

    Example:
        >>> needle_in(re.compile(rb"user-\\d+: [Ee]rror"))
        b'user-'
    """
    text = pattern.pattern.decode("latin-1")
    if "|" in text or "(" in text or pattern.flags & (re.IGNORECASE | re.VERBOSE):
        return None
    runs, run = list[str](), ""
    for token in _TOKEN.finditer(text):
        if token["literal"] is not None:
            run += token["literal"][-1:]
            continue
        if token["repeat"] is not None:
            run = run[:-1]
        runs.append(run)
        run = ""
    return max([*runs, run], key=len).encode("latin-1") or None


def _parts(record: Record, part: Part) -> Iterator[bytes]:
    if part in ("any", "key") and record.key is not None:
        yield record.key
    if part in ("any", "value") and record.value is not None:
        yield record.value
    if part in ("any", "headers"):
        for name, value in record.headers:
            yield name
            if value is not None:
                yield value


def _shown(data: bytes) -> str:
    try:
        return repr(data.decode("utf-8"))
    except UnicodeDecodeError:
        return f"0x{data.hex()}"


def compiled_pattern(text: str) -> re.Pattern[bytes]:
    """Compile a regular expression that was given as text, for bytes in UTF-8.

    Raises:
        OptionError: it is not a regular expression.
    """
    try:
        return re.compile(text.encode("utf-8", "surrogateescape"))
    except (re.error, RecursionError, OverflowError) as error:
        raise OptionError(f"{text!r} is not a regular expression of Python's re: {error}") from error
