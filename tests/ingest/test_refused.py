"""What `ingest` refuses before anything is written."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.forgotten import forget
from tests.made.directories import append, run_of
from tests.spark import kafka_rows
from tests.spark.test_reader import batches, segment

from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError
from kafka_segments.ingest.destination import check_destination


def refused(*words: Any) -> int:
    return main(["ingest", "--engine", "local", *map(str, words)])


def test_destinations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "logs"
    directory = segment(source / "t-0", 0, *batches(0))
    full = segment(tmp_path / "full", 0)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(source)

    def says(words: str, *arguments: Any, status: int = 2) -> None:
        assert refused(*arguments) == status
        err = capsys.readouterr().err
        assert re.search(words, err), err

    says("neither an empty directory nor a table written by ingest", source, full)
    says("neither an empty directory nor a table written by ingest", source, tmp_path / "file")
    says("lies in the source", source, source)
    says("lies in the source", source, source / "out")
    says("lies in the source", source, tmp_path / "link" / "out")
    says("lies in the source", tmp_path / "link", source / "out")
    says("lies in the source", directory, directory / "out")
    says("lies in the source", directory / f"{0:020}.log", directory / "out")
    (source / "meta.properties").touch()
    says("lies in the source", directory, source / "out")
    says("check the path", tmp_path / "none", tmp_path / "out")
    says("no segments here", tmp_path / "full" / "..", tmp_path / "full" / ".." / ".." / "out")
    says("cannot be written", source, tmp_path / "file" / "out", status=3)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3a://bucket", "this is a whole bucket"),
        ("s3a://KEY:SECRET@bucket/table", "do not belong in an address"),
        ("s3://logs/here/table", "it lies in the source s3a://logs/here"),
    ],
)
def test_addresses_as_destinations(address: str, said: str) -> None:
    """No request is made: what an address says is enough."""
    with pytest.raises(OptionError, match=said):
        check_destination(address, ["s3a://logs/here/"], Places({}))


def test_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = append(tmp_path / "logs" / "t-0", *run_of(0, 3)).parent
    for words, said in (
        (["-o", "subscrib=t"], "did you mean subscribe"),
        (["-o", "startingOffsets"], "give NAME=VALUE"),
        (["-o", "columns=offset,nothing"], "columns must be some of"),
        (["-o", "endingOffsets=high-watermark"], "the high watermark of t-0 is not known"),
        (["--table", "hudi"], "invalid choice"),
        (["--divide-by", "week"], "invalid choice"),
        (["--engine", "flink"], "invalid choice"),
    ):
        assert refused(*words, logs, tmp_path / "out") == 2
        assert said in capsys.readouterr().err, words
    assert not (tmp_path / "out").exists()


def test_extreme_timestamps_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If they are to be an error; as the message advises, they are written."""
    strict = "-o", "timestampOverflow=error"
    assert refused(*strict, kafka_rows.RECORDED / kafka_rows.EXTREME, tmp_path / "out") == 3
    err = capsys.readouterr().err
    assert re.search(
        r"offset \d+: the timestamp -?\d+ .*\(topic extreme, partition 0\).*nothing was written", err
    ), err
    assert os.listdir(tmp_path) == []
    advised = re.search(r"-o timestampOverflow=\w+", err)
    assert advised is not None
    assert refused(*advised[0].split(), kafka_rows.RECORDED / kafka_rows.EXTREME, tmp_path / "out") == 1


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    [
        ("pyspark", ["--engine", "spark"], "spark"),
        ("pyarrow", [], "arrow"),
        ("deltalake", ["--table", "delta"], "delta"),
        ("pyiceberg", ["--table", "iceberg"], "iceberg"),
    ],
)
def test_missing_packages(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
    words: list[str],
    extra: str,
) -> None:
    logs = append(tmp_path / "logs" / "t-0", *run_of(0, 3)).parent
    late = (
        "kafka_segments.spark",
        "kafka_segments.ingest",
        "kafka_segments.core.segment.columnar",
        "pyiceberg.",
    )
    # Packages last: while they are there, their modules are taken out of them.
    forget(monkeypatch, sorted((name for name in sys.modules if name.startswith(late)), reverse=True))
    monkeypatch.setitem(sys.modules, missing, None)
    assert refused(*words, logs, tmp_path / "out") == 2
    assert f"pip install 'kafka-segments[{extra}]'" in capsys.readouterr().err
