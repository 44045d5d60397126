"""The recorded files, and what Kafka's own classes read from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from tests.made import kafkas_reading
from tests.made.encoder import Row

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


@dataclass(frozen=True)
class Recorded:
    """A file of `tests/vectors/recorded`, by its name there."""

    name: str

    @cached_property
    def data(self) -> bytes:
        """Its bytes."""
        return (VECTORS / "recorded" / self.name).read_bytes()

    @cached_property
    def entries(self) -> list[kafkas_reading.Framed]:
        """Its entries, in their order."""
        text = (VECTORS / "oracle" / f"{self.name}.jsonl").read_text(encoding="utf-8")
        return kafkas_reading.entries_of(text.splitlines())

    @cached_property
    def rows(self) -> list[Row]:
        """Its records, as Kafka read them."""
        return [row for entry in self.entries for row in entry.rows]

    @cached_property
    def starts(self) -> list[int]:
        """Where its entries begin, and where the last one ends."""
        return [0, *(entry.end_position for entry in self.entries)]

    @cached_property
    def row_counts(self) -> list[int]:
        """How many records there are before each entry, and in all."""
        return list(accumulate((len(entry.rows) for entry in self.entries), initial=0))


def _files() -> list[Recorded]:
    root = VECTORS / "recorded"
    paths = [path for path in root.rglob("*") if path.suffix in (".log", ".checkpoint") and path.is_file()]
    return [Recorded(path.relative_to(root).as_posix()) for path in sorted(paths)]


FILES = _files()


def distinct() -> list[Recorded]:
    """One file of each content: many were recorded in several states of the broker, unchanged."""
    return list({file.data: file for file in FILES}.values())
