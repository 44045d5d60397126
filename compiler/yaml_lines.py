"""Where a place named by a YAML path stands in a schema's text.

Strategy: our schemas are in block style, so indentation alone tells the structure, and no YAML parser (there
is none in the standard library) is needed to follow a path. Where a path cannot be followed further, its last
known part is the answer.
"""

from __future__ import annotations


def find_line(text: str, yaml_path: str) -> int | None:
    """The line, from 1, of a place such as ``/types/entry/seq/0/size``, or of its deepest part found."""
    lines = text.splitlines()
    start, end = 0, len(lines)
    found = None
    for part in yaml_path.strip("/").split("/"):
        place = _find_part(lines, start, end, part)
        if place is None:
            break
        found = place
        # The keys of a list item begin on its own line, behind the dash.
        start = place if part.isdigit() else place + 1
        end = _end_of_block(lines, place, end)
    return None if found is None else found + 1


def _find_part(lines: list[str], start: int, end: int, part: str) -> int | None:
    """The index of the line on which a key, or the n-th item of a list, begins."""
    filled = [at for at in range(start, end) if lines[at].strip()]
    if not part.isdigit():
        keys = [at for at in filled if lines[at].lstrip(" -").startswith(f"{part}:")]
        return min(keys, key=lambda at: _column(lines[at], " -"), default=None)
    depth = min((_column(lines[at], " ") for at in filled), default=0)
    items = [at for at in filled if lines[at][depth:].startswith("- ")]
    return items[int(part)] if int(part) < len(items) else None


def _end_of_block(lines: list[str], place: int, end: int) -> int:
    """The index of the first line after ``place`` that is not indented deeper, ``end`` at most."""
    depth = _column(lines[place], " ")
    return next(
        (at for at in range(place + 1, end) if lines[at].strip() and _column(lines[at], " ") <= depth), end
    )


def _column(line: str, skipped: str) -> int:
    """How many leading characters of a line are among ``skipped``."""
    return len(line) - len(line.lstrip(skipped))
