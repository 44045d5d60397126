"""Payloads as they are found in the wild: every habit of writers that a reader has to know, with its origin.

Each is a function of the content, so that it can stand in batches and in wrappers of magic 0 and 1.
`taken` says in which of these Kafka's reader gives the content back; test_wild_oracle.py asks it.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import lz4.frame
import snappy
import zstandard
from tests.made.build import batch, message, record
from tests.made.codecs import IDS, XERIAL_HEADER, gzip_member, lz4_frame, pieces, xerial
from tests.made.payloads import XERIAL_HEADER_LITTLE_ENDIAN, gzip_member_with, zstd_frame, zstd_skippable

ALL = frozenset({0, 1, 2})
NONE: frozenset[int] = frozenset()
MAGIC_0, SINCE_MAGIC_1, MAGIC_2 = frozenset({0}), frozenset({1, 2}), frozenset({2})

BLOCK_64K, BLOCK_256K, BLOCK_1M, BLOCK_4M = range(4, 8)


class Wild(NamedTuple):
    """One habit."""

    codec: str
    origin: str
    taken: frozenset[int]
    write: Callable[[bytes], bytes]


def halves(content: bytes) -> tuple[bytes, bytes]:
    return content[: len(content) // 2], content[len(content) // 2 :]


def lz4_with_header_checksum(content: bytes, checksum: int) -> bytes:
    frame = lz4_frame(content, block_size=BLOCK_64K)
    assert frame[4:7] == b"\x60\x40\x82"
    return frame[:6] + bytes([checksum]) + frame[7:]


def lz4_stored(content: bytes) -> bytes:
    """All blocks stored as they are, whatever the content."""
    blocks = b""
    for piece in pieces(content, 64 << 10):
        blocks += struct.pack("<I", len(piece) | 1 << 31) + piece
    return b"\x04\x22\x4d\x18\x60\x40\x82" + blocks + bytes(4)


def lz4_ending_empty(content: bytes, token: int, behind: bytes = b"", **settings: int | bool) -> bytes:
    """An empty block, and what may stand behind it, in place of the end mark."""
    frame = lz4_frame(content, content_checksum=False, **settings)
    checksum = xxhash(bytes([token])) if settings.get("block_checksum") else b""
    return frame[:-4] + b"\1\0\0\0" + bytes([token]) + checksum + behind


def xxhash(data: bytes) -> bytes:
    """XXH32 of some bytes, as a frame of one stored block has it."""
    return lz4.frame.compress(data, content_checksum=True)[-4:]


def zstd_parameters(content: bytes, **settings: int) -> bytes:
    """A frame of a stream, which does not know how much will come."""
    parameters = zstandard.ZstdCompressionParameters(write_content_size=False, **settings)
    target = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=parameters).stream_writer(target, closefd=False) as out:
        out.write(content)
    return target.getvalue()


def zstd_with_dictionary(content: bytes) -> bytes:
    samples = [b'{"user":%d,"name":"somebody %d"}' % (at, at * 7) for at in range(4000)]
    dictionary = zstandard.train_dictionary(4096, samples)
    assert dictionary.dict_id()
    return zstandard.ZstdCompressor(dict_data=dictionary).compress(content)


def zstd_claiming(frame: bytes, size: int) -> bytes:
    """A frame of one segment that says `size`, with the blocks of another."""
    assert frame[4] == 0, "a window, and no content size"
    return frame[:4] + bytes([0b1110_0000]) + struct.pack("<Q", size) + frame[6:]


def zstd_stream(content: bytes) -> bytes:
    """Ends in an empty block, as Java's frames do."""
    return zstd_frame(content, content_size=False)


def zstd_unsized(content: bytes) -> bytes:
    """Ends in a block with content."""
    return zstandard.ZstdCompressor(write_content_size=False).compress(content)


def _gzip() -> dict[str, Wild]:
    return {
        "gzip: members": Wild(
            "gzip", "a producer that flushes its stream, or joins streams: RFC 1952, 2.2", ALL,
            lambda content: b"".join(map(gzip_member, halves(content))),
        ),
        "gzip: an empty member behind": Wild(
            "gzip", "a stream that was closed twice", ALL,
            lambda content: gzip_member(content) + gzip_member(b""),
        ),
        "gzip: trailing garbage": Wild(
            "gzip", "GZIPInputStream ends at what is no member", ALL,
            lambda content: gzip_member(content) + b"garbage, more than a member's trailer",
        ),
        "gzip: trailing zeros": Wild(
            "gzip", "padded to a block, as tapes were", ALL, lambda content: gzip_member(content) + bytes(512)
        ),
        "gzip: every optional field": Wild(
            "gzip", "gzip(1) writes names, other tools the rest: RFC 1952, 2.3", ALL,
            lambda content: gzip_member_with(2 | 4 | 8 | 16, content),
        ),
        "gzip: stored": Wild("gzip", "level 0", ALL, lambda content: gzip_member(content, 0)),
        "gzip: a second member cut short": Wild(
            "gzip", "a broken copy", NONE, lambda content: gzip_member(content) + gzip_member(content)[:-3]
        ),
        "gzip: wrong size in the trailer": Wild(
            "gzip", "a broken copy", NONE, lambda content: gzip_member(content)[:-4] + b"\1\2\3\4"
        ),
    }  # fmt: skip


