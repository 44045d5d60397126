"""What Spark's `kafka` source answered is what Kafka's own classes read."""

from __future__ import annotations

import pytest
from tests.connector import connector, queries, record, served
from tests.connector.queries import EXTREME, ISOLATIONS
from tests.recording.sets import RECORDED
from tests.spark import kafka_rows
from tests.spark.kafka_rows import Row

SETS = served.served_sets()
LAST_MICROS = 2**63 - 1


def answered(name: str, isolation: str) -> list[Row]:
    """All rows of a set."""
    found = []
    for query in queries.whole_sets([name]):
        if query.name.split(".")[-1] == isolation:
            table = connector.recorded(query)
            assert not isinstance(table, str), table
            found += kafka_rows.of_arrow(table)
    return sorted(found, key=lambda row: row[2:5])


def expected(name: str) -> list[Row]:
    """What Kafka's classes read, but of the metadata log."""
    rows = [row for row in kafka_rows.rows(name) if row.topic != served.METADATA]
    return sorted(rows, key=lambda row: row[2:5])


@pytest.mark.parametrize("name", [name for name in SETS if name != EXTREME])
def test_uncommitted_is_every_record(name: str) -> None:
    rows = answered(name, "read_uncommitted")
    assert rows
    assert rows == expected(name)


@pytest.mark.parametrize("name", [name for name in SETS if name != EXTREME])
def test_committed_leaves_out_what_is_aborted_or_open(name: str) -> None:
    rows = answered(name, "read_committed")
    fates = {
        (topic, number, offset): fate
        for topic, numbers in served.partitions(name).items()
        for number in numbers
        for offset, fate in served.fates(name, topic, number).items()
    }
    left_out = {place for place, fate in fates.items() if fate != "COMMIT"}
    stable = {
        (topic, number): served.ends(name, topic, number).last_stable
        for topic, numbers in served.partitions(name).items()
        for number in numbers
    }
    wanted = [
        row
        for row in expected(name)
        if row[2:5] not in left_out and row.offset < stable[row.topic, row.partition]
    ]
    assert rows == wanted
    assert (rows == expected(name)) == (not left_out)


def test_the_extreme_timestamps_are_what_the_source_cannot_hold() -> None:
    rows = {row.offset: row for row in expected(EXTREME)}
    found, failed = {}, {}
    for query in queries.one_by_one():
        offset = int(query.name.rsplit(".", 1)[1])
        answer = connector.recorded(query)
        if isinstance(answer, str):
            failed[offset] = answer
        else:
            (found[offset],) = kafka_rows.of_arrow(answer)
    assert found == {offset: row for offset, row in rows.items() if row.timestamp <= LAST_MICROS}
    assert failed == dict.fromkeys(rows.keys() - found.keys(), "java.lang.ArithmeticException: long overflow")
    assert failed


def test_all_that_is_asked_was_answered_and_nothing_else_is_there() -> None:
    asked = {f"{query.set_name}/{query.name}" for query in record.everything()}
    tables = {path.relative_to(connector.ANSWERS).as_posix() for path in connector.ANSWERS.rglob("*.parquet")}
    failures = {f"{name}/{query}" for name in SETS for query in connector.failures(name)}
    assert {path.removesuffix(".parquet") for path in tables} | failures == asked
    assert all((RECORDED / name).is_dir() for name in SETS)


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_selections_are_parts(isolation: str) -> None:
    """Each row of a selection is one of the whole; and there are selections of some rows, and of none."""
    sizes = set()
    for query in queries.selections():
        if query.options.get("kafka.isolation.level", "read_uncommitted") == isolation:
            answer = connector.recorded(query)
            if not isinstance(answer, str):
                rows = kafka_rows.of_arrow(answer)
                sizes.add(len(rows))
                assert set(rows) <= set(answered(query.set_name, isolation)), query
    assert len(sizes) > (8 if isolation == "read_uncommitted" else 0)
