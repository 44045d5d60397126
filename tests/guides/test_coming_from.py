"""What the page for users of other tools says to type is typed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.guides.guide import ROOT
from tests.in_process import run_main

PAGE = ROOT / "docs" / "cookbook" / "coming-from.md"
RECORDED = ROOT / "tests" / "vectors" / "recorded" / "kafka-4.3" / "clean"
LOGS = {"orders-0": "codec-none-0"} | {
    name: name for name in ("__consumer_offsets-0", "__cluster_metadata-0")
}


def pairs(title: str) -> Iterator[tuple[str, str]]:
    """What is typed there and here, by the block of a part of the page: after a line that says what for."""
    (block,) = re.findall(
        rf"^## {title}\n.*?^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    for group in block.strip().split("\n\n"):
        what, there, here = group.splitlines()
        assert what.startswith("# ")
        yield there, here


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current directory with the logs that the page names."""
    for name, recorded in LOGS.items():
        shutil.copytree(RECORDED / recorded, tmp_path / "logs" / name)
    monkeypatch.chdir(tmp_path)


def typed(line: str) -> str:
    """What a line prints; it must find no fault."""
    program, *arguments = shlex.split(line)
    status, out, error = run_main(arguments)
    assert (program, status) == ("kafka-segments", 0), f"{line}\n{error}"
    return out


def test_lines_for_users_of_kafka_dump_log_run() -> None:
    lines = list(pairs("From kafka-dump-log"))
    assert len(lines) > 5
    for there, here in lines:
        # This takes the tool's arguments, and prints its bytes: tests/like_kafka/test_tool.py.
        asked = there.replace("kafka-dump-log.sh", "kafka-segments dump --like-kafka")
        assert asked != there and typed(asked)
        assert typed(here) or "verify" in here


def test_lines_for_users_of_kcat_run() -> None:
    lines = list(pairs("From kcat"))
    assert len(lines) > 10 and all(there.startswith("kcat -") for there, _here in lines)
    printed = {here: typed(here) for _there, here in lines}
    assert all(printed.values())
    (ten,) = (text for here, text in printed.items() if "--limit 10" in here)
    numbers = [json.loads(line)["i"] for line in ten.splitlines()]
    assert numbers == [*range(20, 30)]  # of the third round, whose first offset is 80
