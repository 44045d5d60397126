"""Products of polynomials by ordinary multiplication are those that are worked out bit by bit."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kafka_segments.core.segment.scan.crc_spans import CRC32_POLYNOMIAL, CRC32C_POLYNOMIAL, multiply

pytest.importorskip("numba")
searching = pytest.importorskip("kafka_segments.core.segment.scan.compiled_search")

EDGES = (0, 1, 2, 1 << 30, 1 << 31, 0x11111111, 0x88888888, (1 << 32) - 1)


@pytest.mark.parametrize("polynomial", [CRC32_POLYNOMIAL, CRC32C_POLYNOMIAL])
def test_products_are_those_bit_by_bit(polynomial: int) -> None:
    tables = np.array(searching._reducing(polynomial), np.int64)
    dice = Random(5)
    pairs = [(one, other) for one in EDGES for other in EDGES]
    pairs += [(dice.getrandbits(32), dice.getrandbits(32)) for _ in range(3000)]
    for one, other in pairs:
        assert searching.product(one, other, tables, 0) == multiply(one, other, polynomial)
