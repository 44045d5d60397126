"""Some columns, some offsets: what is read of a part is that part of what is read of all."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.made.encoder import Batch, Entry, encode_segment
from tests.made.shapes import QUICK, segments
from tests.properties.mutations import mutated_segments

from kafka_segments import Damage, open_segment

# Few, as each is compiled once.
PROJECTIONS = [("value",), ("offset", "key"), ("headers", "timestamp")]
OFFSETS = st.one_of(st.none(), st.sampled_from([0, 1, 7, 8, 300, 5000, 5003, (1 << 31) - 2, (1 << 32) + 1]))


def read(
    data: bytes, columns: tuple[str, ...] | None, offsets: tuple[int | None, int | None] | None
) -> tuple[pa.Table, list[Damage]]:
    """A table, and the damage that was told."""
    damage: list[Damage] = []
    with open_segment(data) as segment:
        table = segment.read_batches(columns, offsets, on_damage=damage.append).read_all()
    table.validate(full=True)
    return table, damage


def tells_its_offsets(entry: Entry) -> bool:
    """Whether no record is below the offset in the header: such a batch is passed over by its header."""
    return not isinstance(entry, Batch) or all(row.offset >= entry.base_offset for row in entry.rows())


@pytest.mark.parametrize("columns", PROJECTIONS, ids="+".join)
@settings(QUICK, max_examples=200)
@given(segments(), OFFSETS, OFFSETS)
def test_part_of_a_segment(
    columns: tuple[str, ...], entries: list[Entry], start: int | None, end: int | None
) -> None:
    data = encode_segment(filter(tells_its_offsets, entries))
    whole, damage = read(data, None, None)
    assert damage == []
    table, damage = read(data, columns, (start, end))
    assert damage == []
    wanted = pc.scalar(True)
    if start is not None:
        wanted &= pc.field("offset") >= start
    if end is not None:
        wanted &= pc.field("offset") < end
    assert table.equals(whole.filter(wanted).select(columns))


@settings(QUICK, max_examples=200)
@given(mutated_segments())
def test_some_columns_of_a_damaged_segment(data: bytes) -> None:
    whole, all_damage = read(data, None, None)
    for columns in PROJECTIONS:
        table, damage = read(data, columns, None)
        assert table.equals(whole.select(columns))
        assert [(found.position, str(found.error)) for found in damage] == [
            (found.position, str(found.error)) for found in all_damage
        ]
