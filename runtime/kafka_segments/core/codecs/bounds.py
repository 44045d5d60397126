"""Bounds on the content of compressed batches, so that a small file is never expensive to read.

A few hundred bytes can decompress to hundreds of MiB and to millions of records. Producers stay far below
both bounds: the densest batches of valid records, empty ones with consecutive offsets, have 1.7 records a
byte with zstd, and gzip cannot expand a thousandfold.

Reading record by record and compiled decoders accept the same, with one difference: the former makes an
object of each record header, which is bounded in number, the latter only needs its bytes, bounded in size. So
`read_batches` returns records whose headers `iter_events` rejects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka_segments.errors import DecompressionError

__all__ = [
    "ALWAYS_ALLOWED",
    "CONTROL_BYTES_PER_ITEM",
    "DEFAULT_MAX_DECOMPRESSED",
    "EXPANSION",
    "ITEMS_PER_BYTE",
    "MORE_ITEMS",
    "BoundedOutput",
    "ItemBudget",
    "content_bound",
    "is_trusted",
    "malformed",
    "other_bound",
    "possible_records",
]

DEFAULT_MAX_DECOMPRESSED = 256 << 20
"""Bytes that one payload may decompress to by default: 256 MiB.

A compressed batch has at most the topic's `max.message.bytes` (1 MiB by default), and typically expands up to
20-fold; 256 MiB leaves room for tenfold limits and very repetitive data, and fits a Spark task of 1 GiB.
"""

_VARIABLE = "KAFKA_SEGMENTS_MAX_DECOMPRESSED_BYTES"

ITEMS_PER_BYTE = 3
"""Records and headers that may be read one by one for each byte of the compressed batches of a pass."""

MORE_ITEMS = 200_000
"""Further records and headers that one pass over a segment may read: headers repeated in each record compress
to almost nothing, and one record of a MiB holds as many of five bytes."""

CONTROL_BYTES_PER_ITEM = 4
"""Bytes of a control record's value that count as one record.

The smallest repeated part of a value, a tagged field, has two bytes and takes half a record's time. Kafka
itself does not compress control batches.
"""

EXPANSION = 1000
"""Default bound of a payload's expansion, above 32 MiB."""

ALWAYS_ALLOWED = 32 << 20
"""Bytes that the smallest payload may decompress to, for values of zeros in throughput tests."""


def content_bound(len_payload: int, max_decompressed: int) -> int:
    """Bytes that a payload may decompress to: 1000 times its size, or 32 MiB if that is more.

    Never more than `max_decompressed`, which is the only bound if it is above the default (trusted data).
    """
    most = _asked(max_decompressed)
    if most > DEFAULT_MAX_DECOMPRESSED:
        return most
    return min(most, max(ALWAYS_ALLOWED, EXPANSION * len_payload))


def possible_records(num_records: Any, size: Any, codec: Any) -> Any:
    """The number of records that a header claims; 0 if the bytes of its entry cannot hold so many.

    Of numbers, or of arrays of them: `size` in bytes, `codec` 0 for none.
    """
    limit = size + (codec != 0) * ((ITEMS_PER_BYTE - 1) * size + MORE_ITEMS)
    return num_records * ((num_records >= 0) & (num_records <= limit))


def is_trusted(max_decompressed: int) -> bool:
    """Whether the data is trusted: `max_decompressed` is above the default."""
    return _asked(max_decompressed) > DEFAULT_MAX_DECOMPRESSED


def _asked(max_decompressed: int) -> int:
    """The bound itself; in place of the default the one that is set for this process and those it starts."""
    if max_decompressed != DEFAULT_MAX_DECOMPRESSED:
        return max_decompressed
    text = os.environ.get(_VARIABLE, "")
    return int(text) if text.isdecimal() else max_decompressed


@contextmanager
def other_bound(max_decompressed: int) -> Iterator[None]:
    """Have another default in this process, and in those that it starts meanwhile, if it is another."""
    before = os.environ.get(_VARIABLE, "")
    os.environ[_VARIABLE] = before if max_decompressed == DEFAULT_MAX_DECOMPRESSED else str(max_decompressed)
    try:
        yield
    finally:
        os.environ[_VARIABLE] = before


class ItemBudget:
    """Budget of records and headers of compressed batches that one pass over a segment may read one by one.

    A control record counts as two, and its value by `CONTROL_BYTES_PER_ITEM` in addition.

    Args:
        max_decompressed: bytes that a payload may decompress to; trusted data has no bound.
    """

    def __init__(self, max_decompressed: int) -> None:
        self._is_bounded = not is_trusted(max_decompressed)
        self._room = MORE_ITEMS

    def add(self, len_batch: int) -> None:
        """Raise the budget by the allowance of a compressed batch of this size."""
        self._room += ITEMS_PER_BYTE * len_batch

    def largest(self, most: int) -> int:
        """The remaining budget, but no more than `most`."""
        return max(0, min(self._room, most)) if self._is_bounded else most

    def take(self, num_items: int, codec: str | None) -> None:
        """Subtract records and headers from the budget.

        Raises:
            DecompressionError: the budget is exceeded.
        """
        self._room -= num_items
        if self._is_bounded and self._room < 0:
            raise DecompressionError(
                f"the compressed batches up to here hold more records, headers, control records and messages "
                f"than are read by default: {ITEMS_PER_BYTE} for each byte of them, and {MORE_ITEMS} more "
                "(Kafka itself has no limit); "
                f"a max_decompressed above {DEFAULT_MAX_DECOMPRESSED} lifts this bound, if the data can be "
                "trusted",
                codec=codec,
                is_bound=True,
            )

    def take_record(self, codec: str | None, num_headers: int, control_value: bytes | None) -> None:
        """Subtract a record, its headers, and the value of a control record; raises as `take`."""
        of_control = 0 if control_value is None else 1 + len(control_value) // CONTROL_BYTES_PER_ITEM
        self.take(1 + num_headers + of_control, codec)


class BoundedOutput:
    """Collector of decompressed chunks, joined once at the end, with a bound on their size.

    Args:
        codec: Kafka's name, for the error.
        max_size: bytes that may be collected.
    """

    def __init__(self, codec: str, max_size: int) -> None:
        self._codec = codec
        self._max_size = max_size
        self._chunks: list[bytes] = []
        self.size = 0

    @property
    def room(self) -> int:
        """Bytes that may still be added."""
        return self._max_size - self.size

    def reserve(self, size: int) -> None:
        """Check a chunk of `size` bytes before it is allocated.

        Raises:
            DecompressionError: it would exceed the bound.
        """
        if size > self.room:
            message = (
                f"{self._codec} payload decompresses to more than the bound of {self._max_size} bytes "
                f"(up to {DEFAULT_MAX_DECOMPRESSED}, {EXPANSION} times the payload's size is a bound too); "
                "raise the bound (--max-decompressed-bytes, max_decompressed) if the data can be trusted"
            )
            raise DecompressionError(message, codec=self._codec, is_bound=True)

    def add(self, chunk: bytes) -> None:
        """Add a chunk.

        Raises:
            DecompressionError: it exceeds the bound.
        """
        self.reserve(len(chunk))
        self.size += len(chunk)
        if chunk:
            self._chunks.append(chunk)

    def join(self) -> bytes:
        """Join all chunks; without a copy if there is only one."""
        return b"".join(self._chunks)


def malformed(codec: str, reason: str) -> DecompressionError:
    """Return the error for a payload with an invalid container."""
    return DecompressionError(f"{codec} payload does not decompress: {reason}", codec=codec)
