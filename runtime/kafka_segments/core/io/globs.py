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

_TOKEN = re.compile(
    r"\\(?P<escaped>.)|\[(?P<negation>[\^!]?)(?P<set>(?:\\.|[^]\\])*)\]|(?P<plain>.)", re.DOTALL
)
_MEMBER = re.compile(r"(-)|\\?(.)", re.DOTALL)


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
    found, depth = [], 0
    for token in _TOKEN.finditer(pattern):
        plain = token["plain"]
        if token["escaped"] is not None:
            found.append(re.escape(token["escaped"]))
        elif plain is None:
            found.append(_set_of(pattern, token))
        elif plain in "\\[":
            raise _invalid(pattern, f"{_missing_in(pattern[token.start() :])} is missing")
        elif plain == "," and depth:
            found.append("|")
        elif plain == "{" or (plain == "}" and depth):
            depth += 1 if plain == "{" else -1
            found.append("(?:" if plain == "{" else ")")
        else:
            found.append({"*": ".*", "?": "."}.get(plain) or re.escape(plain))
    if depth:
        raise _invalid(pattern, "a brace is not closed")
    return re.compile("".join(found), re.DOTALL)


def _set_of(pattern: str, token: re.Match[str]) -> str:
    """Translate a set; characters special in Python only are escaped."""
    members = _MEMBER.sub(lambda one: one[1] or re.escape(one[2]), token["set"])
    found = f"[{'^' if token['negation'] else ''}{members}]"
    try:
        re.compile(found)
    except re.error as error:
        raise _invalid(pattern, f"the set in brackets is invalid ({error})") from error
    return found


def _missing_in(rest: str) -> str:
    """What a pattern lacks that ends within a set, or with a backslash."""
    if (len(rest) - len(rest.rstrip("\\"))) % 2:
        return "a character after the backslash"
    return "what is in the brackets" if rest in {"[", "[^", "[!"} else "the closing bracket"


def _invalid(pattern: str, detail: str) -> OptionError:
    return OptionError(f"the pattern {pattern!r} is invalid: {detail}")


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
