"""Strategies: segments with something wrong in them, outside or inside their checksums.

Strategy: bytes are edited at three depths: in the segment as it is stored (checksums and lengths go wrong),
in a compressed payload, and in the records before compression (both under a right checksum, so that damage
reaches the decoders of records). The edits know what hurts: varints, lengths, counts, signs.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st
from tests.made.encoder import Batch, Entry, Message, Wrapper, encode_segment
from tests.made.shapes import LEN_DRAWN, Dice, segment

COUNTS = [-1, 0, 1, 2, 3, 100, (1 << 31) - 1, -(1 << 31)]
BYTES = [0x00, 0x01, 0x02, 0x7F, 0x80, 0x81, 0xFE, 0xFF, 0x10]

Edit = Callable[[Dice, bytes, int], bytes]


def _flip(dice: Dice, data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << dice.below(8)]) + data[at + 1 :]


def _set(dice: Dice, data: bytes, at: int) -> bytes:
    return data[:at] + bytes([dice.choose(BYTES)]) + data[at + 1 :]


def _set_any(dice: Dice, data: bytes, at: int) -> bytes:
    return data[:at] + bytes([dice.below(256)]) + data[at + 1 :]


def _insert(dice: Dice, data: bytes, at: int) -> bytes:
    return data[:at] + dice.piece(6) + data[at:]


def _remove(dice: Dice, data: bytes, at: int) -> bytes:
    return data[:at] + data[at + 1 + dice.below(6) :]


def _cut(_: Dice, data: bytes, at: int) -> bytes:
    return data[:at]


def _zero(dice: Dice, data: bytes, at: int) -> bytes:
    size = min(1 + dice.below(40), len(data) - at)
    return data[:at] + bytes(size) + data[at + size :]


def _repeat(dice: Dice, data: bytes, at: int) -> bytes:
    return data[: at + 1 + dice.below(60)] + data[at:]


def _widen(dice: Dice, data: bytes, at: int) -> bytes:
    """A byte more for what may be a varint, of the same value: Kafka takes it."""
    more = 1 + dice.below(9)
    return data[:at] + bytes([data[at] | 0x80]) + b"\x80" * (more - 1) + b"\0" + data[at + 1 :]


EDITS: list[Edit] = [_flip, _set, _set_any, _set, _insert, _remove, _cut, _zero, _repeat, _widen]


def _edited(dice: Dice, data: bytes) -> bytes:
    """One to three edits, near the beginning as often as anywhere."""
    for _ in range(1 + dice.below(3)):
        if data:
            reach = len(data) if dice.below(2) else min(len(data), 40)
            data = dice.choose(EDITS)(dice, data, dice.below(reach))
    return data


def _resealed(message: bytes) -> bytes:
    """A right checksum and length for what was a message of magic 0 or 1."""
    body = message[16:]
    return message[:8] + struct.pack(">iI", len(body) + 4, zlib.crc32(body)) + body


def _damaged(dice: Dice, entry: Entry) -> Entry:
    """The entry with something wrong that its checksum covers."""
    kind = dice.below(8)
    if isinstance(entry, Message):
        return entry if kind < 4 else replace(entry, raw=_resealed(_edited(dice, entry.encode())))
    if isinstance(entry, Wrapper) and kind < 2:
        at = dice.below(len(entry.messages))
        message = entry.messages[at]
        damaged = replace(
            message, raw=_resealed(_edited(dice, message.encode(message.offset - entry.shift())))
        )
        return replace(entry, messages=(*entry.messages[:at], damaged, *entry.messages[at + 1 :]))
    if kind < 4:
        field = "payload" if isinstance(entry, Batch) else "inner"
        return replace(entry, **{field: _edited(dice, entry.content())})
    if kind < 6:
        return replace(entry, stored=_edited(dice, entry.compressed()))
    if isinstance(entry, Wrapper):
        return replace(entry, first_inner=entry.first_inner + dice.choose([1, 3, 1 << 40]))
    return replace(entry, count=dice.choose(COUNTS), last_offset_delta=dice.choose(COUNTS))


def _mutated(dice: Dice, size: int) -> bytes:
    entries = segment(dice, size, None)
    kind = dice.below(4)
    if kind:
        at = dice.below(size)
        entries[at] = _damaged(dice, entries[at])
    data = encode_segment(entries)
    return data if kind > 1 else _edited(dice, data)


def mutated_segments(size: int = 3) -> st.SearchStrategy[bytes]:
    """The bytes of segments of `size` entries, edited at one depth or two."""
    drawn = st.binary(min_size=LEN_DRAWN * size, max_size=LEN_DRAWN * size)
    return drawn.map(lambda data: _mutated(Dice(data), size))


def sealed_entries() -> st.SearchStrategy[bytes]:
    """The bytes of single entries with damage under a right checksum."""
    drawn = st.binary(min_size=2 * LEN_DRAWN, max_size=2 * LEN_DRAWN)
    return drawn.map(lambda data: _sealed(Dice(data)))


def _sealed(dice: Dice) -> bytes:
    return _damaged(dice, segment(dice, 1, None)[0]).encode()


def mutated(data: bytes) -> st.SearchStrategy[bytes]:
    """These bytes, edited."""
    return st.binary(min_size=64, max_size=64).map(lambda drawn: _edited(Dice(drawn), data))
