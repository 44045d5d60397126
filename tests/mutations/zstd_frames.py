"""Frames of Zstandard block by block (RFC 8878, section 3.1.1), as no encoder writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

__all__ = ["BLOCK_FRAMES"]

_MAGIC = b"\x28\xb5\x2f\xfd"
_RAW, _RLE, _COMPRESSED = range(3)
_LARGEST_READ = 131_075  # what zstd-jni reads of its source at a time
_MATCH = 65_539  # the shortest match of the last code of lengths, which has 16 bits more


def _head(claim: int | None, exponent: int = 0, *, is_single: bool = False) -> bytes:
    """A frame's header, with a window of 2^(10 + exponent), or of what it claims."""
    window = b"" if is_single else bytes([exponent << 3])
    flag = 0x20 if is_single else 0
    if claim is None:
        return _MAGIC + bytes([flag]) + window
    if 256 <= claim < 256 + (1 << 16):
        return _MAGIC + bytes([flag | 0x40]) + window + struct.pack("<H", claim - 256)
    if claim < 1 << 32:
        return _MAGIC + bytes([flag | 0x80]) + window + struct.pack("<I", claim)
    return _MAGIC + bytes([flag | 0xC0]) + window + struct.pack("<Q", claim)


def _block(kind: int, size: int, body: bytes, *, is_last: bool = False) -> bytes:
    return struct.pack("<I", size << 3 | kind << 1 | is_last)[:3] + body


def _raw(content: bytes, *, is_last: bool = False) -> bytes:
    return _block(_RAW, len(content), content, is_last=is_last)


def _run(content: bytes) -> bytes:
    """The content, of which all but the first and last bytes are the same, with a block of a run."""
    first, run, last = content[:20], content[20:-1], content[-1:]
    return _raw(first) + _block(_RLE, len(run), run[:1]) + _raw(last, is_last=True)


def _matched(content: bytes, more: Sequence[int]) -> bytes:
    """The same with a compressed block: for each of `more`, a literal and a match with what is before it."""
    literals = bytes([len(more) << 3]) + content[20:21] * len(more)
    one_code_each = bytes([len(more), 0b0101_0100, 1, 0, 52])  # one literal, the offset before, the longest
    bits = b"".join(struct.pack("<H", one) for one in reversed(more)) + b"\x01"
    body = literals + one_code_each + bits
    return _raw(content[:20]) + _block(_COMPRESSED, len(body), body) + _raw(content[-1:], is_last=True)


def _skipped(size: int) -> bytes:
    return struct.pack("<II", 0x184D2A50, size - 8) + bytes(size - 8)


def _late(left: int, frame: bytes) -> bytes:
    """A frame of which Kafka has read only `left` bytes when it comes to it."""
    return _skipped(_LARGEST_READ - left) + frame


_LARGEST = 128 << 10
_ROOM = 16 << 10
_BEYOND = 21 + 2 * (1 + _MATCH)  # bytes of content in two matches: 131,080 of them in one block

BLOCK_FRAMES: dict[str, tuple[int, Callable[[bytes], bytes], bool]] = {
    "a block above the window, room": (2000, lambda c: _head(2000) + _raw(c, is_last=True), True),
    "a block above the window, just room": (_ROOM, lambda c: _head(_ROOM) + _raw(c, is_last=True), True),
    "a block above the window, no room": (
        _ROOM + 1,
        lambda c: _head(_ROOM + 1) + _raw(c, is_last=True),
        False,
    ),
    "a block above the window, no claim": (2000, lambda c: _head(None) + _raw(c, is_last=True), False),
    "a run above the window, room": (2000, lambda c: _head(2000) + _run(c), True),
    "a run above the window, no claim": (2000, lambda c: _head(None) + _run(c), False),
    "a block above 128 KiB": (_LARGEST + 1, lambda c: _head(len(c), 10) + _raw(c, is_last=True), False),
    "the same without a window": (
        _LARGEST + 1,
        lambda c: _head(len(c), is_single=True) + _raw(c, is_last=True),
        False,
    ),
    "a block of 128 KiB": (_LARGEST, lambda c: _head(len(c), 10) + _raw(c, is_last=True), True),
    "a run of 128 KiB": (_LARGEST + 21, lambda c: _head(None, 10) + _run(c), True),
    "a run above 128 KiB": (_LARGEST + 22, lambda c: _head(None, 10) + _run(c), False),
    "matches up to 128 KiB": (21 + 1 + _LARGEST - 1, lambda c: _head(None, 10) + _matched(c, [65_532]), True),
    "matches above 128 KiB": (_BEYOND, lambda c: _head(None, 10) + _matched(c, [0, 0]), False),
    "matches above 128 KiB, claimed": (_BEYOND, lambda c: _head(len(c), 10) + _matched(c, [0, 0]), False),
    "a claim of 2^64 - 1": (2000, lambda c: _head((1 << 64) - 1, 10) + _raw(c, is_last=True), True),
    "a claim of 2^64 - 1 as window": (
        2000,
        lambda c: _head((1 << 64) - 1, is_single=True) + _raw(c, is_last=True),
        False,
    ),
    "a claim of 2^64 - 2": (2000, lambda c: _head((1 << 64) - 2, 10) + _raw(c, is_last=True), False),
    "a block above the window, in a second frame": (
        4000,
        lambda c: _head(2000, 10) + _raw(c[:2000], is_last=True) + _head(2000) + _raw(c[2000:], is_last=True),
        True,
    ),
    "a block above the window, read at once": (
        2000,
        lambda c: _late(3000, _head(2000) + _raw(c, is_last=True)),
        True,
    ),
    "a block above the window, read in parts": (
        2000,
        lambda c: _late(1500, _head(2000) + _raw(c, is_last=True)),
        False,
    ),
    "a window of 2 GiB, read at once": (
        2000,
        lambda c: _late(3000, _head(2000, 21) + _raw(c, is_last=True)),
        True,
    ),
    "a window of 2 GiB, read in parts": (
        2000,
        lambda c: _late(1500, _head(2000, 21) + _raw(c, is_last=True)),
        False,
    ),
    "a lie before an empty block, read at once": (
        2000,
        lambda c: _late(3000, _head(2001, 10) + _raw(c) + _raw(b"", is_last=True)),
        False,
    ),
    "a lie before an empty block, read in parts": (
        2000,
        lambda c: _late(1500, _head(2001, 10) + _raw(c) + _raw(b"", is_last=True)),
        True,
    ),
}
"""By name: how many bytes of content, the frame of it, and whether Kafka reads that."""
