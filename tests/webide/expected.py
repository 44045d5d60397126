"""What the tree says of the samples, in the Web IDE and by the compiler and the runtime that it has."""

from __future__ import annotations

import pathlib
import tomllib

from compiler.targets.webide import SAMPLES

Path = tuple[str | int, ...]
"""The names on the way to a node."""

FILE = pathlib.Path(__file__).with_name("expected.toml")
SCHEMAS = {sample.name: sample.schema for sample in SAMPLES}
RECORDS = ("body", "content", "records")


LINES: dict[str, dict[Path, str]] = {
    name: {
        tuple(int(one) if one.isdigit() else one for one in path.split("/")): text
        for path, text in lines.items()
    }
    for name, lines in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
}
"""By sample and node, as `expected.toml` has them."""

RECORD = ("entries", 0, *RECORDS, 0)
"""A record of `plain.log`, the names below it, and the bytes of its key."""

BELOW_BODY = (
    *("attributes", "timestampDelta", "offsetDelta", "lenKey", "key", "lenValue", "value", "numHeaders"),
    *("headers", "isControlRecord", "offset", "timestamp"),
)
KEY_BYTES = (66, 66)

DAMAGED_RECORDS = ("entries", 3, *RECORDS)
"""The node of `damaged.log` that has a warning sign."""
