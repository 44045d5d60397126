"""Reader of a split that counts its offsets: rows, control records, records of excluded batches.

Strategy: rows are counted as they come, and decide; those outside the split's range are left out. The rest is
counted by headers in the same pass (`entry_counts`). Headers that contradict the rows are a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.formats.java import MAX_LONG
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.columnar.entry_counts import EntryCounts, Unknown
from kafka_segments.core.segment.records.batch_records import open_records
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import CorruptBatchError, KafkaFormatError, NotingFaults
from kafka_segments.ingest.runs.account import SplitCounts
from kafka_segments.log.findings import Finding, Findings, Kind
from kafka_segments.log.model import Split, StoredSegment, name_partition
from kafka_segments.log.opening import open_stored
from kafka_segments.query.read.rows_in_order import bounded
from kafka_segments.query.read.segment_finder import Found
from kafka_segments.query.read.split_reader import Reading, SplitReader

__all__ = ["CountingReader"]


class CountingReader(SplitReader):
    """One pass over a split.

    Args: as for `read_split`; and `counter`, which makes what counts the entries of a segment.

    Attributes:
        counts: of what was read; complete when `rows` has ended.
    """

    def __init__(
        self,
        split: Split,
        places: Places,
        reading: Reading,
        findings: Findings,
        counter: type[EntryCounts] = EntryCounts,
    ) -> None:
        super().__init__(split, places, reading, findings)
        self._counter = counter
        self.counts = SplitCounts()
        self._of_segments: list[tuple[StoredSegment, EntryCounts]] = []
        self._num_outside = 0

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the data records of the split, as `read_split` does, without any outside its range.

        Raises:
            KafkaFormatError: as `read_split`.
        """
        try:
            for batch in self.batches():
                inside = self._inside(batch)
                if inside.num_rows:
                    end = inside.column("offset")[-1].as_py() + 1
                    self.counts.add(SplitCounts(inside.num_rows, rows_end=end))
                    yield from bounded(inside, self._split, self.reading.max_row_size, self.reading.columns)
            self._settle_counts()
        except KafkaFormatError as error:
            raise name_partition(error, self._split) from error.__cause__

    def _inside(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows in the split's range: whatever headers say of an offset, one split alone takes it."""
        offsets, end = (
            batch.column("offset").to_numpy(),
            MAX_LONG if self._reached is None else self._reached,
        )
        begin, stop = (int(np.searchsorted(offsets, min(one, MAX_LONG))) for one in (self._losses.floor, end))
        self._num_outside += len(offsets) - max(0, stop - begin)
        return batch.slice(begin, max(0, stop - begin))

    @property
    def newest_counts(self) -> EntryCounts | None:
        """What counts the entries of the segment that is being read."""
        return self._of_segments[-1][1] if self._of_segments else None

    def new_counts(self, found: Found, start: int, end: int | None) -> EntryCounts:
        ends = [one for one in (end, self._split.asked[1]) if one is not None]
        counts = self._counter(start, min(ends, default=None))
        self._of_segments.append((found.stored, counts))
        return counts

    def _settle_counts(self) -> None:
        num_data, is_exact = 0, True
        for stored, found in self._of_segments:
            opened = [0, 0]
            for one in found.unknown:
                opened[one.is_control] += self._num_inside(stored, one)
            control, excluded = found.num_control + opened[True], found.num_excluded + opened[False]
            self.counts.add(SplitCounts(0, control, excluded, found.last))
            num_data += found.num_data
            is_exact = is_exact and found.is_exact
        self._check_headers(num_data if is_exact else self.counts.records)

    def _check_headers(self, num_data: int) -> None:
        """Report headers that contradict what was decoded, and count no more by them than there can be."""
        counts, end = self.counts, self._reached
        room = (counts.end if end is None else min(end, counts.end)) - self._losses.floor - counts.records
        by_headers = counts.control + counts.aborted
        counts.control = int(np.clip(counts.control, 0, max(0, room)))
        counts.aborted = int(np.clip(counts.aborted, 0, max(0, room - counts.control)))
        is_explained = bool(self._findings.findings)
        is_exceeded = any(found.has_exceeding for _, found in self._of_segments)
        is_other = num_data != counts.records or by_headers != counts.control + counts.aborted
        if self._num_outside or (not is_explained and (is_exceeded or is_other)):
            path, where = self._split.segment.file.path, (self._split.topic, self._split.partition)
            error = CorruptBatchError(
                "batch headers contradict their records, in number or offsets; records left out, with "
                f"offsets outside this range: {self._num_outside}",
                path=path,
            )
            self._findings.add(Finding.of_error(Kind.DAMAGE, *where, error))

    def _num_inside(self, stored: StoredSegment, unknown: Unknown) -> int:
        """Count the records of a batch in a part of its offsets, by opening it; 0 if it is damaged."""
        bound = self.reading.max_decompressed
        with closing(open_stored(self._places, stored)) as source, NotingFaults():
            scan = Scan(source, check_crc=False, max_decompressed=bound)
            entry = next(scan.entries(unknown.position), None)
            if isinstance(entry, Batch):
                opened = open_records(entry, scan.payload(entry), max_decompressed=bound, items=scan.items)
                return sum(unknown.start <= record.offset < unknown.end for record in opened[1])
        return 0
