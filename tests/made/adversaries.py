"""Files made to cost as much as they can for their size, by number of bytes.

Shares no code with the project: layouts are spelled out here from Kafka's documentation, with `struct` and
the codecs' own libraries. What each must cost at most, `test_adversaries.py` says.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from random import Random

import lz4.frame
import zstandard
from tests.made.codecs import pieces, xerial
from tests.made.containers import (
    gzip_empty_blocks,
    gzip_members,
    gzip_named,
    lz4_blocks,
    lz4_frames,
    lz4_squeezed_blocks,
    snappy_blocks,
    snappy_headers,
    snappy_literals,
    zstd_empty_blocks,
    zstd_frames,
    zstd_runs,
    zstd_skippable,
    zstd_windows,
)
from tests.made.encoder import pack_batch, pack_message, sized, varint

__all__ = ["ADVERSARIES", "search_adversary"]

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
CONTROL = 0x20
COMMIT, LEADER_CHANGE, SNAPSHOT_FOOTER = 1, 2, 4
# Values of these control records, the last two as long as they are looked at (64 KiB).
MARKER = bytes(6)
VOTERS = bytes.fromhex("0000 00000001 b166") + bytes(5) * 13_104 + b"\1\0"
TAGGED_FIELDS = bytes.fromhex("0000 fdff01") + bytes(2) * 32_765
EMPTY_RECORD = bytes.fromhex("0c000000010100")  # null key, null value, no headers, the batch's own offset


def record(value: bytes = b"", headers: bytes = b"\0", key: bytes | None = None) -> bytes:
    """A record with headers, and their number, as they are given."""
    body = b"\0\0\0" + sized(key) + sized(value) + headers
    return varint(len(body)) + body


def batch(
    payload: bytes,
    count: int,
    attributes: int = 0,
    offset: int = 0,
    wrong_by: int = 0,
    producer_id: int = -1,
) -> bytes:
    """A record batch of magic 2; its checksum is right unless `wrong_by` says otherwise."""
    last_delta = min(max(count - 1, 0), 2**31 - 1)
    fields = {"count": count, "attributes": attributes, "producer_id": producer_id, "wrong_by": wrong_by}
    return pack_batch(offset, payload, last_offset_delta=last_delta, **fields)


def message(value: bytes | None, codec: int = 0, magic: int = 0, offset: int = 0, wrong_by: int = 0) -> bytes:
    """A message of magic 0 or 1, which wraps others if it has a codec."""
    return pack_message(offset, magic, codec, 0, None, value, wrong_by)


def squeezed(codec: int, content: bytes) -> bytes:
    if codec == GZIP:
        return gzip.compress(content, 9, mtime=0)
    if codec == LZ4:
        return bytes(lz4.frame.compress(content, compression_level=9, block_linked=False))
    if codec == SNAPPY:
        return xerial(pieces(content))
    return zstandard.ZstdCompressor(level=19).compress(content)


def repeated(one: bytes, size: int, offsets: int = 1 << 20) -> bytes:
    """Entries as many as fit, with their base offsets ascending."""
    head = one[8:]
    return b"".join(struct.pack(">q", number * offsets) + head for number in range(max(1, size // len(one))))


# Bytes that a payload of 1 KiB stands for, by codec: what each can reach with repeated records.
_EXPANSION = {GZIP: 1000 << 10, SNAPPY: 20 << 10, LZ4: 240 << 10, ZSTD: 10_000 << 10}


def _records(codec: int, share: int = 1, attributes: int = 0, behind: bytes = b"") -> Callable[[int], bytes]:
    """Compressed batches of the smallest records; each takes one `share` of the file."""

    def make(size: int) -> bytes:
        count = _EXPANSION[codec] * (size // share) // 1024 // len(EMPTY_RECORD)
        payload = squeezed(codec, EMPTY_RECORD * count + behind)
        return repeated(batch(payload, count, codec | attributes), size, count)

    return make


def _control(type_id: int, value: bytes, len_content: int | None = None) -> Callable[[int], bytes]:
    """Compressed control batches of one record again and again: 30 MiB of it, or `len_content` bytes."""
    one = record(value, key=struct.pack(">hh", 0, type_id))

    def make(size: int) -> bytes:
        count = max(1, (30 << 20 if len_content is None else len_content) // len(one))
        payload = squeezed(ZSTD, one * count)
        return repeated(batch(payload, count, ZSTD | CONTROL, producer_id=1), size, count)

    return make


def _wrapped(codec: int, magic: int, share: int = 1) -> Callable[[int], bytes]:
    """Wrappers of the smallest messages."""

    def make(size: int) -> bytes:
        smallest = message(None, 0, magic)
        count = max(1, _EXPANSION[codec] // 2 * (size // share) // 1024 // len(smallest))
        return repeated(message(squeezed(codec, smallest * count), codec, magic), size)

    return make


def _nested(size: int) -> bytes:
    value = message(squeezed(GZIP, message(None) * (size * 8)))
    for _level in range(8):
        value = message(squeezed(GZIP, value * 8), GZIP)
    return repeated(value, size)


def _zeros(len_value: int) -> Callable[[int], bytes]:
    """Batches of one value of zeros: as much memory as can be had for a few bytes."""

    def make(size: int) -> bytes:
        return repeated(batch(squeezed(ZSTD, record(bytes(len_value))), 1, ZSTD), size)

    return make


def _headers(codec: int, count: int) -> Callable[[int], bytes]:
    """Records of many empty headers, compressed or not."""

    def make(size: int) -> bytes:
        few = count if codec else max(1, size // 2 - 64)
        one = record(b"", varint(few) + b"\0\x01" * few)
        payload = squeezed(codec, one * 8) if codec else one
        return repeated(batch(payload, 8 if codec else 1, codec), size)

    return make


def _small_batches(size: int) -> bytes:
    return repeated(batch(squeezed(ZSTD, EMPTY_RECORD * 600), 600, ZSTD), size, 600)


def _plain_behind(size: int) -> bytes:
    count = size // len(EMPTY_RECORD)
    return batch(EMPTY_RECORD * count + b"x", count)


def _lying_count(count: int) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        payload = squeezed(ZSTD, EMPTY_RECORD * (1 << 20))
        plain = EMPTY_RECORD * (size // 2 // len(EMPTY_RECORD))
        return batch(plain, count) + repeated(batch(payload, count, ZSTD), size // 2)

    return make


def _varints(byte: bytes) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        return batch(byte * (size - 61), 1 << 20)

    return make


def _pattern(pattern: bytes) -> Callable[[int], bytes]:
    return lambda size: (pattern * (size // len(pattern) + 1))[:size]


def _small_bytes(size: int) -> bytes:
    return bytes(Random(1).choices((0, 1, 2), k=size))


def _random(size: int) -> bytes:
    return Random(2).randbytes(size)


def _wrong_checksums(one: bytes) -> Callable[[int], bytes]:
    """Entries of right lengths, one behind the other, none with the checksum that it should have."""
    return lambda size: repeated(one, size)


def _to_the_end(step: int) -> Callable[[int], bytes]:
    """Headers of messages everywhere, each of which claims all that follows in the file."""

    def make(size: int) -> bytes:
        out = bytearray(size)
        for number, at in enumerate(range(0, size - step, step)):
            struct.pack_into(">qiIb", out, at, number + 1, size - at - 12, 0, 0)
        return bytes(out)

    return make


def _spread(size: int) -> bytes:
    """The same, with ends all over the file."""
    out, dice = bytearray(size), Random(3)
    for number, at in enumerate(range(0, size - 64, 17)):
        struct.pack_into(">qiIb", out, at, number + 1, dice.randrange(14, size - at - 12), 0, 0)
    return bytes(out)


def _inside_values(size: int) -> bytes:
    """Compressed batches inside the value of a batch whose checksum is wrong."""
    bomb = _records(ZSTD, 8)(size)
    return batch(record(bomb), 1, 0, 1, wrong_by=1)


def _enclosed(codec: int) -> Callable[[int], bytes]:
    """Damaged wrappers that hold sound messages byte for byte, behind many that have to be gone through."""

    def make(size: int) -> bytes:
        dice = Random(4)
        inner = b"".join(message(dice.randbytes(200), offset=number) for number in range(8))
        many = message(None) * (200_000 if codec == GZIP else 40_000)
        value = squeezed(codec, many + inner)
        if codec == GZIP:
            deflate = zlib.compressobj(9, wbits=-15)
            start = deflate.compress(many) + deflate.flush(zlib.Z_FULL_FLUSH)
            stored = b"\x01" + struct.pack("<HH", len(inner), len(inner) ^ 0xFFFF) + inner
            end = struct.pack("<II", zlib.crc32(many + inner), len(many + inner))
            value = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + start + stored + end
        return repeated(message(value, codec, offset=1, wrong_by=1), size)

    return make


def _filled(magic: int, codec: int, parts: Callable[[int], bytes], share: int = 1) -> Callable[[int], bytes]:
    """Entries whose payload is what `parts` makes of a size; each takes one `share` of the file."""

    def make(size: int) -> bytes:
        payload = parts(size // share)
        one = batch(payload, 1, codec) if magic == 2 else message(payload, codec, magic)
        return repeated(one, size)

    return make


def _with_one_entry(magic: int, codec: int, parts: Callable[[bytes, int], bytes]) -> Callable[[int], bytes]:
    """The same, where the payload holds one record or message somewhere."""
    inner = EMPTY_RECORD if magic == 2 else message(b"inner", 0, magic)
    return _filled(magic, codec, lambda size: parts(inner, size))


def _behind(first: Callable[[bytes], bytes], parts: Callable[[int], bytes]) -> Callable[[bytes, int], bytes]:
    """What is compressed, and then parts that hold nothing."""
    return lambda content, size: first(content) + parts(size)


def _stepped(magic: int, codec: int) -> Callable[[int], bytes]:
    """Wrappers of few messages each, as many as fit."""

    def make(size: int) -> bytes:
        value = squeezed(codec, b"".join(message(None, 0, magic, at) for at in range(3)))
        return repeated(message(value, codec, magic), size, 3)

    return make


def _small_wrappers_damaged(size: int) -> bytes:
    """Small wrappers, each of which has an inner message with a wrong checksum."""
    value = squeezed(LZ4, message(None, 0, 1) + message(None, 0, 1, 1, wrong_by=1))
    return repeated(message(value, LZ4, 1), size, 2)


def _large_behind_damage(magic: int, count: int) -> Callable[[int], bytes]:
    """Damage before each of several large wrappers: whoever tells of it asks for their first offsets."""

    def make(size: int) -> bytes:
        many = message(squeezed(GZIP, message(None, 0, magic) * (count * size >> 16)), GZIP, magic, 1)
        return repeated(message(b"", 0, magic, wrong_by=1) + many, size)

    return make


ADVERSARIES: dict[str, Callable[[int], bytes]] = {
    "zstd records": _records(ZSTD),
    "zstd records, a byte behind them": _records(ZSTD, 10, behind=b"x"),
    "zstd records in control batches": _records(ZSTD, 10, CONTROL),
    "transaction markers": _control(COMMIT, MARKER),
    "voters of leader changes": _control(LEADER_CHANGE, VOTERS),
    "tagged fields of snapshot footers": _control(SNAPSHOT_FOOTER, TAGGED_FIELDS),
    "a control record a batch, of tagged fields": _control(SNAPSHOT_FOOTER, TAGGED_FIELDS, 0),
    "gzip records": _records(GZIP),
    "gzip records, a byte behind them": _records(GZIP, 4, behind=b"x"),
    "lz4 records, a byte behind them": _records(LZ4, 4, behind=b"x"),
    "snappy records, a byte behind them": _records(SNAPPY, 4, behind=b"x"),
    "small zstd batches": _small_batches,
    "gzip wrapper of magic 0": _wrapped(GZIP, 0),
    "gzip wrappers of magic 1": _wrapped(GZIP, 1, 16),
    "lz4 wrapper of magic 1": _wrapped(LZ4, 1),
    "snappy wrapper of magic 1": _wrapped(SNAPPY, 1),
    "wrappers in wrappers": _nested,
    "values of 31 MiB": _zeros(31 << 20),
    "values of 250 MiB": _zeros(250 << 20),
    "a million headers": _headers(ZSTD, 1_000_000),
    "many headers, plain": _headers(0, 0),
    "a byte behind plain records": _plain_behind,
    "a count of 2^31 - 1": _lying_count(2**31 - 1),
    "a count of -1": _lying_count(-1),
    "varints that do not end": _varints(b"\x80"),
    "varints of ones": _varints(b"\xff"),
    "00 01": _pattern(b"\0\x01"),
    "01 00 00": _pattern(b"\x01\0\0"),
    "zeros": _pattern(b"\0"),
    "zeros before a byte": lambda size: bytes(size - 1) + b"x",
    "bytes of 0, 1 and 2": _small_bytes,
    "random bytes": _random,
    "wrong checksums, magic 0": _wrong_checksums(message(None, wrong_by=1)),
    "wrong checksums, magic 1": _wrong_checksums(message(b"value", magic=1, wrong_by=1)),
    "wrong checksums, magic 2": _wrong_checksums(batch(EMPTY_RECORD, 1, wrong_by=1)),
    "entries to the end of the file": _to_the_end(17),
    "entries that overlap": _spread,
    "batches inside a value": _inside_values,
    "messages enclosed in lz4": _enclosed(LZ4),
    "messages enclosed in gzip": _enclosed(GZIP),
    "snappy blocks of a byte": _filled(2, SNAPPY, snappy_blocks(b"\x0c")),
    "snappy blocks of nothing": _filled(2, SNAPPY, snappy_blocks(b"")),
    "snappy blocks of a byte in wrappers": _filled(1, SNAPPY, snappy_blocks(b"\0"), 8),
    "snappy headers": _filled(2, SNAPPY, snappy_headers),
    "snappy literals of a byte": _filled(2, SNAPPY, snappy_literals),
    "lz4 blocks of a byte": _filled(2, LZ4, lz4_blocks(b"\x0c")),
    "lz4 sequences of a byte": _filled(2, LZ4, lz4_squeezed_blocks),
    "lz4 blocks of a byte in a wrapper": _filled(1, LZ4, lz4_blocks(b"\0")),
    "lz4 frames": _filled(2, LZ4, lz4_frames(EMPTY_RECORD)),
    "gzip members of nothing": _filled(2, GZIP, gzip_members(b"")),
    "gzip members of nothing, then a record": _with_one_entry(
        2, GZIP, lambda content, size: gzip_members(b"")(size) + gzip.compress(content, mtime=0)
    ),
    "gzip members of a message": _filled(0, GZIP, gzip_members(message(None))),
    "gzip members with long names": _filled(2, GZIP, gzip_named),
    "gzip blocks of nothing": _filled(2, GZIP, gzip_empty_blocks),
    "zstd frames of nothing": _filled(2, ZSTD, zstd_frames(b"")),
    "zstd frames of a record": _filled(2, ZSTD, zstd_frames(EMPTY_RECORD)),
    "zstd frames to be skipped": _filled(2, ZSTD, zstd_skippable(0)),
    "zstd frames to be skipped behind a record": _with_one_entry(
        2, ZSTD, _behind(zstandard.compress, zstd_skippable(0))
    ),
    "zstd windows of 128 MiB": _filled(2, ZSTD, zstd_windows),
    "zstd blocks of nothing": _filled(2, ZSTD, zstd_empty_blocks),
    "zstd runs of a byte": _filled(2, ZSTD, zstd_runs),
    "small lz4 wrappers of magic 0": _stepped(0, LZ4),
    "small gzip wrappers of magic 1": _stepped(1, GZIP),
    "small wrappers with a wrong checksum inside": _small_wrappers_damaged,
    "large wrappers behind damage, magic 0": _large_behind_damage(0, 200_000),
    "large wrappers behind damage, magic 1": _large_behind_damage(1, 40_000),
}
"""By name: makes a file of about so many bytes, and of no more than a quarter above that."""


def search_adversary(name: str, size: int) -> Iterator[bytes]:
    """A file for the search behind damage, in pieces: a damaged entry, then `size` bytes of what is named."""
    yield struct.pack(">qiIb", 0, 20, 0, 9) + bytes(15)  # magic 9: nothing says where it ends
    piece = ADVERSARIES[name](min(size, 16 << 20))
    for at in range(0, size, len(piece)):
        yield piece[: size - at]
