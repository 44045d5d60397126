"""Target `entry_records`: entries in memory with the records of each."""

from __future__ import annotations

from random import Random

from tests.fuzz.checks import MAX_DECOMPRESSED, word

from kafka_segments.write.entry_records import read_entry_records, read_small_entries


def entry_records(dice: Random, data: bytes) -> str:
    """The records of each entry are those that it has alone; with a bound they are the same or none."""
    found = read_entry_records(data, max_decompressed=MAX_DECOMPRESSED)
    found.records.validate(full=True)
    assert len(found.heads) == len(found.num_records)
    assert found.num_records.sum() == found.records.num_rows
    positions, ends = (found.table.column(name).tolist() for name in ("position", "end_position"))
    assert all(end <= start for end, start in zip([0, *ends], [*positions, len(data)], strict=True))
    first = 0
    for position, end, count in zip(positions, ends, found.num_records.tolist(), strict=True):
        alone = read_entry_records(data[position:end], max_decompressed=MAX_DECOMPRESSED)
        assert alone.records.equals(found.records.slice(first, count))
        first += count
    bound = dice.choice((0, 100, 1 << 20))
    bounded = read_small_entries(data, max_decompressed=MAX_DECOMPRESSED, max_content=bound)
    assert bounded is None or bounded.records.equals(found.records)
    return word(list(found.damages))