def _snappy() -> dict[str, Wild]:
    return {
        "snappy: xerial": Wild(
            "snappy", "snappy-java, so Kafka's own client; kafka-python", ALL,
            lambda content: xerial(pieces(content)),
        ),
        "snappy: bare": Wild("snappy", "librdkafka, Go clients", ALL, snappy.compress),
        "snappy: Redpanda": Wild(
            "snappy", "Redpanda before 2025: little-endian versions (redpanda#25091)", ALL,
            lambda content: xerial(pieces(content), XERIAL_HEADER_LITTLE_ENDIAN),
        ),
        "snappy: small chunks": Wild(
            "snappy", "a writer that flushes", ALL, lambda content: xerial(pieces(content, 100))
        ),
        "snappy: streams": Wild(
            "snappy", "SnappyInputStream goes on at a second header", ALL,
            lambda content: b"".join(xerial([half]) for half in halves(content)),
        ),
        "snappy: bytes behind": Wild(
            "snappy", "up to three, too few for a length", ALL, lambda content: xerial([content]) + b"\0\0\0"
        ),
        "snappy: bytes behind a bare block": Wild(
            "snappy", "a broken copy", NONE, lambda content: snappy.compress(content) + b"\0"
        ),
        "snappy: header without chunks, then a block": Wild(
            "snappy", "a writer that forgot the length", NONE,
            lambda content: XERIAL_HEADER + snappy.compress(content),
        ),
    }  # fmt: skip


def _lz4() -> dict[str, Wild]:
    frames = {
        "lz4: 64 KiB": ("Kafka's own client, librdkafka", ALL, {"block_size": BLOCK_64K}),
        "lz4: 256 KiB": ("lz4 -B5", ALL, {"block_size": BLOCK_256K}),
        "lz4: 1 MiB": ("lz4 -B6", ALL, {"block_size": BLOCK_1M}),
        "lz4: 4 MiB": ("lz4 -B7, Go clients", ALL, {"block_size": BLOCK_4M}),
        "lz4: content size": ("kafka-python", ALL, {"block_size": BLOCK_64K, "store_size": True}),
        "lz4: block checksums": ("aiokafka", ALL, {"block_size": BLOCK_64K, "block_checksum": True}),
        "lz4: content checksum": ("lz4(1)'s default", ALL, {"content_checksum": True}),
        "lz4: all of them": (
            "any client may", ALL, {"block_checksum": True, "content_checksum": True, "store_size": True}
        ),
        "lz4: dependent blocks": ("lz4(1) -BD, liblz4's default", NONE, {"block_linked": True}),
    }  # fmt: skip
    return {
        name: Wild("lz4", origin, taken, lambda content, settings=settings: lz4_frame(content, **settings))
        for name, (origin, taken, settings) in frames.items()
    } | {
        "lz4: header checksum of magic 0": Wild(
            "lz4", "all Kafka clients up to 0.9, brokers in magic 0 (KAFKA-3160)", MAGIC_0,
            lambda content: lz4_with_header_checksum(content, 0x1A),
        ),
        "lz4: header checksum of nobody": Wild(
            "lz4", "in magic 0 it is not looked at", MAGIC_0,
            lambda content: lz4_with_header_checksum(content, 0x00),
        ),
        "lz4: stored blocks": Wild("lz4", "what does not get smaller", ALL, lz4_stored),
        "lz4: wrong content checksum": Wild(
            "lz4", "Lz4BlockInputStream reads and ignores it", ALL,
            lambda content: lz4_frame(content, content_checksum=True)[:-4] + b"\1\2\3\4",
        ),
        "lz4: an empty block as end": Wild(
            "lz4", "a broken end mark: ChunkedBytesStream ends at a read of nothing", ALL,
            lambda content: lz4_ending_empty(content, 0x00, b"\0\0"),
        ),
        "lz4: an empty block as end, with checksums": Wild(
            "lz4", "as above", ALL,
            lambda content: lz4_ending_empty(content, 0x0F, block_checksum=True),
        ),
        "lz4: a frame behind": Wild(
            "lz4", "Lz4BlockInputStream reads one frame", ALL,
            lambda content: lz4_frame(content) + lz4_frame(b"more"),
        ),
        "lz4: content in two frames": Wild(
            "lz4", "as above: the second half is not read", NONE,
            lambda content: b"".join(map(lz4_frame, halves(content))),
        ),
        "lz4: a skippable frame before": Wild(
            "lz4", "lz4 frame format 1.6, not read by Kafka", NONE,
            lambda content: zstd_skippable(b"skip me") + lz4_frame(content),
        ),
        "lz4: a dictionary's id": Wild(
            "lz4", "lz4 frame format 1.6; a reserved bit for Kafka", NONE,
            lambda content: b"\x04\x22\x4d\x18\x61\x40\0\0\0\1\0" + lz4_frame(content)[7:],
        ),
    }  # fmt: skip


