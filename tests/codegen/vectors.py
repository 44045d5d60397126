"""The small vectors of one format each: ``tests/vectors/<schema>/<name>.bin``, and beside it ``<name>.toml``.

A .toml file says::

    about = "what there is to see in the bytes"
    params = [true]           # parameters of the class, if it has any; an enum's by number
    error = "EndOfStreamError"  # if the bytes must be refused: the class of the error
    leaves_bytes = true       # if not all bytes are read

    [from]
    writer = "who wrote the bytes"
    computed = "how"          # or else recorded = "path below tests/vectors/recorded", position and size:
                              # where the bytes were cut from, once; they do not follow a new recording

    [expect]                  # a place in the parsed object, and what is there
    "entries.0.body.magic" = 2
    "body.key" = {hex = "00ff"}       # bytes
    "attributes.compression" = "gzip" # the name of an enum's value, or a text
    headers = {count = 3}             # a list
    value = {absent = true}
    key_text = {error = "UnicodeDecodeError"}
"""

from __future__ import annotations

import enum
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
STEMS = sorted(path.stem for path in SCHEMAS.glob("*.ksy"))
# What else is in log directories: a schema, the names of its files, and how many are recorded at the least.
BESIDE = {
    "kafka_offset_checkpoint": ("*-offset-checkpoint", 10),
    "kafka_offset_index": ("*.index*", 300),
    "kafka_time_index": ("*.timeindex*", 250),
    "kafka_transaction_index": ("*.txnindex", 4),
    "kafka_producer_snapshot": ("*.snapshot", 100),
    "kafka_leader_epoch_checkpoint": ("leader-epoch-checkpoint", 70),
    "kafka_partition_metadata": ("partition.metadata", 60),
}


@dataclass(frozen=True)
class Vector:
    """One vector; see the module's text."""

    schema: str
    name: str
    file: Path
    about: str
    params: tuple[Any, ...]
    error: str | None
    leaves_bytes: bool
    source: dict[str, Any]
    expect: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.schema}/{self.name}"


def load(description: Path) -> Vector:
    """The vector that a .toml file describes."""
    text = tomllib.loads(description.read_text(encoding="utf-8"))
    vector = Vector(
        schema=description.parent.name,
        name=description.stem,
        file=description.with_suffix(".bin"),
        about=text.pop("about"),
        params=tuple(text.pop("params", ())),
        error=text.pop("error", None),
        leaves_bytes=text.pop("leaves_bytes", False),
        source=text.pop("from"),
        expect=text.pop("expect", {}),
    )
    assert not text, f"{description}: unknown keys {sorted(text)}"
    return vector


@cache
def all_vectors() -> tuple[Vector, ...]:
    """Every vector of every schema."""
    return tuple(load(path) for stem in STEMS for path in sorted((VECTORS / stem).glob("*.toml")))


def look_up(found: Any, place: str) -> Any:
    """What is at a place of a parsed object, in the words of a .toml file."""
    try:
        for part in place.split("."):
            found = found[int(part)] if part.isdigit() else getattr(found, part, None)
    except (UnicodeDecodeError, ValueError) as error:
        return {"error": type(error).__name__}
    if found is None:
        return {"absent": True}
    if isinstance(found, bytes):
        return {"hex": found.hex()}
    if isinstance(found, list):
        return {"count": len(found)}
    return found.name if isinstance(found, enum.Enum) else found
