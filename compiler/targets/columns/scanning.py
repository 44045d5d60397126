"""The scanner of a segment: a function that walks from entry to entry and fills the table of their headers.

Strategy: an entry is sound if all its fields up to the body are there, what holds under a condition included. Each
content has a function of its own for its header. Positions in these functions are those in `data`, a window into
the source; only what is stored is a position in the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from compiler.frontend.model import (
    Attribute,
    BoolType,
    Checksum,
    Expr,
    Field,
    Model,
    Name,
    Place,
    SwitchType,
    UserType,
)
from compiler.targets.columns.reading import Reader, bounds_of
from compiler.targets.columns.routes import Content, Routes, Segment, batch_columns, codecs
from compiler.targets.columns.source import Names, Source, bracketed
from compiler.targets.columns.terms import (
    TRUE,
    Term,
    compare,
    constant,
    error,
    flag,
    logic,
    negate,
    stored,
    variable,
)
from compiler.targets.columns.values import BytesValue, Frame, Io, Position, integer, lower

__all__ = ["contents", "scanner"]

_LEAST = re.compile(r"\w+ >= \d+")
_FIXED = ("data", "start", "end", "limit", "window", "table", "row", "check_crc", "whole")
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
                len_data = read_at(file, at, data)
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


@dataclass(slots=True)
class _Function:
    """A function that is being written: where to, and from what."""

    source: Source
    names: Names
    reader: Reader
    facts: set[str] = field(default_factory=set)


def _function(routes: Routes, taken: tuple[str, ...], start: str, end: str, whole: str) -> _Function:
    """A function that reads from `start` to `end`, which may be short of the end of the `whole`."""
    source, names = Source(), Names(*taken, "limit", "end", "codec", "payload", "end_payload")
    reader = Reader(routes.model, source, names, Position(start), end, _failing(source, start, end, whole))
    return _Function(source, names, reader)


def _failing(source: Source, start: str, end: str, whole: str) -> Callable[[bool], None]:
    def fail(is_missing: bool) -> None:
        status = f"(SHORT if {end} < {whole} else DAMAGED)" if is_missing else "DAMAGED"
        source.add(f"return {status}, {start}")

    return fail


# --- Entries


def scanner(segment: Segment, routes: Routes) -> list[str]:
    """The factory, and the functions that it needs."""
    functions = [_content_function(number, segment, routes) for number in range(len(segment.contents))]
    lines = [*SCAN.splitlines(), "", "", *_entry_function(segment, routes, [given for given, _ in functions])]
    for _given, text in functions:
        lines += ["", "", *text]
    return lines


def _entry_function(segment: Segment, routes: Routes, given: list[list[str]]) -> list[str]:
    function = _function(routes, _ENTRY, "at", "len_data", "size")
    frame = function.reader.frame(segment.entry, Io(None, "size"))
    _read_to_body(function, frame, segment)
    inner, place = _open_body(function, frame, segment)
    _store_columns(function.source, frame, routes)
    _switch(function, (segment, inner, place), routes, given)
    return [
        *bracketed("def scan_entry(", list(_ENTRY), "):"),
        f'    """`{segment.entry.path[-1]}`: a row of the table. Returns a status, and where the entry ends in `data`."""',
        *function.source.lines(1),
    ]


def _read_to_body(function: _Function, frame: Frame, segment: Segment) -> None:
    """All fields in front of the body; an entry that lacks one of them is not sound."""
    group: list[Field] = []
    for member in segment.entry.fields:
        if member.condition is not None and (not group or member.condition != group[-1].condition):
            function.reader.read_fields(frame, tuple(replace(each, condition=None) for each in group))
            group = []
            _establish(function, frame, member.condition, member.place)
        if member is segment.body:
            break
        group.append(member)
    function.reader.read_fields(frame, tuple(replace(each, condition=None) for each in group))
    function.reader.finish()


def _establish(function: _Function, frame: Frame, condition: Expr, place: Place) -> None:
    """Give the entry up unless a condition holds, and take it for true from here on."""
    term = lower(condition, frame, place)
    if term.value == 1:
        return
    with function.source.block(f"if {negate(term).text}:"):
        function.source.add("return DAMAGED, at")
    if isinstance(condition, Name) and condition.kind == "instance":
        frame.values[condition.id] = TRUE
    meaning = function.reader.meanings.get(term.text, term.text)
    function.facts.update(meaning.split(" and ") if " or " not in meaning else ())
    for name, value in frame.values.items():
        if isinstance(value, Term):
            least = [
                int(fact.rpartition(" ")[2])
                for fact in function.facts
                if _LEAST.fullmatch(fact) and fact.startswith(f"{value.text} ")
            ]
            frame.values[name] = replace(value, low=max(value.low, *least)) if least else value


def _open_body(function: _Function, frame: Frame, segment: Segment) -> tuple[Frame, Position]:
    """Where the entry ends, and what its content is chosen by; returns that, and where the content begins."""
    reader, source, body = function.reader, function.source, segment.body
    assert body.size is not None
    size = lower(body.size, frame, body.place)
    begin = reader.here
    left = Term(f"size - {begin.operand}", 10, -(1 << 62), 1 << 62)
    for needed in (compare(">=", size, constant(0), body.place), compare("<=", size, left, body.place)):
        if needed.value != 1 and needed.text not in function.facts:
            with source.block(f"if {negate(needed).text}:"):
                source.add("return DAMAGED, at")
    source.add(f"end = {begin.text} + {size.within(10)}")
    with source.block("if whole and end > len_data:"):
        source.add("return SHORT, at")
    source.add("limit = min(end, len_data)")
    reader.limit("limit")
    reader.fail = _failing(source, "at", "limit", "end")
    if segment.inner is None:
        return frame, begin
    inner = reader.frame(segment.inner, Io(begin, "end"), frame, body.id)
    frame.values[body.id] = inner
    if segment.switch in segment.inner.fields:
        at = segment.inner.fields.index(segment.switch)
        reader.read_fields(inner, segment.inner.fields[:at])
        reader.finish()
        return inner, reader.here
    return inner, _start_of(function, inner, segment.switch)


def _start_of(function: _Function, frame: Frame, member: Field) -> Position:
    """Where a parse instance begins that goes on to the end."""
    if member.pos is None or frame.io.start is None or not member.size_eos:
        raise error("it has to have a pos and go on to the end (size-eos)", member.place)
    return _place_of(function, frame, lower(member.pos, frame, member.place), member)


def _place_of(function: _Function, frame: Frame, pos: Term, member: Field) -> Position:
    """A place in a stream, which is checked to be in it."""
    start, source = frame.io.start, function.source
    assert start is not None
    if pos.value is not None and pos.value >= 0:
        place = start.plus(pos.value)
        if function.reader.is_known(place):
            return place
    else:
        name = function.names.new(f"{member.id}_start")
        source.let(name, f"{start.text} + {pos.within(10)}")
        place = Position(name)
        if pos.low < 0:
            with source.block(f"if {pos.text} < 0:"):
                function.reader.fail(False)
    with source.block(f"if {place.text} > {frame.io.end}:"):
        function.reader.fail(False)
    return place


def _switch(
    function: _Function, where: tuple[Segment, Frame, Position], routes: Routes, given: list[list[str]]
) -> None:
    """Go on with the function of the content that there is."""
    (segment, frame, place), source = where, function.source
    assert isinstance(segment.switch.type, SwitchType)
    on = lower(segment.switch.type.on, frame, segment.switch.place)
    for number, content in enumerate(segment.contents):
        for arguments, values in _grouped(content):
            fits = [
                compare("==", on, lower(value, frame, segment.switch.place), segment.switch.place)
                for value in values
            ]
            with source.block(f"if {logic('or', fits).text}:"):
                passed = {
                    param.id: lower(argument, frame, segment.switch.place).text
                    for param, argument in zip(content.struct.params, arguments, strict=True)
                    if param.id in given[number]
                }
                _store(source, routes, "content", f"{number}")
                call = ["data", place.text, "end", "limit", "window", "table", "row", "check_crc", "whole"]
                source.add(f"return scan_{content.stem}({', '.join([*call, *passed.values()])})")
    source.add("return DAMAGED, at")


def _grouped(content: Content) -> Iterator[tuple[tuple[Expr, ...], list[Expr]]]:
    """The values that lead to a content, those together that give it the same arguments."""
    groups: list[tuple[tuple[Expr, ...], list[Expr]]] = []
    for value, arguments in content.cases:
        for known, values in groups:
            if known == arguments:
                values.append(value)
                break
        else:
            groups.append((arguments, [value]))
    yield from groups


def _store(source: Source, routes: Routes, name: str, value: str) -> None:
    place = routes.place(name)
    source.add(f"store(table, {f'row + {place}' if place else 'row'}, {value})")


def _store_columns(source: Source, frame: Frame, routes: Routes) -> None:
    """Store what is known of an entry whatever it holds."""
    _store(source, routes, "position", f"window + at")
    _store(source, routes, "end_position", f"window + end")
    _store_members(source, frame, routes)


def _store_members(source: Source, frame: Frame, routes: Routes) -> None:
    for member in (*frame.struct.fields, *frame.struct.instances):
        column = member.extensions.batch_column
        if column is not None:
            value = stored(integer(frame.member(member.id, member.place), member.place))
            _store(source, routes, column.name, f"{value}")
        elif isinstance(frame.values.get(member.id), Frame):
            _store_members(source, frame.values[member.id], routes)


# --- Contents


def _content_function(number: int, segment: Segment, routes: Routes) -> tuple[list[str], list[str]]:
    """The function for one content: which of the struct's parameters it takes, and its text."""
    content = segment.contents[number]
    function = _function(routes, _FIXED, "start", "limit", "end")
    frame = function.reader.frame(content.struct, Io(Position("start"), "end"))
    for param in content.struct.params:
        name = function.names.new(param.id)
        is_flag = isinstance(param.type, BoolType)
        frame.values[param.id] = flag(name) if is_flag else variable(name, bounds_of(param.type))
    header = _header(content, routes.model)
    function.reader.read_fields(frame, header)
    function.reader.finish()
    _payload(function, frame, content)
    _check(function, frame)
    for name in ("payload", "end_payload"):
        _store(function.source, routes, name, f"window + {name}")
    _store(function.source, routes, "codec", f"codec")
    _store_members(function.source, frame, routes)
    function.source.add("return DONE, end")
    given = [param.id for param in content.struct.params if function.source.uses(frame.values[param.id].text)]
    doc = content.struct.path[0]
    text = [
        *bracketed(f"def scan_{content.stem}(", [*_FIXED, *given], "):"),
        f'    """`{doc}`: its header, and where the records are, which may be compressed."""',
        *function.source.lines(1),
    ]
    return given, text


