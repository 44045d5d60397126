"""What a damaged wrapper holds is followed in pieces and by machine code as byte by byte and one by one."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from functools import partial
from random import Random

import pytest
from tests import work
from tests.bounds.test_enclosed_costs import _stored
from tests.made.adversaries import EMPTY_RECORD, GZIP, LZ4, batch, message
from tests.python import traced
from tests.ways import compiled, interpreted

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.core.codecs.literals import trace
from kafka_segments.core.segment.scan import scanner
from kafka_segments.core.segment.scan.nested_messages import sound_messages


def _steps_by_byte(payload: bytes, content: bytearray):
    inflater = zlib.decompressobj(wbits=31)
    begin = size = 0
    for place in range(len(payload)):
        step = payload[place : place + 1]
        out = inflater.decompress(step)
        if size and out != step:
            yield begin, size
            size = 0
        content += out
        if out == step:
            begin, size = (begin if size else place), size + 1
        if inflater.eof:
            return
    if size:
        yield begin, size


def _taken(steps, payload: bytes) -> tuple[list, bytes]:
    content, runs = bytearray(), []
    with suppress(zlib.error):
        runs.extend(steps(payload, content))
    return runs, bytes(content)


def _member(dice: Random) -> bytes:
    """Content stored and compressed, now and then cut off, damaged or followed by other bytes."""
    deflater = zlib.compressobj(dice.choice((0, 1, 9)), wbits=31)
    out = b""
    for _ in range(dice.randrange(1, 6)):
        content = (dice.randbytes(dice.choice((10, 63, 64, 65, 5000, 40_000))), bytes(3000), b"abc" * 500)
        out += deflater.compress(dice.choice(content))
        out += deflater.flush(dice.choice((zlib.Z_NO_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH)))
    out += deflater.flush() + dice.randbytes(dice.randrange(30))
    if dice.random() < 0.3:
        place = dice.randrange(len(out))
        out = out[:place] + bytes([out[place] ^ 1 << dice.randrange(8)]) + out[place + 1 :]
    return out[: dice.randrange(len(out))] if dice.random() < 0.3 else out


_LEAST = 17
"""Bytes of the smallest message behind its offset, of those that may stand in a payload as they are: 18."""


@pytest.mark.parametrize("seed", range(100))
def test_stored_bytes_are_told_in_pieces_as_byte_by_byte(seed):
    payload = _member(Random(seed))
    expected, content = _taken(_steps_by_byte, payload)
    found = trace("gzip", payload, 1, 1 << 30)
    assert content.startswith(found.content)
    assert len(content) - len(found.content) < 10_000  # what came of the few bytes that contradict
    for place, to, size in found.runs:
        assert payload[place : place + size] == found.content[to : to + size]
    for place, size in expected:
        if size >= (_LEAST if place < 64 << 10 else 64):
            assert any(one.place <= place and place + size <= one.place + one.size for one in found.runs)
    assert found.runs == sorted(found.runs)


def test_what_gzip_compressed_ends_where_it_becomes_too_much():
    zeros = zlib.compressobj(9, wbits=31)
    payload = b"".join(zeros.compress(bytes(1 << 20)) for _ in range(256)) + zeros.flush()
    with traced() as memory:
        found = trace("gzip", payload, 1, 16 << 20)
        peak = memory()[1]
    assert 16 << 20 < len(found.content) < 18 << 20
    assert peak < 80 << 20


@pytest.mark.parametrize("seed", range(50))
def test_messages_by_machine_code_are_those_of_the_interpreter(seed):
    pytest.importorskip("numba")
    dice = Random(seed)
    ends = (b"", b"x", dice.randbytes(40), message(b"", wrong_by=1), batch(EMPTY_RECORD, 1))
    count = dice.choice((0, 1, 30, 4096, 5000))
    sound = [message(dice.randbytes(dice.randrange(40)), 0, dice.randrange(2), at) for at in range(count)]
    content = b"".join(sound) + dice.choice(ends) + b"".join(sound[:3])
    place = len(b"".join(sound[: count // 3]))
    found, fast = {0: 1}, {0: 1}
    with interpreted():
        end = sound_messages(content, place, found)
    with compiled():
        assert sound_messages(content, place, fast) == end
    assert fast == found


def _lying(codec: int) -> bytes:
    """A message with a right checksum that claims a larger value than it has, or one that is compressed."""
    checked = struct.pack(">bbii", 0, codec, -1, 99) + b"a value"
    return struct.pack(">qiI", 1, len(checked) + 4, zlib.crc32(checked)) + checked


ODD = {
    "lying": _lying(0),
    "lying, compressed": _lying(GZIP),
    "null, compressed": message(None, GZIP, offset=1),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_messages_are_followed_whatever_their_values_claim(odd):
    """The search takes such a message for an entry, by its header and its checksum."""
    content = message(b"a value") + odd + message(b"a value", offset=2)
    found = {}
    assert sound_messages(content, 0, found) == len(content) == sum(found.values())
    with open_segment(message(b"before") + message(_stored(content), GZIP, offset=9)[:-9]) as segment:
        events = list(segment.iter_events(on_damage="skip"))
    assert [(type(one), getattr(one, "value", None)) for one in events] == [
        (Batch, None),
        (Record, b"before"),
        (Damage, None),
    ]


@pytest.mark.parametrize("has_crc32c", [True, False])
def test_messages_are_followed_by_machine_code_whatever_they_claim(monkeypatch, has_crc32c):
    """Also on a CPU without instructions for the checksum, from one window of the scanner to the next."""
    if not has_crc32c:
        monkeypatch.setattr(scanner, "has_crc32c", lambda: False)
    large = message(bytes(3 * scanner._LEN_FIRST_WINDOW), offset=2)
    content = message(b"a value") * 2000 + b"".join(ODD.values()) + large + message(b"a value") * 2000
    found, fast = {}, {}
    with interpreted():
        assert sound_messages(content, 0, found) == len(content)
    with compiled():
        assert sound_messages(content, 0, fast) == len(content)
    assert fast == found


def _compressed(inner: bytes, len_stored: int) -> bytes:
    """A gzip member of which the last bytes are stored, and nothing before."""
    deflater = zlib.compressobj(1, wbits=31, strategy=zlib.Z_HUFFMAN_ONLY)
    out = deflater.compress(inner[:-len_stored]) + deflater.flush(zlib.Z_FULL_FLUSH)
    block = inner[-len_stored:]
    out += b"\1" + struct.pack("<HH", len_stored, len_stored ^ 0xFFFF) + block
    return out + struct.pack("<II", zlib.crc32(inner), len(inner))


def _wrapper(way: str, num: int) -> bytes:
    """Of sound messages, so many or a twentieth of that, of which some stand in it as they are."""
    if way == "gzip":
        inner = b"".join(message(None, offset=number) for number in range(num))
        return message(_stored(inner), GZIP, offset=1 << 20, wrong_by=1)
    if way == "gzip, compressed":
        dice = Random(1)
        value = bytes(dice.randrange(160) for _ in range(900))
        inner = b"".join(message(value, offset=number) for number in range(num // 20))
        return message(_compressed(inner, 2 * len(message(value))), GZIP, offset=1 << 20, wrong_by=1)
    inner = b"".join(message(None, offset=number) for number in range(num))
    header = b"\x04\x22\x4d\x18\x60\x40\x82"
    pieces = (inner[at : at + (64 << 10)] for at in range(0, len(inner), 64 << 10))
    value = b"".join((len(one) | 1 << 31).to_bytes(4, "little") + one for one in pieces)
    return message(header + value, LZ4, offset=1 << 20, wrong_by=1)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [0, 20, 900])
def test_a_message_where_stored_bytes_begin_is_told_from_an_entry(magic, size):
    """Wherever the pieces end: its null key and the size of its value look like the header of a block."""
    dice = Random(size)
    noise = bytes(dice.choices(range(160), k=75_000))
    stored = [message(dice.randbytes(size), magic=magic, offset=at) for at in (1, 2)]
    for more in range(32):
        inner = message(noise[more:], magic=magic) + b"".join(stored)
        wrapper = message(_compressed(inner, 2 * len(stored[0])), GZIP, magic, 9)
        end = wrapper.index(stored[0]) + len(stored[0])
        with open_segment(wrapper[:end]) as segment:
            (damage,) = segment.iter_entries("skip")
        assert (damage.position, damage.end_position) == (0, end)


@pytest.mark.parametrize("num_lost", range(1, 7))
@pytest.mark.parametrize("way", ["by expression", "by machine code"])
def test_a_true_entry_whose_zeros_complete_a_message_is_delivered(way, num_lost, monkeypatch):
    if way == "by machine code":
        pytest.importorskip("numba")
        monkeypatch.setattr("kafka_segments.core.segment.scan.resync._LEN_SLOW", 0)
    inner = b"".join(message(bytes(8), offset=at) for at in range(20))
    wrapper = message(_stored(inner), GZIP, offset=99)
    end = wrapper.index(inner) + len(inner) // 2 - num_lost
    behind = b"".join(message(b"true", offset=at) for at in range(100, 103))
    with open_segment(wrapper[:end] + behind) as segment:
        damage, *true = segment.iter_entries("skip")
    assert (damage.position, damage.end_position) == (0, end)
    assert [one.last_offset for one in true] == list(range(100, 103))


@pytest.mark.parametrize("way", ["gzip", "gzip, compressed", "lz4"])
def test_a_wrapper_of_many_messages_is_followed_fast(way):
    pytest.importorskip("numba")

    def follow(wrapper):
        with open_segment(wrapper[:-20]) as segment:
            (damage,) = segment.iter_entries("skip")
        assert damage.end_position == len(wrapper) - 20

    wrapper = _wrapper(way, 180_000)
    follow(wrapper)  # the first time machine code is loaded
    with work.at_most(len(wrapper) // 5):
        follow(wrapper)
    wrappers = {num: _wrapper(way, num) for num in (20_000, 80_000)}
    work.check_linear(lambda num: partial(follow, wrappers[num]), 20_000)
