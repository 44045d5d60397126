"""Without numpy, pyarrow and numba salvage makes the same files; it only takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.folders import files_in
from tests.invariant.recovery import EXAMPLES, files_of
from tests.python import run_python
from tests.salvage.accounts import Account, check, salvaged
from tests.salvage.made import copy_of, hurt

from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.verified import sound_runs
from kafka_segments.errors import MissingExtraError

NAMES = ("multi-0", "transactions-0", "compact-multi-0", "codec-zstd-0", "idempotent-0")
# Modules that are not installed in the core; the second argument is what to run.
WITHOUT = """
import sys
for name in ("numpy", "pyarrow", "numba", "llvmlite"):
    sys.modules[name] = None
from kafka_segments.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_the_same_files(tmp_path: Path) -> None:
    root = tmp_path / "source"
    for name in NAMES:
        hurt(copy_of(f"clean/{name}", root), 2)
    with_arrow = salvaged([root], tmp_path / "fast")
    run_python("-c", WITHOUT, "salvage", root, tmp_path / "plain", status=1)
    assert files_in(tmp_path / "plain", "manifest.json") == files_in(tmp_path / "fast", "manifest.json")
    plain = (tmp_path / "plain" / "manifest.json").read_text().splitlines()
    fast = (tmp_path / "fast" / "manifest.json").read_text().splitlines()
    assert [one for one in plain if '"made"' not in one] == [one for one in fast if '"made"' not in one]
    check(Account(tmp_path / "fast", with_arrow.manifest))


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_same_runs(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    segments = [data for name, data in files_of(example).items() if ".log" in name]
    fast = [list(sound_runs.iter_sound_runs(open_source(data))) for data in segments]

    def missing(*_arguments: object, **_options: object) -> None:
        raise MissingExtraError("not installed")

    monkeypatch.setattr("kafka_segments.core.segment.verified.verified_tables.iter_tables_verified", missing)
    plain = [list(sound_runs.iter_sound_runs(open_source(data))) for data in segments]
    assert repr(plain) == repr(fast)
