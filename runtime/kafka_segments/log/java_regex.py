"""Java's regular expressions for topics, as Python's: `subscribePattern` is java.util.regex.Pattern's.

Strategy: the two are the same but for some spellings, which are translated; the names of topics are ASCII
(Topic.LEGAL_CHARS), so that classes of letters are those of ASCII. What Python would take for something else
is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kafka_segments.errors import OptionError

__all__ = ["java_pattern"]

_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "XDigit": "0-9a-fA-F",
    "ASCII": r"\x00-\x7f",
    "Punct": r"!-/:-@\[-`{-~",
    "L": "a-zA-Z",
    "Ll": "a-z",
    "Lu": "A-Z",
    "N": "0-9",
    "Nd": "0-9",
}
_ALIASES = {"IsAlphabetic": "Alpha", "IsLowercase": "Lower", "IsUppercase": "Upper", "IsDigit": "Digit"}
# What is spelt otherwise, each as a whole: quotes, properties, ends, names of groups, and any other escape.
_PART = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\(?P<not>[pP])(?:\{(?P<property>\w+)\}|(?P<letter>[LN]))"
    r"|\\(?P<end>[zZ])|\\k<(?P<known>\w+)>|\(\?<(?P<name>[A-Za-z]\w*)>|(?P<same>\\.|.)",
    re.DOTALL,
)


@lru_cache(maxsize=16)  # it is asked for with every partition
def java_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in Java's syntax.

    Raises:
        OptionError: it is none, or uses what Python's patterns cannot say.
    """
    parts, in_set = [], False
    for match in _PART.finditer(pattern):
        part = match["same"]
        if part is None:
            parts.append(_translated(match, in_set, pattern))
            continue
        if in_set and (part == "[" or pattern[match.start() : match.start() + 2] == "&&"):
            raise _refused(pattern, "sets within sets are not taken here; write the characters out")
        in_set = (part == "[") or (in_set and part != "]")
        parts.append(part)
    try:
        return re.compile("".join(parts), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise _refused(pattern, str(error)) from error


def _translated(match: re.Match[str], in_set: bool, pattern: str) -> str:
    if match["quoted"] is not None:
        return re.escape(match["quoted"])
    if match["end"]:
        return r"\Z"
    if match["known"]:
        return f"(?P={match['known']})"
    if match["name"]:
        return match[0] if in_set else f"(?P<{match['name']}>"
    name = match["property"] or match["letter"]
    characters = _CLASSES.get(_ALIASES.get(name, name))
    if characters is None or (in_set and match["not"] == "P"):
        raise _refused(pattern, f"{match[0]} is not taken here; write the characters out")
    return characters if in_set else f"[{'^' if match['not'] == 'P' else ''}{characters}]"


def _refused(pattern: str, why: str) -> OptionError:
    return OptionError(f"subscribePattern {pattern!r} is no pattern (java.util.regex.Pattern): {why}")
