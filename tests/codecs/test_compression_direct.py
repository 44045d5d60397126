"""The direct way takes only what the codec's own module takes, and gives the same bytes."""

from __future__ import annotations

from array import array
from functools import cache
from itertools import accumulate, pairwise
from random import Random

import cramjam
import pytest
from tests.made.codecs import lz4_frame
from tests.made.payloads import ORDINARY, WRITERS_OF, mutate, some_content, zstd_frame

from kafka_segments.core.codecs import CODEC_NAMES, decompress, snappy
from kafka_segments.core.segment.columnar.codec_loops import ENOUGH, NEXT, USED, Loop, expand_snappy, new_loop
from kafka_segments.errors import DecompressionError

ROOM = 1 << 20
IN_FRONT = b"header"  # of an entry, in the window


def directly(codec: str, payload: bytes, room: int = ROOM) -> bytes | None:
    """What the short way writes; None if it leaves the payload to the codec's module."""
    fence = bytearray(b"\xaa" * (room + 512))
    size = by_loop(codec, payload, fence, room)
    assert fence[room + 256 :] == b"\xaa" * 256
    return None if size is None else bytes(fence[:size])


def by_loop(codec: str, payload: bytes, target: bytearray, room: int) -> int | None:
    loop = loop_of(codec)
    places = array("q", [len(IN_FRONT), len(IN_FRONT + payload)])
    num_done, size = loop.expand(memoryview(IN_FRONT + payload), places, memoryview(target)[:room], 1 << 30)
    if not num_done:
        return None
    assert list(places) == [0, size]
    return size


@cache
def loop_of(codec: str) -> Loop:
    loop = new_loop(codec)
    assert loop is not None
    return loop


def by_module(codec: str, payload: bytes) -> bytes | None:
    try:
        return decompress(codec, payload)
    except DecompressionError:
        return None


def test_payloads_one_behind_the_other():
    """Some at a time, up to one that is not ordinary, and on behind it."""
    random = Random(5)
    for codec in CODEC_NAMES:
        contents = [random.randbytes(10 * at) + b"x" * 3000 for at in range(40)]
        payloads = [ORDINARY[codec](content) for content in contents]
        payloads[17] = payloads[17][:-5]
        window = b"".join(payloads)
        ends = list(accumulate(map(len, payloads), initial=0))
        target = bytearray(1 << 20)
        at, found = 0, []
        while at < len(payloads):
            rest = [place for one in range(at, len(payloads)) for place in (ends[one], ends[one + 1])]
            places = array("q", rest)
            room = memoryview(target)[: 1 << 17]
            num_done, used = loop_of(codec).expand(memoryview(window), places, room, 10_000)
            found += [target[places[2 * one] : places[2 * one + 1]] for one in range(num_done)]
            at += num_done
            if num_done == 0:
                assert at == 17
                found.append(None)
                at += 1
            else:
                assert used < 10_000 + 4000
        assert found == [None if one == 17 else content for one, content in enumerate(contents)]


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


@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.long(short=False))])
@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_whatever_goes_directly_is_what_the_module_says(codec, seed):
    random = Random(codec * seed)
    num_taken = num_left = 0
    for _ in range(2500):
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
        is_taken = exponent < 18  # 2^(10 + exponent): the library's limit is 2^27
        frame = bytearray(ordinary)
        frame[5] = exponent << 3
        assert directly("zstd", bytes(frame), 4 << 20) == (content if is_taken else None)


@pytest.mark.parametrize("distance", [1, 2, 7, 8, 31, 32, 33, 64, 2047, 2048, 5000])
def test_snappy_copies_of_any_size_and_distance(distance):
    """One by one, each behind a short literal; the content is longer than what is copied at once."""
    first = Random(distance).randbytes(distance)
    block, content = bytearray(), bytearray(first)
    for size in (*range(1, 65), 64):
        block += bytes([1 << 2]) + b"ab" + bytes([size - 1 << 2 | 2]) + distance.to_bytes(2, "little")
        content += b"ab"
        for _ in range(size):
            content.append(content[-distance])
    literal = bytes([61 << 2]) + (distance - 1).to_bytes(2, "little") + first
    whole = literal + block
    payload = varint_of(len(content)) + whole
    assert directly("snappy", payload) == by_module("snappy", payload) == content
    for wrong in (len(content) - 1, len(content) + 1):
        assert directly("snappy", varint_of(wrong) + whole) is None


