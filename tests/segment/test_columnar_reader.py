"""The columnar reader delivers what the slow way delivers, and says the same of what is damaged."""

from __future__ import annotations

import io
from random import Random

import pyarrow as pa
import pytest
from tests.forms import pick
from tests.made.build import batch, record
from tests.made.codecs import gzip_member
from tests.made.samples import sampled
from tests.made.segments import damages, recorded, row, rows, slowly, some_segment, told

import kafka_segments
from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.core.segment.columnar import decoding, fused_scan, reader
from kafka_segments.core.segment.columnar.record_columns import Capacity
from kafka_segments.core.segment.scan import scanner
from kafka_segments.core.segment.segment import fast_rows
from kafka_segments.errors import OptionError

DATA = some_segment()


@pytest.fixture(autouse=True, params=["large windows", "fused"])
def windows(request, monkeypatch):
    """Files here are mostly smaller than a window; in small ones, all but the first are fused."""
    if request.param == "fused":
        monkeypatch.setattr(scanner, "_LEN_FIRST_WINDOW", 100)
        monkeypatch.setattr(reader, "_COMPILED_FROM", 0)
        monkeypatch.setattr(scanner, "_LEN_WINDOW", 3000)
        monkeypatch.setattr(scanner, "_LEN_MEMORY_WINDOW", 3000)
        monkeypatch.setattr(fused_scan, "LEN_PIECE", 500)


def columnar(source, **options) -> list:
    with open_segment(source) as segment:
        return rows(segment.read_batches(**options))


@pytest.mark.parametrize("path", sampled(recorded()))
def test_recorded_segments(path):
    data = path.read_bytes()
    assert columnar(data, on_damage="skip") == slowly(data)


def test_every_sort_of_source(tmp_path):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(DATA)
    expected = slowly(DATA)
    assert (
        columnar(DATA)
        == columnar(path)
        == columnar(io.BytesIO(DATA))
        == columnar(bytearray(DATA))
        == expected
    )
    with open_segment(path, mmap=True) as segment, path.open("rb") as file:
        assert rows(segment.read_batches()) == columnar(file) == expected


@pytest.mark.parametrize("window", [1, 100, 4096])
def test_windows_smaller_than_an_entry(monkeypatch, tmp_path, window):
    monkeypatch.setattr(scanner, "_LEN_WINDOW", window)
    monkeypatch.setattr(scanner, "_LEN_MEMORY_WINDOW", window)
    monkeypatch.setattr(scanner, "_MAX_ROWS", 7)
    path = tmp_path / "file"
    path.write_bytes(DATA)
    assert columnar(DATA) == columnar(path) == slowly(DATA)


@pytest.mark.parametrize("capacity", [Capacity(1, 50, 1), Capacity(7, 1000, 5), Capacity(8, 1, 1000)])
def test_arenas_of_any_size(monkeypatch, capacity):
    monkeypatch.setattr(decoding.RecordDecoder.__init__, "__kwdefaults__", {"capacity": capacity})
    assert columnar(DATA) == slowly(DATA)


@pytest.mark.long
@pytest.mark.parametrize("count", [0, 1, 3, 6])
def test_damage_is_told_as_in_the_slow_way(count):
    random = Random(count)
    for _ in range(pick(8, 100)):
        data = bytearray(some_segment(40, seed=random.randrange(5)))
        for _ in range(count):
            at = random.randrange(len(data))
            if random.random() < 0.3:
                del data[at : at + random.randrange(1, 3000)]
            elif data:
                data[at] ^= 1 << random.randrange(8)
        compare(bytes(data))


@pytest.mark.parametrize(
    "payload",
    [
        record(0) + record(1) + b"\x7f",
        record(0) + b"\x80" * 11,
        record(0) + record(1)[:-1],
        gzip_member(record(0) + record(1))[:-3],
        gzip_member(record(0) + b"no record"),
        b"",
        bytes(20),
    ],
)
@pytest.mark.parametrize("codec", range(8))
@pytest.mark.parametrize("count", [-1, 0, 1, 2, 3])
def test_wrong_content_under_a_right_checksum(payload, codec, count):
    wrong = batch(10, payload=payload, count=count, attributes=codec, last_offset_delta=1)
    compare(batch(8) + wrong + batch(20) + wrong + b"garbage" * 40 + batch(40) + bytes(100))


