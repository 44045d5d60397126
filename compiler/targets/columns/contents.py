"""The function of a scanner for one content: its header into the table, and where its records are."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.frontend.model import (
    Attribute,
    BoolType,
    Checksum,
    Field,
    Model,
    Name,
    Place,
    UserType,
)
from compiler.targets.columns.checks import bounds_of
from compiler.targets.columns.routes import Content, Routes, Segment, batch_columns, codecs
from compiler.targets.columns.scans import ScanReader, signature
from compiler.targets.columns.source import bracketed
from compiler.targets.columns.terms import error, flag, variable
from compiler.targets.columns.values import BytesValue, Frame, Io, Position, integer, lower

__all__ = ["CONTENT_PARAMETERS", "content_function", "described_contents", "header_fields", "region_of"]

CONTENT_PARAMETERS = ("data", "start", "end", "limit", "window", "table", "row", "check_crc", "whole")


def content_function(number: int, segment: Segment, routes: Routes) -> tuple[list[str], list[str]]:
    """The function for one content: which of the struct's parameters it takes, and its text."""
    content = segment.contents[number]
    scan = ScanReader(routes, CONTENT_PARAMETERS, "start", "limit", "end")
    frame = scan.frame(content.struct, Io(Position("start"), "end"))
    params = {param.id: scan.names.new(param.id) for param in content.struct.params}
    for param in content.struct.params:
        is_flag, name = isinstance(param.type, BoolType), params[param.id]
        frame.values[param.id] = flag(name) if is_flag else variable(name, bounds_of(param.type))
    scan.read_fields(frame, header_fields(content, routes.model))
    scan.finish()
    _payload(scan, frame, content)
    _check(scan, frame)
    for name in ("payload", "end_payload"):
        scan.store(name, f"window + {name}")
    scan.store("codec", "codec")
    scan.store_members(frame)
    scan.source.add("return DONE, end")
    given = [param for param, name in params.items() if scan.source.uses(name)]
    doc = content.struct.path[-1]
    flags = frozenset(params[param.id] for param in content.struct.params if isinstance(param.type, BoolType))
    text = [
        *signature(content.function, (*CONTENT_PARAMETERS, *(params[each] for each in given)), flags),
        f'    """`{doc}`: its header, and where the records are, which may be compressed."""',
        *scan.source.lines(1),
    ]
    return given, text


def header_fields(content: Content, model: Model) -> tuple[Field, ...]:
    """Fields in front of the records; of a content that is one itself, up to the last of the batch."""
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


def _payload(scan: ScanReader, frame: Frame, content: Content) -> None:
    """Where the bytes are that hold the records, and which codec they are compressed by."""
    source, carrier, records = scan.source, _carrier(content), content.records
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
            _compressed(scan, frame, content, carrier)
        return
    assert whole is not None
    if whole in content.struct.fields:
        start = scan.here
    else:
        assert whole.pos is not None
        start = scan.place_of(frame, lower(whole.pos, frame, whole.place), whole)
    if whole is carrier and not (
        whole.size_eos and (whole in content.struct.fields or whole.pos is not None)
    ):
        raise error("what is compressed has to go on to the end (size-eos)", whole.place)
    source.let("payload", start.text)
    source.let("end_payload", "end")


def _compressed(scan: ScanReader, frame: Frame, content: Content, carrier: Field) -> None:
    """Of a content that is one record: its compressed bytes, which are in it."""
    fields = content.struct.fields
    if carrier not in fields:
        raise error("what is compressed has to be a field", carrier.place)
    first, last = len(header_fields(content, scan.model)), fields.index(carrier)
    none = next((number for number, name in codecs(content, scan.model).items() if name == "none"), 0)
    with scan.source.block(f"if whole and codec != {none}:"):
        with scan.limited("limit"):
            scan.read_fields(frame, fields[first : last + 1])
        value = frame.values[carrier.id]
        if not isinstance(value, BytesValue):
            raise error("what is compressed has to be bytes", carrier.place)
        scan.require(value.is_there)
        scan.source.add(f"payload = {value.start}", f"end_payload = payload + {value.size.within(10)}")


def _check(scan: ScanReader, frame: Frame) -> None:
    """Compare the checksums that the schema names."""
    for owner, member in _checksums(frame):
        checksum = member.extensions.checksum
        assert checksum is not None
        start, end = _region(scan, owner, checksum, member.place)
        value = integer(owner.member(member.id, member.place), member.place)
        with scan.source.block("if check_crc:"):
            with scan.source.rarely("limit < end"):
                scan.source.add("return SHORT, start")
            with scan.source.rarely(f"{checksum.algorithm}(data, {start}, {end}) != {value.text}"):
                scan.source.add("return DAMAGED, start")


def _checksums(frame: Frame) -> Iterator[tuple[Frame, Field]]:
    for member in frame.struct.fields:
        if member.extensions.checksum is not None:
            yield frame, member
        value = frame.values.get(member.id)
        if isinstance(value, Frame):
            yield from _checksums(value)


def region_of(frame: Frame, checksum: Checksum, place: Place) -> tuple[Frame, Field]:
    """The bytes that a checksum is of: a member, and the struct that it is in."""
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
    return owner, member


def _region(scan: ScanReader, frame: Frame, checksum: Checksum, place: Place) -> tuple[str, str]:
    """Start and end of the bytes that a checksum is of."""
    owner, member = region_of(frame, checksum, place)
    if member.pos is None:
        value = owner.member(member.id, place)
        if not isinstance(value, BytesValue):
            raise error("a region has to be bytes", place)
        return value.start, f"{value.start} + {value.size.within(10)}"
    return scan.start_of(owner, member).text, owner.io.end


def described_contents(segment: Segment, routes: Routes) -> list[str]:
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
