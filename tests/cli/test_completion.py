"""`kafka-segments completion`: scripts that shells complete by."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.commands import ROOT, blocks, calls

from kafka_segments.cli.main import main

pytest.importorskip("shtab", reason="the extra `completion` is not installed")


@pytest.fixture
def script(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Path:
    """The script for bash, and beside it a partition."""
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_bytes(capsysbinary.readouterr().out)
    (tmp_path / "orders-3").mkdir()
    return tmp_path / "script"


def bash(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of some words."""
    line = " ".join(f"'{word}'" for word in words)
    code = (
        f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        '$(complete -p kafka-segments | sed "s/.*-F //; s/ .*//"); printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], cwd=script.parent, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return {line.rstrip("/ ") for line in done.stdout.splitlines()} - {""}


def test_bash_completes_commands_options_values_and_paths(script: Path) -> None:
    assert {"dump", "ls", "plan", "ingest"} <= bash(script, "kafka-segments", "")
    assert bash(script, "kafka-segments", "com") == {"compact", "completion"}
    assert bash(script, "kafka-segments", "ls", "--le") == {"--level"}
    assert bash(script, "kafka-segments", "ls", "--level", "") == {
        "topics",
        "partitions",
        "copies",
        "segments",
    }
    assert bash(script, "kafka-segments", "ls", "ord") == {"orders-3"}
    assert bash(script, "kafka-segments", "schemas", "") >= {"list", "export"}
    assert bash(script, "kafka-segments", "completion", "") >= {"bash", "zsh", "fish"}


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish on the PATH")
def test_fish_completes(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["completion", "fish"]) == 0
    (tmp_path / "script.fish").write_bytes(capsysbinary.readouterr().out)
    for words, offered in (("com", {"compact", "completion"}), ("ls --level c", {"copies"})):
        code = f"source {tmp_path}/script.fish; complete -C 'kafka-segments {words}'"
        done = subprocess.run(["fish", "-c", code], capture_output=True, text=True, check=True)
        assert {line.partition("\t")[0] for line in done.stdout.splitlines()} == offered


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on the PATH")
def test_zsh_takes_the_script(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["completion", "zsh"]) == 0
    folder = tmp_path / "functions"
    folder.mkdir()
    (folder / "_kafka-segments").write_bytes(capsysbinary.readouterr().out)
    code = f"fpath=({folder} $fpath); autoload -U compinit; compinit -D -u; print $_comps[kafka-segments]"
    done = subprocess.run(["zsh", "-fc", code], capture_output=True, text=True, check=True)
    assert done.stdout == "_kafka-segments\n"


def test_the_lines_of_the_page_run(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (code,) = [one for one in blocks(ROOT / "docs/command-line.md") if one.startswith("kafka-segments compl")]
    found = list(calls(code))
    assert [words[-1] for words in found] == ["bash", "fish", "zsh"]
    for words in found:
        assert main(words) == 0
        assert b"kafka-segments" in capsysbinary.readouterr().out


def test_without_shtab_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'kafka-segments[completion]'" in capsys.readouterr().err