def compare(data: bytes) -> None:
    """The rows of both ways, and what each says of damage."""
    with open_segment(data) as segment:
        found = [event for event in segment.iter_events(on_damage="skip") if isinstance(event, Damage)]
        assert damages(segment) == [told(damage) for damage in found]
        assert rows(segment.read_batches(on_damage="skip")) == slowly(data)
        if found:
            delivered = []
            with pytest.raises(type(found[0].error)) as caught:
                for one in segment.read_batches():
                    delivered.append(one)
            assert str(caught.value) == str(found[0].error)
            assert rows(delivered) == slowly(data)[: sum(map(len, delivered))]


def test_ranges_of_offsets():
    everything = slowly(DATA)
    last = everything[-1][0]
    for start, end in [
        (None, None),
        (0, None),
        (None, 7),
        (5, 6),
        (100, 400),
        (last, None),
        (last + 1, None),
        (9, 9),
    ]:
        wanted = [
            one for one in everything if (start is None or one[0] >= start) and (end is None or one[0] < end)
        ]
        assert columnar(DATA, offsets=(start, end)) == wanted, (start, end)
        with open_segment(DATA) as segment:
            table = segment.read_batches(columns=["value"], offsets=(start, end)).read_all()
        assert table.column_names == ["value"]
        assert table["value"].to_pylist() == [one[3] for one in wanted]


def test_every_choice_of_columns():
    with open_segment(DATA) as segment:
        everything = segment.read_batches().read_all()
        for columns in (
            ["headers"],
            ["key", "offset"],
            ["timestamp_type", "value"],
            ["timestamp", "headers", "key"],
        ):
            table = segment.read_batches(columns).read_all()
            assert table.equals(everything.select(columns))


def test_wrong_options():
    with open_segment(DATA) as segment:
        for options in (
            {"columns": ["nothing"]},
            {"columns": []},
            {"columns": ["key", "key"]},
            {"offsets": (1,)},
            {"offsets": 5},
            {"on_damage": "ignore"},
        ):
            with pytest.raises(OptionError):
                segment.read_batches(**options)
        with pytest.raises(OptionError):
            segment.read_headers(on_damage="ignore")


def test_without_the_instructions_for_checksums(monkeypatch):
    """On ARM, say: the package crc32c verifies what the scanner let pass."""
    monkeypatch.setattr(scanner, "has_crc32c", lambda: False)
    test_damage_is_told_as_in_the_slow_way(3)
    assert columnar(DATA) == slowly(DATA)
    for path in recorded()[::20]:
        test_recorded_segments(path)


def comparable(event):
    """An event; of damage its text, as errors that are alike are not equal."""
    return repr(event) if isinstance(event, Damage) else event


def test_fast_rows_are_the_same_objects():
    records = [record(number, b"k", b"v" * 300) for number in range(512)]
    counts = [64, 511, 300] * 12 + [512, 300] * 3
    together = [batch(512 * at, records[:count]) for at, count in enumerate(counts)]
    together.insert(20, batch(0, records[:300], count=301))  # as damaged between sound ones
    for data in [DATA, b"".join(together), *(path.read_bytes() for path in recorded()[::9])]:
        with open_segment(data) as segment:
            fast = segment.iter_events(on_damage="skip", rows=fast_rows())
            assert list(map(comparable, fast)) == list(map(comparable, segment.iter_events(on_damage="skip")))


@pytest.mark.long(short=False)
def test_a_record_that_fills_a_batch():
    """Larger than an arena, with more headers than fit, and between small ones."""
    large = record(1, b"k" * 3_000_000, b"v" * 5_000_000, ((b"h", b"w" * 2_000_000),) * 3)
    many = record(2, None, None, ((b"", None),) * 300_000)
    data = batch(0, [record(0), large, many, record(3)], count=4, last_offset_delta=3) + batch(9)
    assert columnar(data) == slowly(data)


