"""Batches do not depend on how records come, and pieces stay what they are: windows, arenas, large
records.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.python import run_python
from tests.write.test_roundtrip import batches, records

import kafka_segments
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write import encoder, encoder_inputs

NUM_ROWS = 3 * encoder_inputs.NUM_ROWS + 17


def table(num_rows: int = NUM_ROWS) -> pa.Table:
    """Rows enough for several windows and pieces, with nulls and headers."""
    numbers = np.arange(num_rows)
    values = pa.array(
        [None if at % 13 == 0 else b"%d " % at * (at % 23) for at in range(num_rows)], pa.binary()
    )
    headers = [[{"key": b"h%d" % (at % 5), "value": b"x"}] * (at % 3) for at in range(num_rows)]
    kind = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))
    return pa.table(
        {
            "timestamp": pa.array(1_714_000_000_000 + numbers % 1000),
            "key": pa.array([b"k" if at % 2 else None for at in range(num_rows)], pa.binary()),
            "value": values,
            "headers": pa.array(headers, kind),
        }
    )


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return table()


WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "large batches": {"batch_size": 900_000},
    "larger than an arena": {"batch_size": 1 << 30, "max_message_bytes": None},
    "small": {"batch_size": 200},
    "lz4": {"compression": "lz4"},
    "zstd, large": {"compression": "zstd", "batch_size": 1 << 30, "max_message_bytes": None},
    "magic 1": {"magic": 1},
    "magic 1, gzip": {"magic": 1, "compression": "gzip", "compression_level": 1},
    "magic 0, snappy, large": {
        "magic": 0,
        "compression": "snappy",
        "batch_size": 1 << 30,
        "max_message_bytes": None,
    },
    "a producer's": {"producer_id": 1, "producer_epoch": 0, "base_sequence": 2**31 - 100, "batch_size": 1000},
}


def encoded(rows: pa.Table, way: str) -> bytes:
    """The rows in one of `WAYS`; without headers in magic 0 and 1."""
    data = rows.drop_columns(["headers"]) if WAYS[way].get("magic", 2) < 2 else rows
    return kafka_segments.encode_records(data, **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_parts_make_the_same_batches(way: str, rows: pa.Table) -> None:
    """However the records are cut into arrow batches; and every record is there."""
    options = WAYS[way]
    data = rows.drop_columns(["headers"]) if options.get("magic", 2) < 2 else rows
    whole = kafka_segments.encode_records(data, **options)
    if options.get("compression", "none") == "none":
        assert kafka_segments.predicted_size(data, **options) == len(whole)

    def parts() -> Iterator[pa.RecordBatch]:
        source = random.Random(5)
        at = 0
        while at < data.num_rows:
            size = source.choice((1, 2, 100, 5000, encoder_inputs.NUM_ROWS))
            yield from data.slice(at, size).to_batches()
            at += size

    assert kafka_segments.encode_records(parts(), **options) == whole
    found = kafka_segments.open_segment(whole).read_batches(["value", "key"]).read_all()
    assert found.column("value").combine_chunks().equals(data.column("value").combine_chunks())
    assert found.column("key").combine_chunks().equals(data.column("key").combine_chunks())


@pytest.mark.parametrize("batch_size", [200, 1000, 16384, 100_000])
def test_a_batch_ends_before_the_record_that_would_pass(batch_size: int, rows: pa.Table) -> None:
    """No batch is larger, and none could have had the next one's first record as well."""
    found = batches(kafka_segments.encode_records(rows.slice(0, 20_000), batch_size=batch_size))
    assert all(batch.size <= batch_size or batch.num_records == 1 for batch in found)
    for batch, following in list(pairwise(found))[:: max(1, len(found) // 50)]:
        with_next = rows.slice(batch.base_offset, following.base_offset - batch.base_offset + 1)
        assert kafka_segments.predicted_size(with_next, batch_size=1 << 30) > batch_size


def test_pieces_stay_what_they_are(rows: pa.Table) -> None:
    """Memory is used again only when nobody looks at it any more."""
    options = {"batch_size": 5000}
    rows = pa.concat_tables([rows, rows])
    whole = kafka_segments.encode_records(rows, **options)
    pieces = list(kafka_segments.iter_encoded(rows, **options))
    assert len(pieces) > 2
    more = list(kafka_segments.iter_encoded(rows, **options))
    assert b"".join(pieces) == b"".join(more) == whole
    assert all(piece.readonly for piece in pieces)
    assert all(len(piece) < 2 * encoder.SIZE_PIECE for piece in pieces)


def test_large_records_among_small_ones() -> None:
    """A record that is larger than a batch, and than the memory for batches, has a batch of its own."""
    sizes = [10, 20_000, 10, 10, 5 << 20, 3, 1 << 20, 0, 17_000]
    rows = [{"value": bytes([at]) * size} for at, size in enumerate(sizes)]
    data = kafka_segments.encode_records(rows, max_message_bytes=None)
    assert [batch.num_records for batch in batches(data)] == [1, 1, 2, 1, 1, 1, 1, 1]
    assert [record[3] for record in records(data)] == [row["value"] for row in rows]
    for magic in (0, 1):
        assert len(records(kafka_segments.encode_records(rows, magic=magic, max_message_bytes=None))) == 9
        packed = kafka_segments.encode_records(rows, magic=magic, compression="lz4", max_message_bytes=None)
        assert [record[3] for record in records(packed)] == [row["value"] for row in rows]


def test_offsets_far_apart_make_batches_of_their_own() -> None:
    """An offset delta has 32 bits."""
    offsets = [0, 2**31 - 1, 2**31, 2**40, 2**40 + 1, 2**63 - 1]
    rows = [{"offset": offset, "value": b"v"} for offset in offsets]
    for options in ({}, {"compression": "zstd"}, {"magic": 1, "compression": "gzip"}):
        data = kafka_segments.encode_records(rows, **options)  # type: ignore[arg-type]
        assert [record[0] for record in records(data)] == offsets
        assert [batch.last_offset for batch in batches(data)] == [2**31 - 1, 2**31, 2**40 + 1, 2**63 - 1]


def test_offsets_end_somewhere() -> None:
    last = kafka_segments.encode_records([{"value": b"v"}] * 2, base_offset=2**63 - 3)
    assert [record[0] for record in records(last)] == [2**63 - 3, 2**63 - 2]
    with pytest.raises(EncodeError, match="offsets"):
        kafka_segments.encode_records([{"value": b"v"}] * 2, base_offset=2**63 - 1)


COLUMNS: dict[str, tuple[Any, list[tuple[Any, ...]]]] = {
    "text": (
        pa.table({"key": pa.array(["ä", None]), "value": pa.array(["x", ""], pa.large_string())}),
        [("ä".encode(), b"x"), (None, b"")],
    ),
    "views": (
        pa.table(
            {"key": pa.array([b"a", None], pa.binary_view()), "value": pa.array(["b", "c"], pa.string_view())}
        ),
        [(b"a", b"b"), (None, b"c")],
    ),
    "fixed and dictionary": (
        pa.table(
            {"key": pa.array([b"aa", None], pa.binary(2)), "value": pa.array(["b", "b"]).dictionary_encode()}
        ),
        [(b"aa", b"b"), (None, b"b")],
    ),
    "no keys": (pa.table({"value": pa.array([b"a", None])}), [(None, b"a"), (None, None)]),
    "no values": (pa.table({"key": pa.array([b"a", None])}), [(b"a", None), (None, None)]),
    "nothing but nulls": (
        pa.table({"key": pa.nulls(2), "value": pa.array([b"a", b"b"])}),
        [(None, b"a"), (None, b"b")],
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_other_types(name: str) -> None:
    data, expect = COLUMNS[name]
    found = records(kafka_segments.encode_records(data))
    assert [(key, value) for _offset, _time, key, value, _headers in found] == expect


def test_headers_of_other_types() -> None:
    """Maps and large lists; null lists are no headers, null structs are refused."""
    kind = pa.map_(pa.string(), pa.binary())
    for column in (
        pa.array([[("a", b"1"), ("a", None)], None, []], kind),
        pa.array(
            [[{"value": b"1", "key": "a"}, {"value": None, "key": "a"}], None, []],
            pa.large_list(pa.struct([("value", pa.large_binary()), ("key", pa.string())])),
        ),
    ):
        data = pa.table({"value": [b"v"] * 3, "headers": column})
        found = records(kafka_segments.encode_records(data))
        assert [record[4] for record in found] == [((b"a", b"1"), (b"a", None)), (), ()]
        assert records(kafka_segments.encode_records(data.slice(1))) == [
            (at, *record[1:]) for at, record in enumerate(found[1:])
        ]
    empty = kafka_segments.encode_records(pa.table({"value": [b"v"], "headers": pa.nulls(1)}))
    assert records(empty)[0][4] == ()
    null = pa.array([[], [None]], pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())])))
    with pytest.raises(EncodeError) as caught:
        kafka_segments.encode_records(pa.table({"value": [b"v", b"w"], "headers": null}))
    assert (caught.value.rule, caught.value.row) == ("null_header_key", 1)


