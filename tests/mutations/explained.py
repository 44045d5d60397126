"""Where Kafka's reader and ours lawfully differ: all of it, and nothing else passes.

Each entry is a predicate on the bytes alone, with the line of Kafka 4.3.1 that makes the difference, a small
vector that shows it, and a near miss: bytes much like it that the entry must not cover, on which both agree.
`test_judged.py` holds each to that, counts how often a run needed it, and fails where a full run never did.

Not here, as no case is so large: we refuse more than a million headers in a record (`MAX_NUM_HEADERS`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from tests.made.encoder import LOG_OVERHEAD, V2_HEADER, Batch, Message, Record, Wrapper
from tests.mutations import frames
from tests.mutations.verdicts import MAX_DECOMPRESSED

MANY_BYTES = 1 << 27
"""More than the judge's memory has in one piece, beside what it needs itself."""


class Explained(NamedTuple):
    """One difference.

    Attributes:
        name: a few words.
        line: of Kafka's source, release 4.3.1.
        why: what Kafka does there, and what we do.
        covers: whether the bytes are such; nothing but the bytes is asked.
        vector: bytes that are, on which the two differ.
        near_miss: bytes that are not, on which they agree.
    """

    name: str
    line: str
    why: str
    covers: Callable[[bytes], bool]
    vector: bytes
    near_miss: bytes


def _has_strange_magic(data: bytes) -> bool:
    return any(entry[16] > 2 for entry in frames.entries(data))


def _has_bytes_behind_no_records(data: bytes) -> bool:
    return any(frames.count(batch) == 0 and len(batch) > V2_HEADER for batch in frames.batches(data))


def _names_codec_of_nothing(data: bytes) -> bool:
    needs_head = ("gzip", "snappy", "lz4")
    empty = (batch for batch in frames.batches(data) if frames.count(batch) == 0 and len(batch) == V2_HEADER)
    return any(frames.codec(batch) in needs_head for batch in empty)


def _ends_within_an_entry(data: bytes) -> bool:
    rest = frames.rest(data)
    if len(rest) <= frames.LEN_PREFIX:
        return any(rest)
    return frames.claimed(rest) >= frames.LEAST_SIZE


def _ends_in_zeros(data: bytes) -> bool:
    rest = frames.rest(data)
    return len(rest) > frames.LEN_PREFIX and not any(rest)


def _claims_much_inside(data: bytes) -> bool:
    for entry, content in frames.payloads(data):
        inside = frames.rest(content) if entry[16] < 2 else b""
        if len(inside) >= LOG_OVERHEAD and frames.claimed(inside) >= MANY_BYTES:
            return True
    return False


def _decompresses_to_much(data: bytes) -> bool:
    return any(len(content) > MAX_DECOMPRESSED for _, content in frames.payloads(data))


PLAIN = Batch(records=(Record(value=b"v"),))
EMPTIED = Batch(last_offset_delta=3)
OF_MAGIC_3 = PLAIN.encode()[:16] + b"\3" + PLAIN.encode()[17:]
LARGE = b"\0" * MAX_DECOMPRESSED


def _ending_in(size: int) -> bytes:
    """A wrapper with a message, and behind it one that says it has so many bytes."""
    inner = Message(value=b"v").encode() + struct.pack(">qi", 1, size) + b"cut off"
    return Wrapper(messages=(Message(value=b"v"),), inner=inner).encode()


EXPLAINED = [
    Explained(
        "magic neither 0, 1 nor 2",
        "FileLogInputStream.java:87",
        "Kafka takes each above 2 for 2, and each below 0 for 1; we: UnsupportedMagicError",
        _has_strange_magic,
        OF_MAGIC_3,
        PLAIN.encode(),
    ),
    Explained(
        "count 0 with bytes behind the header",
        "DefaultRecordBatch.java:593",
        "Kafka reads no record and so looks at nothing; we say that bytes are left, or do not decompress",
        _has_bytes_behind_no_records,
        Batch(records=(Record(value=b"v"),), count=0).encode(),
        EMPTIED.encode(),
    ),
    Explained(
        "codec named, count 0, no bytes",
        "DefaultRecordBatch.java:276",
        "Kafka opens a stream of no bytes, which gzip, snappy and lz4 refuse; we: a lawful empty batch",
        _names_codec_of_nothing,
        Batch(form="gzip", last_offset_delta=3).encode(),
        Batch(form="zstd", last_offset_delta=3).encode(),
    ),
    Explained(
        "ends within an entry",
        "FileLogInputStream.java:81",
        "Kafka's reader ends there without a word (so it does at line 66, for up to 17 bytes); "
        "we: TruncatedError",
        _ends_within_an_entry,
        PLAIN.encode()[:-1],
        PLAIN.encode() + b"\0" * frames.LEN_PREFIX,
    ),
    Explained(
        "ends in zeros",
        "FileLogInputStream.java:78",
        "Kafka complains of a record of size 0; we: the padding of a preallocated file",
        _ends_in_zeros,
        PLAIN.encode() + b"\0" * (frames.LEN_PREFIX + 1),
        PLAIN.encode() + b"\0" * frames.LEN_PREFIX,
    ),
    Explained(
        "inner message that claims more than the memory",
        "AbstractLegacyRecordBatch.java:305",
        "Kafka allocates what it claims, and has an OutOfMemoryError; we: cut off, which ends the wrapper",
        _claims_much_inside,
        _ending_in(1 << 30),
        _ending_in(1 << 20),
    ),
    Explained(
        "payload that decompresses to more than the bound",
        "DefaultRecordBatch.java:275",
        "Kafka decompresses without a bound; we: DecompressionError (here from 1 MiB on)",
        _decompresses_to_much,
        Batch(records=(Record(value=LARGE),), form="gzip").encode(),
        Batch(records=(Record(value=LARGE[:-100]),), form="gzip").encode(),
    ),
]


def explanation(data: bytes) -> Explained | None:
    """The first entry that covers these bytes."""
    return next((entry for entry in EXPLAINED if entry.covers(data)), None)
