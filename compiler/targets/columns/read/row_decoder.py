"""The decoder of a file of rows: its header first, then a row for each struct that its root repeats.

Strategy: the file is one batch, whose header is read again whenever decoding goes on, since what is in it may
be needed by every row.
"""

from __future__ import annotations

from compiler.errors import Problems
from compiler.frontend.model import Field
from compiler.targets.columns.lower.constraints import min_size
from compiler.targets.columns.lower.struct_values import Frame, Io, Position, lower
from compiler.targets.columns.model.segment_layout import Content, SegmentLayout, unsupported
from compiler.targets.columns.read.record_decoder import RecordDecoder, factory
from compiler.targets.columns.read.value_reader import HELPERS
from compiler.targets.stubs import class_name

__all__ = ["row_decoder"]

READ_TABLE = '''\
def read_table(data: bytes | memoryview, *, compiled: bool = False) -> Any:
    """The rows of a file, whose bytes `data` is, as a `pyarrow.Table`.

    Args:
        data: all of the file.
        compiled: whether to run machine code, which numba makes of this module the first time. That takes
            seconds, and is worth it for more than a few megabytes.

    Raises:
        kafka_segments.errors.DecodeError: the bytes are no such file; `position` is where a row begins that
            cannot be read. The message is that of the Kaitai classes.
    """
    from ..kaitai.{stem} import {name}
    from . import {stem}, tables

    return tables.read_rows({stem}, {name}, data, compiled)
'''


class _RowDecoder(RecordDecoder):
    """Emitter of the function `decode` for a file of rows."""

    has_nulls = True
    has_views = False
    prefix = "of_"

    def _batch(self) -> None:
        source, reader, records = self._source, self.reader, self._content.records
        assert records is not None
        root = self._content.struct
        place = root.fields.index(records)
        source.add("start = load(spans, 3 * batch)", "end = load(spans, 3 * batch + 1)")
        with source.block("if record == 0:"):
            source.add("at = start")
        reader.here = Position("start")
        header = reader.frame(root, Io(Position("start"), "end"))
        reader.read_fields(header, root.fields[:place])
        reader.finish()
        with source.block("if record == 0:"):
            source.add(f"at = {reader.here.text}")
        self._rows(header, records)
        self._begin()
        reader.read_fields(header, root.fields[place + 1 :])
        reader.finish()
        source.add("record = 0", "batch += 1")

    def _rows(self, header: Frame, records: Field) -> None:
        source = self._source
        if not min_size(self._record, self._layout.model):
            raise unsupported("rows that may be empty are not supported", self._record.place)
        source.add("first_row = row - record")
        more = "at < end"
        if records.repeat is not None and records.repeat.expr is not None:
            count = lower(records.repeat.expr, header, records.place)
            source.add(f"end_row = first_row + {count.within(9)}")
            more = "row < end_row"
        self._begin()
        with source.block(f"while {more} and row < max_rows:"):
            self._write(self._read(header))
            source.add(f"at = {self.reader.here.text}", "row += 1")
        source.add("record = row - first_row")
        with source.rarely("status != DONE"):
            source.add("break")
        self._no_room(more)

    def _begin(self) -> None:
        """Read from `at` on, of which nothing is known."""
        self.reader.here = Position("at")
        self.reader.limit("end")
        self.reader.facts = set()

    def _around(self, table: Frame) -> Frame | None:
        return table


def row_decoder(layout: SegmentLayout, content: Content) -> tuple[list[str], list[list[str]]]:
    """The decoder of a file of rows: what describes its columns, and functions.

    Raises:
        SchemaError: something in it is not supported; `more` has all else that is not.
    """
    problems = Problems()
    writer = _RowDecoder(layout, content, [])
    writer.reader.problems = problems
    with problems.noted():
        head, text = factory(writer, layout)
    problems.check()
    helpers = [
        code.splitlines() for name, code in HELPERS.items() if any(f"{name}(" in line for line in text)
    ]
    head.append(f"LEN_LEAST_ROW = {min_size(content.record, layout.model)}")
    stem = content.struct.path[0]
    reading = READ_TABLE.format(stem=stem, name=class_name(stem)).splitlines()
    return head, [text, *helpers, reading]
