"""A drawing of how the indexes of a recorded segment lead to an offset or a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.drawn_svg import MARGIN, WIDTH, Drawing

from kafka_segments import Batch, open_segment
from kafka_segments.core.segment.beside.index_files import read_offset_index, read_time_index

ROOT = Path(__file__).resolve().parent.parent
SEGMENT = ROOT / "tests/vectors/recorded/kafka-4.3/clean/multi-0/00000000000000000125.log"
COLUMNS = 4
GAP = 5
BOX = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS
TALL = 40


@dataclass(frozen=True)
class Lookup:
    """The beginning of a segment: batches as (first offset, last offset, position), and index entries."""

    batches: tuple[tuple[int, int, int], ...]
    offsets: tuple[tuple[int, int], ...]
    times: tuple[tuple[int, int], ...]


def recorded() -> Lookup:
    """The first batches of a recorded segment, and the index entries that lead to them."""
    with open_segment(SEGMENT) as segment:
        found = [one for one in segment.iter_entries() if isinstance(one, Batch)][:COLUMNS]
    index = read_offset_index(SEGMENT.with_suffix(".index"))
    times = read_time_index(SEGMENT.with_suffix(".timeindex"))
    return Lookup(
        tuple((one.base_offset or 0, one.last_offset, one.position) for one in found),
        tuple(zip(index.offsets, index.positions, strict=True))[: COLUMNS - 1],
        tuple(zip(times.timestamps, times.offsets, strict=True))[: COLUMNS - 1],
    )


def lookup() -> str:
    """The drawing's text."""
    found, base = recorded(), int(SEGMENT.stem)
    offset = found.batches[2][0] + 2
    at = bisect_right(found.offsets, (offset, 1 << 62)) - 1
    time = found.times[at][0] + 500
    words = (
        f"To find offset {offset}: the last entry of .index that is not above it is {found.offsets[at][0]}. "
        f"Read .log from byte {found.offsets[at][1]} on, and skip the batches that end before {offset}.",
        f"To find the first record from time {time} on: the last entry of .timeindex that is not later has "
        f"offset {found.times[at][1]}. Look it up in .index, and read .log from byte {found.offsets[at][1]} "
        "to the first record that is not earlier.",
    )
    drawing = Drawing("From a time to an offset to a position", " ".join(words))
    drawing.y += 12
    drawing.text(MARGIN, drawing.y, f"Segment {SEGMENT.stem}", "h")
    _row(drawing, ".timeindex", [(str(one), f"{base} + {at_ - base}") for one, at_ in found.times], at)
    _row(drawing, ".index", [(f"{base} + {one - base}", f"byte {place}") for one, place in found.offsets], at)
    batches = [(f"{first} to {last}", f"byte {place}") for first, last, place in found.batches]
    _row(drawing, ".log", batches, at + 1)
    drawing.y += 10
    for text in words:
        drawing.paragraph(MARGIN, WIDTH - 2 * MARGIN, text)
        drawing.y += 5
    return drawing.finished()


def _row(drawing: Drawing, name: str, boxes: Sequence[tuple[str, str]], marked: int) -> None:
    """Boxes of a file, its entries at the right end; a line leads from each entry down to the next row."""
    drawing.y += 22
    drawing.text(MARGIN, drawing.y, name, "m")
    drawing.y += 7
    is_index = len(boxes) < COLUMNS
    for index, (above, below) in enumerate(boxes):
        left = MARGIN + (index + COLUMNS - len(boxes)) * (BOX + GAP)
        drawing.box(left, drawing.y, BOX, TALL, "varying k" if index == marked else "fixed k")
        drawing.text(left + BOX / 2, drawing.y + 16, above, "t", anchor="middle")
        drawing.text(left + BOX / 2, drawing.y + 32, below, "t", anchor="middle")
        if is_index:
            middle, bottom = left + BOX / 2, drawing.y + TALL
            drawing.path(f"M{middle:g} {bottom:g}v29m-4 -6l4 6l4 -6", "b")
    drawing.y += TALL
