"""Entries in other forms: against `convert`, against what is read back, and unchanged in their own form."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from tests.made.samples import RECORDED, in_every_run
from tests.made.segments import some_segment
from tests.write.sparse_logs import batches

from kafka_segments import down_convert, open_segment, up_convert
from kafka_segments.errors import OptionError
from kafka_segments.write.entry_records import read_entry_records
from kafka_segments.write.sizes import Form, is_possible
from kafka_segments.write.sizes.recoding import EncodedForm, GivenEntries, Recoder, piece_of

FORMS = [
    Form(magic, codec, level, size)
    for magic in (0, 1, 2, 3)
    for codec, level in (("none", None), ("gzip", 1), ("snappy", None), ("lz4", None), ("zstd", 3))
    for size in (None, 2000)
]
POSSIBLE = [form for form in FORMS if is_possible(form)]
LOGS = sorted(name for name in in_every_run() if name.endswith(".log"))
Row = tuple[Any, ...]


def piece(data: bytes) -> GivenEntries:
    return piece_of(read_entry_records(data))


def recoded(form: Form, data: bytes) -> EncodedForm:
    return Recoder(form).recode(piece(data))


def rows(data: bytes, magic: int) -> list[Row]:
    """What a format carries of records."""
    with open_segment(data, experimental_magic3=magic == 3) as segment:
        found = segment.read_batches(["offset", "timestamp_ms", "key", "value", "headers"]).read_all()
    columns = [found.column(name).to_pylist() for name in found.column_names]
    return [carried(row, magic) for row in zip(*columns, strict=True)]


def carried(row: Row, magic: int) -> Row:
    offset, timestamp, key, value, headers = row
    return offset, timestamp if magic else None, key, value, headers if magic >= 2 else []


def recorded(name: str) -> bytes:
    return (RECORDED / name).read_bytes()


@pytest.mark.parametrize("form", POSSIBLE, ids=str)
def test_every_form_holds_the_same_records(form: Form) -> None:
    source = some_segment(60)
    there = [carried(row, form.magic) for row in rows(source, 2)]
    found = recoded(form, source)
    assert rows(b"".join(found.data), form.magic) == there
    assert int(found.counts.sum()) == len(there)
    assert int(found.sizes.sum()) == sum(map(len, found.data))


def test_segments_without_compression_stay_as_they_are() -> None:
    num_same_size = num_same_bytes = 0
    for given, data in ((piece(recorded(name)), recorded(name)) for name in LOGS):
        table = given.entries.table
        magics = set(table.column("magic").tolist())
        if given.num_refused or given.entries.damages or table.column("codec").any() or len(magics) != 1:
            continue
        found = Recoder(Form(magics.pop())).recode(given)
        assert found.num_bytes == given.entries.num_bytes
        num_same_size += 1
        # The batches of markers are not in the data, and readers do not see producers' own timestamps.
        if not len(given.copied) and not table.column("timestamp_type").any():
            assert b"".join(found.data) == data[: given.entries.num_bytes]
            num_same_bytes += 1
    assert num_same_size > 15
    assert num_same_bytes > 10


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_going_down_takes_what_convert_takes(codec: str, magic: int) -> None:
    source = batches(Random(7), 40_000, codecs=(codec,))
    converted = down_convert(source, magic).to_bytes()
    assert recoded(Form(magic, codec), source).num_bytes == len(converted)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_going_up_takes_what_convert_takes(codec: str, magic: int) -> None:
    old = down_convert(batches(Random(8), 40_000, codecs=(codec,)), magic).to_bytes()
    assert recoded(Form(2, codec), old).num_bytes == len(up_convert(old).to_bytes())


def test_pieces_that_continue_make_the_batches_of_the_whole() -> None:
    source = batches(Random(9), 60_000)
    form = Form(2, "zstd", None, 5000)
    whole = recoded(form, source)
    recoder, total, count = Recoder(form), 0, 0
    heads = read_entry_records(source).table
    cuts = [0, heads.value(2, "end_position"), heads.value(5, "end_position"), len(source)]
    for start, end in pairwise(cuts):
        part = recoder.recode(piece(source[start:end]), continues=True)
        total, count = total + part.num_bytes, count + len(part.sizes)
    rest = recoder.finish()
    assert (total + rest.num_bytes, count + len(rest.sizes)) == (whole.num_bytes, len(whole.sizes))


def test_what_kafka_refuses_is_left_out_and_counted() -> None:
    given = piece(recorded("kafka-4.3/clean/negative-aiokafka-0/00000000000000000000.log"))
    assert given.num_refused == 2
    assert len(given.entries.heads) == 2


def test_damaged_entries_are_left_out_and_their_neighbours_read() -> None:
    source = bytearray(some_segment(40))
    entries = read_entry_records(bytes(source))
    position = entries.table.value(7, "end_position") - 1
    source[position] ^= 0xFF
    found = read_entry_records(bytes(source))
    assert len(found.damages) == 1
    assert len(found.heads) == len(entries.heads) - 1
    assert found.records.num_rows == entries.records.num_rows - int(entries.num_records[7])


def test_forms_that_kafka_does_not_have_are_refused() -> None:
    assert not is_possible(Form(1, "zstd"))
    with pytest.raises(OptionError, match="zstd"):
        Recoder(Form(1, "zstd"))
    with pytest.raises(OptionError, match="compression_level"):
        Recoder(Form(2, "gzip", 99))
