"""The scanner of a segment: a function that walks from entry to entry and fills the table of their headers.

Strategy: an entry is sound if all its fields up to the body are there, what holds under a condition
included. Each content has a function of its own for its header. Positions in these functions are those in
`data`, a window into the source; only what is stored is a position in the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.frontend.model import Expr, Field, Name, Place, SwitchType
from compiler.targets.columns.lower.constraints import facts_of, refined
from compiler.targets.columns.lower.struct_values import Frame, Io, Position, lower
from compiler.targets.columns.lower.terms import TRUE, Term, compare, constant, logic, negate
from compiler.targets.columns.model.segment_layout import Content, Segment, SegmentLayout
from compiler.targets.columns.read.content_scanner import CONTENT_PARAMETERS, content_function
from compiler.targets.columns.read.scan_reader import ScanReader, failing, signature

__all__ = ["scanner"]

_ENTRY = ("data", "at", "len_data", "size", "window", "table", "row", "check_crc", "whole")
SCAN = '''\
def scanner(*, check_crc: bool, whole: bool) -> Scan:
    """A function that fills the table with the headers of entries.

    Args:
        check_crc: whether an entry with a wrong checksum is damaged. All its bytes have to be in `data` then.
        whole: whether all bytes of an entry have to be in `data` anyway; else its header is enough.
    """

    def scan(data: Bytes, state: Longs, table: Longs) -> int:
        at = load(state, AT)
        row = load(state, ROW)
        max_rows = load(state, MAX_ROWS)
        size = load(state, SIZE)
        file = load(state, FILE)
        window = load(state, WINDOW)
        len_data = load(state, LEN_WINDOW)
        status = DONE
        while at < size:
            if row >= max_rows:
                status = FULL
                break
            status, end = scan_entry(
                data, at - window, len_data, size - window, window, table, row * WIDTH, check_crc, whole
            )
            if status == SHORT and file >= 0 and window != at:
                window = at
                len_data = read_at(file, at, data, 0, length(data))
                if len_data >= 0:
                    continue
            if status != DONE:
                break
            row += 1
            at = window + end
        store(state, AT, at)
        store(state, ROW, row)
        store(state, WINDOW, window)
        store(state, LEN_WINDOW, len_data)
        return status

    return scan
'''


# --- Entries


def scanner(segment: Segment, layout: SegmentLayout) -> list[str]:
    """The factory `scanner`, and the functions that it needs."""
    functions = [content_function(number, segment, layout) for number in range(len(segment.contents))]
    lines = [*SCAN.splitlines(), "", "", *_entry_function(segment, layout, [given for given, _ in functions])]
    for _given, text in functions:
        lines += ["", "", *text]
    return lines


def _entry_function(segment: Segment, layout: SegmentLayout, given: list[list[str]]) -> list[str]:
    scan = ScanReader(layout, _ENTRY, "at", "len_data", "size")
    frame = scan.frame(segment.entry, Io(None, "size"))
    _read_to_body(scan, frame, segment)
    inner, begin = _open_body(scan, frame, segment)
    scan.store("position", "window + at")
    scan.store("end_position", "window + end")
    scan.store_members(frame)
    _switch(scan, segment, inner, begin, given)
    return [
        *signature("scan_entry", _ENTRY),
        f'    """`{segment.entry.path[-1]}`: a row of the table. Returns a status and where it ends."""',
        *scan.source.lines(1),
    ]


def _read_to_body(scan: ScanReader, frame: Frame, segment: Segment) -> None:
    """Read all fields before the body; an entry that lacks one is damaged."""
    group: list[Field] = []
    for member in segment.entry.fields:
        if member.condition is not None and (not group or member.condition != group[-1].condition):
            scan.read_fields(frame, tuple(replace(each, condition=None) for each in group))
            group = []
            _establish(scan, frame, member.condition, member.place)
        if member is segment.body:
            break
        group.append(member)
    scan.read_fields(frame, tuple(replace(each, condition=None) for each in group))
    scan.finish()


def _establish(scan: ScanReader, frame: Frame, condition: Expr, place: Place) -> None:
    """Return DAMAGED unless a condition holds; it counts as true afterwards."""
    term = lower(condition, frame, place)
    if term.value == 1:
        return
    with scan.source.rarely(negate(term).text):
        scan.source.add("return DAMAGED, at")
    if isinstance(condition, Name) and condition.kind == "instance":
        frame.values[condition.id] = TRUE
    facts = facts_of(scan.meanings.get(term.text, term.text))
    scan.facts.update(facts)
    for name, value in frame.values.items():
        frame.values[name] = refined(value, facts)


def _open_body(scan: ScanReader, frame: Frame, segment: Segment) -> tuple[Frame, Position]:
    """Find the entry's end; returns the struct with the switch, and the position of the content."""
    source, body = scan.source, segment.body
    assert body.size is not None
    size = lower(body.size, frame, body.place)
    begin = scan.here
    left = Term(f"size - {begin.operand}", 10, -(1 << 62), 1 << 62)
    for needed in (compare(">=", size, constant(0), body.place), compare("<=", size, left, body.place)):
        if needed.value != 1 and needed.text not in scan.facts:
            with source.rarely(negate(needed).text):
                source.add("return DAMAGED, at")
    source.add(f"end = {begin.text} + {size.within(10)}")
    with source.rarely("whole and end > len_data"):
        source.add("return SHORT, at")
    source.add("limit = min(end, len_data)")
    scan.limit("limit")
    scan.fail = failing(source, "at", "limit", "end")
    if segment.inner is None:
        return frame, begin
    inner = scan.frame(segment.inner, Io(begin, "end"), frame, body.id)
    frame.values[body.id] = inner
    if segment.switch in segment.inner.fields:
        at = segment.inner.fields.index(segment.switch)
        scan.read_fields(inner, segment.inner.fields[:at])
        scan.finish()
        return inner, scan.here
    return inner, scan.start_of(inner, segment.switch)


def _switch(
    scan: ScanReader, segment: Segment, frame: Frame, begin: Position, given: list[list[str]]
) -> None:
    """Emit the calls of the functions for the contents."""
    switch, where = segment.switch, segment.switch.place
    assert isinstance(switch.type, SwitchType)
    on = lower(switch.type.on, frame, where)
    for number, content in enumerate(segment.contents):
        for arguments, values in _grouped(content):
            fits = [compare("==", on, lower(value, frame, where), where) for value in values]
            with scan.source.block(f"if {logic('or', fits).text}:"):
                passed = [
                    lower(argument, frame, where).text
                    for param, argument in zip(content.struct.params, arguments, strict=True)
                    if param.id in given[number]
                ]
                scan.store("content", f"{number}")
                taken = ", ".join(["data", begin.text, *CONTENT_PARAMETERS[2:], *passed])
                scan.source.add(f"return {content.function}({taken})")
    scan.source.add("return DAMAGED, at")


def _grouped(content: Content) -> Iterator[tuple[tuple[Expr, ...], list[Expr]]]:
    """The cases of a content, grouped by the arguments that they pass."""
    groups: list[tuple[tuple[Expr, ...], list[Expr]]] = []
    for value, arguments in content.cases:
        for known, values in groups:
            if known == arguments:
                values.append(value)
                break
        else:
            groups.append((arguments, [value]))
    yield from groups
