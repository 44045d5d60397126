"""`kafka-segments schemas export --gallery`: the files that are generated, without their lines of origin."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiler.frontend import load
from tests.folders import files_in

from kafka_segments.cli import exported_files
from kafka_segments.cli.main import main
from kafka_segments.errors import ReadError

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "generated" / "kafka_segments_generated" / "gallery"


def test_the_files_are_those_that_are_generated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["schemas", "export", "--gallery", str(out)]) == 0
    written, made = files_in(out), files_in(GALLERY)
    assert written.keys() == made.keys()
    assert capsys.readouterr() == ("", f"kafka-segments: {out}: {len(made)} files written\n")
    assert {"README.md", "log/kafka_record_batches.ksy", "samples/record_batches.log"} <= written.keys()
    for name, content in written.items():
        is_text = name.endswith((".ksy", ".md"))
        kept = made[name]
        assert content == (kept.partition(b"\n")[2] if is_text else kept)
        assert b"codegen.py" not in content
    assert load([out / "log" / "kafka_record_batches.ksy"]).schemas.keys() == {"kafka_record_batches"}


def test_an_incomplete_installation_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported_files, "files", lambda package: tmp_path)
    with pytest.raises(ReadError, match="install kafka-segments again"):
        exported_files.read_generated_files("gallery")
