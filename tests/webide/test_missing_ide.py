"""What the tests of this folder say where there is no build of the IDE."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.webide import web_ide


@pytest.mark.parametrize("required", ["", "spark", "all", "node,browser"])
def test_no_ide_is_a_failure_where_browsers_are_required(
    required: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAITAI_WEBIDE_OUT", raising=False)
    monkeypatch.setattr(web_ide, "ARCHIVE", tmp_path / "absent")
    monkeypatch.setenv("KAFKA_SEGMENTS_REQUIRE", required)
    outcome = pytest.fail.Exception if required in ("all", "node,browser") else pytest.skip.Exception
    with pytest.raises(outcome, match="KAITAI_WEBIDE_OUT"):
        web_ide.need_ide()
    monkeypatch.setenv("KAITAI_WEBIDE_OUT", str(tmp_path))
    with pytest.raises(outcome, match=r"has no index\.html"):
        web_ide.need_ide()
    (tmp_path / "index.html").touch()
    web_ide.need_ide()
