"""Batches with right checksums that Kafka's classes find at any byte are in the result, or have a reason."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests import forms
from tests.invariant.cases import make_case
from tests.invariant.recovery import EXAMPLES, files_of
from tests.made.partitions import RECORDED
from tests.python import locked
from tests.salvage.accounts import IN_RESULT, Account, salvaged
from tests.salvage.brute_force import found_in

pytestmark = pytest.mark.oracle

SETS = RECORDED.parent
NUM_CASES = forms.pick(40, 3_000)

Tell = Callable[[str, Mapping[str, int]], None]


def is_explained(file: Mapping[str, Any], position: int, size: int) -> bool:
    """Whether a batch is within ranges of the result, or all that is not has a reason."""
    end = position + size
    touched = [one for one in file["ranges"] if one["position"] < end and one["end_position"] > position]
    return all(one["status"] in IN_RESULT or one["reason"] for one in touched) and bool(touched)


def judge(accounts: Sequence[Account]) -> dict[str, int]:
    """Compare what Kafka finds with the manifests; `accounts` checked that what they say of bytes is true."""
    files = [file for account in accounts for _partition, file in account.files() if file["size"]]
    counts = {"batches": 0, "in the result": 0, "with a reason": 0}
    for file, batches in zip(files, found_in([Path(one["path"]) for one in files]), strict=True):
        for position, size in batches:
            assert is_explained(file, position, size), (file["path"], position, size)
            is_whole = any(
                one["position"] <= position and position + size <= one["end_position"]
                for one in file["ranges"]
                if one["status"] in IN_RESULT
            )
            counts["batches"] += 1
            counts["in the result" if is_whole else "with a reason"] += 1
    return counts


def test_recorded_directories(tmp_path: Path, tell: Tell) -> None:
    accounts = []
    for number, source in enumerate(sorted(SETS.glob("kafka-*/*"))):
        accounts.append(salvaged([source], tmp_path / f"dest{number}"))
    counts = judge(accounts)
    tell("brute force, recorded directories", counts)
    assert counts["in the result"] > 2_000


def test_plants(tmp_path: Path, tell: Tell) -> None:
    accounts = []
    for number, example in enumerate(EXAMPLES):
        source = tmp_path / str(number) / "multi-0"
        source.mkdir(parents=True)
        for name, data in files_of(example).items():
            (source / name).write_bytes(data)
        accounts.append(salvaged([source], tmp_path / f"dest{number}"))
    counts = judge(accounts)
    tell("brute force, plants", counts)
    assert counts["in the result"] > 10 * counts["with a reason"] > 0


@pytest.mark.long
def test_random_damage(tmp_path: Path, tell: Tell) -> None:
    counts: dict[str, int] = {}
    for part in range(0, NUM_CASES, 100):
        numbers = range(part, min(part + 100, NUM_CASES))
        for name, count in judge(list(damaged(tmp_path / str(part), numbers))).items():
            counts[name] = counts.get(name, 0) + count
        shutil.rmtree(tmp_path / str(part))
    tell("brute force, random damage", {"directories": NUM_CASES, **counts})
    assert counts["in the result"] > counts["with a reason"]


def damaged(folder: Path, numbers: Sequence[int]) -> Iterator[Account]:
    """Directories by number, with one to four kinds of damage, salvaged."""
    folder.mkdir()
    with locked(folder / "held.lock") as lock:
        for number in numbers:
            case = make_case(20, number)
            if case.directory.specials:
                continue
            source = case.directory.write(folder / f"source{number}", lock)
            if case.directory.logs:
                yield salvaged([source], folder / f"dest{number}")


def test_a_batch_that_is_nowhere_is_found(tmp_path: Path) -> None:
    """The judge is no rubber stamp: a manifest without a range, or without a reason, does not pass."""
    file = {"ranges": [{"position": 0, "end_position": 70, "status": "copied", "reason": ""}]}
    assert is_explained(file, 0, 70)
    assert not is_explained(file, 70, 70)
    file["ranges"].append({"position": 70, "end_position": 140, "status": "quarantined", "reason": ""})
    assert not is_explained(file, 70, 70)
