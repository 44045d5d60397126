"""Each verb takes the options that it reads, and no other; what it says of them."""

from __future__ import annotations

from importlib import import_module

import pytest

from kafka_segments.cli.main import main

REWIND = ("rewind", "table", "t", "--to-offset", "0")


@pytest.mark.parametrize(
    "words",
    [("compact", "table", "--timings"), (*REWIND, "--timings"), (*REWIND, "--progress")],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_an_option_that_a_verb_does_not_read_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert main([*words]) == 2
    assert f"unrecognized arguments: {words[-1]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "table"),
        ("compact", "table"),
        REWIND,
        ("slice", "t-0", "dest", "--offsets", "0:"),
        ("find", "--key", "a", "t-0"),
        *((verb, "t-0") for verb in ("aborted", "cat", "dump", "ls", "sizes", "verify")),
        ("salvage", "--dry-run", "t-0"),
    ],
    ids=lambda words: words[0],
)
def test_verbs_that_take_settings_of_stores_alone_name_no_other(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert main([*words, "-o", "subscribe=a"]) == 2
    assert "--option 'subscribe': give NAME=VALUE, NAME one of fs.*\n" in capsys.readouterr().err


def test_ingest_offers_the_tables_and_layouts_that_there_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "999")
    tables, layouts = (
        import_module("kafka_segments.ingest.tables"),
        import_module("kafka_segments.ingest.files.layouts"),
    )
    assert main(["ingest", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"--table {{{','.join(tables.KINDS)}}}" in said
    assert [name for name in layouts.LAYOUTS if f" {name}" not in said.partition("--layout NAME ")[2]] == []
