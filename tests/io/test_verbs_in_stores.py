"""`sizes` and `report` read addresses with the settings that are given, and say what a store refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.io import server
from tests.io.conftest import BUCKET, RECORDED, settings_for

from kafka_segments.cli.main import main

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