def _header(content: Content, model: Model) -> tuple[Field, ...]:
    """The fields in front of the records: of a content that is one itself, up to the last that is of the batch."""
    fields = content.struct.fields
    if content.records is not None:
        ends = [at for at, each in enumerate(fields) if each is content.records or each.extensions.codec]
        return fields[: min(ends, default=len(fields))]
    wanted = [at for at, each in enumerate(fields) if _is_of_batch(each, model)]
    return fields[: max(wanted, default=-1) + 1]


def _is_of_batch(member: Field, model: Model) -> bool:
    if member.extensions.batch_column or member.extensions.checksum:
        return True
    if not isinstance(member.type, UserType) or member.repeat or member.pos:
        return False
    return any(_is_of_batch(each, model) for each in model.struct(member.type.path).fields)


def _carrier(content: Content) -> Field | None:
    """The member whose bytes may be compressed."""
    for member in (*content.struct.fields, *content.struct.instances):
        if isinstance(member, Field) and member.extensions.codec is not None:
            return member
    return None


def _payload(function: _Function, frame: Frame, content: Content) -> None:
    """Where the bytes are that hold the records, and which codec they are compressed by."""
    source, carrier, records = function.source, _carrier(content), content.records
    if carrier is None:
        source.add("codec = 0")
    else:
        assert carrier.extensions.codec is not None
        codec = lower(carrier.extensions.codec.algorithm, frame, carrier.place)
        source.add(f"codec = {codec.text}")
    whole = records if carrier is None else carrier
    if records is None:
        source.add("payload = start", "end_payload = end")
        if carrier is not None:
            _compressed(function, frame, content, carrier)
        return
    assert whole is not None
    if whole in content.struct.fields:
        start = function.reader.here
    else:
        assert whole.pos is not None
        start = _place_of(function, frame, lower(whole.pos, frame, whole.place), whole)
    if whole is carrier and not (
        whole.size_eos and (whole in content.struct.fields or whole.pos is not None)
    ):
        raise error("what is compressed has to go on to the end (size-eos)", whole.place)
    source.let("payload", start.text)
    source.let("end_payload", "end")


