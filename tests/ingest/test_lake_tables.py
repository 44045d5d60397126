"""Delta and Iceberg tables alike: rows as other packages read them back, runs that end too soon, others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.ingest import lakes
from tests.ingest.ingested import Run, fail, not_internal, request_of, rows_in_millis
from tests.ingest.lakes import DELTA, Words, both, call, delta, iceberg, num_files, offsets, publish, rows
from tests.made.directories import append, run_of
from tests.spark import kafka_rows

from kafka_segments.core.io.jobs import LocalEngine
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.errors import ConflictError, OutputError
from kafka_segments.ingest.job import ingest as ingest_run
from kafka_segments.ingest.run_plan import plan_ingest
from kafka_segments.query.query import Query

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"


@both
def test_rows_are_those_of_kafka(ingest: Run, audit: Run, out: Path, words: Words) -> None:
    status, _, err = ingest(CLEAN, out, *words)
    assert status == 0, err
    found = rows(out, words)
    assert rows_in_millis(found) == not_internal(kafka_rows.rows("kafka-4.3/clean"))
    if words == DELTA:
        types = {field.name: field.type for field in found.schema}
        assert {"topic": pa.string(), "partition": pa.int32()}.items() <= types.items()
    else:
        fields = ["1000: topic: identity(1)", "1001: partition: identity(2)"]
        assert [str(field) for field in iceberg(out).spec().fields] == fields
    status, _, err = audit(out, CLEAN)
    assert status == 0, err


def check_runs(out: Path, words: Words) -> None:
    """The table has three runs, which took 9, 3 and 3 records."""
    if words == DELTA:
        assert delta(out).transaction_version("kafka-segments ingest") == 3
        files = pa.table(delta(out).get_add_actions(flatten=True)).to_pylist()
        found = sorted((one["min.offset"], one["max.offset"], one["num_records"]) for one in files)
        assert found == [(0, 8, 9), (9, 11, 3), (12, 14, 3)]
        return
    table = iceberg(out)
    runs = [name for name in table.properties if name.startswith("kafka-segments.run.")]
    assert [table.properties[name] for name in runs] == ["3"]
    assert [one.summary[runs[0]] for one in table.snapshots()] == ["1", "2", "3"]
    assert table.scan("offset > 9").count() == 5
    assert [task.file.record_count for task in table.scan("offset > 11").plan_files()] == [3]


@both
def test_runs_and_compact(ingest: Run, audit: Run, logs: Path, out: Path, words: Words) -> None:
    for end in (9, 12, 15):
        assert ingest(logs, out, *words)[0] == 0
        append(logs / "t-0", *run_of(end, end + 3))
    assert offsets(out, words) == list(range(15))
    check_runs(out, words)
    assert call("compact", out) == 0
    assert (offsets(out, words), num_files(out, words)) == (list(range(15)), 1)
    assert ingest(logs, out, *words)[1]["t", 0]["records"] == "3"
    assert offsets(out, words) == list(range(18))
    status, _, err = audit(out, logs)
    assert status == 0, err
    status, _, err = ingest(logs, out)
    assert (status, " ".join(words) in err) == (2, True)


@pytest.mark.parametrize("division", ["date", "hour"])
@both
def test_divided_by_time(ingest: Run, audit: Run, logs: Path, out: Path, words: Words, division: str) -> None:
    append(logs / "t-0", *run_of(9, 12, base_timestamp=-90_000_000, max_timestamp=-90_000_000))
    status, _, err = ingest(logs, out, *words, "--divide-by", division)
    assert status == 0, err
    if words == DELTA:
        names = ["topic", "partition", "date", *(["hour"] if division == "hour" else [])]
        assert delta(out).metadata().partition_columns == names
        assert {str(one) for one in rows(out, words)["date"].to_pylist()} == {"1969-12-30", "2023-11-14"}
    else:
        table, transform = iceberg(out), "day" if division == "date" else "hour"
        kinds = [str(field.transform) for field in table.spec().fields]
        assert kinds == ["identity", "identity", transform]
        assert table.scan("timestamp < '1970-01-01T00:00:00+00:00'").count() == 3
        assert len(list(table.scan("timestamp >= '2023-11-14T00:00:00+00:00'").plan_files())) == 1
    assert offsets(out, words) == list(range(12))
    assert audit(out, logs)[0] == 0


@both
def test_columns_that_are_added(ingest: Run, audit: Run, logs: Path, out: Path, words: Words) -> None:
    ingest(logs, out, *words, "-o", "columns=offset")
    append(logs / "t-0", *run_of(9, 12))
    status, _, err = ingest(logs, out, *words, "-o", "columns=offset,key,headers")
    assert status == 0, err
    assert rows(out, words)["key"].to_pylist() == [None] * 9 + [b"k"] * 3
    assert call("compact", out) == 0
    assert rows(out, words)["key"].to_pylist() == [None] * 9 + [b"k"] * 3
    assert audit(out, logs)[0] == 0


@both
def test_a_run_that_ends_before_the_table_has_it_is_finished(
    ingest: Run, audit: Run, logs: Path, out: Path, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(logs, out, *words)
    append(logs / "t-0", *run_of(9, 12))
    with monkeypatch.context() as patch:
        patch.setattr(*lakes.COMMITS[words][:2], fail)
        status, _, err = ingest(logs, out, *words)
    assert (status, "cannot be written: the disk is gone" in err) == (3, True), err
    assert offsets(out, words) == list(range(9))
    assert ingest(logs, out, *words)[0] == 0
    assert offsets(out, words) == list(range(12))
    assert audit(out, logs)[0] == 0


@both
def test_a_run_is_added_once_whoever_adds_it(
    ingest: Run, audit: Run, logs: Path, out: Path, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has added it after this one looked: the transaction fails, and is found done."""
    ingest(logs, out, *words)
    append(logs / "t-0", *run_of(9, 12))
    owner, name, error = lakes.COMMITS[words]
    real, is_other, failed = getattr(owner, name), [True], []

    def commit(*arguments: Any, **more: Any) -> Any:
        if is_other and is_other.pop():
            publish(out, words)
        try:
            return real(*arguments, **more)
        except error:
            failed.append(True)
            raise

    monkeypatch.setattr(owner, name, commit)
    assert ingest(logs, out, *words)[0] == 0
    assert failed == [True]
    assert offsets(out, words) == list(range(12))
    assert audit(out, logs)[0] == 0


