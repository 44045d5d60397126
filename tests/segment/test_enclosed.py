"""Behind a cut or lengthened wrapper, its own messages are no entries, and true entries are never hidden."""

from __future__ import annotations

import struct
from random import Random

import pytest
from tests import work
from tests.made.build import message, patched
from tests.made.codecs import gzip_member, lz4_frame, pieces, xerial
from tests.made.segments import rows, slowly
from tests.made.wild_payloads import IDS, lz4_stored, lz4_with_header_checksum

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core import formats
from kafka_segments.core.codecs import decompress
from kafka_segments.core.codecs.literals import trace

OFS_LENGTH = 8
BEYOND_THE_END = struct.pack(">i", 1 << 30)

WRITERS = {
    "gzip": ("gzip", gzip_member),
    "gzip, stored": ("gzip", lambda content: gzip_member(content, 0)),
    "snappy": ("snappy", lambda content: xerial(pieces(content))),
    "snappy, small chunks": ("snappy", lambda content: xerial(pieces(content, 300))),
    "snappy, bare": ("snappy", lambda content: xerial([content])[20:]),
    "lz4": ("lz4", lz4_frame),
    "lz4, checksums": ("lz4", lambda content: lz4_frame(content, block_checksum=True, store_size=True)),
    "lz4, stored": ("lz4", lz4_stored),
    "lz4 of magic 0": ("lz4", lambda content: lz4_with_header_checksum(content, 0x1A)),
}


def inner(random: Random, count: int, first: int, magic: int) -> bytes:
    """Messages of random bytes, which codecs leave as they are, and now and then of what they do not."""
    values = [random.randbytes(random.randrange(20, 90)) if at % 5 else b"x" * 60 for at in range(count)]
    return b"".join(message(first + at, value, magic=magic) for at, value in enumerate(values))


def found(data: bytes, *, both: bool = True) -> tuple[list[int], list[tuple[str, int, int]]]:
    """Offsets, and damage; the fast way must give the same records."""
    with open_segment(data) as segment:
        events = list(segment.iter_events(on_damage="skip"))
        if both:
            assert rows(segment.read_batches(on_damage="skip")) == slowly(data)
    damage = [event for event in events if isinstance(event, Damage)]
    return (
        [event.offset for event in events if isinstance(event, Record)],
        [(type(one.error).__name__, one.position, one.end_position) for one in damage],
    )


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(("codec", "write"), WRITERS.values(), ids=WRITERS)
def test_a_cut_wrapper_is_cut_and_nothing_else(codec: str, write, magic: int) -> None:
    random = Random(magic)
    first = 5 if magic == 0 else 0
    # At the start of a file relative offsets are above the last sound one; in magic 0 they are absolute.
    content = inner(random, 12, first, magic)
    wrapper = message(first + 11, write(content), magic=magic, attributes=IDS[codec])
    for before in (b"", message(3, magic=magic)):
        whole = before + wrapper
        for end in range(len(before) + 17, len(whole), 7):
            offsets, damage = found(whole[:end], both=end % 9 == 0)
            assert offsets == [3] * bool(before)
            assert damage == [("TruncatedError", len(before), end)], end


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(("codec", "write"), WRITERS.values(), ids=WRITERS)
def test_true_entries_are_found_though_they_are_the_same(codec: str, write, magic: int) -> None:
    """Behind a wrapper with a wrong length stand the very messages that it holds, as entries."""
    content = inner(Random(7), 12, 0, magic)
    wrapper = message(11, write(content), magic=magic, attributes=IDS[codec])
    behind = b"".join(message(20 + at, one.value, magic=magic) for at, one in enumerate(records_of(content)))
    data = message(0, magic=magic) + patched(wrapper, OFS_LENGTH, BEYOND_THE_END) + behind
    offsets, damage = found(data)
    assert offsets == [0, *range(20, 32)]
    assert damage == [("TruncatedError", len(message(0, magic=magic)), len(data) - len(behind))]


