"""The scanner's function for one kind of content: header fields and the position of records, to the table."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.frontend.model import (
    BoolType,
    Checksum,
    Field,
    Place,
)
from compiler.targets.columns.lower.constraints import bounds_of, region_of
from compiler.targets.columns.lower.python_source import bracketed
from compiler.targets.columns.lower.struct_values import BytesValue, Frame, Io, Position, integer, lower
from compiler.targets.columns.lower.terms import flag, variable
from compiler.targets.columns.model.segment_layout import (
    Content,
    Segment,
    SegmentLayout,
    batch_columns,
    codecs,
    header_fields,
    unsupported,
)
from compiler.targets.columns.read.scan_reader import ScanReader, signature

__all__ = ["CONTENT_PARAMETERS", "content_function", "described_contents"]

CONTENT_PARAMETERS = ("data", "start", "end", "limit", "window", "table", "row", "check_crc", "whole")


def content_function(number: int, segment: Segment, layout: SegmentLayout) -> tuple[list[str], list[str]]:
    """The function for one kind of content: the struct's parameters that it takes, and its text."""
    content = segment.contents[number]
    scan = ScanReader(layout, CONTENT_PARAMETERS, "start", "limit", "end")
    frame = scan.frame(content.struct, Io(Position("start"), "end"))
    params = {param.id: scan.names.new(param.id) for param in content.struct.params}
    for param in content.struct.params:
        is_flag, name = isinstance(param.type, BoolType), params[param.id]
        frame.values[param.id] = flag(name) if is_flag else variable(name, bounds_of(param.type))
    scan.read_fields(frame, header_fields(content, layout.model))
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


def _carrier(content: Content) -> Field | None:
    """The member with `-codec`, whose bytes may be compressed."""
    for member in (*content.struct.fields, *content.struct.instances):
        if isinstance(member, Field) and member.extensions.codec is not None:
            return member
    return None


def _payload(scan: ScanReader, frame: Frame, content: Content) -> None:
    """Emit the position of the bytes that hold the records, and the number of their codec."""
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
        raise unsupported("what is compressed has to go on to the end (size-eos)", whole.place)
    source.let("payload", start.text)
    source.let("end_payload", "end")


def _compressed(scan: ScanReader, frame: Frame, content: Content, carrier: Field) -> None:
    """Emit the position of the compressed bytes in a content that is one record."""
    fields = content.struct.fields
    if carrier not in fields:
        raise unsupported("what is compressed has to be a field", carrier.place)
    first, last = len(header_fields(content, scan.model)), fields.index(carrier)
    none = next((number for number, name in codecs(content, scan.model).items() if name == "none"), 0)
    with scan.source.block(f"if whole and codec != {none}:"):
        with scan.limited("limit"):
            scan.read_fields(frame, fields[first : last + 1])
        value = frame.values[carrier.id]
        if not isinstance(value, BytesValue):
            raise unsupported("what is compressed has to be bytes", carrier.place)
        scan.require(value.is_there)
        scan.source.add(f"payload = {value.start}", f"end_payload = payload + {value.size.within(10)}")


def _check(scan: ScanReader, frame: Frame) -> None:
    """Emit the comparison of checksums."""
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


def _region(scan: ScanReader, frame: Frame, checksum: Checksum, place: Place) -> tuple[str, str]:
    """Start and end of the bytes that a checksum covers."""
    owner, member = region_of(frame, checksum, place)
    if member.pos is None:
        value = owner.member(member.id, place)
        if not isinstance(value, BytesValue):
            raise unsupported("a region has to be bytes", place)
        return value.start, f"{value.start} + {value.size.within(10)}"
    return scan.start_of(owner, member).text, owner.io.end


def described_contents(segment: Segment, layout: SegmentLayout) -> list[str]:
    """The entries of `CONTENTS` in a generated module."""
    lines = []
    frame = ScanReader(layout, CONTENT_PARAMETERS, "start", "limit", "end").frame(
        segment.entry, Io(None, "end")
    )
    for content in segment.contents:
        cases = [lower(value, frame, segment.switch.place).text for value, _ in content.cases]
        names = [column.name for column, _ in batch_columns(segment.entry, layout.model)]
        names += [column.name for column, _ in batch_columns(content.struct, layout.model)]
        lines += [
            "Content(",
            f'    schema="{content.stem}",',
            f'    decoder="{content.record.path[0]}",',
            *bracketed("cases=(", cases if len(cases) > 1 else [f"{cases[0]},"], "),", 1),
            f"    is_repeated={content.records is not None},",
            *bracketed(
                "codecs={", [f'{n}: "{name}"' for n, name in codecs(content, layout.model).items()], "},", 1
            ),
            *bracketed("columns=(", [f'"{name}"' for name in dict.fromkeys(names)], "),", 1),
            "),",
        ]
    return lines
