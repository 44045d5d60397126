"""The pages of docs/operations/incidents, which are the scripts of their incidents.

A page has the broker's own words in `text` blocks, commands in `console` blocks (a line with `$` is a
command, the lines after it are what it prints) and in `sh` blocks, and a table of what a broker serves in
the end. Commands after the heading `Start the broker` need it. `# exit status 1` after a command says how it
ends, which is 0 otherwise; `...` stands for what is left out, a part of a line or several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.guides.guide import commands, narrow

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "operations" / "incidents"
INDEX = PAGES / "README.md"
BROKER_STARTS = "Start the broker"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `([\w.-]+)` \| (\d+) \| (\d+) \| (.+?) \| (.+?) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command of a page.

    Attributes:
        line: as the shell takes it.
        status: that it ends with.
        output: lines that it prints, in their order.
        is_online: the broker runs.
    """

    line: str
    status: int
    output: tuple[str, ...]
    is_online: bool


@dataclass(frozen=True)
class Promise:
    """What a broker serves of a topic in the end.

    Attributes:
        topic: it has one partition.
        log_start: first offset.
        log_end: offset after the last one.
        offsets: that a consumer is given.
    """

    topic: str
    log_start: int
    log_end: int
    offsets: tuple[int, ...]


def page_of(name: str) -> Path:
    """The page of an incident."""
    return PAGES / f"{name}.md"


def page_names() -> list[str]:
    """Names of all pages but the list of them."""
    return sorted(path.stem for path in PAGES.glob("*.md") if path != INDEX)


def words_of(name: str) -> list[str]:
    """Lines that Kafka says of the accident."""
    text = page_of(name).read_text(encoding="utf-8")
    return [
        line for language, code in _FENCE.findall(text) if language == "text" for line in code.splitlines()
    ]


def commands_of(name: str) -> list[Command]:
    """The commands of a page, in their order."""
    before, _, after = page_of(name).read_text(encoding="utf-8").partition(f"\n## {BROKER_STARTS}\n")
    return [
        command
        for text, is_online in ((before, False), (after, True))
        for language, code in _FENCE.findall(text)
        if language in ("console", "sh")
        for command in _commands(code, language == "console", is_online)
    ]


def _commands(code: str, is_transcript: bool, is_online: bool) -> Iterator[Command]:
    """The commands of a block: a transcript, or commands alone."""
    if not is_transcript:
        code = "".join(f"$ {line}\n" for line in code.replace("\\\n", " ").splitlines() if line)
    for line, status, output in commands(code):
        yield Command(line, status, tuple(output), is_online)


def promises_of(name: str) -> list[Promise]:
    """What the table of a page says of each topic."""
    text = page_of(name).read_text(encoding="utf-8")
    return [
        Promise(topic, int(start), int(end), tuple(_offsets(offsets)))
        for topic, start, end, offsets, _lost in _ROW.findall(text)
    ]


def _offsets(text: str) -> Iterator[int]:
    """`0 to 4, 7` as offsets."""
    if text == "none":
        return
    for span in text.split(", "):
        first, _, last = span.partition(" to ")
        yield from range(int(first), int(last or first) + 1)


def unseen(shown: Sequence[str], real: str) -> list[str]:
    """The shown lines that are not in a text, in their order, each within a line of it.

    Columns may have other widths, as paths do.
    """
    rest, missing = [narrow(line) for line in real.splitlines()], []
    for line in shown:
        wanted = re.compile(".*".join(map(re.escape, narrow(line).split("..."))))
        at = next((number for number, found in enumerate(rest) if wanted.search(found)), None)
        if at is None:
            missing.append(line)
        elif narrow(line) != "...":
            del rest[: at + 1]
    return missing
