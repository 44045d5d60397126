"""Invariant: any bytes either decode or raise `KafkaFormatError`, never anything else, and never allocate
past the stated bound; no decoder goes beyond their end. Here the plan of `campaign` is run, and judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests import forms
from tests.fuzz import campaign, seeds
from tests.fuzz.targets import all_targets

Print = Callable[[str, list[str]], None]
PARTS = [part for part in campaign.PARTS if campaign.jobs(part, full=forms.IS_FULL)]
# Of the lines of decoders: a few dozen inputs for each target reach less than thousands.
LEAST_COVERED = forms.pick(0.9, 0.95)


@pytest.mark.long
@pytest.mark.xdist_group("fuzz")
@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_found(part: str, print_at_end: Print) -> None:
    report = campaign.Report()
    for job in campaign.jobs(part, full=forms.IS_FULL):
        report.add(job, campaign.run(job))
    print_at_end(f"fuzzing: {part}", report.text())
    if part == "columnar":
        sealed = sum(count for name, count in report.sealed.items() if name.startswith("columnar"))
        inputs = sum(count for name, count in report.inputs.items() if name.startswith("columnar"))
        assert sealed / inputs >= 0.5
        assert report.compared["records"] > 0
    if part == "kernels":
        assert sum(report.sealed.values()) / sum(report.inputs.values()) >= 0.5
    if part == "lines":
        seen, total = report.coverage()
        assert seen / total >= LEAST_COVERED


def planned(part: str) -> Counter[str]:
    """Inputs of the full plan by family, those of special runs left out."""
    counts: Counter[str] = Counter()
    for job in campaign.jobs(part, full=True):
        if not job.environment and job.note not in (campaign.PLAIN, campaign.LINES):
            words = list(job.arguments)
            names = words[: next(at for at, word in enumerate(words) if word.startswith("--"))]
            for name in names:
                counts[name.partition(":")[0]] += int(words[words.index("--count") + 1])
    return counts


def test_the_full_plan_is_as_large_as_it_has_to_be() -> None:
    assert planned("kernels")["kernels"] >= 10_000_000
    assert planned("columnar")["columnar"] >= 1_000_000
    others = planned("others")
    assert sum(others.values()) >= 1_000_000
    assert set(others) == set(campaign.SHARES)


def test_every_target_is_in_the_plan() -> None:
    families = {name.partition(":")[0] for name in all_targets()}
    assert families == {*campaign.SHARES, "columnar"}


def test_seeds_are_of_all_sorts() -> None:
    sorts = Counter((anatomy.content, anatomy.codec) for anatomy in seeds.entries())
    assert sorts.keys() == {(0, 0), (0, 1), (0, 2), (0, 3), *((1, codec) for codec in range(5))}
    assert min(sorts.values()) >= 5
    assert seeds.grown()
    assert sum(map(len, seeds.grown())) < 1 << 20
