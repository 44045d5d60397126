"""The recipe for S3 does what it shows, on a real S3 server."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.guides.guide import ROOT, Reader, make_place
from tests.io import server
from tests.io.conftest import RECORDED

pytestmark = pytest.mark.s3


def test_the_recipe_for_s3_does_what_it_shows(store: server.Store, tmp_path: Path) -> None:
    logs = store.folder / "archive" / "logs"
    shutil.copytree(RECORDED / "kafka-4.3/clean/codec-none-0", logs / "codec-none-0")
    page = (ROOT / "docs" / "cookbook" / "s3.md").read_text(encoding="utf-8")
    keys = {"AWS_ACCESS_KEY_ID": server.ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": server.SECRET_KEY}
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    reader = Reader(make_place(tmp_path), {**os.environ, **keys, "PATH": programs})
    try:
        reader.follow(page.replace("127.0.0.1:7070", f"127.0.0.1:{store.port}"))
    finally:
        reader.close()
