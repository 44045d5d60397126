"""Checksums of spans equal those computed directly; none is answered across a bad block."""

from __future__ import annotations

import random
import zlib

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.scan.crc_spans import CRC32_POLYNOMIAL, CRC32C_POLYNOMIAL, SpanChecksums
from kafka_segments.errors import ReadError

DATA = random.Random(1).randbytes(3_300_000)
CRC32C = SpanChecksums(open_source(DATA), crc32c.crc32c, CRC32C_POLYNOMIAL)
CRC32 = SpanChecksums(open_source(DATA), zlib.crc32, CRC32_POLYNOMIAL)
positions = st.integers(0, len(DATA))


@given(positions, positions)
def test_spans_equal_what_is_computed_directly(one: int, other: int) -> None:
    start, end = min(one, other), max(one, other)
    assert CRC32C.checksum(start, end) == crc32c.crc32c(DATA[start:end])
    assert CRC32.checksum(start, end) == zlib.crc32(DATA[start:end])


@pytest.mark.parametrize("start", [0, 1, 16383, 16384, 16385, 1 << 20])
@pytest.mark.parametrize("size", [0, 1, 16384, 32768, 1 << 20, (1 << 21) + 1])
def test_spans_at_the_edges_of_the_grid(start: int, size: int) -> None:
    assert CRC32C.checksum(start, start + size) == crc32c.crc32c(DATA[start : start + size])


class BrokenSource:
    """The data, with one byte that cannot be read."""

    name = "broken"
    size = len(DATA)
    bad = 1_700_000

    def read(self, position: int, size: int) -> bytes:
        if position <= self.bad < position + size:
            raise ReadError("bad", position=self.bad)
        return DATA[position : position + size]

    def close(self) -> None:
        pass


def test_no_span_is_answered_across_what_cannot_be_read() -> None:
    spans = SpanChecksums(BrokenSource(), crc32c.crc32c, CRC32C_POLYNOMIAL)
    with pytest.raises(ReadError):
        spans.checksum(5, len(DATA))
    with pytest.raises(ReadError):
        spans.checksum(1_699_990, 1_700_010)
    assert spans.checksum(5, 1_600_000) == crc32c.crc32c(DATA[5:1_600_000])
    assert spans.checksum(1_800_000, len(DATA)) == crc32c.crc32c(DATA[1_800_000:])
