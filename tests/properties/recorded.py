"""The recorded files, and what Kafka's own classes read from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.properties import oracle
from tests.properties.encoder import Row

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


@dataclass(frozen=True)
class Recorded:
    """A file of `tests/vectors/recorded`, by its name there."""

    name: str

    def data(self) -> bytes:
        """Its bytes."""
        return (VECTORS / "recorded" / self.name).read_bytes()

    def rows(self) -> list[Row]:
        """Its records, as Kafka read them."""
        return oracle.rows_of(self._lines)

    def entries(self) -> list[tuple[int, int]]:
        """Where its entries begin and end, as Kafka framed them."""
        return [(position, position + size) for position, size in oracle.positions_of(self._lines)]

    @cached_property
    def _lines(self) -> list[str]:
        return (VECTORS / "oracle" / f"{self.name}.jsonl").read_text(encoding="utf-8").splitlines()


def _files() -> list[Recorded]:
    paths = (VECTORS / "recorded").rglob("*")
    names = [
        path.relative_to(VECTORS / "recorded").as_posix()
        for path in paths
        if path.suffix in (".log", ".checkpoint") and path.is_file()
    ]
    return [Recorded(name) for name in sorted(names)]


FILES = _files()


def distinct() -> list[Recorded]:
    """One file of each content: many were recorded in several states of the broker, unchanged."""
    return list({file.data(): file for file in FILES}.values())
