"""Run as a program: look for inputs that reach lines of the decoders which no seed reaches, and keep them.

Strategy: kernels run as plain Python, lines are counted (`reached`). An input that is the first to reach a
line is kept, and later ones are made from it as well. In the end only those are left that are needed, the
smallest first; they are written to `grown.txt`, a line of hex each, and inputs of all jobs grow from them.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.fuzz import plain

plain.install()

from tests.fuzz import inputs, seeds, targets  # noqa: E402  the kernels come first
from tests.fuzz.reached import Traced  # noqa: E402
from tests.fuzz.run import small_windows  # noqa: E402
from tests.made.edits import edited  # noqa: E402

from kafka_segments.errors import KafkaFormatError  # noqa: E402

LARGEST = 6000
"""Bytes of an input that is kept."""


def news(traced: Traced, data: bytes) -> int:
    """How many lines these bytes are the first to reach, read in every public way."""
    before = traced.lines.num_seen
    with traced.counting():
        for read in targets.READERS.values():
            for attempt in range(2):
                with suppress(KafkaFormatError):
                    read(Random(zlib.crc32(data) + attempt), data)
    plain.raise_pending()
    return traced.lines.num_seen - before


def traced_seeds() -> Traced:
    """With the lines that need no growing."""
    traced = Traced()
    for anatomy in seeds.entries():
        news(traced, anatomy.data)
    return traced


def grow(count: int, seed: int) -> list[bytes]:
    """Inputs that are needed to reach what these many have reached."""
    traced = traced_seeds()
    kept: list[bytes] = []
    print(f"{traced.lines.num_seen} of {traced.lines.num_all} lines by {len(seeds.entries())} seeds")
    for number in range(count):
        dice = inputs.dice_of(seed, number)
        if kept and dice.randrange(2):
            data = edited(dice, kept[dice.randrange(len(kept))], others=kept)
        else:
            data = inputs.segment(dice).data
        if len(data) <= LARGEST and news(traced, data):
            kept.append(data)
    print(f"{traced.lines.num_seen} lines by {len(kept)} inputs more, of {count}")
    again = traced_seeds()
    return [data for data in sorted(kept, key=lambda each: (len(each), each)) if news(again, data)]


def main() -> int:
    """Grow, and write what is needed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--output", type=Path, default=seeds.GROWN)
    options = parser.parse_args()
    seeds.grown = tuple  # type: ignore[assignment]  # what was grown before is found again, if it is needed
    small_windows()
    needed = grow(options.count, options.seed)
    options.output.write_text("".join(f"{data.hex()}\n" for data in needed))
    print(f"{len(needed)} inputs are needed, {sum(map(len, needed))} bytes: {options.output.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
