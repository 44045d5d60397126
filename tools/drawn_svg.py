"""Drawings of parts (`drawn_layouts`) as SVG: text, boxes, and two sets of colours, for light and for dark.

A drawing is narrow enough for a phone, and brings its own background: a page that shows it cannot pass on its
colours, and may be dark where the reader's system is light.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from tools.drawn_layouts import Frame, Part, Row, Span, Strip

WIDTH = 440
MARGIN = 10
CELL = 11
"""Width of a byte."""
LEAST_CELLS = 8
"""Bytes that have room; where a varint may have more, all are drawn narrower."""
HEIGHT = 16
"""Height of a byte."""
LINE = 16
INSET = 7
STACK = 6
"""How far frames stand out that follow one of their kind."""
NUM_BITS, BIT = 16, 7
"""A field of 16 bits, each so wide; one of 8 is drawn as wide."""
BRACKET = 20
OFFSETS = 25
"""Room for positions."""
CHARACTER = 6.9
"""Width of a letter of the description, as wide fonts have it."""

LIGHT = {
    "page": "#ffffff", "edge": "#d0d7de", "text": "#1f2328", "soft": "#57606a", "frame": "#f6f8fa",
    "fixed": "#a9cdf5", "varying": "#ffd8a8", "data": "#c8e6c9", "line": "#44505c", "span": "#8250df",
}  # fmt: skip
DARK = {
    "page": "#161b22", "edge": "#3d444d", "text": "#f0f3f6", "soft": "#b1bac4", "frame": "#1f262f",
    "fixed": "#1f4f86", "varying": "#7a4a12", "data": "#1f4d26", "line": "#a9b4c0", "span": "#c7a6ff",
}  # fmt: skip
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


def style() -> str:
    """The sheet of all drawings."""
    fonts = f"text{{font:12.5px {SANS}}}.h{{font:600 13.5px {SANS}}}.n{{font:600 13px {MONO}}}"
    fonts += f".m,.t{{font:12px {MONO}}}"
    shapes = ".dash{stroke-dasharray:2 2}.k{stroke-width:1}.f{stroke-width:1.2}"
    dark = f"@media screen and (prefers-color-scheme:dark){{{_colours(DARK)}}}"
    return f"<style>{fonts}{shapes}{_colours(LIGHT)}{dark}</style>"


def _colours(of: dict[str, str]) -> str:
    return (
        f".page{{fill:{of['page']};stroke:{of['edge']}}}.n,.h,.t{{fill:{of['text']}}}.m,.w{{fill:{of['soft']}}}"
        f".f{{fill:{of['frame']};stroke:{of['line']}}}.k{{stroke:{of['line']}}}.fixed{{fill:{of['fixed']}}}"
        f".varying{{fill:{of['varying']}}}.data{{fill:{of['data']}}}.none{{fill:{of['page']}}}"
        f".b{{fill:none;stroke:{of['span']};stroke-width:1.5}}.s{{fill:{of['span']}}}"
    )


class Drawing:
    """One drawing: what was put on it so far, and how far down it goes."""

    def __init__(self, title: str, words: str) -> None:
        self._title = title
        self._words = words
        self._back: list[str] = []
        self._front: list[str] = []
        self.y = float(MARGIN + 4)

    def text(self, x: float, y: float, text: str, kind: str, *, anchor: str = "", turn: bool = False) -> None:
        """Write a text with its baseline at a point; `turn`: upwards."""
        where = f'x="{_number(x)}" y="{_number(y)}"'
        if turn:
            where = f'transform="translate({_number(x)} {_number(y)}) rotate(-90)"'
        anchored = f' text-anchor="{anchor}"' if anchor else ""
        self._front.append(f'<text class="{kind}" {where}{anchored}>{escape(text, quote=False)}</text>')

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        kind: str,
        *,
        round_: int = 0,
        is_back: bool = False,
    ) -> None:
        """Draw a box, in the background if `is_back`."""
        corner = f' rx="{round_}"' if round_ else ""
        to = self._back if is_back else self._front
        to.append(
            f'<rect class="{kind}" x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" '
            f'height="{_number(height)}"{corner}/>'
        )

    def path(self, steps: str, kind: str) -> None:
        """Draw a line, in the notation of SVG."""
        self._front.append(f'<path class="{kind}" d="{steps}"/>')

    def back(self) -> int:
        """A place in the background, to be filled later by `put_back`."""
        return len(self._back)

    def put_back(self, place: int, boxes: int) -> None:
        """Move the last boxes of the background to a place, so that inner frames come after outer ones."""
        moved = self._back[-boxes:]
        del self._back[-boxes:]
        self._back[place:place] = moved

    def paragraph(self, x: float, width: float, text: str) -> None:
        """Write words at the current height, in lines."""
        room = max(12, int(width / CHARACTER))
        for part in text.splitlines():
            for line in textwrap.wrap(part, room, break_long_words=False):
                self.y += LINE - 1
                self.text(x, self.y, line, "w")

    def finished(self) -> str:
        """The file's text."""
        height, edge = _number(self.y + MARGIN), _number(self.y + MARGIN - 1)
        title, words = escape(self._title, quote=False), escape(self._words, quote=False)
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                f'height="{height}" role="img" aria-labelledby="t d">',
                "<!-- Made by tools/drawings.py from schemas/*.ksy: make generate -->",
                f'<title id="t">{title}</title>',
                f'<desc id="d">{words}</desc>',
                style(),
                f'<rect class="page" x=".5" y=".5" width="{WIDTH - 1}" height="{edge}" rx="6"/>',
                *self._back,
                *self._front,
                "</svg>",
                "",
            )
        )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def draw(frame: Frame) -> str:
    """A drawing of a frame with all that is in it, and what its colours mean."""
    drawing = Drawing(frame.title, description(frame))
    _Layout(drawing, frame).frame(frame, 0, (0,))
    _legend(drawing, frame)
    return drawing.finished()


