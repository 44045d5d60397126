"""What was written is read again: by our readers, by the Kaitai classes, and, compressed, by Kafka itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.oracle import run
from tests.write.cases import Case, cases, rows_with_headers

import kafka_segments
from kafka_segments.cli.main import main
from kafka_segments.core.codecs import CODEC_NAMES

ALL = cases()


def expected(case: Case) -> list[tuple[Any, ...]]:
    """What a consumer gets of a case: offset, timestamp, key, value, headers."""
    magic = case.options.get("magic", 2)
    appended = case.options.get("log_append_time")
    found = []
    for row in case.rows:
        timestamp = row["timestamp"] if appended is None else appended
        headers = tuple(row["headers"]) if magic == 2 else ()
        found.append((row["offset"], timestamp if magic else -1, row["key"], row["value"], headers))
    return found


def records(data: bytes | Path) -> list[tuple[Any, ...]]:
    with kafka_segments.open_segment(data if isinstance(data, bytes) else str(data)) as segment:
        return [
            (event.offset, event.timestamp, event.key, event.value, event.headers)
            for event in segment.iter_events()
            if isinstance(event, kafka_segments.Record)
        ]


def batches(data: bytes) -> list[kafka_segments.Batch]:
    with kafka_segments.open_segment(data) as segment:
        return [entry for entry in segment.iter_entries() if isinstance(entry, kafka_segments.Batch)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_every_combination(case: Case) -> None:
    """All records come back, and the batches have the fields that were asked for."""
    data = kafka_segments.encode_records(case.rows, **case.options)
    assert records(data) == expected(case)
    found = batches(data)
    assert all(batch.crc_valid for batch in found)
    names = (
        "magic",
        "compression",
        "partition_leader_epoch",
        "producer_id",
        "producer_epoch",
        "is_transactional",
    )
    for batch in found:
        for name in names:
            assert getattr(batch, name) == case.options.get(name, getattr(batch, name))
        assert batch.delete_horizon_ms == case.options.get("delete_horizon_ms")
    if case.options.get("compression", "none") == "none":
        assert len(data) == kafka_segments.predicted_size(case.rows, **case.options)


@pytest.mark.parametrize("case", ALL[::7], ids=lambda case: case.name)
def test_the_way_does_not_matter(case: Case) -> None:
    """Rows, tuples, records, a table, a sliced one, one cut into many arrow batches: the same bytes."""
    expect = kafka_segments.encode_records(case.rows, **case.options)
    table = pa.Table.from_pylist(
        [
            {**row, "headers": [dict(zip(("key", "value"), one, strict=True)) for one in row["headers"]]}
            for row in case.rows
        ]
    )
    wide = pa.concat_tables([table.slice(3, 5), table, table.slice(0, 2)])
    forms_of_it: list[Any] = [
        [tuple(row.values()) for row in case.rows],
        table,
        wide.slice(5, len(case.rows)),
        wide.slice(5, len(case.rows)).combine_chunks(),
        pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=3)),
        table.to_batches(max_chunksize=7),
        [row for part in (case.rows[:11], case.rows[11:]) for row in part],
    ]
    for data in forms_of_it:
        assert kafka_segments.encode_records(data, **case.options) == expect
    pieces = b"".join(kafka_segments.iter_encoded(table, **case.options))
    assert pieces == expect


def test_what_was_read_is_written_again(tmp_path: Path) -> None:
    """A table that `read_table` gives, and the records of `iter_events`."""
    path = tmp_path / "00000000000000000000.log"
    kafka_segments.write_segment(path, rows_with_headers(500), batch_size=2000)
    table = kafka_segments.read_table(path)
    assert kafka_segments.encode_records(table, batch_size=2000) == path.read_bytes()
    with kafka_segments.open_segment(str(path)) as segment:
        again = [event for event in segment.iter_events() if isinstance(event, kafka_segments.Record)]
    assert kafka_segments.encode_records(again, batch_size=2000) == path.read_bytes()


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_levels_make_a_difference(codec: str) -> None:
    words = [b"%x" % (at * 2654435761 % 2**20) for at in range(300)]
    rows = [{"value": b" ".join(words[at * step % 300] for step in (1, 7, 31, 53))} for at in range(2000)]
    levels = {"gzip": (1, 9), "lz4": (9, 12), "zstd": (-50, 19), "snappy": (None,)}[codec]
    sizes = []
    for level in levels:
        data = kafka_segments.encode_records(
            rows, compression=codec, compression_level=level, batch_size=1 << 20
        )
        assert len(records(data)) == 2000
        sizes.append(len(data))
    assert sizes == sorted(sizes, reverse=True)
    assert codec == "snappy" or sizes[0] > sizes[1]


@pytest.mark.oracle
def test_kafka_reads_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Batch and record lines by Kafka's own classes are those of ours, for every combination."""
    names = []
    for at, case in enumerate(ALL):
        name = f"{at}.log"
        (tmp_path / name).write_bytes(kafka_segments.encode_records(case.rows, **case.options))
        names.append(name)
    result = run.oracle(names, cwd=tmp_path)
    assert result.returncode == 0, result.stderr[:2000]
    monkeypatch.chdir(tmp_path)
    assert main(["dump", *names, "--format", "jsonl"]) == 0
    ours = capsys.readouterr().out.splitlines()
    assert len(ours) > 40 * len(ALL)
    assert ours == result.stdout.splitlines()
