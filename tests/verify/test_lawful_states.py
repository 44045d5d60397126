"""Nothing is found in what brokers have left: recorded directories, of killed and running brokers, too."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.log.tiers import aivens, copy_of, kafkas
from tests.verify.plants import RECORDED
from tests.verify.test_plants import verified

SETS = sorted(path.parent for path in RECORDED.glob("*/*/meta.properties"))


def partitions_that_were_not_recorded(logs: Path) -> set[str]:
    """Names that a clean shutdown has noted, and that the recording, of a few topics, has not."""
    if not (logs / ".kafka_cleanshutdown").exists():
        return set()
    lines = (logs / "replication-offset-checkpoint").read_text().splitlines()[2:]
    return {name for name in ("-".join(line.split()[:2]) for line in lines) if not (logs / name).exists()}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", SETS, ids=[f"{path.parent.name}-{path.name}" for path in SETS])
def test_nothing_is_found_in_recorded_directories(path: Path, tmp_path: Path) -> None:
    """But for partitions that are not there, where the recording has a part of a broker's directory."""
    logs = tmp_path / "logs"
    shutil.copytree(path, logs)
    missing = partitions_that_were_not_recorded(logs)
    assert not missing or path.name in {"before-cleaning", "dynamic-quorum"}
    rows, summary = verified(tmp_path)
    assert rows == sorted([("missing-partition", name, None, None, None) for name in missing], key=str)
    assert summary.errors == [] and summary.totals.num_batches > 5
    num_segments = len([one for one in logs.glob("*/*.log") if not one.parent.name.endswith("-delete")])
    assert summary.totals.num_segments == num_segments


def test_recordings_of_a_part_of_a_directory_lack_partitions() -> None:
    assert max(len(partitions_that_were_not_recorded(path)) for path in SETS) > 20
    assert partitions_that_were_not_recorded(RECORDED / "kafka-4.3" / "dynamic-quorum") == {"extreme-0"}


@pytest.mark.parametrize("make", [kafkas, aivens])
@pytest.mark.parametrize("name", ["compact-multi-0", "compact-emptied-0", "deleted-head-0", "transactions-0"])
def test_nothing_is_found_in_tiers(make: Callable[..., Path], name: str, tmp_path: Path) -> None:
    make(copy_of(RECORDED / "kafka-4.3" / "clean" / name), tmp_path / "tier")
    rows, summary = verified(tmp_path)
    assert rows == [] and summary.errors == []
    assert summary.totals.num_segments > 0
