"""A file that is changed while it is read: an error of ours, never an assertion."""

from __future__ import annotations

import pytest
from tests.made.build import batch, record

from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import ReadError


@pytest.mark.parametrize("left", [b"", bytes(300), b"\xff" * 300], ids=["cut off", "zeros", "ones"])
def test_an_entry_that_is_gone_is_named(left: bytes, tmp_path) -> None:
    path = tmp_path / "00000000000000000000.log"
    first = batch(0, [record()])
    path.write_bytes(first + batch(1, [record(value=b"v" * 200)]))
    scan = Scan(open_source(path))
    path.write_bytes(first + left)
    with pytest.raises(ReadError, match="changed while it was read") as raised:
        scan.batch_at(len(first))
    assert raised.value.position == len(first)
