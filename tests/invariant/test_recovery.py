"""docs/damaged-directories.md says what Kafka and our verbs make of damage: its tables are made anew here."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.invariant.page import PAGE, kafka_table, table_in, verbs_table

HOW = "python -m tests.invariant.page writes the tables anew"


@pytest.mark.oracle
def test_what_kafka_does(tmp_path: Path) -> None:
    assert table_in(PAGE.read_text(), "kafka") == kafka_table(tmp_path), HOW


def test_what_the_verbs_say(tmp_path: Path) -> None:
    assert table_in(PAGE.read_text(), "verbs") == verbs_table(tmp_path), HOW
