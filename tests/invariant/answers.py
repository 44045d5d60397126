"""Answers of verbs in one form: what they delivered and named, read from their lines and messages."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any

from tests.made.sound_batches import Row

_OFFSETS = re.compile(r"offsets?(?: lost:)? (-?\d+|\?)(?: to (-?\d+|\?|the end))?")
_AND_ABOVE = re.compile(" and above")

_POSITIONS = re.compile(r"position (\d+) to (\d+)")


@dataclass(frozen=True)
class Named:
    """Something that a verb says is left out.

    Attributes:
        text: as it was said.
        path: the file that it is about, if it is about one.
        first: the first offset; None if that is not known.
        last: the last one; likewise.
        position: where in the file, if that is said.
        end_position: likewise.
        is_all: nothing is delivered at all, and that is said.
    """

    text: str
    path: str | None = None
    first: int | None = None
    last: int | None = None
    position: int | None = None
    end_position: int | None = None
    is_all: bool = False


@dataclass
class Answer:
    """What a verb said.

    Attributes:
        status: the exit status; for Python and Spark 1 if something was told, else 0.
        rows: the records that were delivered.
        written: the offsets of what was written, control records too: of `.swap` files as well.
        ranges: for a plan: what is read of which file, `(path, start, end)`.
        named: what is left out, as it was told.
        words: everything that was told, for people.
    """

    status: int = 0
    rows: set[Row] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    ranges: list[tuple[str, int, int | None]] = field(default_factory=list)
    named: list[Named] = field(default_factory=list)
    words: str = ""

    def tell(self, named: Named) -> None:
        """Add something that was told by an error, an event or a row."""
        self.named.append(named)
        self.status = max(self.status, 1)


_NAMELESS = ("batch", "padding", "partition", "aborted", "open", "range", "plan", "pin", "raw", "summary")
"""Kinds of lines that name nothing as left out."""


def lines_of(status: int, out: str, error: str) -> Answer:
    """The answer of a verb whose output is JSON Lines."""
    answer = Answer(status, words=error)
    for text in out.splitlines():
        line = json.loads(text)
        kind = line["type"]
        if kind == "record":
            if line["control"] is None:
                answer.rows.add(Row(line["offset"], bytes_of(line["key"]), bytes_of(line["value"])))
        elif kind == "split":
            answer.ranges.append((line["path"], line["start"], line["end"]))
        elif kind not in _NAMELESS:
            answer.named.append(_named_by(line, text))
    if status:
        answer.named += [named_by_words(words) for words in error.splitlines()]
    return refused(answer)


def refused(answer: Answer) -> Answer:
    """The answer; where a file cannot be opened and nothing is delivered, that is said of all."""
    if answer.status == 2 and not answer.rows and not answer.ranges:
        answer.named.append(Named(answer.words, is_all=True))
    return answer


def bytes_of(text: str | None) -> bytes | None:
    """The bytes of base64, or null."""
    return None if text is None else b64decode(text)


def _named_by(line: dict[str, Any], text: str) -> Named:
    first, last = (
        line.get(f"{which}_lost_offset", line.get(f"{which}_offset")) for which in ("first", "last")
    )
    if last is None and "nothing after that offset is committed" in text:
        last = (1 << 63) - 1  # of all segments, not of this one
    return Named(text, line.get("path"), first, last, line.get("position"), line.get("end_position"))


def named_by_words(words: str) -> Named:
    """What is said for people: a file or directory at the beginning, offsets somewhere."""
    offsets, place = _OFFSETS.search(words), re.search(r"(/\S+?)(?:[:,]? |: |$)", words)
    where = _POSITIONS.search(words)
    ends = (None, None) if where is None else (int(where[1]), int(where[2]))
    path = None if place is None else place[1].rstrip(":,")
    if offsets is None:
        return Named(words, path, None, None, *ends, is_all=path is not None and not path.endswith(".log"))
    first, last = offsets.groups()
    if last is None and not _AND_ABOVE.match(words, offsets.end()):
        last = first
    return Named(words, path, _number(first), None if last is None else _number(last), *ends)


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdigit() else None
