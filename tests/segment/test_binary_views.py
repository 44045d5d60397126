"""Columns of views: the same bytes, not copied, and no more memory held than documented."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from tests.made.build import batch, record

from kafka_segments import open_partition, open_segment, read_table, scan
from kafka_segments.core.native import arena
from kafka_segments.core.segment.columnar.arrow_schema import copied_schema, schema_of, viewed_schema
from kafka_segments.core.segment.columnar.batch_form import MOST_VIEWED_BUFFERS
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.columnar.viewed_bytes import ViewedBytes, rows_where
from kafka_segments.core.segment.scan.scanner import returned
from kafka_segments.core.segment.table import SCHEMA
from kafka_segments.errors import OptionError
from kafka_segments_generated.columns import kafka_log_segment, kafka_record

VALUE = b"a value of more than twelve bytes, number "
NAME = "00000000000000000000.log"


def segment_of(num_batches: int, value: bytes = VALUE, codec: int = 0, **more: Any) -> bytes:
    """Batches of 50 records; of zstd if `codec` is 4."""
    found = []
    for at in range(0, 50 * num_batches, 50):
        records = [record(n, b"k%d" % n, value + b"%d" % n, [(b"a header", value)]) for n in range(50)]
        more |= {"count": 50, "last_offset_delta": 49}
        if codec:
            zstandard = pytest.importorskip("zstandard")
            more |= {"payload": zstandard.ZstdCompressor().compress(b"".join(records)), "attributes": codec}
            records = []
        found.append(batch(at, records, **more))
    return b"".join(found)


def column_addresses(column: pa.Array) -> Iterator[tuple[int, int]]:
    """Address and size of the memory that views refer to."""
    for buffer in column.buffers()[2:]:
        yield buffer.address, buffer.size


def lies_in(column: pa.Array, data: bytes) -> bool:
    """Whether all that views refer to is in some memory."""
    start = pa.py_buffer(data).address
    places = list(column_addresses(column))
    return bool(places) and all(start <= at and at + size <= start + len(data) for at, size in places)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "orders-0"
    path.mkdir()
    (path / NAME).write_bytes(segment_of(300))
    return path


@pytest.mark.parametrize("codec", [0, 4])
def test_memory_that_is_filled_is_in_huge_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, codec: int
) -> None:
    """Not the last bytes of a file, and not a reader's first contents, which may be few."""
    asked: list[bool] = []

    class Spied(arena.Arena):
        def __init__(self, sizes: Any, *, in_huge_pages: bool = False) -> None:
            super().__init__(sizes, in_huge_pages=in_huge_pages)
            if sizes[0][0] == "scratch":
                asked.append(in_huge_pages)

    path = tmp_path / NAME
    path.write_bytes(segment_of(100, bytes(2000) if codec else Random(1).randbytes(2000), codec))
    monkeypatch.setattr(arena, "Arena", Spied)
    arena.pool_of.cache_clear()
    table = read_table(path, binary="view")
    assert len(asked) >= 4
    if codec:
        assert asked == [False, False, *[True] * (len(asked) - 2)]  # its window, then contents
    else:
        assert asked[1:] == [*[True] * (len(asked) - 2), False]  # the first one may show what is there
    assert table.num_rows == 5000
    asked.clear()
    arena.pool_of.cache_clear()
    read_table(path)
    assert asked
    assert not any(asked)


def test_the_types_are_views() -> None:
    schema = read_table(b"", binary="view").schema
    assert schema == viewed_schema(SCHEMA)
    assert copied_schema(schema) == SCHEMA
    assert schema.field("key").type == schema.field("value").type == pa.binary_view()
    header = schema.field("headers").type.value_type
    assert [field.type for field in header] == [pa.binary_view()] * 2


@pytest.mark.parametrize("codec", [0, 4])
def test_views_are_of_the_same_bytes_as_copies(tmp_path: Path, codec: int) -> None:
    data = segment_of(300, codec=codec)
    path = tmp_path / NAME
    path.write_bytes(data)
    copies = read_table(data)
    for source in (data, path):
        views = read_table(source, binary="view")
        views.validate(full=True)
        assert views.cast(SCHEMA).equals(copies)


