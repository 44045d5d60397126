"""Bounds on what a compressed batch may hold for its size, so that a small file never costs much to read.

A few hundred bytes can decompress to hundreds of MiB and to millions of records. What producers write is far
from both bounds: the densest batches of lawful records, empty ones with offsets one behind the other, have
1.7 records a byte under zstd, and gzip cannot expand a thousandfold.
"""

from __future__ import annotations

from kafka_segments.errors import DecompressionError

__all__ = [
    "ALWAYS_ALLOWED",
    "DEFAULT_MAX_DECOMPRESSED",
    "EXPANSION",
    "ITEMS_PER_BYTE",
    "content_bound",
    "items_bound",
    "too_many_items",
]

DEFAULT_MAX_DECOMPRESSED = 256 << 20
"""Bytes that one payload may decompress to, unless the caller says otherwise: 256 MiB.

A compressed batch is at most the topic's `max.message.bytes` (1 MiB by default), which the four codecs
widen 20-fold on good days; 256 MiB leaves room for tenfold limits and very repetitive data, and a Spark
task of 1 GiB survives it.
"""

ITEMS_PER_BYTE = 4
"""Records and headers, together, that a compressed batch may hold for each byte of its size."""

EXPANSION = 1000
"""Times its size that a payload may decompress to by default, if that is more than 32 MiB."""

ALWAYS_ALLOWED = 32 << 20
"""Bytes that the smallest payload may decompress to: values of zeros, as tests of throughput have them."""


def content_bound(len_payload: int, max_decompressed: int) -> int:
    """Bytes that a payload may decompress to: the larger of 1000 times its size and 32 MiB.

    No more than `max_decompressed` in any case.
    A caller who raises `max_decompressed` above the default trusts the data: then it alone counts.
    """
    if max_decompressed > DEFAULT_MAX_DECOMPRESSED:
        return max_decompressed
    return min(max_decompressed, max(ALWAYS_ALLOWED, EXPANSION * len_payload))


def items_bound(size: int, max_decompressed: int) -> int | None:
    """Records and headers that a compressed batch of `size` bytes may hold; None if the data is trusted."""
    return None if max_decompressed > DEFAULT_MAX_DECOMPRESSED else ITEMS_PER_BYTE * size


def too_many_items(size: int, codec: str | None) -> DecompressionError:
    """The error for a compressed batch or message that holds more than `compression.bounds` allows."""
    detail = (
        f"its {size} bytes hold more than {ITEMS_PER_BYTE * size} records and headers, the bound of "
        f"{ITEMS_PER_BYTE} for each byte of a compressed batch (Kafka itself has no limit); a "
        f"max_decompressed above {DEFAULT_MAX_DECOMPRESSED} lifts it, if the data can be trusted"
    )
    return DecompressionError(detail, codec=codec)
