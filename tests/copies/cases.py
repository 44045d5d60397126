"""Cases by number: one small partition, and copies of it to which things were done."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tests.made.damage_of_batches import EPOCHS, KINDS
from tests.made.log_directory import (
    CLEANER,
    HIGH_WATERMARK,
    LOG_START,
    RECOVERY_POINT,
    Directory,
    base_of,
    end_of,
)
from tests.made.partitions import Sound, generated, recorded
from tests.made.sound_batches import OFS_EPOCH, Entry, entries_in

SETS = (
    "clean/multi-0",
    "clean/transactions-0",
    "clean/transactions-1",
    "clean/deleted-head-0",
    "clean/compact-multi-0",
    "clean/compact-removed-0",
)
SHARE_RECORDED = 0.08
_SNAPSHOT = bytes.fromhex("0001 48674bc7 00000000")
"""A snapshot of no producers."""
_ABORTED = struct.Struct(">hqqqq")


@dataclass
class Case:
    """Copies of one partition, and what was done to each.

    Attributes:
        seed: of all cases.
        number: of this one.
        sound: the partition before.
        copies: what is left of it.
        done: what was done to each copy, in order.
        is_never_cleaned: whether the cleaner's checkpoints are there, and do not name the partition.
    """

    seed: int
    number: int
    sound: Sound
    copies: list[Directory]
    done: list[list[str]]
    is_never_cleaned: bool

    def __str__(self) -> str:
        copies = ""
        for at, (one, kinds) in enumerate(zip(self.copies, self.done, strict=True)):
            noted = ", ".join(f"{name.split('-o')[0]} {offset}" for name, offset in one.noted.items())
            state = "clean" if one.is_clean else "not clean"
            copies += f"\n        r{at}: {'+'.join(kinds) or 'as it was'}; {state}, {noted}"
        return f"--seed {self.seed} --first {self.number} --count 1: {self.sound.origin}{copies}"

    def write(self, root: Path) -> list[Path]:
        """Write the copies below a folder, each as a broker's log directory."""
        roots = [root / f"r{at}" for at in range(len(self.copies))]
        for one, folder in zip(self.copies, roots, strict=True):
            one.write(folder, None)
            if self.is_never_cleaned and CLEANER not in one.noted:
                (folder / CLEANER).write_text("0\n0\n")
        return roots


def make_case(seed: int, number: int) -> Case:
    """The case of a number."""
    rng = random.Random(f"copies/{seed}/{number}")
    kinds = list(KINDS)
    sound = recorded(rng.choice(SETS)) if rng.random() < SHARE_RECORDED else _with_epochs(generated(rng), rng)
    copies = [_copy_of(sound, rng) for _ in range(rng.choice((1, 2, 2, 2, 3, 3)))]
    done: list[list[str]] = [[] for _ in copies]
    if number % 20:
        counts = [rng.choice((0, 1, 1, 2, 3)) for _ in copies]
        counts[0] = max(1, counts[0])
        for at, one in enumerate(copies):
            wanted = [rng.choice(kinds) for _ in range(counts[at])]
            if at == 0:
                wanted[0] = kinds[number % len(kinds)]
            done[at] = [kind for kind in wanted if KINDS[kind](one, rng)]
    order = rng.sample(range(len(copies)), len(copies))
    is_never_cleaned = sound.first_dirty is None and rng.random() < 0.7
    copies, done = [copies[at] for at in order], [done[at] for at in order]
    return Case(seed, number, sound, copies, done, is_never_cleaned)


def _copy_of(sound: Sound, rng: random.Random) -> Directory:
    """A copy with batches as they were, and some of what brokers note of them."""
    one = Directory(sound, dict(sound.files))
    if rng.random() < 0.2:
        one.files.pop(EPOCHS, None)
    if rng.random() < 0.3:
        for name in [name for name in one.files if name.endswith(("index", ".snapshot"))]:
            del one.files[name]
    noted = {
        HIGH_WATERMARK: end_of(sound),
        RECOVERY_POINT: end_of(sound),
        LOG_START: sound.log_start,
        CLEANER: sound.first_dirty,
    }
    for name, offset in noted.items():
        if offset is not None and rng.random() < 0.7:
            one.noted[name] = offset
    one.is_clean = RECOVERY_POINT in one.noted and rng.random() < 0.6
    return one


