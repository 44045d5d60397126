"""The readers that must agree: each generated target, brought into one form.

Kaitai: the runtime's scan over the generated classes; it leaves old messages undecoded, so `legacy` goes on.
"""

from __future__ import annotations

from tests.properties import legacy
from tests.properties.encoder import Row
from tests.properties.oracle import TYPES
from tests.properties.reading import Reader, Reading, Trouble

from kafka_segments import Batch, Damage, Record, open_segment


def read_kaitai(data: bytes) -> Reading:
    """By `iter_events`."""
    rows: list[Row] = []
    damage: list[Trouble] = []
    with open_segment(data) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Record):
                rows.append(_row(event))
            elif isinstance(event, Damage):
                damage.append(_trouble(event))
            elif isinstance(event, Batch) and event.magic < 2 and event.crc_valid and is_known(event):
                found, error = legacy.read(data[event.position : event.end_position])
                rows += found
                if error is not None:
                    damage.append(Trouble(event.position, event.end_position, error))
    return Reading(rows, damage)


def is_known(batch: Batch) -> bool:
    """Whether a message has a codec of its time; if not, the scan itself says so."""
    return batch.compression not in (None, "zstd")


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


def _trouble(damage: Damage) -> Trouble:
    return Trouble(damage.position, damage.end_position, type(damage.error).__name__)


KAITAI = Reader("kaitai", read_kaitai)

READERS: list[Reader] = [KAITAI]
"""All of them."""
