"""Whether the cleaner has been in a segment is asked again when the file has changed."""

from __future__ import annotations

import os
from pathlib import Path

from tests.made.encoder import Batch, Record
from tests.query.splits import stored

from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.segment_extents import shows_cleaner


def _segment(*bases: int) -> bytes:
    records = Record(0, 0, None, b"a"), Record(1, 1, None, b"b")
    return b"".join(Batch(base, records, leader_epoch=0).encode() for base in bases)


def test_a_file_that_is_written_over_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(_segment(0, 3))
    assert shows_cleaner(Places(), stored(path))
    with path.open("r+b") as file:
        file.write(_segment(0, 2))
    os.utime(path, ns=(1, 1))
    assert not shows_cleaner(Places(), stored(path))
