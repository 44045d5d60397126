"""The direct way takes only what the codec's own module takes, and gives the same bytes."""

from __future__ import annotations

import ctypes
from random import Random

import pytest
from tests.runtime.codec_payloads import WRITERS, WRITERS_OF, lz4_frame, mutate, some_content, zstd_frame

from kafka_segments.compression import CODEC_NAMES, decompress
from kafka_segments.compression.direct import available, direct_codec
from kafka_segments.errors import DecompressionError

ROOM = 1 << 20
# What Kafka's own clients write.
ORDINARY = {
    "gzip": WRITERS["gzip"][1],
    "snappy": WRITERS["snappy-xerial"][1],
    "lz4": WRITERS["lz4-java"][1],
    "zstd": WRITERS["zstd-java"][1],
}


def directly(codec: str, payload: bytes, room: int = ROOM) -> bytes | None:
    """What the direct way writes; None if it leaves the payload to the codec's module."""
    fence = bytearray(b"\xaa" * (room + 256))
    out = memoryview(fence)[:room]
    source = ctypes.create_string_buffer(payload, len(payload)) if payload else ctypes.create_string_buffer(1)
    address = ctypes.addressof(ctypes.c_char.from_buffer(fence))
    direct = direct_codec(codec)
    assert direct is not None
    size = direct(memoryview(payload), ctypes.addressof(source), out, address)
    assert fence[room:] == b"\xaa" * 256
    return None if size is None else bytes(out[:size])


def by_module(codec: str, payload: bytes) -> bytes | None:
    try:
        return decompress(codec, payload)
    except DecompressionError:
        return None


def test_every_codec_has_a_direct_way_here():
    assert available() == CODEC_NAMES


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_ordinary_payloads_go_directly(codec):
    random = Random(codec)
    for _ in range(50):
        content = some_content(random) or b"x"
        assert directly(codec, ORDINARY[codec](content)) == content


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_too_little_room_is_left_to_the_module(codec):
    content = bytes(Random(3).randbytes(1000)) * 200
    payload = ORDINARY[codec](content)
    for room in (0, 1, 1000, len(content) - 1):
        assert directly(codec, payload, room) is None
    assert directly(codec, payload, len(content) + (64 << 10)) == content


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_whatever_goes_directly_is_what_the_module_says(codec):
    random = Random(codec * 2)
    num_taken = num_left = 0
    for _ in range(4000):
        content = some_content(random)
        payload = random.choice(WRITERS_OF[codec])(content)
        if random.random() < 0.7:
            payload = mutate(random, payload, random.choice(WRITERS_OF[codec])(some_content(random)))
        taken = directly(codec, payload)
        if taken is None:
            num_left += 1
            continue
        num_taken += 1
        assert by_module(codec, payload) == taken, payload.hex()
    assert num_taken > 400 and num_left > 400, (num_taken, num_left)


def test_a_window_that_streams_refuse_is_left_to_the_module():
    content = bytes(2 << 20)
    ordinary = zstd_frame(content, content_size=False)
    assert directly("zstd", ordinary, 4 << 20) == content
    for exponent in range(16, 22):
        frame = bytearray(ordinary)
        frame[5] = exponent << 3
        assert directly("zstd", bytes(frame), 4 << 20) is None


def test_an_lz4_block_that_ends_behind_the_payload_is_not_read():
    payload = bytearray(ORDINARY["lz4"](b"records" * 100))
    payload[7:11] = (60_000).to_bytes(4, "little")
    assert directly("lz4", bytes(payload)) is None
    payload[7:11] = (60_000 | 1 << 31).to_bytes(4, "little")
    assert directly("lz4", bytes(payload)) is None


def test_lz4_frames_with_extras_are_left_to_the_module():
    content = b"records" * 1000
    for extras in ({"store_size": True}, {"content_checksum": True}, {"block_checksum": True}):
        payload = lz4_frame(content, **extras)
        assert directly("lz4", payload) is None
        assert by_module("lz4", payload) == content
