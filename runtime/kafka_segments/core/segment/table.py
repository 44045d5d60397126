"""A whole segment as an Arrow table, and the public names of `segment.columnar`.

`arrow_schema` describes the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_segments.core.formats.on_damage import OnDamage
from kafka_segments.core.io.storage import SourceLike
from kafka_segments.core.segment.columnar.arrow_schema import SCHEMA, Binary
from kafka_segments.core.segment.columnar.record_rows import record_batches
from kafka_segments.core.segment.segment import open_segment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SCHEMA", "read_table", "record_batches"]


def read_table(
    path: SourceLike,
    columns: Sequence[str] | None = None,
    offsets: tuple[int | None, int | None] | None = None,
    check_crc: bool = True,
    on_damage: OnDamage = "raise",
    *,
    binary: Binary = "copy",
) -> pa.Table:
    """Read the data records of one segment file; control records are left out.

    Args:
        path: a `.log` or `.checkpoint` file; also bytes or a binary file object, as for `open_segment`.
        columns: names of the columns, in order; all of `SCHEMA` if None.
        offsets: `(start, end)`: only records with start <= offset < end; None on either side is open. Damage
            that cannot have touched these offsets is ignored.
        check_crc: whether the batches' checksums are verified.
        on_damage: "raise" raises the error of the first damage; "skip" ignores damage; a function is called
            with each `Damage` and reading continues.
        binary: "copy" or "view", as for `Segment.read_batches`.

    Raises:
        KafkaFormatError: `ReadError` for a file that cannot be opened, `UnknownFormatError` for another
            program's format, and damage if `on_damage` is "raise".
        MissingCodecError: a codec's package is not installed, whatever `on_damage` is.
        OptionError: an unknown column, invalid offsets, or an invalid `on_damage` or `binary`.
    """
    with open_segment(path, check_crc=check_crc) as segment:
        return segment.read_batches(columns, offsets, on_damage, binary=binary).read_all()
