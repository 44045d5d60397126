"""Tables that tools/tables.py makes: where an option or a column is to be had, it is said to be."""

from __future__ import annotations

from tools import tables

from kafka_segments.cli import ingest
from kafka_segments.query.options import OPTIONS


def test_options_that_ingest_takes_are_marked() -> None:
    marked = {row.split("`")[1] for row in tables.options() if "`ingest -o`" in row}
    assert marked == {name for name in ingest._OPTIONS if name in OPTIONS}


def test_ingest_has_columns_on_request() -> None:
    cells = {row.split("`")[1]: row.split(" | ")[6] for row in tables.columns() if row.startswith("| `")}
    assert {name for name, cell in cells.items() if cell == "on request"} == {
        "timestamp_ms",
        "leader_epoch",
        "producer_id",
        "producer_epoch",
        "sequence",
    }
