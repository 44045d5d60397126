"""Nothing in a table is trusted: nothing beside it is read, moved or deleted, and all errors are ours."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests import forms
from tests.ingest import hostile_tables
from tests.ingest.hostile_tables import VICTIM, guarded, ingest, made, spoil, verbs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is opened is told by inotify")

POSITIONS = {"position": 0, "end_position": 1}
KINDS = ("parquet", "delta", "iceberg")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    pytest.importorskip({"delta": "deltalake", "iceberg": "pyiceberg"}.get(request.param, "pyarrow"))
    return str(request.param)


def newest_run(folder: Path) -> Path:
    return max((folder / "out" / "_kafka_segments" / "runs").iterdir())


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def refused(folder: Path, kind: str, least: int = 1) -> list[str]:
    """Run all verbs, none of which may touch what is beside the table; return what they say."""
    said = []
    with guarded(folder / VICTIM) as seen:
        for verb in verbs(folder, kind):
            status, _, error = verb()
            assert least <= status <= 3, error
            said.append(error)
    assert seen == []
    return said


RUN_EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "removed": lambda run: run.update(removed=[f"../{VICTIM}/x.parquet"]),
    "removed, absolute": lambda run: run.update(removed=["/victim/x.parquet"]),
    "placeholder": lambda run: run.update(placeholder=f"../{VICTIM}/x.parquet"),
    "files": lambda run: run["files"][0].update(path=f"a/../../{VICTIM}/x.parquet"),
    "damaged": lambda run: run.update(
        damaged=[
            {
                "path": "../x",
                "topic": "t",
                "partition": 0,
                "source": "",
                "error": "",
                "position": 0,
                "end_position": 1,
            }
        ]
    ),
    "run_id": lambda run: run.update(run_id=f"../../../{VICTIM}"),
    "run_id of another": lambda run: run.update(run_id=f"{7:020}-{'a' * 32}"),
    "number": lambda run: run.update(number=1),
    "topic": lambda run: run["partitions"][0].update(topic="t'; --"),
    "partition": lambda run: run["partitions"][0].update(partition=2**31),
    "next_offset": lambda run: run["partitions"][0].update(next_offset=2**63),
    "num_rows": lambda run: run["files"][0].update(num_rows=-1),
    "divided_by": lambda run: run["settings"].update(divided_by="week"),
}


@pytest.mark.parametrize("change", RUN_EDITS.values(), ids=RUN_EDITS)
def test_a_run_that_says_what_none_says(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    made(tmp_path, "parquet")
    edit(newest_run(tmp_path), change)
    assert all("this is not" in error for error in refused(tmp_path, "parquet"))


SETTINGS: list[dict[str, Any]] = [
    {"columns": ["nothing"]}, {"columns": []}, {"layout": "nothing"}, {"kind": "nothing"}, {"kind": "delta"},
]  # fmt: skip


@pytest.mark.parametrize("change", SETTINGS, ids=str)
def test_settings_that_no_table_has(tmp_path: Path, change: dict[str, Any]) -> None:
    made(tmp_path, "parquet")
    edit(newest_run(tmp_path), lambda run: run["settings"].update(change))
    assert all(refused(tmp_path, "parquet", least=0)[:2])


@pytest.mark.parametrize("name", ["topic=t", "_kafka_segments", "_kafka_segments/runs", "_delta_log"])
def test_a_link_in_the_place_of_a_directory(tmp_path: Path, name: str) -> None:
    kind = "delta" if name == "_delta_log" else "parquet"
    if kind == "delta":
        pytest.importorskip("deltalake")
    out = made(tmp_path, kind)
    shutil.rmtree(tmp_path / VICTIM)
    (out / name).rename(tmp_path / VICTIM)
    (out / name).symlink_to(tmp_path / VICTIM)
    hostile_tables.append(tmp_path / "logs" / "t-0", *hostile_tables.run_of(9, 12))
    with guarded(tmp_path / VICTIM) as seen:
        said = [verb() for verb in verbs(tmp_path, kind)]
    assert seen == []
    assert all(status in (1, 2, 3) and "behind a link" in error for status, _, error in said), said


def test_a_link_in_the_place_of_what_is_written(tmp_path: Path) -> None:
    """Also of `staging`, which is there while a run is written."""
    out = made(tmp_path, "parquet")
    (out / "_kafka_segments" / "staging").symlink_to(tmp_path / VICTIM)
    hostile_tables.append(tmp_path / "logs" / "t-0", *hostile_tables.run_of(9, 12))
    assert all("behind a link" in error for error in refused(tmp_path, "parquet")[:3])


def test_iceberg_deletes_no_file_that_its_metadata_name(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    out = made(tmp_path, "iceberg")
    victim = tmp_path / VICTIM / "x.parquet"
    path = max((out / "metadata").glob("*.metadata.json"))

    def name(metadata: dict[str, Any]) -> None:
        metadata["properties"]["write.metadata.previous-versions-max"] = "1"
        metadata["metadata-log"] = [
            {"metadata-file": f"{start}{victim}", "timestamp-ms": 1} for start in ("file://", "file:", "")
        ]

    edit(path, name)
    with guarded(victim.parent) as seen:
        status, _, error = ingest(tmp_path, "iceberg")
    assert (status, seen) == (1, []), error


@pytest.mark.parametrize("name", ["write.metadata.path", "write.data.path", "py-io-impl"])
def test_iceberg_writes_nowhere_else(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyiceberg")
    out = made(tmp_path, "iceberg")
    places = {"py-io-impl": "tests.ingest.hostile_tables.nothing"}
    place = places.get(name, f"file://{tmp_path / VICTIM}")
    edit(
        max((out / "metadata").glob("*.metadata.json")),
        lambda metadata: metadata["properties"].update({name: place}),
    )
    with guarded(tmp_path / VICTIM) as seen:
        status, _, error = ingest(tmp_path, "iceberg")
        hostile_tables.run_main(["rewind", "--engine", "local", str(out), "t:all", "--to-offset", "0"])
    assert (status, seen) == (2 if name == "write.metadata.path" else 1, []), error


def test_iceberg_runs_no_code_that_its_metadata_name(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    out = made(tmp_path, "iceberg")
    own = {"write.py-location-provider.impl": "antigravity.Provider"}
    edit(max((out / "metadata").glob("*.metadata.json")), lambda metadata: metadata["properties"].update(own))
    assert all("names code, which is never run" in error for error in refused(tmp_path, "iceberg"))
    assert "antigravity" not in sys.modules


def test_a_journal_of_the_catalog_that_names_a_file(tmp_path: Path) -> None:
    """SQLite removes the "super-journal" that the end of a journal names."""
    pytest.importorskip("pyiceberg")
    out = made(tmp_path, "iceberg")
    catalog, victim = out / "_kafka_segments" / "catalog.db", tmp_path / VICTIM / "x.parquet"
    Path(f"{catalog}-journal").write_bytes(journal_of(catalog.read_bytes(), os.fsencode(victim)))
    assert all("this journal names another one" in error for error in refused(tmp_path, "iceberg"))
    with closing(sqlite3.connect(catalog)) as opened:  # what would happen
        opened.execute("select * from iceberg_tables").fetchall()
    assert not victim.exists()


def journal_of(database: bytes, name: bytes) -> bytes:
    """A hot journal with the first page of a database, and the name of a super-journal."""
    size, magic = int.from_bytes(database[16:18], "big"), bytes.fromhex("d9d505f920a163d7")

    def numbers(*given: int) -> bytes:
        return b"".join(one.to_bytes(4, "big") for one in given)

    page = database[:size]
    head = magic + numbers(1, 1, len(database) // size, 512, size)
    checksum = 1 + sum(page[at] for at in range(size - 200, 0, -200))
    tail = numbers(0x40000000 // size + 1) + name + numbers(len(name), sum(name)) + magic
    return head.ljust(512, b"\0") + numbers(1) + page + numbers(checksum) + tail


@pytest.mark.long
def test_no_table_has_other_files_touched(
    kind: str, tmp_path: Path, tell: Callable[[str, dict[str, int]], None]
) -> None:
    out, num_said, num_cases = made(tmp_path, kind), 0, forms.pick(6, 100)
    shutil.copytree(out, tmp_path / "kept", symlinks=True)
    for case in range(num_cases):
        shutil.rmtree(out)
        shutil.copytree(tmp_path / "kept", out, symlinks=True)
        what = spoil(tmp_path, case)
        with guarded(tmp_path / VICTIM) as seen:
            for number, verb in enumerate(verbs(tmp_path, kind)):
                try:
                    status, _, error = verb()
                except BaseException as raised:
                    raise AssertionError(f"case {case}, verb {number}: {what}") from raised
                num_said += status != 0
                assert status in (0, 1, 2, 3), (case, number, what, error)
        assert seen == [], (case, what)
    tell("hostile tables", {f"{kind}, cases": num_cases, "verbs that said something": num_said})
    assert num_said > num_cases
