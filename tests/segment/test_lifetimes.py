"""What was handed out stays as it is: after the next batch, after `close`, in other threads and processes."""

from __future__ import annotations

import ctypes
import gc
import io
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute
import pytest
from tests.made.build import batch, record
from tests.made.segments import rows, slowly, some_segment
from tests.python import run_python

from kafka_segments import open_segment, read_table
from kafka_segments.core.native.arena import Arena, ArenaPool
from kafka_segments.core.segment.columnar import decoding
from kafka_segments.core.segment.columnar.record_columns import Capacity
from kafka_segments.errors import OptionError

DATA = some_segment(400, seed=2)
EXPECTED = slowly(DATA)


@pytest.fixture
def small_arenas(monkeypatch):
    """So that many are used, and used again."""
    monkeypatch.setattr(
        decoding.RecordDecoder.__init__, "__kwdefaults__", {"capacity": Capacity(50, 8192, 200)}
    )


@pytest.fixture(params=["bytes", "path", "mmap", "stream"])
def source(request, tmp_path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(DATA)
    if request.param == "bytes":
        return bytearray(DATA), {}
    if request.param == "stream":
        return io.BytesIO(DATA), {}
    return path, {"mmap": request.param == "mmap"}


@pytest.fixture(params=["copy", "view"])
def binary(request):
    return request.param


@pytest.mark.usefixtures("small_arenas")
def test_keep_all_close_compare(source, binary):
    opened, options = source
    with open_segment(opened, **options) as segment:
        kept = list(segment.read_batches(binary=binary))
        for _ in segment.read_batches(binary=binary):
            pass  # arenas that are free are filled anew
    if isinstance(opened, bytearray) and binary == "view":
        pass  # these bytes belong to the caller
    elif isinstance(opened, bytearray):
        opened[:] = bytes(len(opened))
    elif not isinstance(opened, io.BytesIO) and not (options["mmap"] and binary == "view"):
        opened.write_bytes(bytes(len(DATA)))
        opened.unlink()
    gc.collect()
    assert len(kept) > 20
    assert rows(kept) == EXPECTED


@pytest.mark.usefixtures("small_arenas")
def test_a_slice_or_a_column_keeps_its_memory(source, binary):
    with open_segment(source[0], **source[1]) as segment:
        columns, slices = [], []
        for one in segment.read_batches(binary=binary):
            columns.append(one.column("value"))
            slices.append(one.slice(1, 3).column("key"))
            del one
            gc.collect(1)  # what is young: all that was made here
        other = [one.column("value") for one in segment.read_batches(binary=binary)]
    assert pa.chunked_array(columns).to_pylist() == [one[3] for one in EXPECTED]
    assert pa.chunked_array(other).to_pylist() == [one[3] for one in EXPECTED]
    assert sum(map(len, slices)) > 0


def test_memory_is_used_again_when_nobody_looks():
    pool = ArenaPool([("a", 100)])
    lease = pool.take()
    address = lease.arena.addresses["a"]
    buffer = pa.foreign_buffer(address, 10, lease)
    part = buffer.slice(2, 4)
    del lease, buffer
    other = pool.take()
    assert other.arena.addresses["a"] != address
    del part
    again = pool.take()
    assert again.arena.addresses["a"] == address


def test_a_large_arena_that_was_full_is_replaced_once():
    """By one in huge pages, where the system has any; of that nothing is known."""
    pool = ArenaPool([("a", 3 << 20)])
    first = pool.take()
    first.arena.dirty, address = frozenset(), first.arena.addresses["a"]
    del first
    first = pool.take()
    assert (first.arena.addresses["a"], first.arena.dirty) == (address, frozenset())
    first.arena.is_full = True
    assert not first.arena.is_lasting
    del first
    second = pool.take()
    assert second.arena.is_lasting
    assert second.arena.dirty == {"a"}
    address = second.arena.addresses["a"]
    ctypes.memset(address, 7, 3 << 20)
    second.arena.dirty = frozenset()
    del second
    third = pool.take()
    assert (third.arena.addresses["a"], third.arena.dirty) == (address, frozenset())
    assert ctypes.string_at(address, 3 << 20) == b"\7" * (3 << 20)


@pytest.mark.usefixtures("small_arenas")
def test_a_batch_that_was_dropped_leaves_its_memory_to_the_next():
    addresses = []
    with open_segment(DATA) as segment:
        for one in segment.read_batches(["value"]):
            addresses.append(one.column(0).buffers()[2].address)
            del one
    assert len(addresses) > 20
    assert len(set(addresses)) == 1


def test_an_arena_that_is_too_large_is_no_memory():
    with pytest.raises(MemoryError, match=f"cannot allocate {1 << 62} bytes"):
        Arena([("values", 1 << 62)])


def test_objects_do_not_alias_either(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(DATA)
    with open_segment(path) as segment:
        events = list(segment.iter_events())
        batches = list(segment.iter_entries())
    path.write_bytes(bytes(len(DATA)))
    with open_segment(DATA) as segment:
        assert [str(event) for event in segment.iter_events()] == [
            str(event).replace(str(path), "<bytes>") for event in events
        ]
    assert batches


@pytest.mark.usefixtures("small_arenas")
def test_threads_share_a_segment(source, binary):
    opened, options = source
    with open_segment(opened, **options) as segment, ThreadPoolExecutor(4) as threads:
        barrier = threading.Barrier(4)

        def read(_: int) -> list:
            barrier.wait()
            return rows(list(segment.read_batches(binary=binary)))

        assert all(found == EXPECTED for found in threads.map(read, range(4)))


def test_pickles_of_segments(tmp_path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(DATA)
    with open_segment(path, check_crc=False, max_decompressed=1 << 20) as segment:
        pickled = pickle.dumps(segment)
        program = (
            "import pickle, sys\n"
            "with pickle.loads(sys.stdin.buffer.read()) as segment:\n"
            "    print(segment.path, segment.read_batches(['offset']).read_all().num_rows)\n"
        )
        done = run_python("-c", program, input=pickled, text=False)
        assert done.stdout.decode().split() == [str(path), str(len(EXPECTED))]
    for opened in (DATA, io.BytesIO(DATA)):
        with open_segment(opened) as segment, pytest.raises(OptionError, match="path"):
            pickle.dumps(segment)


def test_other_libraries_take_the_stream():
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    pytest.importorskip("pandas")
    values = [one[3] for one in EXPECTED]
    with open_segment(DATA) as segment:
        frame = polars.DataFrame(segment.read_batches(["offset", "value"]))
        assert frame["value"].to_list() == values
        reader = segment.read_batches(["offset", "key", "value"])
        (counted,) = duckdb.sql("select count(*), count(value) from reader").fetchall()
        assert reader.schema.names == ["offset", "key", "value"]
        assert counted == (len(EXPECTED), sum(value is not None for value in values))
        pandas = segment.read_batches(["offset", "value"]).read_pandas()
        assert list(pandas["offset"]) == [one[0] for one in EXPECTED]


def test_the_stream_goes_through_the_c_interface_without_a_copy():
    with open_segment(DATA) as segment:
        reader = segment.read_batches(["value"])
        imported = pa.RecordBatchReader._import_from_c_capsule(reader.__arrow_c_stream__())
        kept = list(imported)
    assert [value for one in kept for value in one.column(0).to_pylist()] == [one[3] for one in EXPECTED]


@pytest.mark.long(short=False)
def test_no_offset_passes_two_gibibytes(tmp_path):
    """More than 2 GiB in one column: each chunk has offsets of its own, none of which wraps around."""
    zstandard = pytest.importorskip("zstandard")
    value = bytes(64 << 20)
    payload = zstandard.ZstdCompressor(level=1).compress(record(0, None, value) + record(1, None, value))
    path = tmp_path / "file"
    with path.open("wb") as file:
        for number in range(18):
            file.write(batch(2 * number, payload=payload, attributes=4, count=2, last_offset_delta=1))
    total = num_rows = 0
    with open_segment(path, max_decompressed=257 << 20) as segment:
        for one in segment.read_batches(["value"]):
            lengths = pyarrow.compute.binary_length(one.column(0)).to_pylist()
            assert set(lengths) == {len(value)}
            total += sum(lengths)
            num_rows += len(lengths)
    assert (num_rows, total) == (36, 36 * len(value))
    assert total > 2**31


PROGRAM = """
import resource, sys
import kafka_segments
from kafka_segments.core.segment.columnar import reader
with kafka_segments.open_segment(b"") as segment:
    segment.read_batches().read_all()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
num_rows = 0
with kafka_segments.open_segment(sys.argv[1]) as segment:
    for batch in segment.read_batches(binary=sys.argv[2]):
        num_rows += batch.num_rows
        del batch
print(num_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_file(tmp_path, binary):
    one = b"".join(
        batch(at, [record(n, b"key", b"v" * 150) for n in range(90)], count=90, last_offset_delta=89)
        for at in range(0, 9000, 90)
    )
    grown = []
    for factor in (20, 160):
        path = tmp_path / str(factor)
        path.write_bytes(one * factor)
        done = run_python("-c", PROGRAM, path, binary)
        num_rows, kib = map(int, done.stdout.split())
        assert num_rows == 9000 * factor
        grown.append(kib)
    assert grown[1] < grown[0] + (8 << 10)
    assert grown[1] < 100 << 10


def test_read_table_equals_the_stream(tmp_path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(DATA)
    table = read_table(path)
    with open_segment(path) as segment:
        assert table.equals(segment.read_batches().read_all())


FREED = """
import sys, threading
from kafka_segments.core.native import arena
arena._MAX_FREE = 0  # memory is unmapped at once when nothing refers to it: to read it ends the process
from kafka_segments import open_segment, read_table

path, binary = sys.argv[1:]
expected, kept = read_table(path, ["offset", "key", "value", "headers"]), []

def read(first):
    with open_segment(path) as segment:
        for number, one in enumerate(segment.read_batches(expected.schema.names, binary=binary)):
            if number % 2 == first:
                kept.append(one.slice(1, max(1, len(one) - 2)))

for first in (0, 1):
    thread = threading.Thread(target=read, args=(first,))
    thread.start()
    thread.join()
for one in kept:
    one.validate(full=True)
    start = expected.column("offset").index(one.column("offset")[0]).as_py()
    assert one.to_pylist() == expected.slice(start, len(one)).to_pylist()
print(len(kept))
"""


@pytest.mark.parametrize("codec", [0, 4])
def test_nothing_refers_to_memory_that_went_back(tmp_path, binary, codec):
    """What a batch refers to stays mapped, without its file, its reader and its thread."""
    zstandard = pytest.importorskip("zstandard")
    found = []
    for at in range(0, 4000, 4):
        records = [record(n, b"%d" % n, b"%08d" % (at + n) * 400, [(b"name", b"h" * 40)]) for n in range(4)]
        payload = zstandard.ZstdCompressor().compress(b"".join(records)) if codec else None
        more = {"payload": payload} if codec else {}
        found.append(
            batch(at, [] if codec else records, count=4, last_offset_delta=3, attributes=codec, **more)
        )
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(found))
    done = run_python("-c", FREED, path, binary)
    assert int(done.stdout) >= 2
