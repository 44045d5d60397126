"""Cases: sound entries with one thing wrong (sometimes two), and what that is, from a seed.

Strategy: an entry is taken apart (`parts`), a field of it is chosen, first by where it stands, then by its
name, so that rare fields come as often as common ones. Its bytes are edited (`edits`), and everything around
is made right again (lengths, compression, checksums of what is inside and of the whole), or on purpose not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from tests.made import edits
from tests.made.codecs import FORMS, IDS, LEGACY_FORMS, codec_of
from tests.made.encoder import V2_HEADER, Batch, Message, Record, Wrapper
from tests.made.parts import Parts, Piece, Unit, sealed, sealed_unit, take_apart
from tests.made.recorded import distinct
from tests.made.shapes import LEN_DRAWN, Dice, segment
from tests.made.wild_payloads import WILD

MAX_LEN_ENTRY, MAX_LEN_FILE = 4 << 10, 8 << 10
"""Larger ones make a run slow and show no more."""
VARINTS = ("length", "_delta", "_count")


COUNT = slice(V2_HEADER - 17 - 4, V2_HEADER - 17)
"""The count of a batch, from behind the magic."""
SELDOM = (".crc", ".size", ".batch_length")
"""Fields of which there is less to be learned than of the others."""


class Case(NamedTuple):
    """Bytes, and the field that was changed in them; in a whole file, or in an entry by itself."""

    field: str
    data: bytes
    is_file: bool = False


@cache
def recorded() -> tuple[bytes, ...]:
    """Entries that brokers wrote, each once."""
    found = {
        file.data[start:end]: None
        for file in distinct()
        for start, end in zip(file.starts, file.starts[1:], strict=False)
    }
    return tuple(entry for entry in found if len(entry) <= MAX_LEN_ENTRY)


@cache
def small_files() -> tuple[tuple[bytes, tuple[int, ...]], ...]:
    """Whole files, with the places of their entries."""
    return tuple(
        (file.data, tuple(file.starts))
        for file in distinct()
        if len(file.data) <= MAX_LEN_FILE and len(file.starts) > 2
    )


def case(seed: str) -> Case:
    """The case of a seed."""
    dice = Random(seed)
    kind = dice.randrange(20_000)
    if kind == 0:
        return _bomb(dice)
    if kind < 1000:
        return _in_a_file(dice)
    entry = _entry(dice)
    if kind < 2000:
        return _blind(dice, entry)
    return _changed(dice, entry)


def _bomb(dice: Random) -> Case:
    """An entry of a few KiB that decompresses to more than a MiB."""
    large = bytes([dice.randrange(256)]) * (1 << 20)
    if dice.randrange(2):
        batch = Batch(records=(Record(value=large),), form=dice.choice(["gzip", "lz4", "zstd"]))
        return Case("bomb, batch", batch.encode())
    wrapper = Wrapper(messages=(Message(value=large),), form=dice.choice(["gzip", "lz4"]))
    return Case("bomb, wrapper", wrapper.encode())


def _entry(dice: Random) -> bytes:
    """A sound one: recorded, or of the shapes that the property tests make."""
    while True:
        if dice.randrange(3):
            entry = segment(Dice(dice.randbytes(LEN_DRAWN)), 1, None)[0].encode()
        else:
            entry = dice.choice(recorded())
        if len(entry) <= MAX_LEN_ENTRY:
            return entry


def _in_a_file(dice: Random) -> Case:
    """A recorded file with one entry changed, all others as they were; sometimes cut off."""
    data, starts = dice.choice(small_files())
    kind = dice.randrange(200)
    if kind == 0:
        return Case("file, zeros behind", data + bytes(dice.choice([1, 17, 18, 40, 5000])), is_file=True)
    if kind < 3:
        return Case("file, cut off", data[: dice.randrange(len(data))], is_file=True)
    at = dice.randrange(len(starts) - 1)
    changed = _changed(dice, data[starts[at] : starts[at + 1]])
    return Case(changed.field, data[: starts[at]] + changed.data + data[starts[at + 1] :], is_file=True)


def _blind(dice: Random, entry: bytes) -> Case:
    """Bytes behind the length field changed, whatever they are, with a stale checksum or a right one."""
    kind, keep = entry[16], 17
    body = edits.content(dice, entry[keep:])[: len(entry)]
    if len(body) < len(entry) - keep:
        body += dice.randbytes(len(entry) - keep - len(body))
    if kind == 2 and body[COUNT] == bytes(4) and dice.randrange(4):
        body = body[: COUNT.start] + entry[keep:][COUNT] + body[COUNT.stop :]  # with none, nothing is read
    data = entry[:8] + struct.pack(">i", keep - 12 + len(body)) + entry[12:keep] + body
    if dice.randrange(2):
        return Case(f"any bytes, magic {kind}", data)
    return Case(f"any bytes, magic {kind}, sealed", sealed(data))


def _changed(dice: Random, entry: bytes) -> Case:
    parts = take_apart(entry)
    name = _change(dice, parts)
    if dice.randrange(10) == 0:
        _change(dice, parts)
    if dice.randrange(12) == 0:
        parts.kept.add(f"{parts.kind}.crc")
    return Case(name, parts.encode())


def _change(dice: Random, parts: Parts) -> str:
    """Change one thing; returns the name of the field."""
    ways: list[tuple[int, Callable[[Random, Parts], str]]] = [(25, _head)]
    if parts.units:
        ways += [(5 if parts.kind == "message" else 45, _piece), (10, _structure)]
        ways += [(20, _stored)] if parts.form != "none" else []
        ways += [(8, _content)] if parts.kind != "message" else []
        ways += [(3, _recompressed), (0 if parts.kind == "message" else 5, _wild)]
    weights, functions = zip(*ways, strict=True)
    (function,) = dice.choices(functions, weights)
    return function(dice, parts)


def _head(dice: Random, parts: Parts) -> str:
    """A field of the header."""
    names = [name for name in parts.head if not name.endswith(SELDOM) or dice.randrange(3) == 0]
    name = dice.choice(names)
    data = parts.head[name]
    if name.endswith((".key", ".value")):
        parts.head[name] = edits.content(dice, data)
        return name
    if name.endswith((".batch_length", ".size")):
        # Too long ones have no more to tell than that, see `explained`.
        parts.head[name] = edits.length(dice, data) if dice.randrange(20) == 0 else edits.shorter(dice, data)
    elif name.endswith("_length"):
        parts.head[name] = edits.length(dice, data)
    elif name.endswith(".magic"):
        parts.head[name] = bytes([dice.choice([3, 127, 128, 255] if dice.randrange(40) == 0 else [0, 1, 2])])
    elif name == "batch.count" and dice.randrange(8):
        (count,) = struct.unpack(">i", data)
        near = max(1, count + dice.choice([-1, 1, 2]))
        parts.head[name] = struct.pack(">i", min(near, (1 << 31) - 1))
    else:
        parts.head[name] = edits.number(dice, data)
    parts.kept.add(name)
    return name


def _piece(dice: Random, parts: Parts) -> str:
    """A field of a record, or of a message in a wrapper, before it is compressed."""
    names = sorted({piece.field for unit in parts.units for piece in unit})
    name = dice.choice(names)
    units = enumerate(parts.units)
    places = [(where, at) for where, unit in units for at, piece in enumerate(unit) if piece.field == name]
    where, at = dice.choice(places)
    unit = parts.units[where]
    unit[at] = Piece(name, _edit_of(name)(dice, unit[at].data))
    kind = dice.randrange(4)
    if name.startswith("record.") and name != "record.length" and kind:
        parts.units[where] = sealed_unit(unit)
    elif name.startswith("inner.") and kind:
        right = sealed_unit(unit)
        keep = [piece.field == name for piece in unit]
        parts.units[where] = [old if kept else new for old, new, kept in zip(unit, right, keep, strict=True)]
    parts.stored = None
    return name


def _edit_of(name: str) -> edits.Edit:
    kind, _, field = name.partition(".")
    if kind == "record" and field.endswith(VARINTS):
        return edits.any_varint
    if name == "inner.size":
        return edits.size
    if field.endswith("_length"):
        return edits.length
    if field == "header_key":
        return edits.text
    return edits.content if field in ("", "key", "value", "header_value") else edits.number


def _structure(dice: Random, parts: Parts) -> str:
    """Records or messages as wholes: missing, twice, in another order, cut off, with bytes behind them."""
    units, parts.stored = parts.units, None
    kind = dice.choice(["missing", "twice", "swapped", "cut off", "bytes behind", "none", "nested"])
    at = dice.randrange(len(units))
    if kind == "missing":
        del units[at]
    elif kind == "twice":
        units.insert(at, list(units[at]))
    elif kind == "swapped":
        units[0], units[at] = units[at], units[0]
    elif kind == "cut off":
        units[:] = _whole(parts.content()[: dice.randrange(len(parts.content()) + 1)])
    elif kind == "bytes behind":
        units.append([Piece("more", dice.choice([b"\0", bytes(20), dice.randbytes(dice.randrange(1, 12))]))])
    elif kind == "none":
        units[:] = []
    else:
        units[at] = _whole(dice.choice(recorded()))[0]
    return f"{parts.kind}, contents {kind}"


def _whole(data: bytes) -> list[Unit]:
    return [[Piece("more", data)]]


def _content(dice: Random, parts: Parts) -> str:
    """Bytes of records or of messages inside, whatever they are, before they are compressed."""
    parts.units[:], parts.stored = _whole(edits.content(dice, parts.content())), None
    return f"{parts.kind}, contents blindly"


def _stored(dice: Random, parts: Parts) -> str:
    """The payload as it is stored, compressed."""
    parts.stored = edits.content(dice, parts.payload())
    return f"{parts.kind}, compressed bytes, {codec_of(parts.form)}"


def _recompressed(dice: Random, parts: Parts) -> str:
    """The same in another form; the header tells it, or some codec by another number."""
    forms: Sequence[str] = list(FORMS) if parts.is_batch else LEGACY_FORMS
    if parts.kind == "message":
        forms = ["none"]
    parts.form, parts.stored = dice.choice(forms), None
    _set_codec(parts, dice.choice([IDS[codec_of(parts.form)]] * 3 + [dice.randrange(8)]))
    return f"{parts.kind}, another codec"


def _wild(dice: Random, parts: Parts) -> str:
    """The same as some writer in the wild compresses it; half of them with other bytes."""
    habit = dice.choice(list(WILD.values()))
    parts.stored = habit.write(parts.content())
    _set_codec(parts, IDS[habit.codec])
    if dice.randrange(2):
        parts.stored = edits.content(dice, parts.stored)
    return f"{parts.kind}, a writer's habit, {habit.codec}"


def _set_codec(parts: Parts, codec: int) -> None:
    name = f"{parts.kind}.attributes"
    attributes = parts.head[name]
    parts.head[name] = attributes[:-1] + bytes([attributes[-1] & 0xF8 | codec])