def test_null_lists_that_hide_headers() -> None:
    """A null list may have items under it, which do not count."""
    items = pa.array([{"key": b"a", "value": b"1"}] * 3)
    headers = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3], pa.int32()), items, mask=pa.array([False, True, False])
    )
    found = records(kafka_segments.encode_records(pa.table({"value": [b"v"] * 3, "headers": headers})))
    assert [len(record[4]) for record in found] == [1, 0, 1]


@pytest.mark.parametrize(
    "options",
    [
        {"magick": 2},
        {"magic": "2"},
        {"batch_size": -1},
        {"batch_size": 2**31},
        {"base_offset": -1},
        {"producer_epoch": 2**15},
        {"timestamp_type": "NoTimestampType"},
        {"timestamp_type": "LogAppendTime"},
        {"log_append_time": 5},
        {"max_message_bytes": 1.5},
        {"compression": "snappy", "compression_level": 1},
        {"compression_level": 1},
        {"compression": None},
    ],
)
def test_other_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        kafka_segments.encode_records([{"value": b"v"}], **options)


def test_sizes_of_compressed_batches_cannot_be_told() -> None:
    with pytest.raises(OptionError, match="compressed"):
        kafka_segments.predicted_size([{"value": b"v"}], compression="gzip")


def test_the_worked_example() -> None:
    """Two records as `shared/kafka-format.md` computes them: 85 bytes, checksum DBDA21C9; 78 in magic 1."""
    rows = [{"timestamp": 1_714_000_000_000, "value": word} for word in (b"hello", b"world")]
    data = kafka_segments.encode_records(rows)
    assert len(data) == kafka_segments.predicted_size(rows) == 85
    (batch,) = batches(data)
    assert batch.crc == 0xDBDA21C9
    assert kafka_segments.predicted_size(rows, magic=1) == 78


@pytest.mark.long(short=False)  # it compiles all encoders
def test_no_access_is_outside(rows: pa.Table) -> None:
    """Compiled with checks of every access, where a wrong one stops the process: the same bytes."""
    code = (
        "import hashlib\n"
        "from tests.write.test_pieces import WAYS, table, encoded\n"
        "rows = table()\n"
        "for way in WAYS: print(hashlib.sha256(encoded(rows, way)).hexdigest())\n"
    )
    done = run_python("-c", code, env={"KAFKA_SEGMENTS_CHECK_BOUNDS": "1"})
    assert done.stdout.split() == [hashlib.sha256(encoded(rows, way)).hexdigest() for way in WAYS]
