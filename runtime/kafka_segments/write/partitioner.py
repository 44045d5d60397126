"""Kafka's default partitioner for records with keys, over whole columns.

Strategy: murmur2 goes through a key word by word; numpy takes one such step for all keys at once, with the
longest keys first, so that the keys that take part in a step are always the first ones. Keys are copied to
words, the last of each filled up with zeros: what murmur2 does with one to three bytes comes to that.
"""

from __future__ import annotations

from typing import Any

from kafka_segments.core.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)

# isort: split
import numpy as np
import pyarrow as pa
import pyarrow.compute

__all__ = ["partitions_by_key"]

pc: Any = pyarrow.compute  # its functions are made while it is imported: no type checker sees them
_SEED = np.uint32(0x9747B28C)
_FACTOR = np.uint32(0x5BD1E995)
_WORD = np.dtype(np.uint32)


def partitions_by_key(keys: pa.Array, num_partitions: int) -> Any:
    """Return the partition of each key, as `BuiltInPartitioner.partitionForKey` in a producer.

    Args:
        keys: binary; the partition of a null is without meaning.
        num_partitions: of the topic.

    Returns:
        An array of int64.
    """
    alone = keys.fill_null(b"").take(pa.array(np.arange(len(keys))))  # without what lies around a part
    lengths = pc.binary_length(alone).to_numpy().astype(np.int64)
    content = alone.buffers()[-1]
    joined = np.frombuffer(content, np.uint8) if content else np.empty(0, np.uint8)
    positive = _murmur2(joined[: lengths.sum()], lengths) & np.uint32(0x7FFFFFFF)  # Utils.toPositive
    return positive.astype(np.int64) % num_partitions


def _murmur2(joined: Any, lengths: Any) -> Any:
    """Return `Utils.murmur2` of keys that lie one after the other, as an array of uint32."""
    words, starts = _as_words(joined, lengths)
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    hashes = _SEED ^ lengths.astype(np.uint32)
    num_whole = lengths // _WORD.itemsize
    for word in range(int(num_whole.max(initial=0))):
        count = int(np.searchsorted(-num_whole, -word, side="left"))
        mixed = words[starts[:count] + word] * _FACTOR
        mixed = (mixed ^ (mixed >> np.uint32(24))) * _FACTOR
        hashes[:count] = (hashes[:count] * _FACTOR) ^ mixed
    rows = np.flatnonzero(lengths % _WORD.itemsize)
    hashes[rows] = (hashes[rows] ^ words[starts[rows] + num_whole[rows]]) * _FACTOR
    hashes = (hashes ^ (hashes >> np.uint32(13))) * _FACTOR
    found = np.empty_like(hashes)
    found[order] = hashes ^ (hashes >> np.uint32(15))
    return found


def _as_words(joined: Any, lengths: Any) -> tuple[Any, Any]:
    """Copy keys to words of their own; return the words, and the number of each key's first one."""
    num_words = -(-lengths // _WORD.itemsize)
    starts = np.cumsum(num_words) - num_words
    filled = np.zeros(int(num_words.sum()) * _WORD.itemsize, np.uint8)
    moved = starts * _WORD.itemsize - (np.cumsum(lengths) - lengths)
    filled[np.arange(len(joined)) + np.repeat(moved, lengths)] = joined
    return filled.view(_WORD), starts
