"""Invariant: any bytes either decode or raise `KafkaFormatError`, never anything else, and never allocate
past the stated bound; no decoder goes beyond their end. Here the plan of `campaign` is run, and judged.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests import forms
from tests.fuzz import campaign, checks, seeds, targets
from tests.fuzz.targets import all_targets

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core.segment.segment import fast_rows

Tell = Callable[[str, Mapping[str, int]], None]
JOBS = [job for part in campaign.PARTS for job in campaign.jobs(part, full=forms.IS_FULL)]
LEAST_COVERED = 0.95
"""Of the lines of decoders."""


@pytest.mark.long
@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.part}: {job.name}")
def test_nothing_is_found(job: campaign.Job, tell: Tell) -> None:
    found = campaign.run(job)
    counts = found["counts"]
    inputs, sealed = by_family(counts["inputs"]), by_family(counts["sealed"])
    tell("fuzzing: inputs", inputs)
    tell("fuzzing: inputs that were damaged under a right checksum", +sealed)
    tell("fuzzing: inputs and records read in both ways", counts["compared"])
    if job.part in ("columnar", "kernels"):
        assert sealed[job.part] / inputs[job.part] >= 0.5
    if job.part == "columnar":
        assert counts["compared"]["records"] > 0
    if job.part == "lines":
        lines = found["lines_of"]
        seen, total = (sum(counts) for counts in zip(*lines["counts"].values(), strict=True))
        tell("fuzzing: lines of decoders", {"that ran": seen, "in all": total})
        assert seen / total >= LEAST_COVERED, lines["missed"]


def by_family(counts: Mapping[str, int]) -> Counter[str]:
    """The counts of targets, summed up."""
    summed: Counter[str] = Counter()
    for name, count in counts.items():
        summed[name.partition(":")[0]] += count
    return summed


def test_the_full_plan_is_as_large_as_it_has_to_be() -> None:
    counts: Counter[str] = Counter()
    for job in (job for part in campaign.PARTS for job in campaign.jobs(part, full=True)):
        if not job.environment and not {"--plain", "--lines"} & {*job.arguments}:
            count = int(job.arguments[job.arguments.index("--count") + 1])
            for _name in takewhile(lambda word: not word.startswith("--"), job.arguments):
                counts[job.part] += count
    assert counts["kernels"] >= 10_000_000
    assert counts["columnar"] >= 200_000
    assert counts["others"] >= 1_000_000
    names = [(job.part, job.name) for part in campaign.PARTS for job in campaign.jobs(part, full=True)]
    assert len({*names}) == len(names)


def test_every_target_is_in_the_plan() -> None:
    families = {name.partition(":")[0] for name in all_targets()}
    assert families == {*campaign.SHARES, "columnar"}


def test_seeds_are_of_all_sorts() -> None:
    sorts = Counter((anatomy.content, anatomy.codec) for anatomy in seeds.entries())
    assert sorts.keys() == {(0, 0), (0, 1), (0, 2), (0, 3), *((1, codec) for codec in range(5))}
    assert min(sorts.values()) >= 5
    assert seeds.grown()
    assert sum(map(len, seeds.grown())) < 1 << 20


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
