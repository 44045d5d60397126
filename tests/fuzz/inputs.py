"""Inputs by number: the same seed and number give the same bytes, in any process.

Strategy: an input is a segment of one to three entries, one of them damaged at one of four depths: as it is
stored (checksums and lengths go wrong), or under a right checksum in the entry, in what a codec has made, or
in the records before a codec makes something of them. So the parsers inside are reached.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import crc32c
from tests.fuzz import seeds
from tests.fuzz.anatomy import MAGIC_AT, Anatomy, dissect, record_fields
from tests.made.codecs import FORMS, IDS, codec_of
from tests.made.edits import edited

from kafka_segments.core.codecs import decompress
from kafka_segments.errors import KafkaFormatError
from kafka_segments_generated.columns import kafka_log_segment

REPEATED = next(at for at, each in enumerate(kafka_log_segment.CONTENTS) if each.is_repeated)
NUMBER = {codec_of(form): IDS[codec_of(form)] for form in FORMS}
LARGEST = 1 << 16
"""Bytes that an input may have; one in a thousand would have more, and is cut."""


@dataclass(frozen=True)
class Input:
    """Some bytes, and whether the entry in them that was damaged has a right checksum."""

    data: bytes
    is_sealed: bool


def dice_of(seed: int, number: int) -> Random:
    """The generator for an input."""
    return Random(seed << 40 | number)


def segment(dice: Random) -> Input:
    """A segment with damage in it."""
    all_entries = seeds.entries()
    kept = seeds.grown() + seeds.crashers()
    if kept and dice.randrange(8) == 0:
        data = kept[dice.randrange(len(kept))]
        return Input(edited(dice, data, others=kept)[:LARGEST], False)
    anatomy = all_entries[dice.randrange(len(all_entries))]
    depth = dice.randrange(8)
    if depth < 2:
        data, is_sealed = edited(dice, anatomy.data, anatomy.fields, (_other(dice).data,)), False
    else:
        data, is_sealed = _under_checksum(dice, anatomy, depth)
    before = b"".join(_other(dice).data for _ in range(dice.choice((0, 0, 0, 1))))
    behind = b"".join(_other(dice).data for _ in range(dice.choice((0, 0, 1, 1))))
    zeros = bytes(dice.randrange(40)) if dice.randrange(16) == 0 else b""
    return Input((before + data + behind + zeros)[:LARGEST], is_sealed)


def _other(dice: Random) -> Anatomy:
    return seeds.entries()[dice.randrange(len(seeds.entries()))]


def _under_checksum(dice: Random, anatomy: Anatomy, depth: int) -> tuple[bytes, bool]:
    if depth < 5:
        start = anatomy.len_at if dice.randrange(4) else anatomy.payload[0]
        return sealed(dice, anatomy, edited(dice, anatomy.data, anatomy.fields, (_other(dice).data,), start))
    plain = plain_of(anatomy)
    if depth < 7 and plain is not None:
        content, fields = plain
        changed = edited(dice, content, fields, (_other(dice).data,)) if dice.randrange(10) else content
        form = dice.choice([*FORMS])
        payload = _pack(form, changed, 2 if anatomy.content == REPEATED else anatomy.data[MAGIC_AT])
        return sealed(dice, anatomy, _with_payload(anatomy, payload, NUMBER[codec_of(form)]))
    start, end = anatomy.payload
    return sealed(dice, anatomy, _with_payload(anatomy, edited(dice, anatomy.data[start:end]), None))


def _pack(form: str, content: bytes, magic: int) -> bytes:
    return content if form == "none" else FORMS[form](content)


def _with_payload(anatomy: Anatomy, payload: bytes, codec: int | None) -> bytes:
    """The entry with another payload, and another codec; the length of a message's value follows."""
    start, end = anatomy.payload
    data = bytearray(anatomy.data)
    if codec is not None:
        data[anatomy.codec_at] = data[anatomy.codec_at] & ~7 | codec
    if anatomy.content != REPEATED and anatomy.codec:
        size = anatomy.fields[-1] if anatomy.fields[-1].width == 4 else None
        if size is not None and size.at + size.width == start:
            data[size.at : start] = len(payload).to_bytes(size.width, "big")
    return bytes(data[:start]) + payload + bytes(data[end:])


@lru_cache(maxsize=4000)
def plain_of(anatomy: Anatomy) -> tuple[bytes, tuple] | None:  # type: ignore[type-arg]
    """What an entry's payload decompresses to, and the fields in it; None if it holds no records."""
    start, end = anatomy.payload
    payload = anatomy.data[start:end]
    if anatomy.codec == 0:
        return (payload, ()) if anatomy.content == REPEATED else None
    name = kafka_log_segment.CONTENTS[anatomy.content].codecs[anatomy.codec]
    try:
        plain = decompress(name, payload, max_size=1 << 20, magic=anatomy.data[MAGIC_AT]) if payload else b""
    except KafkaFormatError:
        return None
    if anatomy.content == REPEATED:
        return plain, tuple(record_fields(plain))
    first = dissect(plain[: _len_entry(plain)])
    return plain, () if first is None else first.fields


def _len_entry(data: bytes) -> int:
    from kafka_segments.core import formats

    start = data[: formats.LEN_PREFIX]
    return formats.read_prefix(start).len_entry if len(start) == formats.LEN_PREFIX else 0


def sealed(dice: Random, anatomy: Anatomy, data: bytes) -> tuple[bytes, bool]:
    """The entry with its length (nearly always) and its checksum made right, and whether they are."""
    out = bytearray(data)
    same_magic = len(out) > anatomy.crc_start and out[MAGIC_AT] == anatomy.data[MAGIC_AT]
    has_length = dice.randrange(16) != 0
    if has_length and len(out) > anatomy.len_at + 4:
        size = max(len(out) - anatomy.len_overhead, 0)
        out[anatomy.len_at : anatomy.len_at + 4] = size.to_bytes(4, "big")
    if same_magic:
        region = memoryview(bytes(out))[anatomy.crc_start :]
        value = crc32c.crc32c(region) if anatomy.content == REPEATED else zlib.crc32(region)
        out[anatomy.crc_at : anatomy.crc_at + 4] = value.to_bytes(4, "big")
    return bytes(out), same_magic and has_length
