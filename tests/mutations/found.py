"""Differences that runs have found and that were put right: small bytes of each, read by both again."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from tests.made.codecs import compress
from tests.made.encoder import Batch, Message, Record, Wrapper
from tests.made.wild_payloads import zstd_claiming, zstd_stream
from tests.mutations.verdicts import BROKEN, SOUND
from tests.mutations.zstd_frames import BLOCK_FRAMES

HEADER = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
"""How snappy-java's streams begin."""
ROOM = 16 << 10
"""What Kafka has room for whenever a zstd frame begins."""


def _with_magic(magic: int) -> bytes:
    """A wrapper with a message of some magic in it, whose checksum is right."""
    inner = Message(value=b"v", timestamp=5, timestamp_type=1).encode()
    covered = bytes([magic]) + inner[17:]
    inner = inner[:12] + struct.pack(">I", zlib.crc32(covered)) + covered
    return Wrapper(messages=(Message(value=b"v"),), timestamp=9, inner=inner).encode()


def _zstd(size: int, claimed: int = 0) -> bytes:
    """A batch of so much content in a frame that claims more, in front of an empty last block."""
    batch = _of_content(size)
    frame = zstd_claiming(zstd_stream(batch.content()), size + claimed)
    return _stored(batch, frame)


def _zstd_window(size: int, window: int) -> bytes:
    """A frame that claims the right size and a window by that byte of its header (RFC 8878, 3.1.1.1.2)."""
    batch = _of_content(size)
    stream = zstd_stream(batch.content())
    claim = struct.pack("<H", size - 256)
    return _stored(batch, stream[:4] + bytes([0b0100_0000, window]) + claim + stream[6:])


def _zstd_blocks(size: int, frame: Callable[[bytes], bytes]) -> bytes:
    """A batch of so much content in a frame that is made by hand."""
    batch = _of_content(size)
    return _stored(batch, frame(batch.content()))


def _snappy(at: int, between: bytes) -> bytes:
    """A batch in two streams of snappy-java's, with a second header of these bytes."""
    batch = Batch(records=(Record(value=b"v" * 30),), form="snappy")
    content = batch.content()
    first, second = compress("snappy", content[:at]), compress("snappy", content[at:])
    return _stored(batch, first + between + second[len(between) :])


def _snappy_ending(tail: bytes) -> bytes:
    """A batch in one such stream, with these bytes behind it, for which Kafka asks: are any records left?"""
    batch = Batch(records=(Record(value=b"v" * 30),), form="snappy")
    return _stored(batch, batch.compressed() + tail)


def _snappy_size(num_bytes: int) -> bytes:
    """A batch in one bare block, with the size of the content in so many bytes."""
    batch = Batch(records=(Record(value=b"v" * 30),), form="snappy:bare")
    block = batch.compressed()
    return _stored(batch, bytes([block[0] | 0x80]) + b"\x80" * (num_bytes - 2) + b"\0" + block[1:])


def _of_content(size: int) -> Batch:
    for length in range(size - 20, size):
        batch = Batch(records=(Record(value=b"v" * length),), form="zstd")
        if len(batch.content()) == size:
            return batch
    raise ValueError("no record has so many bytes")


def _stored(batch: Batch, payload: bytes) -> bytes:
    return Batch(records=batch.records, form=batch.form, stored=payload).encode()


FOUND = {
    "inner magic 2": (_with_magic(2), SOUND),
    "inner magic 3": (_with_magic(3), SOUND),
    "inner magic -1": (_with_magic(255), SOUND),
    "snappy, a second header": (_snappy(8, HEADER), SOUND),
    "snappy, a second header that is none": (_snappy(8, b"\x82SNAPPX" + HEADER[7:]), SOUND),
    "snappy, the same with no chunk behind it": (
        _snappy_ending(b"\x82SNAPPX" + HEADER[7:] + b"rest"),
        BROKEN,
    ),
    "snappy, the same at the very end": (_snappy_ending(b"\x82SNAPPX" + HEADER[7:]), SOUND),
    "snappy, the same behind no content": (_snappy(0, b"\x82SNAPPX" + HEADER[7:]), BROKEN),
    "snappy, a second header of version 0": (_snappy(8, HEADER[:8] + struct.pack(">ii", 0, 1)), BROKEN),
    "snappy, a second header of version -1": (_snappy(8, HEADER[:8] + struct.pack(">ii", -1, 1)), BROKEN),
    "snappy, a second header in the other byte order": (
        _snappy(8, HEADER[:8] + struct.pack("<ii", 1, 1)),
        SOUND,
    ),
    "snappy, a size of five bytes": (_snappy_size(5), SOUND),
    "snappy, a size of six bytes": (_snappy_size(6), BROKEN),
    "zstd, a lie of one byte": (_zstd(100, 1), BROKEN),
    "zstd, a lie where there is just room": (_zstd(ROOM - 1, 1), BROKEN),
    "zstd, a lie where there is no room": (_zstd(ROOM, 1), SOUND),
    "zstd, no lie": (_zstd(100), SOUND),
    "zstd, a window of 2 GiB and room": (_zstd_window(ROOM, 0xA8), SOUND),
    "zstd, a window of 2 GiB and no room": (_zstd_window(ROOM + 1, 0xA8), BROKEN),
    "zstd, a window beyond all": (_zstd_window(500, 0xFF), BROKEN),
    **{
        f"zstd, {name}": (_zstd_blocks(*of[:2]), SOUND if of[2] else BROKEN)
        for name, of in BLOCK_FRAMES.items()
    },
}
"""Bytes, and what both say of them."""
