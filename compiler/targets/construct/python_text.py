"""Layout of generated Python: long calls over several lines, comments, docstrings."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TypeAlias

WIDTH = 100
INDENT = "    "
_BREAKS = frozenset({"and", "or", "if", "else", "+", "-", "*", "//"})

Node: TypeAlias = "str | Call | Mapped | Labelled"


@dataclass(slots=True)
class Call:
    """A call; keyword arguments come last."""

    name: str
    args: list[Node] = field(default_factory=list)
    keywords: dict[str, Node] = field(default_factory=dict)


@dataclass(slots=True)
class Mapped:
    """A dictionary."""

    entries: list[tuple[str, Node]]


@dataclass(slots=True)
class Labelled:
    """A member of a struct: its name, what it is, and comments above it."""

    name: str
    node: Node
    comments: list[str] = field(default_factory=list)


def one_line(node: Node) -> str:
    """A node on one line."""
    match node:
        case str():
            return node
        case Call(name=name, args=args, keywords=keywords):
            given = [one_line(arg) for arg in args]
            given += [f"{key}={one_line(value)}" for key, value in keywords.items()]
            return f"{name}({', '.join(given)})"
        case Mapped(entries=entries):
            return "{" + ", ".join(f"{key}: {one_line(value)}" for key, value in entries) + "}"
        case Labelled(name=name, node=inner):
            return f'"{name}" / {one_line(inner)}'


def _has_comments(node: Node) -> bool:
    match node:
        case Labelled(comments=comments, node=inner):
            return bool(comments) or _has_comments(inner)
        case Call(args=args, keywords=keywords):
            return any(map(_has_comments, [*args, *keywords.values()]))
    return False


def lines(node: Node, prefix: str = "", suffix: str = "", indent: int = 0) -> list[str]:
    """A node as lines, with the text before and after it."""
    flat = INDENT * indent + prefix + one_line(node) + suffix
    if isinstance(node, str):
        return [flat] if len(flat) <= WIDTH else _broken(node, prefix, suffix, indent)
    if len(flat) <= WIDTH and not _has_comments(node):
        return [flat]
    if isinstance(node, Labelled):
        comments = [INDENT * indent + line for line in node.comments]
        return comments + lines(node.node, f'{prefix}"{node.name}" / ', suffix, indent)
    pad = INDENT * indent
    found = []
    if isinstance(node, Mapped):
        for key, value in node.entries:
            found += lines(value, f"{key}: ", ",", indent + 1)
        return [pad + prefix + "{", *found, pad + "}" + suffix]
    for arg in node.args:
        found += lines(arg, "", ",", indent + 1)
    for key, value in node.keywords.items():
        found += lines(value, f"{key}=", ",", indent + 1)
    return [f"{pad}{prefix}{node.name}(", *found, f"{pad}){suffix}"]


def _broken(text: str, prefix: str, suffix: str, indent: int) -> list[str]:
    """A function's text over several lines, broken before operators that stand in no parentheses."""
    head, colon, body = text.partition(": ")
    pad, width = INDENT * indent, WIDTH - len(INDENT) * (indent + 1)
    if not colon or not head.startswith("lambda"):
        return [pad + prefix + text + suffix]
    rows = [""]
    for word in _words(body):
        if rows[-1] and len(rows[-1]) + 1 + len(word) > width:
            rows.append("")
        rows[-1] = f"{rows[-1]} {word}".strip()
    return [f"{pad}{prefix}{head}: (", *(f"{pad}{INDENT}{row}" for row in rows), f"{pad}){suffix}"]


def _words(text: str) -> list[str]:
    """A text in pieces that begin with an operator and have no open parentheses."""
    found: list[str] = []
    depth = 0
    for word in text.split(" "):
        if found and (depth or word not in _BREAKS):
            found[-1] += f" {word}"
        else:
            found.append(word)
        depth += sum(word.count(sign) for sign in "([{") - sum(word.count(sign) for sign in ")]}")
    return found


def paragraphs(text: str, width: int) -> list[str]:
    """A schema's doc in lines of a width: paragraphs filled, lists and what is indented left alone."""
    found: list[str] = []
    for block in text.strip().split("\n\n"):
        is_list = any(line.startswith(("* ", "- ", "  ")) for line in block.splitlines())
        found += block.splitlines() if is_list else textwrap.wrap(" ".join(block.split()), width)
        found.append("")
    return found[:-1]


def comment(text: str, indent: int) -> list[str]:
    """A text as comment lines, to be indented so far."""
    width = WIDTH - 2 - len(INDENT) * indent
    return [f"# {line}".rstrip() for line in paragraphs(text, width)] if text.strip() else []


def docstring(text: str, indent: int = 0) -> list[str]:
    """A text as a docstring."""
    pad = INDENT * indent
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    found = paragraphs(escaped, WIDTH - len(pad) - 3)
    if len(found) == 1 and len(found[0]) + len(pad) + 6 <= WIDTH:
        return [f'{pad}"""{found[0]}"""']
    return [f'{pad}"""{found[0]}', *(pad + line if line else "" for line in found[1:]), f'{pad}"""']