def test_values_in_memory_are_where_they_were() -> None:
    data = segment_of(300)
    with open_segment(data) as segment:
        batches = list(segment.read_batches(binary="view"))
    assert sum(map(len, batches)) == 15_000
    for one in batches:
        assert lies_in(one.column("value"), data)
        assert lies_in(one.column("headers").values.field("value"), data)


def test_a_batch_refers_to_few_buffers() -> None:
    viewed = ViewedBytes()
    parts = [bytearray(VALUE) for _ in range(MOST_VIEWED_BUFFERS)]
    for number, part in enumerate(parts):
        assert not viewed.is_full(len(part))
        assert viewed.number_of(memoryview(part), is_lent=False) == number
    assert viewed.is_full(0)
    assert [one.obj for one in viewed.take()] == parts
    assert not viewed.is_full(len(VALUE))


def test_short_values_refer_to_nothing() -> None:
    with open_segment(segment_of(3, value=b"short ")) as segment:
        (one,) = segment.read_batches(binary="view")
    assert not list(column_addresses(one.column("value")))
    assert one.column("value")[149].as_py() == b"short 49"


def test_polars_takes_views_without_a_copy() -> None:
    polars = pytest.importorskip("polars")
    data = segment_of(300)
    with open_segment(data) as segment:
        frame = polars.DataFrame(segment.read_batches(["value"], binary="view"))
    newest = polars.CompatLevel.newest()
    chunks = [chunk.to_arrow(compat_level=newest) for chunk in frame["value"].get_chunks()]
    assert sum(map(len, chunks)) == 15_000
    assert all(lies_in(chunk, data) for chunk in chunks)


def test_the_sources_of_polars_and_duckdb_have_the_rows(folder: Path) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("duckdb")
    from kafka_segments.duckdb import relation
    from kafka_segments.polars import scan_segments

    values = scan(folder, columns=["value"]).read_all().column("value").to_pylist()
    assert scan_segments(folder, columns=["value"]).collect()["value"].to_list() == values
    assert [value for (value,) in relation(folder, columns=["value"]).fetchall()] == values
    some = relation(folder, columns=["offset", "key", "value"]).filter("key = 'k7' and \"offset\" < 100")
    assert some.fetchall() == [(7, b"k7", values[7]), (57, b"k7", values[57])]


@pytest.mark.parametrize("codec", [0, 4])
def test_a_kept_batch_holds_at_most_twice_its_bytes(tmp_path: Path, codec: int) -> None:
    path = tmp_path / NAME
    path.write_bytes(segment_of(400, value=VALUE * 20, codec=codec))
    for columns in (["key"], ["key", "offset"], ["headers"], ["value"], None):
        with open_segment(path) as segment:
            for one in segment.read_batches(columns, binary="view"):
                held = {place for column in _leaves(one) for place in column_addresses(column)}
                own = one.cast(copied_schema(one.schema)).nbytes + 16 * len(one)
                assert sum(size for _at, size in held) <= 2 * own


def _leaves(one: pa.RecordBatch) -> Iterator[pa.Array]:
    for column in one.columns:
        if pa.types.is_list(column.type):
            yield from (column.values.field(name) for name in ("key", "value"))
        elif column.type == pa.binary_view():
            yield column


def test_partitions_and_scans_have_views_too(folder: Path) -> None:
    expected = read_table(folder / NAME)
    with open_partition(folder) as partition:
        assert partition.read_table(binary="view").cast(SCHEMA).equals(expected)
    found = scan(folder, columns=SCHEMA.names, binary="view").read_all()
    assert found.schema == viewed_schema(SCHEMA)
    assert found.cast(SCHEMA).equals(expected)
    some = scan(folder, columns=["offset", "value"], offsets=(7, 12), binary="view").read_all()
    assert some.column("offset").to_pylist() == [7, 8, 9, 10, 11]
    assert some.column("value").to_pylist() == expected.column("value")[7:12].to_pylist()


