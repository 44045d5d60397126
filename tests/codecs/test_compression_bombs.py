"""Decompression bombs: memory stays within the bound, whatever a payload claims or holds.

The codecs allocate outside Python too, so each payload runs in a process of its own, which reports by how
much its peak of resident memory grew.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
import snappy
import zstandard
from tests.made.codecs import XERIAL_HEADER, gzip_member
from tests.made.payloads import zstd_frame
from tests.python import run_python

MIB = 1 << 20
BOMB_SIZE = 64 * MIB
MAX_SIZE = MIB
# The bound, joined chunks, one block of the largest sort (lz4's 4 MiB twice), and what allocators keep.
ALLOWED_GROWTH = 10 * MIB

PROGRAM = """
import sys
from kafka_segments.core.codecs import codec_named, decompress
from kafka_segments.errors import DecompressionError
from tests.python import peak

codec, path, max_size = sys.argv[1], sys.argv[2], int(sys.argv[3])
payload = open(path, "rb").read()
codec_named(codec)
before = peak()
try:
    result = len(decompress(codec, payload, max_size=max_size))
except DecompressionError as error:
    result = str(error)
print(peak() - before)
print(result)
"""


def run(tmp_path: Path, codec: str, payload: bytes, max_size: int = MAX_SIZE) -> tuple[int, str]:
    path = tmp_path / "payload"
    path.write_bytes(payload)
    result = run_python("-c", PROGRAM, codec, path, max_size)
    growth, _, verdict = result.stdout.partition("\n")
    return int(growth), verdict


def zeros(size: int = BOMB_SIZE) -> bytes:
    return bytes(size)


def zstd_without_size(long_window: bool) -> bytes:
    settings = zstandard.ZstdCompressionParameters(
        window_log=27 if long_window else 20, write_content_size=False
    )
    target = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=settings).stream_writer(target, closefd=False) as writer:
        writer.write(zeros())
    return target.getvalue()


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "gzip": ("gzip", lambda: gzip_member(zeros())),
    "gzip, many members": ("gzip", lambda: gzip_member(zeros(MIB // 2)) * 128),
    "snappy, bare": ("snappy", lambda: snappy.compress(zeros())),
    "snappy, chunks": ("snappy", lambda: XERIAL_HEADER + 128 * chunk(snappy.compress(zeros(MIB // 2)))),
    "lz4": ("lz4", lambda: lz4.frame.compress(zeros(), block_size=7, block_linked=False)),
    "lz4, content size": (
        "lz4",
        lambda: lz4.frame.compress(zeros(), block_size=4, block_linked=False, store_size=True),
    ),
    "zstd, content size": ("zstd", lambda: zstd_frame(zeros())),
    "zstd, no content size": ("zstd", lambda: zstd_without_size(long_window=False)),
    "zstd, 128 MiB window": ("zstd", lambda: zstd_without_size(long_window=True)),
    "zstd, many frames": ("zstd", lambda: zstd_frame(zeros(MIB // 2)) * 128),
}


def chunk(block: bytes) -> bytes:
    return struct.pack(">i", len(block)) + block


@pytest.mark.parametrize("codec, make", BOMBS.values(), ids=BOMBS)
def test_a_bomb_stays_within_the_bound(tmp_path, codec, make) -> None:
    growth, verdict = run(tmp_path, codec, make())
    assert f"more than the bound of {MAX_SIZE} bytes" in verdict
    assert growth < ALLOWED_GROWTH


def test_what_is_allowed_does_use_memory(tmp_path) -> None:
    """The measurement sees what the codecs allocate: else the test above could not fail."""
    growth, verdict = run(tmp_path, "zstd", zstd_frame(zeros()), max_size=BOMB_SIZE)
    assert verdict.strip() == str(BOMB_SIZE)
    assert growth > BOMB_SIZE // 2


@pytest.mark.parametrize("declared", [b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x04"])
def test_a_snappy_block_cannot_declare_what_it_cannot_hold(tmp_path, declared) -> None:
    growth, verdict = run(tmp_path, "snappy", declared + b"\x00a", max_size=1 << 40)
    assert "cannot hold" in verdict
    assert growth < MIB


def test_time_is_linear_in_tiny_members_and_frames() -> None:
    """100,000 empty members: an implementation that copies the rest for each would take minutes."""
    from kafka_segments.core.codecs import decompress

    assert decompress("gzip", gzip_member(b"") * 100_000) == b""
    assert decompress("zstd", zstd_frame(b"") * 100_000) == b""
    assert decompress("snappy", XERIAL_HEADER * 100_000) == b""
    assert zlib.crc32(
        decompress("snappy", XERIAL_HEADER + chunk(snappy.compress(b"x")) * 100_000)
    ) == zlib.crc32(b"x" * 100_000)
