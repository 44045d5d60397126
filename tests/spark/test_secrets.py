"""Keys of a store appear nowhere: in no log, plan, event log, exception, snapshot or page of Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.io import server
from tests.spark import kafka_rows

# In every run, texts of Spark and of errors are looked through: test_store_settings.py, io/test_s3.py.
pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.s3, pytest.mark.long(short=False)]

NAME = "kafka-4.3/clean"
# Said by Spark itself, at this loudest level, of any session that has such settings.
OF_SPARK = b" DEBUG SharedState: Applying other initial session options to HadoopConf: "
CANARIES = (b"canary", *(key.encode() for key in (server.ACCESS_KEY, server.SECRET_KEY)))


def test_no_key_is_told(workers_path: None, tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.mkdir()
    with server.running(tmp_path / "s3") as store:
        shutil.copytree(kafka_rows.RECORDED / NAME, store.folder / "logs" / "clean")
        where = [f"127.0.0.1:{store.port}", "s3a://logs/clean", str(told)]
        with (told / "output").open("wb") as output:
            done = subprocess.run(
                [sys.executable, "-m", "tests.spark.secrets_job", *where],
                stdout=output,
                stderr=output,
                timeout=300,
                cwd=told,
                env={**os.environ, "PYTHONFAULTHANDLER": "1"},
            )
    said = (told / "output").read_text(errors="replace")
    assert done.returncode == 0, said[-4000:]
    count = len(kafka_rows.source_rows(NAME))
    assert {name: int((told / f"{name}.rows").read_text()) for name in ("options", "snapshot")} == {
        "options": count,
        "snapshot": count,
    }
    # What is looked through is there: the loudest log, an event log, a refusal.
    assert " DEBUG " in said
    assert list((told / "events").rglob("events*")) or list((told / "events").iterdir())
    assert "ACCESS_DENIED" in (told / "refused").read_text()
    assert "OptionError" in (told / "unknown").read_text()
    files = [path for path in told.rglob("*") if path.is_file()]
    assert len(files) > 10
    found = {
        f"{path.relative_to(told)}: {line[:300]!r}"
        for path in files
        for line in path.read_bytes().splitlines()
        if any(canary in line for canary in CANARIES) and OF_SPARK not in line
    }
    assert found == set()