@pytest.mark.parametrize("path", recorded()[::7], ids=lambda path: "/".join(path.parts[-4:]))
def test_headers_are_those_of_the_entries(path):
    with open_segment(path) as segment, open_segment(path.read_bytes()) as in_memory:
        table = segment.read_headers(on_damage="skip")
        assert in_memory.read_headers(on_damage="skip").equals(table)
    with open_segment(path, headers_only=True) as segment:
        entries = [entry for entry in segment.iter_entries(on_damage="skip") if isinstance(entry, Batch)]
    assert table["position"].to_pylist() == [entry.position for entry in entries]
    assert table["end_position"].to_pylist() == [entry.end_position for entry in entries]
    for name in ("magic", "crc", "num_records", "producer_id", "is_control", "base_sequence"):
        expected = [
            getattr(entry, name) if entry.magic >= 2 or name in ("magic", "crc") else None
            for entry in entries
        ]
        assert table[name].to_pylist() == expected, name
    assert table["last_offset"].to_pylist() == [entry.last_offset for entry in entries]
    assert table["compression_name"].to_pylist() == [entry.compression for entry in entries]
    kinds = [None if entry.magic == 0 else entry.timestamp_type for entry in entries]
    assert table["timestamp_type_name"].to_pylist() == kinds
    times = [None if entry.max_timestamp == -1 else entry.max_timestamp for entry in entries]
    assert table["max_timestamp"].cast(pa.int64()).to_pylist() == times


@pytest.mark.parametrize("sizes", [(1, 200_000, 1), (200_000, 1, 200_000)], ids=["small", "large"])
def test_headers_are_found_by_short_reads_and_by_long_ones(tmp_path, sizes):
    data = b"".join(
        batch(100 * run + number, [record(0, None, b"v" * size)])
        for run, size in enumerate(sizes)
        for number in range(70)
    )
    path = tmp_path / "file"
    for cut in (0, 1, 61):
        path.write_bytes(data[: len(data) - cut])
        with open_segment(path) as segment, open_segment(path.read_bytes()) as in_memory:
            table = segment.read_headers(on_damage="skip")
            assert table.equals(in_memory.read_headers(on_damage="skip"))
        offsets = [100 * run + number for run in range(3) for number in range(70)]
        assert table["base_offset"].to_pylist() == (offsets if cut == 0 else offsets[:-1])


def test_headers_of_a_single_entry_before_damage_are_kept():
    data = batch(0) + b"garbage" * 9 + batch(5) + batch(6)
    table = open_segment(data).read_headers(on_damage="skip")
    assert table["base_offset"].to_pylist() == [0, 5, 6]


def test_rows_of_a_batch_whose_offsets_wrap():
    data = batch((1 << 63) - 1, [record(0), record(1)], last_offset_delta=1)
    with open_segment(data) as segment:
        events = list(segment.iter_events())
        assert list(segment.iter_events(rows=fast_rows())) == events
    assert [event.offset for event in events[1:]] == [(1 << 63) - 1, -1 << 63]


def test_row_of_a_record():
    (one,) = [event for event in open_segment(batch(3)).iter_events() if isinstance(event, Record)]
    assert row(one)[0] == 3
    assert kafka_segments.__all__


def test_a_refused_record_leaves_nothing_behind():
    """Of its headers, the first is null, and the second not there: that was written and not counted."""
    wrong = record(1, b"k", b"v", ((b"h", None), (b"i", b"x")))[:-3]
    wrong = bytes([wrong[0] - 6]) + wrong[1:]
    data = batch(0) + batch(1, [record(0), wrong], count=2)
    sound = batch(3, [record(0, b"k", b"v", ((b"h", b"w"), (b"i", None)))])
    for _ in range(3):
        assert columnar(data + sound, on_damage="skip") == slowly(data + sound)
        assert columnar(sound) == slowly(sound)
