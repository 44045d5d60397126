"""Checksums: the published check values, and that they go on from a value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_segments.core.formats.checksum import crc32, crc32c

CHECK = b"123456789"


def test_check_values_of_the_crc_catalogue() -> None:
    assert crc32c(CHECK) == 0xE3069283
    assert crc32(CHECK) == 0xCBF43926


def test_rfc_3720_vectors() -> None:
    """Appendix B.4: 32 bytes of zeros, of ones, ascending."""
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


@pytest.mark.parametrize("checksum", [crc32c, crc32])
def test_empty_is_zero(checksum) -> None:
    assert checksum(b"") == 0


@given(data=st.binary(), cut=st.integers(0, 300))
def test_goes_on_from_a_value_and_takes_views(data: bytes, cut: int) -> None:
    view = memoryview(data)
    for checksum in (crc32c, crc32):
        assert checksum(view[cut:], checksum(view[:cut])) == checksum(data)
        assert 0 <= checksum(data) < 1 << 32
