"""Partitions of keys: Kafka's own test values, kafka-python's partitioner, and parts of Arrow's arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from kafka.partitioner.default import murmur2

from kafka_segments.write.partitioner import partitions_by_key

# UtilsTest.testMurmur2
HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
MOST = (1 << 31) - 1


def partitions(keys: pa.Array, number: int) -> list[int]:
    found: list[int] = partitions_by_key(keys, number).tolist()
    return found


def test_kafkas_own_values() -> None:
    # All but the sign bit is seen through as many partitions as there can be.
    expected = [(value & 0x7FFFFFFF) % MOST for value in HASHES.values()]
    assert partitions(pa.array(list(HASHES), pa.binary()), MOST) == expected


def test_keys_of_all_lengths_as_in_kafka_python() -> None:
    content = np.random.default_rng(5).bytes(4000)
    keys = [content[at : at + at % 67] for at in range(0, 3000, 7)] + [b"", content]
    expected = [(murmur2(key) & 0x7FFFFFFF) % 12 for key in keys]
    assert partitions(pa.array(keys, pa.binary()), 12) == expected
    assert len(set(expected)) == 12


def test_parts_of_arrays_and_nulls() -> None:
    keys = pa.array([b"before", *HASHES, None, b"abc"], pa.binary())
    assert partitions(keys.slice(1, 6), 7) == partitions(pa.array(list(HASHES), pa.binary()), 7)
    assert partitions(keys, 7)[-1] == partitions(keys.slice(6, 1), 7)[0]
    assert partitions(keys.slice(0, 0), 7) == []