def _zstd() -> dict[str, Wild]:
    return {
        "zstd: no content size": Wild(
            "zstd", "Kafka's own client, librdkafka", MAGIC_2,
            zstd_stream,
        ),
        "zstd: content size": Wild("zstd", "kafka-python, aiokafka", MAGIC_2, zstd_frame),
        "zstd: checksum": Wild(
            "zstd", "zstd(1)'s default", MAGIC_2, lambda content: zstd_frame(content, checksum=True)
        ),
        "zstd: wrong checksum": Wild(
            "zstd", "a broken copy", NONE, lambda content: zstd_frame(content, checksum=True)[:-1] + b"\0"
        ),
        "zstd: frames": Wild(
            "zstd", "pzstd, and writers that flush whole frames", MAGIC_2,
            lambda content: b"".join(map(zstd_frame, halves(content))),
        ),
        "zstd: skippable frames around": Wild(
            "zstd", "seekable zstd, pzstd: RFC 8878, 3.1.2", MAGIC_2,
            lambda content: zstd_skippable(b"1", 15) + zstd_frame(content) + zstd_skippable(bytes(40)),
        ),
        "zstd: a window of 128 MiB": Wild(
            "zstd", "zstd --long=27, the largest that is taken", MAGIC_2,
            lambda content: zstd_parameters(content, window_log=27),
        ),
        "zstd: a window of 256 MiB": Wild(
            "zstd", "zstd --long=28: more than readers of streams take", NONE,
            lambda content: zstd_parameters(content, window_log=28),
        ),
        "zstd: one segment of 200 MiB, it says": Wild(
            "zstd", "a lie that is refused by its size", NONE,
            lambda content: zstd_claiming(zstd_stream(content), 200 << 20),
        ),
        "zstd: a content size that is too large": Wild(
            "zstd", "a lie that is found out behind the last block", NONE,
            lambda content: zstd_claiming(zstd_unsized(content), len(content) + 1),
        ),
        "zstd: the same before an empty block": Wild(
            "zstd", "libzstd does not look there", MAGIC_2,
            lambda content: zstd_claiming(zstd_stream(content), len(content) + 1),
        ),
        "zstd: a dictionary's id": Wild(
            "zstd", "zstd -D; Kafka has no dictionaries", NONE, zstd_with_dictionary
        ),
        "zstd: negative level": Wild(
            "zstd", "compression.zstd.level=-5", MAGIC_2, lambda content: zstd_frame(content, level=-5)
        ),
    }  # fmt: skip


WILD: dict[str, Wild] = _gzip() | _snappy() | _lz4() | _zstd()


NUM_INNER = 40
BASE = 10
BEHIND = BASE + NUM_INNER
HALF = "lz4: content in two frames"


class Case(NamedTuple):
    """One payload in one sort of entry."""

    name: str
    wild: Wild
    magic: int
    data: bytes

    @property
    def is_taken(self) -> bool:
        return self.magic in self.wild.taken

    @property
    def offsets(self) -> list[int]:
        """Of the records that are to be delivered."""
        inside = range(BASE, BEHIND) if self.is_taken else ()
        return [0, *inside, BEHIND]


def value(at: int) -> bytes:
    """Some that compress well, some that do not, and all together more than a block of 64 KiB."""
    return b"value %d " % at * (at * 20) + bytes(at * 37 % 251 for at in range(at, at + 50))


def entry(wild: Wild, magic: int) -> bytes:
    """The entry in question, with a right checksum."""
    codec = IDS[wild.codec]
    if magic == 2:
        content = b"".join(record(at, b"key", value(at)) for at in range(NUM_INNER))
        last = NUM_INNER - 1
        payload = wild.write(content)
        return batch(BASE, payload=payload, count=NUM_INNER, last_offset_delta=last, attributes=codec)
    first = BASE if magic == 0 else 0
    content = b"".join(message(first + at, value(at), magic=magic) for at in range(NUM_INNER))
    return message(BEHIND - 1, wild.write(content), magic=magic, attributes=codec)


def cases() -> Iterator[Case]:
    """Every payload in every sort of entry."""
    for name, wild in WILD.items():
        for magic in (0, 1, 2):
            if name == HALF and magic < 2:
                continue  # what is lost there, nobody can notice
            data = message(0, magic=magic) if magic < 2 else batch(0)
            behind = message(BEHIND, magic=magic) if magic < 2 else batch(BEHIND)
            yield Case(f"{name}, magic {magic}", wild, magic, data + entry(wild, magic) + behind)
