"""Numbers that are wider than their column: the plain form keeps the lowest bits, as machine code does."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_segments.core.formats import increment_sequence
from kafka_segments_generated.columns.support import store


@pytest.mark.parametrize("value", [-2147483651, 2147483648, -(1 << 40) - 3, 5, -1])
def test_lowest_bits_are_kept(value: int) -> None:
    array = np.zeros(1, np.int32)
    store(array, 0, value)
    assert int(array[0]) == int(np.array([value], np.int64).astype(np.int32)[0])


def test_sequence_wraps_as_kafka_adds_it_up() -> None:
    """DefaultRecordBatch.incrementSequence, in ints, with a delta that no producer writes."""
    sequence, delta = 2147483645, -2147483648
    array = np.zeros(1, np.int32)
    store(array, 0, delta - (2147483647 - sequence) - 1)
    assert int(array[0]) == increment_sequence(sequence, delta)
