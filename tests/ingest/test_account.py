"""Accounts of recorded logs against Kafka's own reading of them: control records, aborted and absent ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.connector import connector, queries, served
from tests.doors.truth import outcome, outcome_of_all
from tests.ingest.ingested import Run, parquet_rows
from tests.spark import kafka_rows

from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import AccountError
from kafka_segments.ingest.runs.account import Account, SplitCounts, account_of, lost_spans, merged
from kafka_segments.log.findings import Finding, Kind

COMMITTED = ("--isolation", "read_committed")


def counts_by_kafka(name: str, directory: str, *, is_committed: bool) -> dict[str, int]:
    """What an account of a partition has to say, from the oracle's lines alone."""
    lines = kafka_rows.lines_of(name, directory)
    topic, partition = kafka_rows.split_name(directory)
    start = kafka_rows.log_start_offsets(kafka_rows.RECORDED / name).get((topic, partition), 0)
    _, stable, kinds = outcome(lines) if is_committed else outcome_of_all(lines)
    kinds = {offset: kind for offset, kind in kinds.items() if start <= offset < stable}
    found = Counter(kinds.values())
    return {
        "end offset": stable,
        "records": found["data"],
        "control": found["control"],
        "aborted": found["aborted"],
        "absent": stable - len(kinds),
        "lost": 0,
    }


def consumed(name: str, isolation: str) -> list[kafka_rows.Row]:
    """What Kafka's consumer, in Spark's own source, was given of a set; nothing of the metadata log."""
    found = []
    for query in queries.whole_sets([name]) if served.partitions(name) else []:
        if query.name.split(".")[-1] == isolation:
            answer = connector.recorded(query)
            assert not isinstance(answer, str), answer
            found += kafka_rows.of_arrow(answer)
    return sorted(found, key=lambda row: (row.topic, row.partition, row.offset))


@pytest.mark.parametrize("name", kafka_rows.SETS)
@pytest.mark.parametrize("is_committed", [False, True])
def test_accounts_are_those_of_kafka(
    ingest: Run, audit: Run, tmp_path: Path, name: str, is_committed: bool
) -> None:
    topics = sorted({kafka_rows.split_name(one)[0] for one in kafka_rows.partitions(name)})
    words = ["--subscribe", ",".join(topics), "-o", "endingOffsets=log-end", *COMMITTED[: 2 * is_committed]]
    status, table, err = ingest(kafka_rows.RECORDED / name, tmp_path / "out", *words)
    assert status == 0, err
    del table["total", -1]
    for directory in kafka_rows.partitions(name):
        expected = counts_by_kafka(name, directory, is_committed=is_committed)
        found = table.get(kafka_rows.split_name(directory), {})
        assert {key: int(found.get(key, 0)) for key in expected} == expected, directory
    rows = parquet_rows(tmp_path / "out")
    assert is_committed or rows == kafka_rows.rows(name)
    read = consumed(name, "read_committed" if is_committed else "read_uncommitted")
    assert [row for row in rows if row.topic != served.METADATA] == read
    status, audited, err = audit(tmp_path / "out", kafka_rows.RECORDED / name)
    assert status == 0, err
    names = ("first offset", "end offset", "records", "control", "aborted", "absent", "lost")
    assert {key: {one: row[one] for one in names} for key, row in table.items()} == {
        key: {one: row[one] for one in names}
        for key, row in audited.items()
        if key[1] >= 0 and row["first offset"] != row["end offset"]
    }


def test_parts_add_up_or_it_is_an_error() -> None:
    found = account_of(("t", 0), (10, 20), SplitCounts(3, 1, 2), [(12, 14), (13, 15), (40, 50)])
    assert found == Account("t", 0, 10, 20, 3, 1, 2, 1, 3)
    assert found.is_balanced
    beside = account_of(("t", 0), (0, 10), SplitCounts(8), [(0, 5)])
    assert (beside.lost, beside.absent) == (2, 0), "what was read beside damage is not lost"
    with pytest.raises(AccountError, match="11 records were read of t-0"):
        account_of(("t", 0), (0, 10), SplitCounts(11), [])


def test_spans_of_findings() -> None:
    error = AccountError("")
    inside = Damage("x", 0, 9, error, 3, 4, previous_offset=2, next_offset=5)
    head = Damage("x", 0, 9, error, None, 4, previous_offset=None, next_offset=5)
    tail = Damage("x", 0, 9, error, 7, None, previous_offset=6, next_offset=None)
    none = Damage("x", 0, 9, error, None, None, previous_offset=6, next_offset=7)

    def spans(damage: Damage) -> list[tuple[int, int]]:
        return lost_spans([Finding.of_damage(damage, "t", 0)], (1, 10))

    assert list(map(spans, (inside, head, tail, none))) == [[(3, 5)], [(1, 5)], [(7, 10)], []]
    assert lost_spans([Finding(Kind.LOST, "t", 0, "", 0, 3), Finding(Kind.NOTE, "t", 0)], (1, 10)) == [(1, 4)]
    assert lost_spans([Finding(Kind.NOT_OPENED, "t", 0)], (1, 10)) == [(1, 10)]
    assert merged([(5, 7), (1, 3), (2, 4), (9, 9)]) == [(1, 4), (5, 7)]
