"""Exact reader of a batch's records, a group at a time.

At most as many records are objects at a time as one Arrow batch takes, whatever a batch decompresses to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from kafka_segments.core.formats.entries import Batch, Damage, Record
from kafka_segments.core.segment.columnar.read_range import OffsetRange
from kafka_segments.core.segment.columnar.record_objects import RowDecoder
from kafka_segments.core.segment.columnar.record_rows import record_batches
from kafka_segments.core.segment.records.batch_records import ManyRows, RecordPlace, open_records
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import KafkaFormatError

__all__ = ["ExactRecords"]


class ExactRecords:
    """Reader of batches whose content the compiled decoders refuse.

    Args:
        scan: reads the payloads, and records sound batches.
        columns: names of the columns.
        offsets: only records in this range.
        check_crc: verify the checksums of messages in a wrapper.
        max_decompressed: bytes that one batch may decompress to.
    """

    def __init__(
        self,
        scan: Scan,
        *,
        columns: Sequence[str],
        offsets: OffsetRange,
        check_crc: bool,
        max_decompressed: int,
    ) -> None:
        self._scan = scan
        self._columns = columns
        self._offsets = offsets
        self._check_crc = check_crc
        self._max_decompressed = max_decompressed
        self._rows = ManyRows(RowDecoder)

    def events(
        self, batch: Batch, start: RecordPlace, *, is_strict: bool
    ) -> Iterator[pa.RecordBatch | Damage]:
        """The records from `start` on as arrow batches, then the damage if there is any.

        Args:
            batch: its header.
            start: which records were yielded already.
            is_strict: leave out records outside the range even if the header says that there are none.
        """
        damages: list[Damage] = []
        records = self._records(batch, start, damages)
        if is_strict or not self._offsets.covers(batch):
            records = (record for record in records if self._offsets.holds(record.offset))
        yield from record_batches(records, columns=self._columns, batch=batch)
        yield from damages

    def _records(self, batch: Batch, start: RecordPlace, damages: list[Damage]) -> Iterator[Record]:
        """Yield the records from `start` on; damage after them is added to `damages`."""
        last_offset = None  # of a record that was yielded before, too: damage is described by its neighbours
        try:
            opened = open_records(
                batch,
                self._scan.payload(batch),
                max_decompressed=self._max_decompressed,
                check_crc=self._check_crc,
                rows=self._rows,
                items=self._scan.items,
            )
            for number, record in enumerate(opened[1]):
                last_offset = record.offset
                if number >= start.num_records:
                    yield record
            self._scan.note_sound(batch)
        except KafkaFormatError as error:
            damages.append(self._scan.damage_of(batch, error, last_offset))
