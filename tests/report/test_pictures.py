"""Pictures of reports are of the page as it is now."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report import picture


@pytest.mark.parametrize("name", picture.PAGES)
def test_a_picture_is_of_todays_page(name: str, tmp_path: Path) -> None:
    noted = [line.split() for line in picture.SUMS.read_text().splitlines()]
    assert [picture.sum_of(picture.page_of(name, tmp_path)), name] in noted, (
        "run python -m tests.report.picture"
    )
    assert (picture.PICTURES / name).stat().st_size > 10_000