@both
def test_a_transaction_that_fails_after_it_was_stored_is_done(
    ingest: Run, logs: Path, out: Path, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, error = lakes.COMMITS[words]
    real, errors = getattr(owner, name), [error("no answer")]

    def commit(self: Any, *arguments: Any, **more: Any) -> Any:
        done = real(self, *arguments, **more)
        has_rows = words == DELTA or self.table_metadata.current_snapshot_id is not None
        if errors and has_rows:  # the first transaction of an Iceberg table makes it
            raise errors.pop()
        return done

    monkeypatch.setattr(owner, name, commit)
    assert ingest(logs, out, *words)[0] == 0
    assert errors == []
    assert offsets(out, words) == list(range(9))


@both
def test_others_may_write_the_table_too(ingest: Run, audit: Run, logs: Path, out: Path, words: Words) -> None:
    """Files that another has rewritten are known by their partition."""
    ingest(logs, out, *words)
    append(logs / "t-0", *run_of(9, 12))
    assert ingest(logs, out, *words)[0] == 0
    lakes.overwrite(out, words)
    append(logs / "t-0", *run_of(12, 15))
    assert ingest(logs, out, *words)[0] == 0
    assert offsets(out, words) == list(range(15))
    status, _, err = audit(out, logs)
    assert status == 0, err
    assert call("compact", out) == 0
    assert offsets(out, words) == list(range(15))


@both
def test_a_compaction_that_another_has_overtaken_changes_nothing(
    ingest: Run, logs: Path, out: Path, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    for end in (9, 12):
        ingest(logs, out, *words)
        append(logs / "t-0", *run_of(end, end + 3))
    with monkeypatch.context() as patch:
        patch.setattr(*lakes.COMMITS[words][:2], fail)
        assert call("compact", out) == 3
    lakes.overwrite(out, words)
    assert ingest(logs, out, *words)[0] == 0
    assert offsets(out, words) == list(range(15))


@both
def test_the_second_of_two_runs_is_refused(audit: Run, logs: Path, out: Path, words: Words) -> None:
    request = request_of((str(logs),), str(out), Query(), tuple(SCHEMA.names), kind=words[1])
    plans = [plan_ingest(request) for _ in range(2)]
    ingest_run(plans[0], LocalEngine(1))
    with pytest.raises(ConflictError, match="another run was committed meanwhile"):
        ingest_run(plans[1], LocalEngine(1))
    assert offsets(out, words) == list(range(9))
    assert audit(out, logs)[0] == 0


def test_others_may_add_rows_to_a_delta_table(ingest: Run, logs: Path, out: Path) -> None:
    ingest(logs, out, *DELTA)
    delta(out).optimize.compact()
    lakes.deltalake.write_deltalake(out, rows(out, DELTA).slice(0, 2), mode="append")
    append(logs / "t-0", *run_of(9, 12))
    assert ingest(logs, out, *DELTA)[0] == 0
    assert offsets(out, DELTA) == sorted([*range(12), 0, 1])


def test_a_delta_table_that_cannot_be_written_is_an_error(ingest: Run, logs: Path, out: Path) -> None:
    ingest(logs, out, *DELTA)
    (out / "_delta_log" / f"{0:020}.json").write_text(json.dumps({"nonsense": True}))
    with pytest.raises(OutputError, match="the Delta table cannot be written"):
        publish(out, DELTA)
