"""Bounds on what a compressed batch may hold for its size, so that a small file never costs much to read.

A few hundred bytes can decompress to hundreds of MiB and to millions of records. What producers write is far
from both bounds: the densest batches of lawful records, empty ones with offsets one after the other, have
1.7 records a byte under zstd, and gzip cannot expand a thousandfold.

Two ways of reading, one measure: what the record-by-record way delivers, the compiled decoders do too. With
one difference: a header costs the first an object, for which there is a bound, and the second the bytes that
it has, which have their own. So `read_batches` delivers records whose headers `iter_events` refuses by name.
To refuse them there too would take from a user what costs little.
"""

from __future__ import annotations

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
]

DEFAULT_MAX_DECOMPRESSED = 256 << 20
"""Bytes that one payload may decompress to, unless the caller says otherwise: 256 MiB.

A compressed batch is at most the topic's `max.message.bytes` (1 MiB by default), which the four codecs
widen 20-fold on good days; 256 MiB leaves room for tenfold limits and very repetitive data, and a Spark
task of 1 GiB survives it.
"""

ITEMS_PER_BYTE = 3
"""Records and headers that are read one by one for each byte of the compressed batches of a pass so far."""

MORE_ITEMS = 200_000
"""Records and headers that are read besides, in one pass over a segment: the same headers with each record
take next to nothing in a compressed batch, and one record of a MiB holds so many of five bytes."""

CONTROL_BYTES_PER_ITEM = 4
"""Bytes of a control record's value that count as much as a record.

The smallest thing of which a value can hold many, a tagged field, has two bytes and takes half a record's
time. Kafka does not compress control batches at all.
"""

EXPANSION = 1000
"""Times its size that a payload may decompress to by default, if that is more than 32 MiB."""

ALWAYS_ALLOWED = 32 << 20
"""Bytes that the smallest payload may decompress to: values of zeros, as tests of throughput have them."""


def content_bound(len_payload: int, max_decompressed: int) -> int:
    """Bytes that a payload may decompress to: the larger of 1000 times its size and 32 MiB.

    No more than `max_decompressed` in any case.
    A caller who raises `max_decompressed` above the default trusts the data: then it alone counts.
    """
    if is_trusted(max_decompressed):
        return max_decompressed
    return min(max_decompressed, max(ALWAYS_ALLOWED, EXPANSION * len_payload))


def is_trusted(max_decompressed: int) -> bool:
    """Whether the caller trusts the data: it may decompress to more than is allowed by default."""
    return max_decompressed > DEFAULT_MAX_DECOMPRESSED


class ItemBudget:
    """How many records and headers of compressed batches one pass over a segment may still read one by one.

    A control record counts as two, and its value by `CONTROL_BYTES_PER_ITEM` besides.

    Args:
        max_decompressed: bytes that a payload may decompress to; there is no bound if the data is trusted.
    """

    def __init__(self, max_decompressed: int) -> None:
        self._is_bounded = not is_trusted(max_decompressed)
        self._room = MORE_ITEMS

    def add(self, len_batch: int) -> None:
        """Allow for what a compressed batch of this size may hold."""
        self._room += ITEMS_PER_BYTE * len_batch

    def largest(self, most: int) -> int:
        """How many may be taken at once, `most` at the most."""
        return max(0, min(self._room, most)) if self._is_bounded else most

    def take(self, num_items: int, codec: str | None) -> None:
        """Count records and headers.

        Raises:
            DecompressionError: there are too many.
        """
        self._room -= num_items
        if self._is_bounded and self._room < 0:
            raise DecompressionError(
                f"the compressed batches up to here hold more records, headers and fields of control records "
                f"than are read by default: {ITEMS_PER_BYTE} for each byte of them, and {MORE_ITEMS} more "
                "(Kafka itself has no limit); "
                f"a max_decompressed above {DEFAULT_MAX_DECOMPRESSED} lifts this bound, if the data can be "
                "trusted",
                codec=codec,
            )

    def take_record(self, codec: str | None, num_headers: int, control_value: bytes | None) -> None:
        """Count a record with its headers, and the value of a control record; raises as `take`."""
        of_control = 0 if control_value is None else 1 + len(control_value) // CONTROL_BYTES_PER_ITEM
        self.take(1 + num_headers + of_control, codec)


class BoundedOutput:
    """Collects decompressed chunks, joined once at the end; refuses to pass its bound.

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
        """Bytes that may still come."""
        return self._max_size - self.size

    def reserve(self, size: int) -> None:
        """Refuses a chunk of `size` bytes that would pass the bound, before it is allocated.

        Raises:
            DecompressionError: it would.
        """
        if size > self.room:
            message = (
                f"{self._codec} payload decompresses to more than the bound of {self._max_size} bytes "
                f"(max_decompressed; up to {DEFAULT_MAX_DECOMPRESSED}, {EXPANSION} times the payload's size "
                "is a bound too); raise the bound if the data can be trusted"
            )
            raise DecompressionError(message, codec=self._codec)

    def add(self, chunk: bytes) -> None:
        """Takes a chunk.

        Raises:
            DecompressionError: it passes the bound.
        """
        self.reserve(len(chunk))
        self.size += len(chunk)
        if chunk:
            self._chunks.append(chunk)

    def join(self) -> bytes:
        """All chunks as one; without a copy if there is only one."""
        return b"".join(self._chunks)


def malformed(codec: str, reason: str) -> DecompressionError:
    """The error for a payload that breaks the rules of its container."""
    return DecompressionError(f"{codec} payload does not decompress: {reason}", codec=codec)
