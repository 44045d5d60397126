"""Lines of at most 80 columns: texts and expressions that got too long by indentation are wrapped again."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

__all__ = ["WIDTH", "wrap"]

WIDTH = 80
_BLOCK = re.compile(r"( *)(?:- )?[-\w]+: [|>]-?$")
_ONE_LINE = re.compile(r"( *)((?:- )?)(doc|value|size|if|pos|repeat-expr|repeat-until|expr): (.+)$")


def wrap(text: str) -> str:
    """Wrap the lines of a schema. What cannot be divided (an address, the name of an enum's value) stays.

    The words of a `doc` and their paragraphs stay; so do the words of expressions, in which white space has
    no meaning.
    """
    lines = text.splitlines()
    wrapped: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if found := _BLOCK.fullmatch(line):
            end = _end_of_block(lines, at, len(found[1]))
            wrapped.append(line)
            wrapped.extend(_wrap_block(lines[at:end]))
            at = end
        elif len(line) > WIDTH and (found := _ONE_LINE.fullmatch(line)):
            wrapped.extend(_as_block(*found.groups()))
        else:
            wrapped.append(line)
    return "\n".join(wrapped) + "\n"


def _end_of_block(lines: list[str], at: int, indentation: int) -> int:
    while at < len(lines) and (not lines[at].strip() or _indentation(lines[at]) > indentation):
        at += 1
    return at


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _wrap_block(lines: list[str]) -> Iterator[str]:
    """The lines of a block; a paragraph that has a line too long is wrapped, the others stay."""
    paragraph: list[str] = []
    for line in lines:
        if paragraph and _is_other_text(paragraph, line):
            yield from _wrap_paragraph(paragraph)
            paragraph = []
        if line.strip():
            paragraph.append(line)
        else:
            yield line
    yield from _wrap_paragraph(paragraph)


def _is_other_text(paragraph: list[str], line: str) -> bool:
    if not line.strip() or line.lstrip().startswith("* "):
        return True
    hanging = 2 if paragraph[0].lstrip().startswith("* ") else 0
    return _indentation(line) != _indentation(paragraph[0]) + hanging


def _wrap_paragraph(lines: list[str]) -> list[str]:
    if all(len(line) <= WIDTH for line in lines):
        return lines
    first = " " * _indentation(lines[0])
    others = first + ("  " if lines[0].lstrip().startswith("* ") else "")
    words = " ".join(line.strip() for line in lines)
    return _filled(words, first, others)


def _filled(words: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        words,
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _as_block(indentation: str, dash: str, key: str, value: str) -> list[str]:
    """A value that is too long for its line, as a block on the lines below."""
    if value[0] == "'":
        value = value[1:-1].replace("''", "'")
    style = "|" if key == "doc" else ">-"
    deeper = f"{indentation}{' ' * len(dash)}  "
    return [f"{indentation}{dash}{key}: {style}", *_filled(value, deeper, deeper)]
