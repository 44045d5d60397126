"""Kafka's default partitioner for records with keys, over whole columns.

Strategy: murmur2 goes through a key four bytes at a time; numpy takes one such step for all keys at once,
with the longest keys first, so that the keys that take part in a step are always the first ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["partitions_by_key"]

_SEED = 0x9747B28C
_FACTOR = np.uint32(0x5BD1E995)
_WORD = 4


def partitions_by_key(keys: pa.Array, num_partitions: int) -> Any:
    """Return the partition of each key, as `BuiltInPartitioner.partitionForKey` in a producer.

    Args:
        keys: binary; the partition of a null is without meaning.
        num_partitions: of the topic.

    Returns:
        An array of int64.
    """
    _validity, bounds, content = keys.buffers()
    ends = np.frombuffer(bounds, np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    data = np.frombuffer(content if content is not None else b"", np.uint8)
    hashes = _murmur2(data, ends[:-1], np.diff(ends))
    return (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % num_partitions


def _murmur2(data: Any, starts: Any, lengths: Any) -> Any:
    """Return `Utils.murmur2` of pieces of `data`, as an array of uint32."""
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    hashes = np.uint32(_SEED) ^ lengths.astype(np.uint32)
    num_words = lengths // _WORD
    for word in range(int(num_words[0]) if len(num_words) else 0):
        count = int(np.searchsorted(-num_words, -word, side="left"))
        at = starts[:count] + word * _WORD
        mixed = _little_endian(data, at) * _FACTOR
        mixed = (mixed ^ (mixed >> np.uint32(24))) * _FACTOR
        hashes[:count] = (hashes[:count] * _FACTOR) ^ mixed
    hashes = _with_rest(hashes, data, starts + num_words * _WORD, lengths % _WORD)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * _FACTOR
    found = np.empty_like(hashes)
    found[order] = hashes ^ (hashes >> np.uint32(15))
    return found


def _little_endian(data: Any, at: Any) -> Any:
    """Return the four bytes at each place as a number."""
    word = np.zeros(len(at), np.uint32)
    for byte in range(_WORD):
        word |= data[at + byte].astype(np.uint32) << np.uint32(8 * byte)
    return word


def _with_rest(hashes: Any, data: Any, at: Any, num_left: Any) -> Any:
    """Return hashes with the one to three bytes that are left after the words."""
    for byte in (2, 1, 0):
        rows = np.flatnonzero(num_left > byte)
        hashes[rows] ^= data[at[rows] + byte].astype(np.uint32) << np.uint32(8 * byte)
    rows = np.flatnonzero(num_left > 0)
    hashes[rows] *= _FACTOR
    return hashes