def _with_epochs(sound: Sound, rng: random.Random) -> Sound:
    """A generated partition with leader epochs that grow, and with the snapshots of a broker."""
    files = dict(sound.files)
    epoch, starts = rng.choice((0, 0, 4)), []
    for name in sound.logs:
        pieces = []
        for one in entries_in(files[name]):
            if not starts:
                starts.append((epoch, base_of(sound.logs[0])))
            elif rng.random() < 0.15:
                epoch += rng.choice((1, 1, 5))
                starts.append((epoch, one.base))
            pieces.append(one.data[:OFS_EPOCH] + struct.pack(">i", epoch) + one.data[OFS_EPOCH + 4 :])
        files[name] = b"".join(pieces)
    starts = starts or [(epoch, base_of(sound.logs[0]))]
    lines = "".join(f"{one} {offset}\n" for one, offset in starts)
    files[EPOCHS] = f"0\n{len(starts)}\n{lines}".encode()
    if "transactional" not in sound.origin:
        offsets = {*(base_of(name) for name in sound.logs[1:]), end_of(sound)}
        files |= {f"{offset:020d}.snapshot": _SNAPSHOT for offset in offsets if offset}
    return replace(sound, files=files)


@dataclass
class Truth:
    """What is true of a case's partition."""

    sound: Sound

    @cached_property
    def entries(self) -> list[Entry]:
        """Its batches, by offset."""
        return [one for name in self.sound.logs for one in entries_in(self.sound.files[name])]

    @cached_property
    def by_base(self) -> dict[int, Entry]:
        """Its batches by base offset."""
        return {one.base: one for one in self.entries}

    @cached_property
    def by_content(self) -> dict[bytes, list[Entry]]:
        """The batches that have some content; more than one where markers are alike."""
        found: dict[bytes, list[Entry]] = {}
        for one in self.entries:
            found.setdefault(one.content, []).append(one)
        return found

    @cached_property
    def start(self) -> int:
        """Its log start offset."""
        return self.sound.log_start or base_of(self.sound.logs[0])

    @cached_property
    def end(self) -> int:
        """Its log end offset."""
        return end_of(self.sound)

    @cached_property
    def epochs(self) -> list[tuple[int, int]]:
        """Its leader epochs and where each begins."""
        return epochs_in(self.sound.files[EPOCHS])

    @cached_property
    def aborted(self) -> set[tuple[int, int, int]]:
        """Its aborted transactions: producer, first and last offset."""
        names = (name for name in self.sound.files if name.endswith(".txnindex"))
        return {one for name in names for one in aborted_in(self.sound.files[name])}

    @cached_property
    def outcomes(self) -> dict[int, Entry]:
        """The marker that ends the transaction of a batch, by the batch's base offset."""
        pending: dict[int, list[int]] = {}
        found: dict[int, Entry] = {}
        for one in self.entries:
            if one.control_type in (0, 1):
                found |= dict.fromkeys(pending.pop(one.producer_id, []), one)
            elif one.is_transactional and one.control_type is None:
                pending.setdefault(one.producer_id, []).append(one.base)
        return found


def epochs_in(data: bytes) -> list[tuple[int, int]]:
    """Epochs and start offsets of a `leader-epoch-checkpoint`."""
    rows = (line.split() for line in data.decode().splitlines()[2:])
    return [(int(epoch), int(offset)) for epoch, offset in rows]


def aborted_in(data: bytes) -> list[tuple[int, int, int]]:
    """Producer, first and last offset of each entry of a `.txnindex`."""
    whole = data[: len(data) // _ABORTED.size * _ABORTED.size]
    return [one[1:4] for one in _ABORTED.iter_unpack(whole)]
