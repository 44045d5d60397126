"""Every check finds what it is for, and nothing else: plants in a sound log directory, and lawful states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.verify import plants_of_directories, plants_of_logs, plants_of_nodes
from tests.verify.plants import PLANTS, Plant, Row, make_base

from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.discovery import discover
from kafka_segments.log.skipped_files import SkippedFiles
from kafka_segments.verify.catalogue import CHECKS
from kafka_segments.verify.partition_checks import VerifyOptions
from kafka_segments.verify.segment_checks import SegmentReading
from kafka_segments.verify.verification import VerifySubject, VerifySummary, iter_findings

assert plants_of_directories and plants_of_logs and plants_of_nodes  # they fill PLANTS


def verified(root: Path, only: Sequence[str] = (), **options: Any) -> tuple[list[Row], VerifySummary]:
    """Verify all log directories below a folder, or only some; return the findings as rows, sorted."""
    options.pop("topic", None)
    checks = frozenset(options.pop("checks", CHECKS))
    places = Places()
    skipped: list[SkippedFiles] = []
    paths = sorted(str(one) for one in root.iterdir() if not only or one.name in only)
    copies = discover(places, paths, skipped=skipped)
    copies.sort(key=lambda one: (one.topic, one.partition, Path(one.path).parent.name != "logs", one.path))
    summary = VerifySummary()
    subject = VerifySubject(copies, skipped)
    found = iter_findings(subject, VerifyOptions(checks, **options), SegmentReading(places), summary)
    rows = [
        (one.check or "", _below(root, one.path), one.position, one.first_offset, one.last_offset)
        for one in found
    ]
    return sorted(rows, key=str), summary


def _below(root: Path, path: str | None) -> str:
    assert path is not None
    found = str(Path(path).absolute().relative_to(root))
    return found.removeprefix("logs/") if found.startswith("logs/") else f"../{found}"


def test_every_check_has_a_plant() -> None:
    planted = {row[0] for plant in PLANTS.values() for row in plant.expected}
    assert planted == set(CHECKS)
    assert len(PLANTS) >= 40


@pytest.mark.usefixtures("way")
def test_the_base_is_sound(tmp_path: Path) -> None:
    rows, summary = verified(make_base(tmp_path))
    assert rows == []
    assert summary.errors == [] and summary.totals.num_records > 300


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("plant", PLANTS.values(), ids=list(PLANTS))
def test_a_plant_gives_its_findings_and_no_other(plant: Plant, tmp_path: Path) -> None:
    make_base(tmp_path)
    plant.do(tmp_path)
    rows, summary = verified(tmp_path, **plant.options)
    assert rows == sorted(plant.expected, key=str)
    assert summary.num_findings == Counter(row[0] for row in plant.expected)
    assert summary.errors == []
