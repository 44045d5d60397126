"""Nothing is found in what brokers have left: recorded directories, of killed and running brokers, too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.verify.plants import RECORDED
from tests.verify.test_plants import verified

SETS = sorted(path.parent for path in RECORDED.glob("*/*/meta.properties"))


def without_missing_partitions(logs: Path) -> None:
    """Some recordings have a part of a broker's partitions: so its checkpoints are too long."""
    (logs / ".kafka_cleanshutdown").unlink(missing_ok=True)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", SETS, ids=[f"{path.parent.name}-{path.name}" for path in SETS])
def test_nothing_is_found_in_recorded_directories(path: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(path, logs)
    if path.name in ("before-cleaning", "dynamic-quorum"):
        without_missing_partitions(logs)
    rows, summary = verified(tmp_path)
    assert rows == []
    assert summary.errors == [] and summary.totals.num_batches > 5
    num_segments = len([one for one in logs.glob("*/*.log") if not one.parent.name.endswith("-delete")])
    assert summary.totals.num_segments == num_segments


@pytest.mark.usefixtures("way")
def test_partitions_that_were_not_recorded_are_missing(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(RECORDED / "kafka-2.8" / "before-cleaning", logs)
    noted = (logs / "replication-offset-checkpoint").read_text().splitlines()[2:]
    names = {"-".join(line.split()[:2]) for line in noted}
    rows, _summary = verified(tmp_path)
    missing = {name for name in names if not (logs / name).exists()}
    assert {(row[0], row[1]) for row in rows} == {("missing-partition", name) for name in missing}
    assert len(missing) > 20
