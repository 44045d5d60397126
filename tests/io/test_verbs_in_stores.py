"""Verbs read addresses with the settings that are given, and say what a store refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.folders import files_in
from tests.io import faults, server
from tests.io.conftest import BUCKET, RECORDED, settings_for

from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import StoreError
from kafka_segments.salvage.salvaging import salvage

pytestmark = pytest.mark.s3

MULTI = "kafka-4.3/clean/multi-0"
FEW = ("--magic", "2", "--compression", "none", "--compression", "lz4")


def options_for(store: server.Store) -> list[str]:
    """The settings of the server, as they are written on a command line."""
    settings = settings_for(f"127.0.0.1:{store.port}")
    return [word for name, value in settings.items() for word in ("--option", f"{name}={value}")]


def test_sizes_of_a_store_are_those_of_the_directory(
    store: server.Store, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows(place: str, *words: str) -> list[str]:
        assert main(["sizes", place, *FEW, "--format", "csv", *words]) == 0
        return [",".join(line.split(",")[:6]) for line in capsys.readouterr().out.splitlines()]

    found = rows(f"s3a://{BUCKET}/{MULTI}", *options_for(store))
    assert found == rows(str(RECORDED / MULTI))
    assert len(found) == 3


def test_a_report_of_a_store_is_that_of_the_directory(store: server.Store, tmp_path: Path) -> None:
    def tiles(place: str, *words: str) -> str:
        page = tmp_path / f"{len(words)}.html"
        assert main(["report", place, "-o", str(page), *words]) == 0
        return page.read_text(encoding="utf-8").partition('<ul class="tiles"')[2].partition("</ul>")[0]

    found = tiles(f"s3a://{BUCKET}/{MULTI}", *options_for(store))
    assert found == tiles(str(RECORDED / MULTI))
    assert "<b>206</b> records" in found


@pytest.mark.parametrize("verb", ["sizes", "report"])
def test_what_a_store_does_not_have_is_said_without_secrets(
    store: server.Store, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    words = ["-o", str(page)] if verb == "report" else []
    assert main([verb, f"s3a://{BUCKET}/nothing-0", *words, *options_for(store)]) == 2
    said = capsys.readouterr()
    assert "nothing-0" in said.err
    assert server.SECRET_KEY not in said.err + said.out
    assert not page.exists()


@pytest.fixture
def damaged(store: server.Store) -> Iterator[Path]:
    """Two copies of a log directory in the empty bucket, another batch of which is damaged in each."""
    folder = store.folder / "scratch" / "salvage"
    for name, position in (("one", 700), ("two", 2_000)):
        shutil.copytree(RECORDED / MULTI, folder / name / "multi-0")
        path = folder / name / "multi-0" / f"{0:020}.log"
        data = bytearray(path.read_bytes())
        data[position] ^= 1
        path.write_bytes(data)
    yield folder
    shutil.rmtree(folder)


def test_salvage_from_a_store_makes_the_same_files(
    store: server.Store, damaged: Path, tmp_path: Path
) -> None:
    before = files_in(damaged, "manifest.json")
    local, made = tmp_path / "local", tmp_path / "made"
    assert main(["salvage", str(damaged / "one"), str(damaged / "two"), str(local)]) == 1
    addresses = [f"s3a://scratch/salvage/{name}" for name in ("one", "two")]
    assert main(["salvage", *addresses, str(made), *options_for(store)]) == 1
    assert files_in(made, "manifest.json") == files_in(local, "manifest.json")
    assert f"quarantine/multi-0/0-{0:020}.log" in files_in(made, "manifest.json")
    ours, theirs = (json.loads((one / "manifest.json").read_text()) for one in (made, local))
    assert ours["partitions"][0]["missing"] == []
    digests = [[file["sha256"] for file in one["partitions"][0]["files"]] for one in (ours, theirs)]
    assert digests[0] == digests[1] and None not in digests[0]
    assert server.SECRET_KEY not in (made / "manifest.json").read_text()
    assert files_in(damaged, "manifest.json") == before


def test_slice_from_a_store_makes_the_same_files(store: server.Store, damaged: Path, tmp_path: Path) -> None:
    words = "--offsets", "100:140"
    assert main(["slice", str(damaged / "one/multi-0"), str(tmp_path / "local"), *words]) == 0
    address = "s3a://scratch/salvage/one/multi-0"
    assert main(["slice", address, str(tmp_path / "made"), *words, *options_for(store)]) == 0
    assert files_in(tmp_path / "made", "manifest.json") == files_in(tmp_path / "local", "manifest.json") != {}


def test_a_store_that_stops_serving_leaves_no_partition(
    proxy: faults.Proxy, damaged: Path, tmp_path: Path
) -> None:
    """That is no damage: nothing is put aside for it."""
    proxy.concerns = lambda asked: asked.method == "GET" and asked.path.endswith(".log")
    proxy.faults = [faults.refused(503, "SlowDown")] * 1_000
    places = Places(settings_for(proxy.address), patience=0.5)
    found = salvage(["s3a://scratch/salvage/one"], str(tmp_path / "made"), places=places)
    assert [type(one.error) for one in found.partitions] == [StoreError]
    assert not list((tmp_path / "made").glob("*/multi-0"))
    assert damaged.is_dir()
