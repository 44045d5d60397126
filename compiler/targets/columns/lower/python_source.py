"""The source of a Python function under construction, without unused assignments.

Strategy: an emitter writes every value as an assignment that may be left out; those without a use are
removed at the end, and lines are laid out.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.frontend.model import Model

__all__ = ["Function", "Names", "Reserved", "Source", "bracketed"]

_WIDTH = 110
_NAME = re.compile(r"[a-zA-Z_]\w*")


@dataclass(slots=True)
class _Line:
    """A statement; with `target` it only sets that variable, and is left out if nothing uses it."""

    text: str
    target: str | None = None


@dataclass(slots=True)
class _Block:
    """Statements under an `if`, `for`, `while` or `else`; without a head, a group of statements."""

    head: str
    body: list[_Line | _Block] = field(default_factory=list)


_Node: TypeAlias = _Line | _Block


@dataclass(frozen=True, slots=True)
class Reserved:
    """A place for later statements; see `Source.reserve`."""

    block: _Block


class Names:
    """Unique variable names of one function."""

    def __init__(self, *taken: str) -> None:
        self._taken = {*keyword.kwlist, *keyword.softkwlist, *taken}

    def new(self, wanted: str) -> str:
        """The wanted name, or a similar one that is free."""
        name = wanted
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


class Source:
    """The statements of one function."""

    def __init__(self) -> None:
        self._top: list[_Node] = []
        self._body = self._top

    def add(self, *lines: str) -> None:
        """Add statements that are never left out."""
        self._body += [_Line(text) for text in lines]

    def let(self, target: str, value: str) -> None:
        """Add `target = value`, if anything uses it."""
        self._body.append(_Line(f"{target} = {value}", target))

    def move(self, target: str, step: str) -> None:
        """Add `target += step`, if anything uses it."""
        self._body.append(_Line(f"{target} += {step}", target))

    def mark(self) -> int:
        """The place after the last statement, for `let_before`."""
        return len(self._body)

    def let_before(self, mark: int, target: str, value: str) -> None:
        """Add `target = value` at a marked place in this block, if anything uses it."""
        self._body.insert(mark, _Line(f"{target} = {value}", target))

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Put all statements of the block under `head`; an empty block leaves no head."""
        block = _Block(head)
        self._body.append(block)
        outer, self._body = self._body, block.body
        yield
        self._body = outer

    def reserve(self) -> Reserved:
        """Reserve a place for statements that are added later."""
        block = _Block("")
        self._body.append(block)
        return Reserved(block)

    @contextmanager
    def within(self, place: Reserved) -> Iterator[None]:
        """Add the block's statements to a reserved place."""
        outer, self._body = self._body, place.block.body
        yield
        self._body = outer

    def rarely(self, condition: str) -> AbstractContextManager[None]:
        """A block that the compiler treats as unlikely."""
        return self.block(f"if rare({condition}):")

    def lines(self, indent: int) -> list[str]:
        """The text, without unused assignments."""
        used: set[str] = set()
        while (found := _used(self._top, used)) != used:
            used = found
        return list(_lines(self._top, used, indent))

    def uses(self, name: str) -> bool:
        """Whether any remaining statement uses a name."""
        return any(name in _NAME.findall(line) for line in self.lines(0))


@dataclass(slots=True)
class Function:
    """A function under construction."""

    model: Model
    names: Names
    source: Source = field(default_factory=Source)


def _is_kept(node: _Node, used: set[str]) -> bool:
    if isinstance(node, _Line):
        return node.target is None or node.target in used
    return any(_is_kept(each, used) for each in node.body)


def _used(nodes: list[_Node], used: set[str]) -> set[str]:
    """The names in all statements that remain if `used` are used."""
    found: set[str] = set()
    for node in nodes:
        if not _is_kept(node, used):
            continue
        if isinstance(node, _Block):
            found |= {*_NAME.findall(node.head)} | _used(node.body, used)
        elif node.target is None:
            found |= {*_NAME.findall(node.text)}
        else:
            found |= {*_NAME.findall(node.text.partition("= ")[2])}
    return found


def _lines(nodes: list[_Node], used: set[str], indent: int) -> Iterator[str]:
    for node in nodes:
        if not _is_kept(node, used):
            continue
        if isinstance(node, _Line):
            yield from _wrapped(node.text, indent)
        elif node.head:
            yield from _wrapped(node.head, indent)
            yield from _lines(node.body, used, indent + 1)
        else:
            yield from _lines(node.body, used, indent)


def _wrapped(text: str, indent: int) -> list[str]:
    """A statement; arguments or operands of a long one get lines of their own."""
    space = "    " * indent
    if len(space) + len(text) <= _WIDTH:
        return [space + text]
    rarely = re.fullmatch(r"(if rare\()(.*)(\):)", text)
    if rarely is not None:
        return [space + rarely[1], *_operands(rarely[2], indent + 1), space + rarely[3]]
    call = re.fullmatch(r"((?:return |[\w, ]+ = )?\w+\()(.*)(\))", text)
    if call is not None:
        inside = f"{space}    {call[2]}"
        if len(inside) <= _WIDTH:
            return [space + call[1], inside, space + call[3]]
        lines = [[*_operands(part, indent + 1)] for part in _arguments(call[2])]
        return [space + call[1], *(line for each in lines for line in _with_comma(each)), space + call[3]]
    found = re.fullmatch(r"((?:if|elif|while|return|[\w, ]+ \+?=) ?)(.*?)(:?)", text)
    if found is None:
        raise ValueError(f"a line is too long: {text}")
    return [f"{space}{found[1]}(", *_operands(found[2], indent + 1), f"{space}){found[3]}"]


def _with_comma(lines: list[str]) -> list[str]:
    return [*lines[:-1], f"{lines[-1]},"]


def _operands(text: str, indent: int) -> list[str]:
    """An expression; a long one is divided at the operators that bind least."""
    space = "    " * indent
    if len(space) + len(text) <= _WIDTH - 1:
        return [space + text]
    for operators in (("if", "else"), ("or",), ("and",), ("|",), ("+", "-")):
        parts = _split(text, operators)
        if len(parts) > 1:
            return [line for part in parts for line in _operands(part, indent)]
    return [space + text]


def _split(text: str, operators: tuple[str, ...]) -> list[str]:
    """The parts between operators outside of brackets, each with the operator in front of it."""
    parts, depth = [""], 0
    for word in text.split(" "):
        if depth == 0 and word in operators and parts[-1]:
            parts.append(word)
        else:
            parts[-1] = f"{parts[-1]} {word}".strip()
        depth += sum(word.count(each) for each in "([") - sum(word.count(each) for each in ")]")
    return parts


def _arguments(text: str) -> list[str]:
    """The arguments of a call."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def bracketed(opening: str, items: list[str], closing: str, indent: int = 0) -> list[str]:
    """`opening item, item closing` on one line if it fits, else one item a line."""
    space = "    " * indent
    whole = f"{space}{opening}{', '.join(items)}{closing}"
    if len(whole) <= _WIDTH:
        return [whole]
    return [f"{space}{opening}", *(f"{space}    {item}," for item in items), f"{space}{closing}"]
