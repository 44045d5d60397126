"""Headers of entries as Arrow, without reading payloads: nothing is decompressed and no checksum verified."""

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
from kafka_segments.core.segment.columnar.arrow_schema import NONE, TIMESTAMP
from kafka_segments.core.segment.columnar.read_range import Ending, OffsetRange, ReadRange
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import iter_headers
from kafka_segments_generated.columns import kafka_log_segment, kafka_log_segment_experimental

__all__ = [
    "BATCHES_SCHEMA",
    "HEADERS_SCHEMA",
    "iter_tables",
    "overview",
    "read_headers",
]

_NOWHERE = np.zeros(1, bool)  # no row is absent
_INTERNAL = ("content", "payload", "end_payload", "codec", "len_body")
_TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint32": pa.uint32(),
    "timestamp[ms, UTC]": TIMESTAMP,
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

BATCHES_SCHEMA = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("size", pa.int32(), nullable=False),
        pa.field("base_offset", pa.int64()),
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("num_records", pa.int32()),
        pa.field("magic", pa.int8(), nullable=False),
        pa.field("compression", pa.string()),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("base_timestamp", TIMESTAMP),
        pa.field("max_timestamp", TIMESTAMP),
        pa.field("leader_epoch", pa.int32()),
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int32()),
        pa.field("base_sequence", pa.int32()),
        pa.field("is_transactional", pa.bool_(), nullable=False),
        pa.field("is_control", pa.bool_(), nullable=False),
        pa.field("has_delete_horizon", pa.bool_(), nullable=False),
        pa.field("crc", pa.int64(), nullable=False),
    ]
)
"""A row for each batch. Columns are those of `HEADERS_SCHEMA`, with these differences: `size` in bytes,
`leader_epoch` for `partition_leader_epoch`, `compression` by name (null if unknown), `timestamp_type` -1 in
magic 0. Null is what a format does not have or where -1 stands for none; of a wrapper, `base_offset` and
`num_records`, which its content has. Flags are false in the old formats.
"""

_CODECS = "none", *CODEC_NAMES


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


def overview(entries: EntryTable) -> pa.RecordBatch:
    """Return entries as rows of `BATCHES_SCHEMA`."""
    is_batch, is_wrapper, is_old = entries.is_batch(), entries.is_wrapper(), entries.column("magic") < 1
    values = {
        "size": entries.column("end_position") - entries.column("position"),
        "last_offset": entries.stated_last_offsets(),
        "num_records": np.where(is_batch, entries.column("num_records"), 1),
        "timestamp_type": np.where(is_old, NONE, entries.column("timestamp_type")),
        "leader_epoch": entries.column("partition_leader_epoch"),
    }
    absent = {
        "base_offset": is_wrapper,
        "num_records": is_wrapper,
        "base_timestamp": ~is_batch,
        "max_timestamp": is_old,
    }

    def column(field: pa.Field) -> pa.Array:
        if field.name == "compression":
            return _names_of(entries.column("codec"), _CODECS)
        found = values[field.name] if field.name in values else entries.column(field.name)
        if pa.types.is_boolean(field.type):
            found = np.where(is_batch, found, 0)
        nulls = absent.get(field.name, ~is_batch | (found == NONE)) if field.nullable else _NOWHERE
        return _array_of(found, field.type, nulls)

    return pa.RecordBatch.from_arrays([column(field) for field in BATCHES_SCHEMA], schema=BATCHES_SCHEMA)


def _named(entries: EntryTable) -> pa.RecordBatch:
    """Headers as Arrow, with what is made of their fields."""
    fields = [_column(entries, field.name, field.type) for field in _FIELDS]
    lasts = _array_of(entries.stated_last_offsets(), pa.int64(), _NOWHERE)
    codecs, kinds = entries.column("compression"), entries.column("timestamp_type")
    # Messages of magic 0 have no timestamps.
    kinds = np.where(entries.column("magic") == 0, len(TIMESTAMP_TYPE_NAMES), kinds)
    names = [_names_of(codecs, _CODECS), _names_of(kinds, TIMESTAMP_TYPE_NAMES)]
    return pa.RecordBatch.from_arrays([*fields, lasts, *names], schema=HEADERS_SCHEMA)


def _names_of(numbers: Any, names: tuple[str, ...]) -> pa.Array:
    """Names in place of numbers, null where there are no more."""
    absent = numbers >= len(names)
    lengths = np.array([0, *map(len, names)], np.int32).cumsum(dtype=np.int32)
    texts = pa.StringArray.from_buffers(
        len(names), pa.py_buffer(lengths), pa.py_buffer("".join(names).encode())
    )
    indices = _array_of(np.where(absent, 0, numbers), pa.int8(), absent)
    return pa.DictionaryArray.from_arrays(indices, texts).dictionary_decode()


def _column(entries: EntryTable, name: str, kind: Any) -> pa.Array:
    values, absent = entries.column(name), ~entries.has(name)
    none = kafka_log_segment.BATCH_NONES.get(name)
    return _array_of(values, kind, absent if none is None else absent | (values == none))


def _array_of(values: Any, kind: Any, absent: Any) -> pa.Array:
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
