"""Glob patterns of names and paths, as in Hadoop and Spark's file options.

`*` matches any characters, `?` one, `[ab]` and `[a-c]` one of a set, `[^a]` and `[!a]` one outside it,
`{ab,c}` one of the alternatives; a backslash escapes the next character. In a path a pattern matches within a
name, except for braces, which may contain a `/`.

Source: Hadoop's GlobPattern, GlobExpander and Globber.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError

__all__ = ["compile_glob", "expand", "is_glob"]

_SPECIAL = frozenset("{}[]*?\\")  # SparkHadoopUtil.isGlobPath
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{1,2}[^/{}\[\]*?\\]*")


def is_glob(path: str) -> bool:
    """Whether a path has special characters of patterns."""
    return not _SPECIAL.isdisjoint(path)


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of one name, for `fullmatch`.

    Raises:
        OptionError: an unclosed set or brace, or a trailing backslash.

    Example:
        >>> bool(compile_glob("0*.{log,index}").fullmatch("00.log"))
        True
    """
    return _Translation(pattern).compiled()


class _Translation:
    """Translation of a pattern to a regular expression."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._rest = iter(pattern)
        self._out: list[str] = []
        self._depth = 0

    def compiled(self) -> re.Pattern[str]:
        for character in self._rest:
            if character == "\\":
                self._out.append(re.escape(self._following("a character after the backslash")))
            elif character == "[":
                self._out.append(self._set())
            else:
                self._out.append(self._plain(character))
        if self._depth:
            raise self._wrong("a brace is not closed")
        return re.compile("".join(self._out), re.DOTALL)

    def _plain(self, character: str) -> str:
        if character == "{":
            self._depth += 1
            return "(?:"
        if character == "}" and self._depth:
            self._depth -= 1
            return ")"
        if character == "," and self._depth:
            return "|"
        return {"*": ".*", "?": "."}.get(character) or re.escape(character)

    def _set(self) -> str:
        """Translate a set after its bracket; characters special in Python only are escaped."""
        found = ["["]
        character = self._following("what is in the brackets")
        if character in "^!":
            found.append("^")
            character = self._following("what is in the brackets")
        while character != "]":
            if character == "\\":
                character = self._following("a character after the backslash")
                found.append(re.escape(character))
            else:
                found.append(character if character == "-" else re.escape(character))
            character = self._following("the closing bracket")
        try:
            re.compile("".join(found) + "]")
        except re.error as error:
            raise self._wrong(f"the set in brackets is invalid ({error})") from error
        return "".join(found) + "]"

    def _following(self, what: str) -> str:
        character = next(self._rest, None)
        if character is None:
            raise self._wrong(f"{what} is missing")
        return character

    def _wrong(self, detail: str) -> OptionError:
        return OptionError(f"the pattern {self._pattern!r} is invalid: {detail}")


def expand(places: Places, pattern: str) -> list[FileEntry]:
    """List matching files and directories, by path in listing order.

    Raises:
        OptionError: see `compile_glob`.
        ReadError: a directory on the way cannot be listed.
    """
    found: dict[str, FileEntry] = {}
    for path in _without_slashes_in_braces(pattern):
        start = _ADDRESS.match(path)
        root = start[0] if start else ("/" if path.startswith("/") else "")
        root += "/" if root.endswith("://") else ""  # else the first name would be an authority
        parts = [part for part in path[len(root) :].split("/") if part]
        found.update((entry.path, entry) for entry in _matches(places, root, parts))
    return list(found.values())


def _matches(places: Places, path: str, parts: list[str]) -> Iterator[FileEntry]:
    if not parts:
        entry = places.entry(path)
        if entry is not None:
            yield entry
        return
    part, rest = parts[0], parts[1:]
    if not is_glob(part):
        yield from _matches(places, _joined(path, part), rest)
        return
    above = places.entry(path or ".")
    if above is None or not above.is_directory:
        return
    glob = compile_glob(part)
    for entry in places.entries(path or "."):
        if not glob.fullmatch(entry.name):
            continue
        if not rest:
            yield entry
        elif entry.is_directory:
            yield from _matches(places, _joined(path, entry.name), rest)


def _joined(path: str, name: str) -> str:
    return name if not path else path + name if path.endswith("/") else f"{path}/{name}"


def _without_slashes_in_braces(pattern: str) -> list[str]:
    """Expand braces that contain a `/` into several patterns."""
    opened: list[int] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            at += 1
        elif character == "{":
            opened.append(at)
        elif character == "}" and opened:
            start = opened.pop()
            if not opened and "/" in pattern[start:at]:
                heads = _alternatives(pattern[start + 1 : at])
                return [
                    expanded
                    for head in heads
                    for expanded in _without_slashes_in_braces(pattern[:start] + head + pattern[at + 1 :])
                ]
        at += 1
    return [pattern]


def _alternatives(inner: str) -> list[str]:
    """Split a brace at its own commas, not at those of nested braces."""
    found, depth, taken = [""], 0, iter(inner)
    for character in taken:
        if character == "," and not depth:
            found.append("")
            continue
        depth += {"{": 1, "}": -1}.get(character, 0)
        found[-1] += character + (next(taken, "") if character == "\\" else "")
    return found
