"""Cases by number: the same seed and number make the same directory."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.made.damage import KINDS
from tests.made.log_directory import CLEANER, HIGH_WATERMARK, LOG_START, RECOVERY_POINT, Directory, end_of
from tests.made.partitions import SETS, generated, recorded


@dataclass
class Case:
    """A directory and what was done to it.

    Attributes:
        seed: of all cases.
        number: of this one.
        kinds: the mutations that were made, in order.
        directory: what they left.
    """

    seed: int
    number: int
    kinds: list[str]
    directory: Directory

    def __str__(self) -> str:
        made = self.directory
        state = "live" if made.is_live else "dead"
        return (
            f"--seed {self.seed} --first {self.number} --count 1: {made.sound.origin}, {state}, "
            f"{'+'.join(self.kinds)}, noted {made.noted}"
        )


def make_case(seed: int, number: int) -> Case:
    """The case of a number."""
    rng = random.Random(f"invariant/{seed}/{number}")
    kinds = list(KINDS)
    sound = recorded(rng.choice(SETS)) if rng.random() < 0.15 else generated(rng)
    directory = Directory(
        sound, dict(sound.files), _noted(rng, sound.log_start, sound.first_dirty, end_of(sound))
    )
    directory.is_live = rng.random() < 0.2
    directory.is_clean = not directory.is_live and rng.random() < 0.5
    if sound.origin.startswith("recorded before-cleaning"):
        directory.is_clean = False  # a broker was writing to it
    if rng.random() < 0.3:
        directory.files.pop("leader-epoch-checkpoint", None)
    if rng.random() < 0.3:
        for name in [name for name in directory.files if name.endswith(("index", ".snapshot"))]:
            del directory.files[name]
    wanted = [kinds[number % len(kinds)]]
    if wanted != ["nothing"]:
        while rng.random() < 0.35 and len(wanted) < 4:
            wanted.append(rng.choice(kinds[1:]))
    wanted.sort(key=lambda kind: kind == "special")  # it has no bytes for others to change
    made = [kind for kind in wanted if KINDS[kind](directory, rng)]
    return Case(seed, number, made or ["nothing"], directory)


def _noted(rng: random.Random, log_start: int | None, first_dirty: int | None, end: int) -> dict[str, int]:
    """The checkpoints: there or not, each by itself."""
    noted = {}
    if rng.random() < 0.6:
        noted[HIGH_WATERMARK] = end
    if rng.random() < 0.6:
        noted[RECOVERY_POINT] = end
    if log_start is not None and rng.random() < 0.7:
        noted[LOG_START] = log_start
    if first_dirty is not None and rng.random() < 0.7:
        noted[CLEANER] = first_dirty
    return noted
