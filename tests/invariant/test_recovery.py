"""docs/damaged-directories.md says what Kafka makes of damage: its table is made anew here."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.invariant.page import PAGE, kafka_table, table_in

HOW = "python -m tests.invariant.page writes the tables anew"


@pytest.mark.oracle
def test_what_kafka_does(tmp_path: Path) -> None:
    assert table_in(PAGE.read_text(), "kafka") == kafka_table(tmp_path), HOW
