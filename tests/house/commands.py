"""The commands that documents show, and the tests that run them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# What stands for something that a reader has, and what a parser takes in its place.
PLACEHOLDERS = {
    "FILE...": "file.log",
    "LOG_DIR|FILE...": "logs",
    "LOG_DIR": "logs",
    "[LOG_DIR]": "logs",
    "SRC": "file.log",
    "SRC...": "logs",
    "[SRC...]": "logs",
    "DEST": "table",
    "NAME=VALUE": "subscribe=orders",
    "TOPIC:PARTITION": "orders:3",
    "DIR": "directory",
    "PATH...": "logs",
    "N": "5",
}
LANGUAGES = ("sh", "bash", "console", "cron", "text", "")
_COMMAND = re.compile(r"(?:^|\s)kafka-segments ([a-z]\S* ?.*?)(?=\s+(?:\|\||\||&&|2>>|>|#)|;|$)")


def pages() -> list[Path]:
    """The documents, as readers find them."""
    more = [
        ROOT / "tests" / "README.md",
        ROOT / "locks" / "README.md",
        ROOT / "generated" / "webide" / "README.md",
    ]
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *more])


def blocks(page: Path) -> Iterator[str]:
    """The blocks of commands of a page: all of a shell, and others with lines that are commands."""
    text = page.read_text(encoding="utf-8")
    for language, code in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        is_shell = language in ("sh", "bash", "console", "cron")
        if is_shell or (
            language in LANGUAGES and re.search(r"^(\$|kafka-segments) [a-z]", code, re.MULTILINE)
        ):
            yield code


def python_blocks(page: Path) -> list[str]:
    """The Python of a page, in its order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def calls(code: str) -> Iterator[list[str]]:
    """The calls of kafka-segments in a block, as arguments; what stands for something else is replaced."""
    is_transcript = re.search(r"^\$ ", code, re.MULTILINE) is not None
    for line in code.replace("\\\n", " ").splitlines():
        if is_transcript and not line.startswith("$ "):
            continue
        for found in _COMMAND.findall(line):
            yield [PLACEHOLDERS.get(word, word) for word in shlex.split(found)]


def run_page(
    page: str, holds: str, replaced: Mapping[str, object] | None = None, **names: Any
) -> dict[str, Any]:
    """Run the block of a page that holds some text, with other texts for some; return its names."""
    (code,) = [one for one in python_blocks(ROOT / "docs" / page) if holds in one]
    for shown, other in (replaced or {}).items():
        assert shown in code, shown
        code = code.replace(shown, str(other))
    exec(code, names)
    return names