def description(part: Part) -> str:
    """A drawing in words, for those who do not see it."""
    if isinstance(part, Row):
        name = part.words if part.is_folded and part.words else part.name
        return f"{name} ({part.type})" if part.type else name
    if isinstance(part, Strip):
        return f"{part.name}: {', '.join(part.boxes)}"
    words = "; ".join(description(one) for one in part.parts)
    spans = "".join(f" From {span.first} to the end: {span.text}." for span in part.spans)
    return f"{part.title}: {words}.{spans}"


def _spans(frame: Frame) -> list[Span]:
    inner = [span for part in frame.parts if isinstance(part, Frame) for span in _spans(part)]
    return [*frame.spans, *inner]


class _Layout:
    """Draws rows and frames below each other, to the right of all brackets."""

    def __init__(self, drawing: Drawing, whole: Frame) -> None:
        self._drawing = drawing
        self._left = MARGIN + BRACKET * len(_spans(whole))
        self._brackets = 0
        self._stacked = 0
        most = max(LEAST_CELLS, *(row.most or 0 for row in _rows(whole) if not row.is_folded))
        self._cell = LEAST_CELLS * CELL / most

    def frame(self, frame: Frame, depth: int, offsets: tuple[int, ...]) -> tuple[int, ...]:
        """Draw a frame; return the positions at which the bytes after it may begin, empty if unknown."""
        drawing, inset = self._drawing, depth * INSET
        left, right = self._left + inset, WIDTH - MARGIN - inset - self._stacked
        place, top = drawing.back(), drawing.y
        drawing.y += LINE + 2
        drawing.text(left + 8, drawing.y, frame.title, "h")
        if frame.words:
            drawing.paragraph(left + 8, right - left - 16, frame.words)
        drawing.y += 8
        if any(isinstance(part, Row) and part.bits for part in frame.parts):
            self._bit_numbers(frame.parts[0], left + 8)
        offsets = (0,) if frame.apart else offsets
        self._stacked += STACK if frame.repeated else 0
        tops = {}
        for part in frame.parts:
            if isinstance(part, Row):
                tops[part.name] = drawing.y
                offsets = self._row(part, depth, offsets)
            elif isinstance(part, Strip):
                self._strip(part, left + 8, right - 8)
            else:
                offsets = self.frame(part, depth + 1, offsets)
            drawing.y += 7
        self._stacked -= STACK if frame.repeated else 0
        self._put_behind(place, (left, top, right), repeated=frame.repeated)
        for span in frame.spans:
            self._bracket(span.text, tops[span.first], drawing.y - 3)
        drawing.y += STACK if frame.repeated else 0
        return () if frame.repeated or frame.apart else offsets

    def _bit_numbers(self, row: Part, left: float) -> None:
        """The numbers of the first and the last bit, above the bits."""
        assert isinstance(row, Row)
        assert row.bits is not None
        self._drawing.y += 9
        self._drawing.text(left, self._drawing.y, str(row.bits[2] - 1), "m")
        self._drawing.text(left + NUM_BITS * BIT, self._drawing.y, "0", "m", anchor="end")
        self._drawing.y += 4

    def _put_behind(self, place: int, box: tuple[float, float, float], *, repeated: bool) -> None:
        left, top, right = box
        height = self._drawing.y - top
        shifts = (STACK, STACK // 2, 0) if repeated else (0,)
        for shift in shifts:
            width = right - left - (STACK if repeated else 0)
            self._drawing.box(left + shift, top + shift, width, height, "f", round_=4, is_back=True)
        self._drawing.put_back(place, len(shifts))

    def _bracket(self, text: str, top: float, bottom: float) -> None:
        x = MARGIN + BRACKET * self._brackets + 15
        self._brackets += 1
        self._drawing.path(
            f"M{_number(x + 5)} {_number(top)}H{_number(x)}V{_number(bottom)}H{_number(x + 5)}", "b"
        )
        self._drawing.text(x - 4, (top + bottom) / 2, text, "s", anchor="middle", turn=True)

    def _strip(self, strip: Strip, left: float, right: float) -> None:
        """Boxes from left to right; the last one, which may be missing, is dashed."""
        drawing, width = self._drawing, (right - left) / len(strip.boxes)
        for index, name in enumerate(strip.boxes):
            last = index == len(strip.boxes) - 1
            drawing.box(left + index * width, drawing.y, width, 26, "none k dash" if last else "data k")
            drawing.text(left + (index + 0.5) * width, drawing.y + 17, name, "t", anchor="middle")
        drawing.y += 26

    def _row(self, row: Row, depth: int, offsets: tuple[int, ...]) -> tuple[int, ...]:
        drawing, left = self._drawing, self._left + depth * INSET
        top, cells = drawing.y, left + OFFSETS + 5
        right = WIDTH - MARGIN - depth * INSET - self._stacked - 12
        for index, offset in enumerate(offsets if row.bits is None else ()):
            drawing.text(left + OFFSETS, top + 12.5 + index * LINE, str(offset), "m", anchor="end")
        if row.bits is not None:
            _bit_cells(drawing, left + 8, top, row.bits)
            cells, width = left + 8, NUM_BITS * BIT
        else:
            width = LEAST_CELLS * CELL
            _byte_cells(drawing, cells, top, row, self._cell)
        text = cells + width + 9
        drawing.text(text, top + 12.5, row.name, "m" if row.is_folded else "n")
        drawing.text(right, top + 12.5, row.type, "m", anchor="end")
        drawing.y += HEIGHT
        if row.kafka:
            drawing.paragraph(text, right - text, f"Kafka: {row.kafka}")
        drawing.paragraph(text, right - text, row.words)
        if row.least != row.most:
            return ()
        behind = {offset + row.least for offset in offsets}
        return tuple(sorted(behind.union(offsets) if row.is_optional else behind))


def _byte_cells(drawing: Drawing, x: float, y: float, row: Row, width: float) -> None:
    """Bytes that are always there, bytes that may be there, or as many as a length says."""
    if row.most is None or row.is_folded:
        end, kind = x + LEAST_CELLS * CELL, "none k dash" if row.is_folded else "data k"
        torn = f"V{_number(y)}H{_number(x)}V{_number(y + HEIGHT)}H{_number(end - 4)}l4 -4l-4 -4l4 -4l-4 -4z"
        drawing.path(f"M{_number(end - 4)} {_number(y)}{torn}", kind)
        return
    varying = row.least != row.most
    for index in range(row.most):
        kind = "varying k" if varying else "fixed k"
        kind = "none k dash" if index >= row.least else kind
        drawing.box(x + index * width, y, width, HEIGHT, kind)


def _bit_cells(drawing: Drawing, x: float, y: float, bits: Sequence[int]) -> None:
    """All bits of the field around, in which those of this one are filled."""
    first, number, all_ = bits
    width = NUM_BITS * BIT / all_
    for index in range(all_):
        kind = "fixed k" if first <= index < first + number else "none k"
        drawing.box(x + index * width, y, width, HEIGHT, kind)


def _legend(drawing: Drawing, frame: Frame) -> None:
    """What the colours mean that occur."""
    rows = list(_rows(frame))
    if any(row.bits for row in rows):
        return
    signs = [
        ("fixed k", "one byte", any(row.least == row.most and not row.is_folded for row in rows)),
        ("varying k", "varint: one byte, at most all dashed ones", any(_varies(row) for row in rows)),
        ("data k", "bytes by a length, or to the end", any(_is_data(row) for row in rows)),
        ("none k dash", "fields left out here", any(row.is_folded for row in rows)),
    ]
    x, y = float(MARGIN + 2), drawing.y + 10
    for kind, words, occurs in signs:
        if not occurs:
            continue
        width = CELL + 18 + len(words) * CHARACTER
        if x + width > WIDTH:
            x, y = float(MARGIN + 2), y + LINE + 2
        drawing.box(x, y, CELL, CELL, kind)
        drawing.text(x + CELL + 5, y + 9.5, words, "w")
        x += width
    drawing.y = y + CELL


def _is_data(row: Row) -> bool:
    return row.most is None and not row.is_folded


def _varies(row: Row) -> bool:
    return row.most is not None and row.least != row.most


def _rows(part: Part) -> list[Row]:
    if isinstance(part, Row):
        return [part]
    if isinstance(part, Strip):
        return []
    return [row for one in part.parts for row in _rows(one)]
