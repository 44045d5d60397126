"""Every recorded file: both ways give the records that Kafka's own classes read from it."""

from __future__ import annotations

import pytest
from tests.made.recorded import FILES, Recorded
from tests.properties.readers import assert_read


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_records_equal_kafkas(file: Recorded) -> None:
    assert_read(file.data, file.rows)


def test_no_file_is_left_out() -> None:
    assert len(FILES) > 250
    assert sum(len(file.rows) for file in FILES) > 5000
