"""The runtime frames, checks and scans a format that it has never heard of, by what its schemas generate."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from tests.fixtures.package import Invented, compiled
from tests.fixtures.test_compact import ENTRIES, HELLO, MAGIC_2, MAGIC_3, build, entry, records_of
from tests.made.segments import rows

from kafka_segments.core.formats.entries import Damage, SoundBatches
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA
from kafka_segments.core.segment.columnar.reader import ColumnarReader

COLUMNS = pa.schema([SCHEMA.field(name) for name in ("offset", "timestamp", "key", "value", "headers")])


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Invented]:
    with compiled(tmp_path_factory.mktemp("invented")) as found:
        yield found


def events(invented: Invented, data: bytes, check_crc: bool = True) -> list:
    reader = ColumnarReader(
        open_source(data),
        schema=COLUMNS,
        start=None,
        end=None,
        check_crc=check_crc,
        max_decompressed=1 << 20,
        module=invented.module("columns", "compact_log_segment"),
    )
    return list(reader.events())


def test_records_of_both_formats_come_in_order(invented: Invented) -> None:
    data = MAGIC_3 + MAGIC_2 + build(invented, ENTRIES) + MAGIC_3
    found = events(invented, data)
    expected = [
        (row["offset"], row["timestamp"], row["key"], row["value"], row["headers"])
        for row in records_of(invented, data, machine_code=True)
    ]
    assert rows(event for event in found if isinstance(event, pa.RecordBatch)) == expected
    counts = [event for event in found if isinstance(event, SoundBatches)]
    assert sum(count.num_batches for count in counts) == 3 + len(ENTRIES)
    assert sum(count.num_bytes for count in counts) == len(data)
    assert not any(isinstance(event, Damage) for event in found)


def test_a_wrong_checksum_is_noticed(invented: Invented) -> None:
    wrong = bytearray(MAGIC_3)
    wrong[-2] ^= 1
    found = events(invented, MAGIC_2 + bytes(wrong))
    assert len(rows(event for event in found if isinstance(event, pa.RecordBatch))) == 2
    (damage,) = [event for event in found if isinstance(event, Damage)]
    assert damage.position == len(MAGIC_2)
    unchecked = events(invented, MAGIC_2 + bytes(wrong), check_crc=False)
    values = [row[3] for row in rows(event for event in unchecked if isinstance(event, pa.RecordBatch))]
    assert values == [b"hello", b"world", b"hello", b"worle"]


def test_a_cut_entry_is_noticed(invented: Invented) -> None:
    last = build(invented, [entry(3, -1, HELLO)])  # no zeros: those could be a preallocated rest
    for size in range(1, len(last)):
        found = events(invented, MAGIC_3 + last[:size])
        assert len(rows(event for event in found if isinstance(event, pa.RecordBatch))) == 2
        (damage,) = [event for event in found if isinstance(event, Damage)]
        assert (damage.position, damage.end_position) == (len(MAGIC_3), len(MAGIC_3) + size)
