"""The readers that must agree: each generated target, brought into one form.

Kaitai: the runtime over the generated classes.
Construct: the declarations alone. They stop at the first entry that is cut off, and know of no checksums.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from construct import ConstructError
from tests.made.codecs import IDS
from tests.made.encoder import LOG_OVERHEAD, Row, to_long
from tests.made.kafkas_reading import TYPES
from tests.properties import legacy
from tests.properties.columns import read_columns, trouble_of
from tests.properties.reading import Reader, Reading, Trouble

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core.codecs import decompress
from kafka_segments_generated.construct import kafka_log_segment as construct_target


def read_kaitai(data: bytes) -> Reading:
    """By `iter_events`."""
    rows: list[Row] = []
    damage: list[Trouble] = []
    with open_segment(data) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Record):
                rows.append(_row(event))
            elif isinstance(event, Damage):
                damage.append(trouble_of(event))
    return Reading(rows, damage)


def _row(record: Record) -> Row:
    return Row(
        record.offset,
        record.timestamp,
        TYPES[record.timestamp_type],
        record.key,
        record.value,
        record.headers,
        record.control is not None,
    )


class _Hook:
    """A codec as the Construct declarations want it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def decompress(self, data: bytes) -> bytes:
        return decompress(self._name, data)


HOOKS = {name: _Hook(name) for name in IDS if name != "none"}


def read_construct(data: bytes) -> Reading:
    """By `KafkaLogSegment.parse`; what is cut off or damaged ends it."""
    rows: list[Row] = []
    position = 0
    for entry in construct_entries(data):
        if entry.body is None:
            cut = [Trouble(position, len(data), "TruncatedError")] if any(data[position:]) else []
            return Reading(rows, cut)
        end = position + LOG_OVERHEAD + entry.len_body
        found, error = _construct_rows(data[position:end])
        rows += found
        if error is not None:
            return Reading(rows, [Trouble(position, end, error)])
        position = end
    return Reading(rows, [])


@lru_cache(maxsize=1000)
def _construct_rows(data: bytes) -> tuple[tuple[Row, ...], str | None]:
    """The records of one entry, and the name of the error that was met."""
    try:
        batch = construct_entries(data)[0].body
        if batch.magic in (0, 1):
            return legacy.read(data, construct_entries)
        if batch.magic == 2 and batch.content.num_records == 0 and not batch.content.payload:
            return (), None  # lawful, whatever codec it names
        # Bytes that another magic or codec leaves as they are have no records.
        records = getattr(batch.content, "records", None)
        if records is None:
            return (), "ConstructError"
        return tuple(_construct_row(batch.content, record.body) for record in records), None
    except ConstructError:
        return (), "ConstructError"


def construct_entries(data: bytes) -> list[Any]:
    """The entries of a segment as trees, with codecs for what is compressed."""
    return list(construct_target.KafkaLogSegment.parse(data, codecs=HOOKS).entries)


def _construct_row(batch: Any, body: Any) -> Row:
    return Row(
        to_long(body.offset),
        to_long(body.timestamp),
        body.timestamp_type,
        body.key,
        body.value,
        tuple((header.key, header.value) for header in body.headers),
        batch.attributes.is_control,
    )


KAITAI = Reader("kaitai", read_kaitai)
CONSTRUCT = Reader("construct", read_construct, resyncs=False)

COLUMNS = Reader("columns", read_columns, gives_control=False)

READERS: list[Reader] = [KAITAI, CONSTRUCT, COLUMNS]
"""All of them."""
