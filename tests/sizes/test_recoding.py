"""Entries in other forms: against `convert`, against what is read back, and unchanged in their own form."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from tests.made.samples import RECORDED, in_every_run
from tests.made.segments import some_segment
from tests.sizes.sparse_logs import batches

from kafka_segments import down_convert, open_segment, up_convert
from kafka_segments.errors import OptionError
from kafka_segments.sizes.entry_pieces import EntryPiece, PieceReader
from kafka_segments.sizes.recoding import Form, Recoder, is_possible

FORMS = [
    Form(magic, codec, level, size)
    for magic in (0, 1, 2, 3)
    for codec, level in (("none", None), ("gzip", 1), ("snappy", None), ("lz4", None), ("zstd", 3))
    for size in (None, 2000)
]
POSSIBLE = [form for form in FORMS if is_possible(form)]
LOGS = sorted(name for name in in_every_run() if name.endswith(".log"))
Row = tuple[Any, ...]


def piece(data: bytes) -> EntryPiece:
    """All entries, which are sound."""
    (found,) = PieceReader(64 << 20).pieces("log", data, 0)
    assert isinstance(found, EntryPiece)
    return found


def encoded(form: Form, data: bytes) -> bytes:
    """The data records in another form."""
    recoder = Recoder(form, is_whole=False)
    return b"".join([one.data for one in list(recoder.encode(piece(data)))])


def num_bytes(form: Form, *pieces: bytes) -> tuple[int, int]:
    """The bytes and the batches of all entries of a file in another form."""
    recoder = Recoder(form, is_whole=True)
    for one in pieces:
        recoder.measure(piece(one))
    recoder.finish()
    return recoder.num_bytes, recoder.num_batches


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
    data = encoded(form, source)
    assert rows(data, form.magic) == [carried(row, form.magic) for row in rows(source, 2)]
    recoder = Recoder(form, is_whole=True)
    recoder.measure(piece(source))
    recoder.finish()
    copied = 0 if form.magic < 2 else int(piece(source).sizes[piece(source).num_records == 0].sum())
    assert (recoder.num_bytes, recoder.num_records) == (len(data) + copied, len(rows(source, 2)))


def test_segments_without_compression_stay_as_they_are() -> None:
    num_same_size = num_same_bytes = 0
    for data in map(recorded, LOGS):
        found = [*PieceReader(64 << 20).pieces("log", data, 0)]
        if len(found) != 1 or not isinstance(given := found[0], EntryPiece):
            continue
        magics = set(given.table.column("magic").tolist())
        if given.num_refused or given.table.column("codec").any() or len(magics) != 1:
            continue
        form = Form(magics.pop())
        assert num_bytes(form, data)[0] == given.num_bytes
        num_same_size += 1
        # The batches of markers are not in the data, and readers do not see producers' own timestamps.
        if given.num_records.all() and not given.table.column("timestamp_type").any():
            assert encoded(form, data) == data[: given.num_bytes]
            num_same_bytes += 1
    assert num_same_size > 15
    assert num_same_bytes > 10


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_other_formats_take_what_convert_takes(codec: str, magic: int) -> None:
    source = batches(Random(7), 40_000, codecs=(codec,))
    old = down_convert(source, magic).to_bytes()
    assert num_bytes(Form(magic, codec), source)[0] == len(old)
    assert num_bytes(Form(2, codec), old)[0] == len(up_convert(old).to_bytes())


def test_pieces_that_continue_make_the_batches_of_the_whole() -> None:
    source, form = batches(Random(9), 60_000), Form(2, "zstd", None, 5000)
    heads = piece(source).table
    cuts = [0, heads.value(2, "end_position"), heads.value(5, "end_position"), len(source)]
    parts = [source[start:end] for start, end in pairwise(cuts)]
    assert num_bytes(form, *parts) == num_bytes(form, source)


def test_a_codec_that_a_format_lacks_is_refused() -> None:
    with pytest.raises(OptionError, match="zstd"):
        Recoder(Form(1, "zstd"), is_whole=True)