def _compressed(function: _Function, frame: Frame, content: Content, carrier: Field) -> None:
    """Of a content that is one record: its compressed bytes, which are in it."""
    fields = content.struct.fields
    if carrier not in fields:
        raise error("what is compressed has to be a field", carrier.place)
    first, last = len(_header(content, function.reader.model)), fields.index(carrier)
    with function.source.block("if whole and codec != 0:"):
        with function.reader.limited("limit"):
            function.reader.read_fields(frame, fields[first : last + 1])
        value = frame.values[carrier.id]
        if not isinstance(value, BytesValue):
            raise error("what is compressed has to be bytes", carrier.place)
        function.reader.require(value.is_there)
        function.source.add(f"payload = {value.start}", f"end_payload = payload + {value.size.within(10)}")


def _check(function: _Function, frame: Frame) -> None:
    """Compare the checksums that the schema names."""
    for owner, member in _checksums(frame):
        checksum = member.extensions.checksum
        assert checksum is not None
        start, end = _region(function, owner, checksum, member.place)
        value = integer(owner.member(member.id, member.place), member.place)
        with function.source.block("if check_crc:"):
            with function.source.block("if limit < end:"):
                function.source.add("return SHORT, start")
            with function.source.block(f"if {checksum.algorithm}(data, {start}, {end}) != {value.text}:"):
                function.source.add("return DAMAGED, start")


