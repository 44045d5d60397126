"""The Python of docs/stores.md runs as it stands, but for the server's address and its keys."""

from __future__ import annotations

import shutil

import pytest
from tests.house.commands import ROOT, python_blocks
from tests.io import server
from tests.io.conftest import RECORDED

pytestmark = pytest.mark.s3


def test_the_code_of_the_page_runs(store: server.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = python_blocks(ROOT / "docs" / "stores.md")
    folder = store.folder / "archive" / "orders-0"
    folder.mkdir(parents=True)
    shutil.copy(RECORDED / "kafka-4.3/clean/shapes-0" / f"{0:020}.log", folder)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.SECRET_KEY)
    found: dict[str, object] = {}
    exec(code.replace("127.0.0.1:7070", f"127.0.0.1:{store.port}"), found)
    assert found["table"].num_rows > 0  # type: ignore[attr-defined]