@pytest.mark.parametrize("cut", range(1, 400, 29))
@pytest.mark.parametrize(("codec", "write"), WRITERS.values(), ids=WRITERS)
def test_true_entries_are_found_behind_half_a_wrapper(codec: str, write, cut: int) -> None:
    """Bytes of it were lost, and true entries stand where its codec still expects its own."""
    content = inner(Random(cut), 9, 0, 1)
    wrapper = message(8, write(content), attributes=IDS[codec])
    behind = b"".join(message(20 + at, one.value) for at, one in enumerate(records_of(content)))
    kept = wrapper[: max(40, len(wrapper) - cut)]
    data = message(0) + patched(kept, OFS_LENGTH, BEYOND_THE_END) + behind
    offsets, _damage = found(data)
    assert offsets[-9:] == list(range(20, 29))


def records_of(content: bytes) -> list[Record]:
    with open_segment(content) as segment:
        return [event for event in segment.iter_events() if isinstance(event, Record)]


@pytest.mark.parametrize(("codec", "write"), WRITERS.values(), ids=WRITERS)
def test_a_trace_is_the_content(codec: str, write) -> None:
    random = Random(3)
    magic = 0
    for size in (0, 1, 100, 5000, 200_000):
        content = b"".join(
            random.choice([random.randbytes(40), b"again and again"]) for _ in range(size // 30)
        )
        payload = write(content)
        traced = trace(codec, payload, magic, 1 << 30)
        assert traced.content == decompress(codec, payload, magic=magic) == content
        for run in traced.runs:
            assert payload[run.place : run.place + run.size] == content[run.to : run.to + run.size]
        assert [run.place for run in traced.runs] == sorted(run.place for run in traced.runs)
        for end in sorted(random.sample(range(len(payload)), min(9, len(payload)))):
            assert content.startswith(trace(codec, payload[:end], magic, 1 << 30).content)
        assert len(trace(codec, payload, magic, 500).content) <= max(500, 64 << 10) + 500


def test_traces_of_any_bytes_end() -> None:
    random = Random(11)
    for _ in range(2000):
        codec, write = random.choice(list(WRITERS.values()))
        payload = bytearray(write(random.randbytes(random.randrange(300)) * random.randrange(3)))
        for _ in range(random.randrange(4)):
            if payload:
                payload[random.randrange(len(payload))] = random.randrange(256)
        assert len(trace(codec, bytes(payload), 1, 1 << 20).content) < 8 << 20
    assert trace("zstd", b"?", 1, 1) == trace("none", b"", 1, 1) == (b"", [])


@pytest.mark.parametrize("size", [100, 7 << 20, 9 << 20, 1 << 30])
def test_where_a_value_begins_that_is_cut_off(size: int) -> None:
    for magic, start in ((0, 14), (1, 22)):
        whole = message(5, b"0123456789", magic=magic, attributes=3)[12:]
        cut = patched(whole, start - 4, struct.pack(">i", size))
        assert formats.find_value(cut) == (magic, 3, start)
        assert formats.find_value(whole) == (magic, 3, start)
        assert formats.find_value(cut[: start - 1]) is None
    assert formats.find_value(message(5, None)[12:]) is None
    assert formats.find_value(b"") is None


def test_time_is_linear_in_messages_that_look_like_entries() -> None:
    """5,000 inside one cut wrapper: following it anew for each would take hours."""
    content = b"".join(message(at, b"%d" % at) for at in range(5_000))
    wrapper = message(4_999, lz4_stored(content), attributes=IDS["lz4"])
    with work.at_most(200 * 5000), work.reads_at_most(20 * len(wrapper)):
        assert found(wrapper[:-1], both=False) == ([], [("TruncatedError", 0, len(wrapper) - 1)])


def test_time_is_linear_in_damaged_wrappers() -> None:
    """Each claims all that is behind it for its own; only up to the next true entry is looked at."""
    claim = struct.pack("<I", (4 << 20) | 1 << 31)
    one = message(5, b"\x04\x22\x4d\x18\x70\x40\xad" + claim + b"x" * 20, attributes=IDS["lz4"])
    parts = []
    for at in range(3000):
        parts += [patched(one, OFS_LENGTH, struct.pack(">i", 200)), message(10 * at + 10, b"true")]
    data = b"".join(parts)
    # Each search reads what is left of so small a file, half of it on average.
    with work.at_most(2000 * 3000), work.reads_at_most(2500 * len(data)):
        offsets, damage = found(data, both=False)
    assert offsets == [10 * at + 10 for at in range(3000)]
    assert len(damage) == 3000