def _checksums(frame: Frame) -> Iterator[tuple[Frame, Field]]:
    for member in frame.struct.fields:
        if member.extensions.checksum is not None:
            yield frame, member
        value = frame.values.get(member.id)
        if isinstance(value, Frame):
            yield from _checksums(value)


def _region(function: _Function, frame: Frame, checksum: Checksum, place: Place) -> tuple[str, str]:
    """Start and end of the bytes that a checksum is of."""
    found = checksum.region
    if isinstance(found, Attribute) and isinstance(found.object, Name) and found.object.kind == "parent":
        assert frame.parent is not None
        owner = frame.parent
    elif isinstance(found, Name):
        owner = frame
    else:
        raise error("a region of another struct is not supported", place)
    member = owner.struct.member(found.id)
    if not isinstance(member, Field):
        raise error("a region has to be a field or a parse instance", place)
    if member.pos is None:
        value = owner.member(member.id, place)
        if not isinstance(value, BytesValue):
            raise error("a region has to be bytes", place)
        return value.start, f"{value.start} + {value.size.within(10)}"
    return _start_of(function, owner, member).text, owner.io.end


def contents(segment: Segment, routes: Routes) -> list[str]:
    """What a generated module tells of each content."""
    lines = []
    for content in segment.contents:
        names = [column.name for column, _ in batch_columns(segment.entry, routes.model)]
        names += [column.name for column, _ in batch_columns(content.struct, routes.model)]
        lines += [
            "Content(",
            f'    schema="{content.stem}",',
            f'    decoder="{content.record.path[0]}",',
            f"    is_repeated={content.records is not None},",
            *bracketed(
                "codecs={", [f'{n}: "{name}"' for n, name in codecs(content, routes.model).items()], "},", 1
            ),
            *bracketed("columns=(", [f'"{name}"' for name in dict.fromkeys(names)], "),", 1),
            "),",
        ]
    return lines
