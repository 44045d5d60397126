"""What can happen to a copy of a partition, beside the kinds of `damage.py`."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from functools import partial

from tests.made import damage
from tests.made.damage import Mutation
from tests.made.log_directory import (
    BESIDE,
    CLEANER,
    HIGH_WATERMARK,
    LOG_START,
    RECOVERY_POINT,
    Directory,
    base_of,
    end_of,
)
from tests.made.partitions import generated
from tests.made.sound_batches import LEN_HEADER, Entry, entries_in, with_checksum

EPOCHS = "leader-epoch-checkpoint"

Change = Callable[[bytearray, random.Random], None]

_FIELDS = {
    "length": (8, ">i"),
    "leader_epoch": (12, ">i"),
    "magic": (16, ">b"),
    "last_offset_delta": (23, ">i"),
    "base_timestamp": (27, ">q"),
    "max_timestamp": (35, ">q"),
    "producer_id": (43, ">q"),
    "producer_epoch": (51, ">h"),
    "base_sequence": (53, ">i"),
    "count": (57, ">i"),
}
"""Where a field of a batch of magic 2 stands, and its form."""
_OFS_ATTRIBUTES = 21
_ATTRIBUTES = (1, 2, 3, 4, 5, 7, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7)
"""Bits that are changed: of the compression type, then of the timestamp type and the kind of batch."""


def _change_field(data: bytearray, rng: random.Random, *, position: int, form: str) -> None:
    bits = 8 * struct.calcsize(form)
    (value,) = struct.unpack_from(form, data, position)
    low, any_bit = value ^ 1 << rng.randrange(4), value ^ 1 << rng.randrange(bits)
    value = rng.choice((low, low, any_bit, value + 1, value - 1, 0, 77, rng.getrandbits(bits)))
    struct.pack_into(form.upper(), data, position, value & ((1 << bits) - 1))


def _flip_base(data: bytearray, rng: random.Random, *, bits: range) -> None:
    (base,) = struct.unpack_from(">Q", data)
    struct.pack_into(">Q", data, 0, base ^ 1 << rng.choice(bits))


def _change_attributes(data: bytearray, rng: random.Random) -> None:
    data[_OFS_ATTRIBUTES + 1] ^= rng.choice(_ATTRIBUTES)


def _change_records(data: bytearray, rng: random.Random) -> None:
    if len(data) > LEN_HEADER:
        data[rng.randrange(LEN_HEADER, len(data))] ^= 1 << rng.randrange(8)


def _edit(directory: Directory, rng: random.Random, *, change: Change) -> bool:
    """Change a batch, with its checksum made right or not."""
    name, entries = _some_entries(directory, rng)
    if not entries:
        return False
    one = rng.choice((entries[-1], *entries))
    data = bytearray(one.data)
    change(data, rng)
    is_repaired = rng.random() < 0.6
    _replace(directory, name, one, one, with_checksum(data) if is_repaired else bytes(data))
    return True


def shifted_alike(directory: Directory, rng: random.Random) -> bool:
    """Move neighbouring batches by the same number of offsets."""
    name, entries = _some_entries(directory, rng)
    if len(entries) < 2:
        return False
    count = rng.randint(2, min(4, len(entries)))
    first = rng.randrange(len(entries) - count + 1)
    distance = rng.choice((1, 3, 8, -1, -4, 1 << rng.randrange(5, 40)))
    moved = entries[first : first + count]
    if moved[0].base + distance < 0:
        return False
    pieces = [struct.pack(">q", one.base + distance) + one.data[8:] for one in moved]
    _replace(directory, name, moved[0], moved[-1], b"".join(pieces))
    return True


def other_epochs(directory: Directory, rng: random.Random) -> bool:
    """Give some batches in a row another leader epoch, which no checksum covers."""
    name, entries = _some_entries(directory, rng)
    if not entries:
        return False
    first, epoch = rng.randrange(len(entries)), rng.choice((0, 1, 3, 9, 77))
    moved = entries[first : first + rng.randint(1, 4)]
    pieces = [one.data[:12] + struct.pack(">i", epoch) + one.data[16:] for one in moved]
    _replace(directory, name, moved[0], moved[-1], b"".join(pieces))
    return True


def swapped_batches(directory: Directory, rng: random.Random) -> bool:
    """Let two neighbouring batches change places in their file."""
    name, entries = _some_entries(directory, rng)
    if len(entries) < 2:
        return False
    at = rng.randrange(len(entries) - 1)
    one, other = entries[at : at + 2]
    if one.end != other.position:
        return False
    _replace(directory, name, one, other, other.data + one.data)
    return True


def doubled_batch(directory: Directory, rng: random.Random) -> bool:
    """Let a batch stand twice, one behind the other."""
    name, entries = _some_entries(directory, rng)
    if entries:
        one = rng.choice(entries)
        _replace(directory, name, one, one, one.data + one.data)
    return bool(entries)


def foreign_segment(directory: Directory, rng: random.Random) -> bool:
    """Put another topic's batches into a segment, under their own offsets or from the segment's on."""
    name, _entries = _some_entries(directory, rng)
    if name:
        directory.files[name] = _foreign(rng, rng.choice((None, None, base_of(name))))
    return bool(name)


def stale_blocks(directory: Directory, rng: random.Random) -> bool:
    """Let what was on the disk before follow the newest batch: older batches, or another topic's."""
    if not directory.logs:
        return False
    newest = directory.logs[-1]
    if rng.random() < 0.5:
        end = max([base_of(newest), *(one.last + 1 for one in entries_in(directory.files[newest]))])
        stale = _foreign(rng, rng.choice((None, end, end + 7)))
    else:
        stale = directory.files[rng.choice(directory.logs)]
    entries = entries_in(stale)
    if not entries:
        return False
    directory.files[newest] += stale[rng.choice(entries).position :]
    return True


