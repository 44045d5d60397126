"""A whole segment as an Arrow table, and the public names of `segment.columnar`.

`arrow_schema` describes the columns.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kafka_segments.core.formats.on_damage import OnDamage
from kafka_segments.core.io.storage import SourceLike
from kafka_segments.core.io.threads import check_threads, in_threads
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA, Binary, schema_of
from kafka_segments.core.segment.columnar.reader import Event
from kafka_segments.core.segment.columnar.record_rows import record_batches
from kafka_segments.core.segment.columnar.stream import check_offsets, only_records
from kafka_segments.core.segment.segment import open_segment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SCHEMA", "read_table", "record_batches"]


def read_table(
    path: SourceLike | Iterable[SourceLike],
    columns: Sequence[str] | None = None,
    offsets: tuple[int | None, int | None] | None = None,
    check_crc: bool = True,
    on_damage: OnDamage = "raise",
    *,
    binary: Binary = "copy",
    threads: int = 1,
) -> pa.Table:
    """Read the data records of segment files; control records are left out.

    Args:
        path: a `.log` or `.checkpoint` file, or several; also bytes or a binary file object, as for
            `open_segment`. The rows of several have their order.
        columns: names of the columns, in order; all of `SCHEMA` if None.
        offsets: `(start, end)`: only records with start <= offset < end; None on either side is open. Damage
            that cannot have touched these offsets is ignored.
        check_crc: whether the batches' checksums are verified.
        on_damage: "raise" raises the error of the first damage; "skip" ignores damage; a function is called
            with each `Damage` and reading continues.
        binary: "copy" or "view", as for `Segment.read_batches`.
        threads: files that are read at a time.

    Raises:
        KafkaFormatError: `ReadError` for a file that cannot be opened, `UnknownFormatError` for another
            program's format, and damage if `on_damage` is "raise".
        MissingCodecError: a codec's package is not installed, whatever `on_damage` is.
        OptionError: an unknown column, invalid offsets, or an invalid `on_damage` or `binary`.
    """
    bounds, schema = check_offsets(offsets), schema_of(columns, binary)

    def events(source: SourceLike) -> Generator[Event, None, None]:
        with open_segment(source, check_crc=check_crc) as segment:
            yield from segment.iter_columnar(columns, bounds, binary=binary)

    given: Any = path
    is_one = isinstance(given, (str, bytes, bytearray, memoryview)) or hasattr(given, "read")
    sources = [given] if is_one or not isinstance(given, Iterable) else list(given)
    with closing(in_threads(events, sources, check_threads(threads), num_waiting=None)) as found:
        return only_records((event for _, event in found), schema, bounds, on_damage).read_all()
