"""Expressions and type references as syntax trees, by `grammar.lark`; `infer` resolves them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeAlias

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput

from compiler.frontend.yaml_tree import Node

Syntax: TypeAlias = Tree[Token]

SUPPORTED = (
    "supported are names, numbers, texts, [1, 2], true, false, enum::label, sizeof<type>, members (a.b), "
    "a[i], casts of integers (a.as<s8>), "
    "- ~ not, * / % + - << >> & ^ |, one comparison, and, or, and a ? b : c"
)


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    starts = ["expression", "type_reference"]
    return Lark(grammar, parser="lalr", start=starts, propagate_positions=True, maybe_placeholders=False)


def parse_expression(node: Node) -> Syntax:
    """The syntax tree of the expression that stands at a place.

    Raises:
        SchemaError: there is no single value, or what it says is no expression.
    """
    return _parse(node, node.scalar().text, "expression")


def parse_element_path(node: Node) -> tuple[str, Syntax]:
    """A path over a repeated member: the member's name, and what is taken of each element, which is `_`.

    Raises:
        SchemaError: it does not begin with a name.
    """
    text = node.scalar().text
    head, dot, rest = text.partition(".")
    if not head.isidentifier():
        raise node.error("a path is expected here, such as records.body.timestamp")
    # As long as before, so that errors point at the right column.
    return head, _parse(node, "_".ljust(len(head)) + dot + rest, "expression")


def parse_type(node: Node) -> tuple[tuple[str, ...], tuple[Syntax, ...]]:
    """The names and the arguments of a type reference, `a::b(1, 2)`.

    Raises:
        SchemaError: what stands there is none.
    """
    node.text()
    tree = _parse(node, node.scalar().text, "type_reference")
    names = tuple(str(child) for child in tree.children if isinstance(child, Token))
    arguments = [child for child in tree.children if isinstance(child, Tree)]
    return names, tuple(as_tree(child) for child in arguments[0].children) if arguments else ()


def as_tree(child: Syntax | Token) -> Syntax:
    """A child that is a tree by the grammar."""
    assert isinstance(child, Tree)
    return child


def offset_of(tree: Syntax) -> int:
    """Where in the expression a part of it begins."""
    return int(tree.meta.start_pos) if not tree.meta.empty else 0


def _parse(node: Node, text: str, start: str) -> Syntax:
    try:
        return as_tree(_parser().parse(text, start=start))
    except UnexpectedInput as error:
        at = error.pos_in_stream
        if isinstance(error, UnexpectedCharacters):
            found = repr(error.char)
        else:
            token = getattr(error, "token", None)
            found = "its end" if token is None or token.type == "$END" else repr(str(token))
            at = len(text) if found == "its end" else at
        raise node.error(f"unexpected {found} in {' '.join(text.split())!r}; {SUPPORTED}", at) from None