def _foreign(rng: random.Random, base: int | None) -> bytes:
    """The first segment of another topic; its batches are moved so that it begins at an offset."""
    sound = generated(rng)
    data = sound.files[sound.logs[0]]
    entries = entries_in(data)
    distance = 0 if base is None or not entries else base - entries[0].base
    return b"".join(struct.pack(">q", one.base + distance) + one.data[8:] for one in entries)


def cut_front(directory: Directory, rng: random.Random) -> bool:
    """Take the first segments away, with the files beside them."""
    if len(directory.logs) < 2:
        return False
    for name in directory.logs[: rng.randint(1, len(directory.logs) - 1)]:
        for suffix in (".log", *BESIDE):
            directory.files.pop(f"{base_of(name):020d}{suffix}", None)
    return True


def false_checkpoint(directory: Directory, rng: random.Random) -> bool:
    """Let a checkpoint of the log directory say something else."""
    end = end_of(directory.sound)
    name = rng.choice((HIGH_WATERMARK, RECOVERY_POINT, LOG_START, CLEANER))
    directory.noted[name] = rng.choice((0, end // 2, max(0, end - 2), end + 3, end + 5000))
    return True


def false_epochs(directory: Directory, rng: random.Random) -> bool:
    """Let `leader-epoch-checkpoint` have an epoch more, one less, or another one's offset."""
    lines = [line.split() for line in directory.files.get(EPOCHS, b"").decode().splitlines()[2:]]
    if not lines:
        return False
    end = end_of(directory.sound)
    at, kind = rng.randrange(len(lines)), rng.choice(("more", "less", "moved"))
    if kind == "more":
        lines.append([str(int(lines[-1][0]) + rng.choice((1, 9))), str(rng.randint(0, end + 3))])
    elif kind == "less":
        del lines[at]
    else:
        lines[at][1] = str(rng.randint(0, end + 3))
    text = "".join(f"{epoch} {offset}\n" for epoch, offset in lines)
    directory.files[EPOCHS] = f"0\n{len(lines)}\n{text}".encode()
    return True


def other_shutdown(directory: Directory, rng: random.Random) -> bool:
    """Let `.kafka_cleanshutdown` be there where it is not, or the other way round."""
    directory.is_clean = not directory.is_clean
    return True


def snapshot_renamed(directory: Directory, rng: random.Random) -> bool:
    """Give a snapshot of producers the name of another offset."""
    names = sorted(name for name in directory.files if name.endswith(".snapshot"))
    if not names:
        return False
    name = rng.choice(names)
    offset = max(0, base_of(name) + rng.choice((-3, -1, 1, 4, 1000)))
    directory.files.setdefault(f"{offset:020d}.snapshot", directory.files.pop(name))
    return True


def _some_entries(directory: Directory, rng: random.Random) -> tuple[str, tuple[Entry, ...]]:
    """A segment and its entries; the newest one more often."""
    names = [name for name in directory.logs if entries_in(directory.files[name])]
    if not names:
        return "", ()
    name = rng.choice((names[-1], *names))
    return name, entries_in(directory.files[name])


def _replace(directory: Directory, name: str, first: Entry, last: Entry, data: bytes) -> None:
    """Put other bytes in the place of some batches in a row."""
    whole = directory.files[name]
    directory.files[name] = whole[: first.position] + data + whole[last.end :]


KINDS: dict[str, Mutation] = {
    "base_offset_low": partial(_edit, change=partial(_flip_base, bits=range(5))),
    "base_offset_high": partial(_edit, change=partial(_flip_base, bits=range(5, 64))),
    "shifted_alike": shifted_alike,
    **{
        name: partial(_edit, change=partial(_change_field, position=position, form=form))
        for name, (position, form) in _FIELDS.items()
    },
    "attributes": partial(_edit, change=_change_attributes),
    "record_bytes": partial(_edit, change=_change_records),
} | {
    one.__name__: one
    for one in (
        other_epochs,
        swapped_batches,
        doubled_batch,
        foreign_segment,
        stale_blocks,
        cut_front,
        false_checkpoint,
        false_epochs,
        other_shutdown,
        snapshot_renamed,
        damage.flip,
        damage.take_batch,
        damage.cut,
        damage.cut_between,
        damage.cut_head,
        damage.zero_part,
        damage.repeat,
        damage.overlap,
        damage.remove,
        damage.remove_last,
        damage.swap,
        damage.double,
        damage.garbage,
        damage.index_flip,
        damage.index_cut,
        damage.index_gone,
    )
}
