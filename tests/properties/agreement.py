"""The comparison itself: one segment's bytes, every reader, and what they must say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.made.encoder import Entry, Row, encode_segment
from tests.properties.reading import Reader


def assert_read(readers: Sequence[Reader], data: bytes, rows: list[Row]) -> Counter[str]:
    """Sound bytes: every reader gives these records, and no damage; returns how many it gave."""
    given: Counter[str] = Counter()
    for reader in readers:
        reading = reader.read(data)
        assert reading.rows == reader.rows(rows), reader.name
        assert reading.damage == [], reader.name
        given[f"records read by {reader.name}"] += len(reading.rows)
    return given


def assert_entries_read(readers: Sequence[Reader], entries: Sequence[Entry]) -> Counter[str]:
    """Every reader gives what the encoder was given."""
    try:
        rows = [row for entry in entries for row in entry.rows()]
        return assert_read(readers, encode_segment(entries), rows)
    except AssertionError:
        for entry in entries:  # one that fails alone says more
            assert_read(readers, entry.encode(), entry.rows())
        raise
