"""Headers of all entries as a table, without reading payloads.

Checksums would need all bytes, and are not verified.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_segments.core.codecs import CODEC_NAMES
from kafka_segments.core.formats import TIMESTAMP_TYPE_NAMES
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.on_damage import OnDamage, check_on_damage, report_damage
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.columnar.read_range import Ending, OffsetRange, ReadRange
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import iter_headers
from kafka_segments_generated.columns import kafka_log_segment, kafka_log_segment_experimental

__all__ = [
    "HEADERS_SCHEMA",
    "array_of",
    "iter_tables",
    "read_headers",
]

_INTERNAL = ("content", "payload", "end_payload", "codec", "len_body")
_TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint32": pa.uint32(),
    "timestamp[ms, UTC]": pa.timestamp("ms", tz="UTC"),
}


def _columns_of(module: ModuleType) -> set[str]:
    return {name for content in module.CONTENTS for name in content.columns}


# Every table has the columns of all formats.
_EXPERIMENTAL = _columns_of(kafka_log_segment_experimental) - _columns_of(kafka_log_segment)
_FIELDS = pa.schema(
    [
        pa.field(name, _TYPES[kind])
        for name, kind in zip(kafka_log_segment.BATCH_COLUMNS, kafka_log_segment.BATCH_TYPES, strict=True)
        if name not in _INTERNAL and name not in _EXPERIMENTAL
    ]
)

HEADERS_SCHEMA = pa.schema(
    [
        *_FIELDS,
        pa.field("last_offset", pa.int64()),
        pa.field("compression_name", pa.string()),
        pa.field("timestamp_type_name", pa.string()),
    ]
)
"""Where each entry is (`position`, `end_position`), and the fields of its header, as the schemas name them.

Null is what an entry of this magic does not have, and a missing timestamp (-1 in files). Names are Kafka's,
null for a codec that is not known; `last_offset` is that of a wrapper's last message, too.
"""


def read_headers(source: Source, on_damage: OnDamage) -> pa.Table:
    check_on_damage(on_damage)
    return pa.Table.from_batches(_sound_headers(source, on_damage), HEADERS_SCHEMA)


def _sound_headers(source: Source, on_damage: OnDamage) -> Iterator[pa.RecordBatch]:
    for piece in iter_headers(source):
        if isinstance(piece, Damage):
            report_damage(piece, piece.error, on_damage)
        else:
            yield _named(piece)


def iter_tables(source: Source, offsets: OffsetRange, read_range: ReadRange) -> Iterator[EntryTable | Damage]:
    """Yield headers of a part of a segment, in tables valid until the next; damage in its place.

    Args:
        source: the segment's bytes.
        offsets: ends the reading; entries that are out of it, or only partly in it, come too.
        read_range: where to read.
    """
    coverage = read_range.coverage
    ending = Ending(source, offsets, read_range.end_position, check_crc=False)
    previous = read_range.sound_offset
    for piece in iter_headers(source, read_range.position):
        if isinstance(piece, Damage):
            if coverage is not None:
                coverage.damaged()
            yield piece
            continue
        count = ending.num_before(piece, previous)
        wanted = piece.before(count)
        if count:
            if coverage is not None:
                coverage.entries(wanted)
                # The content is not read, so what is missing in it is unknown.
                coverage.has_gaps = coverage.has_gaps or bool(wanted.is_wrapper().any())
            yield wanted
        if count < len(piece):
            if coverage is not None:
                coverage.is_ended = True
            return
        previous = piece.last_offset(len(piece) - 1)


def _named(entries: EntryTable) -> pa.RecordBatch:
    """Headers as Arrow, with what is made of their fields."""
    fields = [_column(entries, field.name, field.type) for field in _FIELDS]
    lasts = array_of(entries.stated_last_offsets(), pa.int64(), np.zeros(len(entries), bool))
    codecs, kinds = entries.column("compression"), entries.column("timestamp_type")
    # Messages of magic 0 have no timestamps.
    kinds = np.where(entries.column("magic") == 0, len(TIMESTAMP_TYPE_NAMES), kinds)
    names = [_names_of(codecs, ("none", *CODEC_NAMES)), _names_of(kinds, TIMESTAMP_TYPE_NAMES)]
    return pa.RecordBatch.from_arrays([*fields, lasts, *names], schema=HEADERS_SCHEMA)


def _names_of(numbers: Any, names: tuple[str, ...]) -> pa.Array:
    """Names in place of numbers, null where there are no more."""
    absent = numbers >= len(names)
    lengths = np.array([0, *map(len, names)], np.int32).cumsum(dtype=np.int32)
    texts = pa.StringArray.from_buffers(
        len(names), pa.py_buffer(lengths), pa.py_buffer("".join(names).encode())
    )
    indices = array_of(np.where(absent, 0, numbers), pa.int8(), absent)
    return pa.DictionaryArray.from_arrays(indices, texts).dictionary_decode()


def _column(entries: EntryTable, name: str, kind: Any) -> pa.Array:
    values, absent = entries.column(name), ~entries.has(name)
    none = kafka_log_segment.BATCH_NONES.get(name)
    return array_of(values, kind, absent if none is None else absent | (values == none))


def array_of(values: Any, kind: Any, absent: Any) -> pa.Array:
    """Numbers as an Arrow array of a type, null where `absent`.

    `pa.array` would import pandas, `to_pandas_dtype` needs it in pyarrow 18.
    """
    validity = _bits(~absent) if absent.any() else None
    if pa.types.is_boolean(kind):
        data = _bits(values != 0)
    else:
        sign = "u" if pa.types.is_unsigned_integer(kind) else ""  # timestamps are integers, too
        data = pa.py_buffer(np.array(values, f"{sign}int{kind.bit_width}"))  # a copy: tables are filled again
    return pa.Array.from_buffers(kind, len(values), [validity, data])


def _bits(flags: Any) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
