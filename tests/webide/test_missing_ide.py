"""What the tests of this folder say where there is no build of the IDE."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.webide import web_ide


@pytest.mark.parametrize("required", ["", "all", "node,browser"])
def test_no_ide_is_asked_for_where_no_folder_is_named(required: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(web_ide.VARIABLE, raising=False)
    monkeypatch.setenv("KAFKA_SEGMENTS_REQUIRE", required)
    with pytest.raises(pytest.skip.Exception, match=web_ide.VARIABLE):
        web_ide.need_ide()


def test_a_folder_without_the_ide_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(web_ide.VARIABLE, str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match=r"has no index\.html"):
        web_ide.need_ide()
    (tmp_path / "index.html").touch()
    assert web_ide.need_ide() == tmp_path
