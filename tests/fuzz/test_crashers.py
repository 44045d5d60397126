"""What fuzzing has found, as vectors in `tests/vectors/crashers`: each is read in every way, as it has to be.

A .toml file says what it is `about` and what it `was` that came of it, and in `[expect]` the base offsets
that `read_headers` gives, the offsets of all data records, and the names of the errors.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.fuzz import checks, seeds, targets

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core.segment.segment import fast_rows

FOUND = sorted(seeds.CRASHERS.glob("*.toml"))


@pytest.mark.parametrize("description", FOUND, ids=lambda path: path.stem)
def test_a_crasher(description: Path) -> None:
    told: dict[str, Any] = tomllib.loads(description.read_text(encoding="utf-8"))
    assert told["about"] and told["was"] and told["from"]
    expect, data = told["expect"], description.with_suffix(".bin").read_bytes()
    with open_segment(data) as segment:
        headers = segment.read_headers(on_damage="skip")
        for rows in (None, fast_rows()):
            events = list(segment.iter_events(on_damage="skip", rows=rows))
            assert [each.offset for each in events if isinstance(each, Record)] == expect["offsets"]
            errors = [type(each.error).__name__ for each in events if isinstance(each, Damage)]
            assert errors == expect["errors"]
    assert headers["base_offset"].to_pylist() == expect["base_offsets"]
    checks.compare(data)
    for read in targets.READERS.values():
        for seed in range(8):
            read(Random(seed), data)


def test_every_crasher_has_a_description() -> None:
    assert FOUND
    assert {path.stem for path in FOUND} == {path.stem for path in seeds.CRASHERS.glob("*.bin")}
