"""Kafka loads what was salvaged as it is: UnifiedLog.create, as a broker calls it, changes nothing."""

from __future__ import annotations

import pytest
from tests.invariant.recovery import EXAMPLES, files_of, recover
from tests.made.partitions import RECORDED
from tests.made.sound_batches import sound_batches
from tests.salvage.accounts import Account, salvaged
from tests.salvage.made import copy_of, hurt

pytestmark = pytest.mark.oracle

NAMES = ("transactions-0", "compact-multi-0", "compact-emptied-0", "deleted-head-0", "empty-0")


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> list[Account]:
    """Salvaged plants, and recorded partitions."""
    folder = tmp_path_factory.mktemp("loading")
    found = []
    for number, example in enumerate(EXAMPLES):
        source = folder / f"source{number}" / "multi-0"
        source.mkdir(parents=True)
        for name, data in files_of(example).items():
            (source / name).write_bytes(data)
        found.append(salvaged([source], folder / f"dest{number}"))
    for name in NAMES:
        found.append(salvaged([RECORDED / "clean" / name], folder / name))
    source = copy_of("clean/multi-0", folder / "headless")
    hurt(source, 0)
    return [*found, salvaged([source], folder / "of_headless")]


@pytest.mark.parametrize("is_clean", [True, False])
def test_nothing_is_truncated_and_every_record_is_read(accounts: list[Account], is_clean: bool) -> None:
    expected, folders = [], []
    for account in accounts:
        one = account.only()
        directory = account.log(f"{one['topic']}-{one['partition']}")
        start, end = one["log_start_offset"], one["log_end_offset"]
        folders.append((directory, is_clean, end if is_clean else 0, start))
        batches = sound_batches(account.result_bytes(directory.name))
        offsets = [row.offset for batch in batches if not batch.is_control for row in batch.rows]
        segments = tuple((segment["base_offset"], segment["size"]) for segment in one["segments"])
        expected.append((start, end, segments, tuple(offset for offset in offsets if offset >= start)))
    before = {path: path.read_bytes() for folder, *_ in folders for path in folder.glob("*.log")}
    found = recover(folders)
    assert [one.error + one.stops for one in found] == [""] * len(found)
    assert [(one.log_start, one.log_end, one.segments, one.offsets) for one in found] == expected
    assert {path: path.read_bytes() for path in before} == before
