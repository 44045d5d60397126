"""Walks over headers: in one go, from an entry on, over a range of offsets; and the rows made of them.

Headers are judged by the Kaitai classes, which read the same entries one by one.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
from tests.fuzz import parts
from tests.fuzz.guard import place

from kafka_segments import Batch, Damage, open_segment
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.core.segment.columnar.header_table import iter_tables, overview
from kafka_segments.core.segment.columnar.offset_coverage import OffsetCoverage
from kafka_segments.core.segment.columnar.read_range import OffsetRange, ReadRange
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import find_entries, find_last, iter_headers

Row = dict[str, Any]
TIMES = ("base_timestamp", "max_timestamp")


def walks(dice: Random, data: bytes) -> str:
    """`iter_headers`, `iter_tables`, `overview` and `find_entries` agree with the whole, read slowly."""
    data = parts.longer(dice, data)
    source = open_source(place(dice, data))
    try:
        with open_segment(data, headers_only=True) as segment:
            found = list(segment.iter_entries("skip"))
        batches = [one for one in found if isinstance(one, Batch)]
        damaged = [one.position for one in found if isinstance(one, Damage)]
        first = dice.choice(batches).position if batches else 0
        check_pieces(source, first, batches, damaged)
        check_tables(dice, source, first, batches, damaged)
        check_found(dice, source, batches, damaged)
    finally:
        source.close()
    return "damaged" if damaged else "sound"


def check_pieces(source: Source, first: int, batches: list[Batch], damaged: list[int]) -> None:
    """From an entry on come the entries that are there, and damage in its place."""
    rows, places = [], []
    for piece in iter_headers(source, first):
        if isinstance(piece, Damage):
            places.append(piece.position)
        else:
            rows += list(
                zip(*(piece.column(name).tolist() for name in ("position", "end_position")), strict=True)
            )
    assert places == [position for position in damaged if position >= first]
    assert sorted(rows) == rows
    assert [row[0] for row in rows] == [one.position for one in batches if one.position >= first]


def check_tables(dice: Random, source: Source, first: int, batches: list[Batch], damaged: list[int]) -> None:
    """A range's headers are those up to where the reading ends, each as the Kaitai classes have it."""
    before = [parts.last_offset(one) for one in batches if one.position < first]
    previous = before[-1] if before else None
    end = dice.choice([None, *map(parts.last_offset, batches)])
    end_position = dice.choice((None, 0, dice.randrange(source.size + 1)))
    coverage = dice.choice((None, OffsetCoverage()))
    read_range = ReadRange(first, previous, end_position, coverage)
    rows: list[Row] = []
    places = []
    for piece in iter_tables(source, OffsetRange(None, end), read_range):
        if isinstance(piece, EntryTable):
            arrow = overview(piece)
            arrow.validate(full=True)
            rows += plain(arrow)
        else:
            places.append(piece.position)
    behind = [one for one in batches if one.position >= first]
    entries = [parts.Entry(one, one) for one in batches]
    last = parts.ending(entries, len(before), end, end_position, source.size)
    assert rows == [row_of(one) for one in behind if one.position < last]
    assert places == [position for position in damaged if first <= position < last]
    if coverage is not None:
        sound = [one for one in behind if one.position < last]
        assert coverage.is_ended == (last < source.size)
        parts.check_coverage(coverage, sound, places)


def plain(arrow: pa.RecordBatch) -> list[Row]:
    """Rows with times as numbers: not every long is a date."""
    columns = {name: arrow.column(name) for name in arrow.schema.names}
    columns |= {name: columns[name].view(pa.int64()) for name in TIMES}
    lists = [column.to_pylist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def row_of(batch: Batch) -> Row:
    """What the overview is to show of a batch or message."""
    is_batch = batch.magic >= 2
    kind = parts.TIMESTAMP_TYPES[batch.timestamp_type]

    def unless_none(number: int) -> int | None:
        return number if is_batch and number != -1 else None

    return {
        "position": batch.position,
        "size": batch.size,
        "base_offset": parts.first_offset(batch),
        "last_offset": batch.last_offset,
        "num_records": batch.num_records if is_batch or batch.compression_id else 1,
        "magic": batch.magic,
        "compression": batch.compression,
        "timestamp_type": kind,
        "base_timestamp": batch.base_timestamp,
        "max_timestamp": batch.max_timestamp if batch.magic else None,
        "leader_epoch": unless_none(batch.partition_leader_epoch),
        "producer_id": unless_none(batch.producer_id),
        "producer_epoch": unless_none(batch.producer_epoch),
        "base_sequence": unless_none(batch.base_sequence),
        "is_transactional": batch.is_transactional,
        "is_control": batch.is_control,
        "has_delete_horizon": batch.delete_horizon_ms is not None,
        "crc": batch.crc,
    }


def check_found(dice: Random, source: Source, batches: list[Batch], damaged: list[int]) -> None:
    """Where an offset is looked for, nothing before it can have that offset or a higher one."""
    offsets = [parts.last_offset(one) for one in batches] or [0]
    offset = offsets[dice.randrange(len(offsets))] + dice.choice((-1, 0, 0, 1))
    starts = [one.position for one in batches]
    assert find_last(source) == (starts[-2:] or [0])[0]
    found = find_entries(source, offset)
    assert len(found) <= 2
    assert set(found) <= {one.position for one in batches}
    assert sorted(found, reverse=True) == found
    if found and not damaged:
        passed_over = [one for one in batches if one.position < found[0]]
        assert all(one.highest_offset < offset for one in passed_over if one.magic >= 2)
