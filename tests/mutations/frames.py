"""Entries of a segment as its own lengths say where they are, for the predicates of `explained`.

A few lines that share nothing with the runtime: what is explained must follow from the bytes, not from what
either side says of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress

from tests.made.codecs import NAMES, plain
from tests.made.encoder import LOG_OVERHEAD, V2_HEADER

LEAST_SIZE, LEN_PREFIX = 14, 17


def entries(data: bytes) -> Iterator[bytes]:
    """Each whole one, up to the first that cannot be."""
    position = 0
    while size := whole(data, position):
        yield data[position : position + size]
        position += size


def rest(data: bytes) -> bytes:
    """What is behind the last of them."""
    return data[sum(map(len, entries(data))) :]


def whole(data: bytes, position: int) -> int:
    """The size of the entry there, 0 if there is none, or its length leads too far or nowhere."""
    if len(data) - position <= LEN_PREFIX:
        return 0
    size = claimed(data, position)
    return LOG_OVERHEAD + size if LEAST_SIZE <= size <= len(data) - position - LOG_OVERHEAD else 0


def claimed(data: bytes, position: int = 0) -> int:
    """What the length field there says."""
    size: int = struct.unpack_from(">i", data, position + 8)[0]
    return size


def batches(data: bytes) -> Iterator[bytes]:
    """The entries that are batches of magic 2, with a whole header."""
    return (entry for entry in entries(data) if entry[16] == 2 and len(entry) >= V2_HEADER)


def count(batch: bytes) -> int:
    """How many records a batch says that it has."""
    found: int = struct.unpack_from(">i", batch, V2_HEADER - 4)[0]
    return found


def codec(entry: bytes) -> str | None:
    """The codec's name, None for an unknown number."""
    return NAMES.get(entry[22 if entry[16] == 2 else 17] & 7)


def payloads(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Entries that are compressed, with what their payload decompresses to."""
    for entry in entries(data):
        if entry[16] == 2 and len(entry) < V2_HEADER:
            continue
        name, value = codec(entry), b""
        if entry[16] < 2:
            value = _value(entry)
        elif entry[16] == 2 and count(entry) > 0:
            value = entry[V2_HEADER:]
        if value and name not in (None, "none"):
            with suppress(Exception):  # whatever the libraries raise: then there is nothing inside
                yield entry, plain(name, value)


def _value(entry: bytes) -> bytes:
    """A message's value; nothing where its lengths contradict each other."""
    position = 26 if entry[16] == 1 else 18
    with suppress(struct.error):
        position += 4 + max(0, struct.unpack_from(">i", entry, position)[0])
        size = struct.unpack_from(">i", entry, position)[0]
        return entry[position + 4 : position + 4 + max(0, size)]
    return b""
