"""Plain words: docstrings and comments avoid riddles, and docstrings begin with a sentence.

Strategy: a machine cannot judge a sentence, but it finds words of a style that we left: "behind" for after,
"told" for reported, "nobody" for no caller or reader. `CEILINGS` has, for each room of the runtime, how many
of these there are, and how many docstrings whose first line is not a sentence. Lower them when a room's words
improve. `GHOSTS` are phrases of translations, which no docstring, comment or message of the runtime, the
generator or the tools has.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

# In one process: `found` goes through the whole runtime once.
pytestmark = pytest.mark.xdist_group("words")

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime" / "kafka_segments"
WORDS = re.compile(
    r"\b(behind|tells?|told|telling|whoever|nobody|somebody|anybody|the same for|at least a)\b",
    re.IGNORECASE,
)
GHOSTS = re.compile(
    r"\b(anew|(is|are|was|were) (said|not there)|for who|to be had|(that|which) is none|is none of"
    r"|(?<![Tt]here )is no (segment|directory|file|number|integer|path|table|copy|option|topic|multiple))\b"
)
# By room or folder: words of that style, and docstrings that do not begin with a sentence.
CEILINGS = {
    "__init__": (0, 0),
    "__main__": (0, 0),
    "cli": (0, 0),
    "like_kafka": (0, 0),
    "core": (0, 0),
    "core/codecs": (0, 0),
    "duckdb": (0, 0),
    "errors": (0, 0),
    "core/formats": (0, 0),
    "ingest": (0, 0),
    "core/io": (0, 0),
    "log": (0, 0),
    "core/native": (0, 0),
    "polars": (0, 0),
    "query": (0, 0),
    "query/read": (0, 0),
    "report": (0, 0),
    "salvage": (0, 0),
    "search": (0, 0),
    "core/segment": (0, 0),
    "core/segment/columnar": (0, 0),
    "core/segment/scan": (0, 0),
    "core/segment/transactions": (0, 0),
    "sizes": (0, 0),
    "spark": (2, 0),
    "verify": (0, 0),
    "write": (0, 0),
}


def room_of(path: str) -> str:
    """The longest of the names in `CEILINGS` that a module is in."""
    folders = path.removesuffix(".py").split("/")
    names = ["/".join(folders[:length]) for length in range(len(folders), 0, -1)]
    return next((name for name in names if name in CEILINGS), folders[0])


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Line numbers and text of docstrings, of those after attributes too, and of comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from enumerate(str(node.value.value).split("\n"), node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Line numbers and text of all strings with several words, those in f-strings too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def first_lines(source: str) -> Iterator[tuple[int, str]]:
    """Line numbers and first lines of the docstrings of a module, its classes and functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield node.body[0].lineno, text.split("\n", 1)[0]


def riddles(source: str) -> list[tuple[int, str]]:
    """Each word of that style, with the line it is in."""
    return [(line, text.strip()) for line, text in prose(source) for _found in WORDS.finditer(text)]


def ghosts(source: str) -> list[tuple[int, str]]:
    """Each of these turns of phrase in prose and messages, with the line it is in."""
    texts = {*prose(source), *messages(source)}
    return sorted({(line, found[0]) for line, text in texts for found in GHOSTS.finditer(text)})


def fragments(source: str) -> list[tuple[int, str]]:
    """First lines that do not begin with a word in upper case, or do not end with a period."""
    return [
        (line, text) for line, text in first_lines(source) if not (text[:1].isupper() and text.endswith("."))
    ]


@cache
def found() -> dict[str, tuple[list[str], list[str]]]:
    """By room, both kinds of findings as `file:line: text`."""
    by_room: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for path in sorted(RUNTIME.rglob("*.py")):
        name, source = path.relative_to(RUNTIME).as_posix(), path.read_text(encoding="utf-8")
        for number, findings in enumerate((riddles(source), fragments(source))):
            by_room[room_of(name)][number].extend(
                f"runtime/kafka_segments/{name}:{line}: {text}" for line, text in findings
            )
    return by_room


def test_every_room_has_a_ceiling() -> None:
    assert set(found()) <= set(CEILINGS)


@pytest.mark.parametrize("room", sorted(CEILINGS))
def test_words_are_plain(room: str) -> None:
    hits, ceiling = found()[room][0], CEILINGS[room][0]
    assert len(hits) <= ceiling, f"{room}: {len(hits)}, at most {ceiling}:\n" + "\n".join(hits)


@pytest.mark.parametrize("room", sorted(CEILINGS))
def test_docstrings_begin_with_a_sentence(room: str) -> None:
    hits, ceiling = found()[room][1], CEILINGS[room][1]
    assert len(hits) <= ceiling, f"{room}: {len(hits)}, at most {ceiling}:\n" + "\n".join(hits)


def tools() -> list[Path]:
    """The modules of the generator and of the tasks."""
    found = [ROOT / "codegen.py", *(ROOT / "compiler").rglob("*.py"), *(ROOT / "tools").glob("*.py")]
    return sorted(path for path in found if "node_modules" not in path.parts)


def test_no_phrase_reads_like_a_translation() -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in [*sorted(RUNTIME.rglob("*.py")), *tools()]
        for line, text in ghosts(path.read_text(encoding="utf-8"))
    ]
    assert hits == []


def test_words_of_tools_and_the_compiler_are_plain() -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in tools()
        for line, text in riddles(path.read_text(encoding="utf-8"))
    ]
    assert hits == []


def test_what_is_not_plain_is_noticed() -> None:
    source = (
        '"""the same for what is behind it"""\n'
        'LIMIT = 1\n"""Whoever asks is told."""\n\n\n'
        'def read() -> None:\n    """Read.\n\n    Nobody waits.\n    """  # at least a while\n'
    )
    assert [line for line, _text in riddles(source)] == [1, 1, 3, 3, 9, 10]
    assert fragments(source) == [(1, "the same for what is behind it")]
    assert not riddles('TEXT = "behind"\n')  # not prose
    assert ghosts('"""Read it anew."""\nTEXT = f"{1} is no file; said it is not there"\n') == [
        (1, "anew"),
        (2, "is no file"),
        (2, "is not there"),
    ]
