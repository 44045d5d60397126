"""Paths into JSON documents, and comparisons of what they lead to.

Paths are a subset of JSONPath (RFC 9535): `$`, `.name`, `['name']`, `[0]`, `[-1]`, `.*` and `[*]`. Numbers
are compared as numbers and exactly: integers of any size, other numbers as decimals.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from kafka_segments.errors import DecodeError, OptionError

__all__ = ["JsonTest", "parse_json_test", "read_json"]

_STEP = re.compile(
    r"""\.(?P<name>[^\W\d][\w-]*) | \[\s*(?P<index>-?\d{1,18})\s*\] | (?P<all>\.\*|\[\s*\*\s*\])
    | \[\s*(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\]""",
    re.VERBOSE,
)
_COMPARISON = re.compile(r"\s*(==|=|!=|<=|>=|<|>)\s*(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MOST_VALUES = 1 << 19
_LONGEST_INTEGER = 4000  # digits that Python makes an `int` of under every setting

Step = str | int | None
"""Name of a member, index of an element, or None for all of them."""


@dataclass(frozen=True, slots=True)
class JsonTest:
    """A path, and a comparison of the values that it leads to.

    Attributes:
        steps: the path.
        compare: of a value that was found and `value`; None where any value will do.
        value: the other side.
    """

    steps: tuple[Step, ...]
    compare: Callable[[Any, Any], bool] | None
    value: Any

    def holds(self, document: Any) -> bool:
        """Return whether the comparison holds for one of the values, or there is any if there is none."""
        found = _select(document, self.steps)
        if self.compare is None:
            return any(True for _one in found)
        return any(_is_comparable(one, self.value, self.compare) for one in found)


def read_json(data: bytes) -> Any:
    """Read a JSON document; numbers become `int` or `Decimal`, none is rounded.

    Raises:
        DecodeError: it is not JSON, or nested too deeply to be read.
        OptionError: it has more values than are read: they take 30 times the memory of their text and more.
    """
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise OptionError(f"the JSON document has more than {_MOST_VALUES:,} values")
    try:
        return json.loads(data, parse_float=Decimal, parse_int=_integer, parse_constant=_refuse)
    except (ValueError, RecursionError, InvalidOperation) as error:
        raise DecodeError(f"this is not JSON: {error}") from error


def parse_json_test(text: str) -> JsonTest:
    """Parse a path that a comparison may follow.

    Args:
        text: such as `$.order.amount >= 10.5`, `$.items[*].sku = "A-1"` or `$.error`. The operators are `=`
            `!=` `<` `<=` `>` `>=`; on their right stands a value of JSON, or else a text without quotes.

    Raises:
        OptionError: it has another form.

    Example:
        >>> parse_json_test("$.id > 9007199254740992").holds(read_json(b'{"id": 9007199254740993}'))
        True
    """
    if not text.startswith("$"):
        raise OptionError(f"the JSON path {text!r} does not begin with $: write $.name or $['a name'][0]")
    at, steps = 1, list[Step]()
    while match := _STEP.match(text, at):
        steps.append(_step(match))
        at = match.end()
    rest = text[at:]
    if not rest.strip():
        return JsonTest(tuple(steps), None, None)
    comparison = _COMPARISON.fullmatch(rest)
    if comparison is None:
        raise OptionError(
            f"in {text!r}, {rest.strip()!r} is neither a step (.name, ['name'], [0], .*, [*]) nor a "
            "comparison (= != < <= > >=)"
        )
    return JsonTest(tuple(steps), _OPERATORS[comparison[1]], _value(comparison[2].strip()))


def _step(match: re.Match[str]) -> Step:
    if match["name"] is not None:
        return match["name"]
    if match["index"] is not None:
        return int(match["index"])
    return None if match["all"] is not None else _ESCAPED.sub(r"\1", match["quoted"][1:-1])


def _value(text: str) -> Any:
    try:
        return read_json(text.encode())
    except DecodeError:
        return text


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) < _LONGEST_INTEGER else Decimal(text)


def _refuse(text: str) -> Any:
    raise DecodeError(f"{text} is not a JSON number")


def _select(document: Any, steps: Iterable[Step]) -> Iterator[Any]:
    found: Iterable[Any] = [document]
    for step in steps:
        found = [child for one in found for child in _children(one, step)]
    yield from found


def _children(value: Any, step: Step) -> Iterable[Any]:
    if step is None:
        return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(step, str):
        return (value[step],) if isinstance(value, dict) and step in value else ()
    return (value[step],) if isinstance(value, list) and -len(value) <= step < len(value) else ()


def _is_comparable(found: Any, value: Any, compare: Callable[[Any, Any], bool]) -> bool:
    """Return whether a comparison holds; values of two kinds are different, and neither is greater."""
    if _kind(found) is not _kind(value):
        return compare is operator.ne
    is_ordered = isinstance(value, str | int | Decimal) and not isinstance(value, bool)
    return (is_ordered or compare in (operator.eq, operator.ne)) and bool(compare(found, value))


def _kind(value: Any) -> type:
    if isinstance(value, bool):
        return bool
    return int if isinstance(value, int | Decimal) else type(value)