def varint_of(number: int) -> bytes:
    """A number as snappy's blocks begin with it."""
    groups = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def snappy_payload(random: Random) -> bytes:
    """A bare block, or a stream of up to four chunks; some are damaged."""
    blocks = [bytes(cramjam.snappy.compress_raw(some_content(random))) for _ in range(random.randrange(1, 5))]
    stream = snappy.LEN_STREAM_HEADER, snappy.STREAM_NUMBER.to_bytes(8, "little", signed=True)
    chunks = b"".join(len(block).to_bytes(4, "big") + block for block in blocks)
    payload = random.choice([blocks[0], stream[1].ljust(stream[0], b"\0") + chunks])
    return mutate(random, payload, payload) if random.random() < 0.2 else payload


@pytest.mark.parametrize("way", ["compiled", "interpreted"])
def test_snappy_payloads_of_several_blocks(way):
    """Two blocks at a time, of one payload or of two; the compiled loop does what its source says."""
    np = pytest.importorskip("numpy")
    random, codec = Random(8), "snappy"
    loop = loop_of(codec)
    num_whole = num_stopped = 0
    for _ in range(150 if way == "interpreted" else 1500):
        payloads = [snappy_payload(random) for _ in range(random.randrange(1, 6))]
        ends = [len(IN_FRONT), *accumulate(map(len, payloads), initial=len(IN_FRONT))][1:]
        places = np.array(list(pairwise(ends)), np.int64)
        window = np.frombuffer(IN_FRONT + b"".join(payloads), np.uint8)
        target = np.full(1 << 19, 0xAA, np.uint8)
        if way == "compiled":
            num_done, used = loop.expand(memoryview(window), places, memoryview(target)[: 1 << 18], 1 << 30)
        else:
            state = np.array(loop.state, np.int64)
            state[[ENOUGH, USED, NEXT]] = 1 << 30, 0, 0
            num_done = expand_snappy(window, places.reshape(-1), target[: 1 << 18], state)
            used = state[USED]
        contents = [by_module(codec, payload) for payload in payloads]
        found = [target[start:end].tobytes() for start, end in places[:num_done]]
        assert found == contents[:num_done]
        assert used == sum(map(len, found)), "one behind the other"
        assert (target[1 << 18 :] == 0xAA).all()
        if num_done == len(payloads):
            num_whole += 1
        else:
            num_stopped += 1
            alone = directly(codec, payloads[num_done], (1 << 18) - used)
            assert alone is None, "this one is not ordinary, or does not fit"
    assert num_whole > 20 and num_stopped > 20


def test_an_lz4_block_that_ends_behind_the_payload_is_not_read():
    payload = bytearray(ORDINARY["lz4"](b"records" * 100))
    payload[7:11] = (60_000).to_bytes(4, "little")
    assert directly("lz4", bytes(payload)) is None
    payload[7:11] = (60_000 | 1 << 31).to_bytes(4, "little")
    assert directly("lz4", bytes(payload)) is None


def test_lz4_frames_with_extras_are_left_to_the_module():
    content = b"records" * 1000
    for extras in ({"store_size": True}, {"content_checksum": True}):
        payload = lz4_frame(content, **extras)
        assert directly("lz4", payload) is None
        assert by_module("lz4", payload) == content


@pytest.mark.parametrize("is_stored", [False, True])
def test_checksums_of_lz4_blocks_are_verified(is_stored):
    """As aiokafka writes them; Kafka's Lz4BlockInputStream refuses a wrong one."""
    content = Random(3).randbytes(200_000) if is_stored else b"records" * 30_000
    payload = bytearray(lz4_frame(content, block_size=4, block_checksum=True))
    assert directly("lz4", bytes(payload)) == by_module("lz4", bytes(payload)) == content
    for at in (-5, -8):  # of the last block's, which is in front of the end mark
        payload[at] ^= 1
        assert directly("lz4", bytes(payload)) is by_module("lz4", bytes(payload)) is None
        payload[at] ^= 1