def test_picked_rows_keep_their_bytes() -> None:
    np: Any = pytest.importorskip("numpy")
    with open_segment(segment_of(3)) as segment:
        (one,) = segment.read_batches(binary="view")
    values = one.column("value").to_pylist()
    for wanted in ([], [5], [5, 6, 7], [1, 9, 100]):
        mask = np.zeros(len(one), bool)
        mask[wanted] = True
        found = rows_where(one, mask)
        assert found.schema == one.schema
        assert found.column("value").to_pylist() == [values[at] for at in wanted]


def test_what_is_too_far_for_a_view_is_left_to_the_slow_way() -> None:
    """Views have places of 32 bits: a record that ends behind these is not decoded."""
    np: Any = pytest.importorskip("numpy")
    one = record(0, b"key", VALUE)
    data = np.zeros((1 << 31) + 4096, np.uint8)  # of which hardly a page takes memory
    for start, number in ((1 << 20, None), ((1 << 31) - 200, None), ((1 << 31) - 70, 0), ((1 << 31) + 9, 0)):
        data[start : start + len(one)] = np.frombuffer(one, np.uint8)
        decoder = RecordDecoder(kafka_record, schema_of(["value"], "view"), max_items=10)
        spans = np.array([[start, start + len(one), 0]], np.int64)
        table = np.zeros(kafka_log_segment.WIDTH, np.int64)
        table[kafka_log_segment.BATCH_COLUMNS.index("num_records")] = 1
        stopped = returned(
            decoder.decode(memoryview(data), (table.ctypes.data, len(table)), spans, is_lent=True)
        )
        assert (stopped and stopped.batch) == number
        rows = [value for found in decoder.flush() for value in found.column(0).to_pylist()]
        assert rows == ([VALUE] if number is None else [])


@pytest.mark.parametrize("wrong", ["views", "", None, 1])
def test_another_way_is_an_error(folder: Path, wrong: Any) -> None:
    with open_segment(b"") as segment, pytest.raises(OptionError, match="binary must be"):
        segment.read_batches(binary=wrong)
    with pytest.raises(OptionError, match="binary must be"):
        scan(folder, binary=wrong)
    with open_partition(folder) as partition, pytest.raises(OptionError, match="binary must be"):
        partition.read_batches(binary=wrong)


def long_segment(codec: int) -> bytes:
    """More than 20 MiB of content, in which no two values are alike."""
    found = []
    for at in range(0, 6000, 4):
        records = [record(n, b"%d" % (at + n), b"%08d" % (at + n) * 450) for n in range(4)]
        more: dict[str, Any] = {"count": 4, "last_offset_delta": 3, "attributes": codec}
        if codec:
            zstandard = pytest.importorskip("zstandard")
            more["payload"] = zstandard.ZstdCompressor().compress(b"".join(records))
        found.append(batch(at, [] if codec else records, **more))
    return b"".join(found)


@pytest.mark.parametrize("codec", [0, 4])
def test_no_window_is_used_again_while_a_batch_refers_to_it(tmp_path: Path, codec: int) -> None:
    path = tmp_path / NAME
    path.write_bytes(long_segment(codec))
    expected = [b"%08d" % offset * 450 for offset in range(6000)]
    found = {}
    for part in range(3):  # of which every third batch is kept
        with open_segment(path) as segment:
            for number, one in enumerate(segment.read_batches(["offset", "value"], binary="view")):
                if number % 3 == part:
                    found[one.column("offset")[0].as_py()] = one
                del one
    path.write_bytes(bytes(path.stat().st_size))
    assert len(found) > 2
    values = [value for first in sorted(found) for value in found[first].column("value").to_pylist()]
    assert values == expected
    places = {place for one in found.values() for place in column_addresses(one.column("value"))}
    assert sum(size for _at, size in places) < 2 * sum(map(len, expected))
