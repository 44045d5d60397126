"""Search of one segment.

Strategy: where the extra `arrow` is installed, the payloads of whole windows are searched for the byte
strings that a record must contain (`candidate_batches`), by unverified headers. Only batches that have them
all are read the exact way: their checksum is verified, their records are decoded and judged. Otherwise each
batch is read so. What is not sound is damage; its bytes are searched as they are.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Literal

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED, decompress
from kafka_segments.core.codecs.bounds import content_bound
from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import WINDOW_SIZE, Source
from kafka_segments.core.segment.records.batch_records import Rows, open_records
from kafka_segments.core.segment.scan.entry_scan import Scan
from kafka_segments.errors import (
    KafkaFormatError,
    MissingExtraError,
    OptionError,
    SegmentOrderError,
    raise_unless_file_at_fault,
)
from kafka_segments.log.index_claims import is_before, position_of, read_claims
from kafka_segments.log.model import StoredSegment
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.found import EntryPlace, Finds, FoundRecord, SearchCounts, UndecidedPlace
from kafka_segments.search.raw_search import search_damage
from kafka_segments.search.time_bound import TimeBound

if TYPE_CHECKING:
    from kafka_segments.search.candidate_batches import CandidateBatches

__all__ = ["Checked", "SegmentSearch", "position_to_begin"]

Checked = Literal["candidates", "all", "none"]
"""Of which batches checksums are computed: those that may hold a record, all, or none."""

_LEN_WINDOW = 64 << 10  # of the exact way, which jumps from candidate to candidate


class SegmentSearch:
    """Search of one segment, for one pass.

    Args:
        source: the segment's bytes.
        conditions: what is looked for.
        checked: see `Checked`. Without the extra `arrow`, `candidates` is `all`.
        max_decompressed: bytes that one payload may decompress to.
        rows: a faster decoder of records, if available.
        bound: of the time that a test of one record may take.

    Attributes:
        counts: what was read so far.
    """

    def __init__(
        self,
        source: Source,
        conditions: Conditions,
        *,
        checked: Checked = "candidates",
        max_decompressed: int = DEFAULT_MAX_DECOMPRESSED,
        rows: Rows | None = None,
        bound: TimeBound | None = None,
    ) -> None:
        self._source, self._conditions, self._checked = source, conditions, checked
        self._max_decompressed, self._rows, self._bound = max_decompressed, rows, bound or TimeBound()
        self._last_damage_end = self._last_read = -1
        self.counts = SearchCounts(num_files=1)

    def events(self, position: int = 0) -> Iterator[Finds]:
        """Yield what is found, and damage, in file order.

        Args:
            position: of the entry to begin with.
        """
        candidates = self._candidates()
        if candidates is None:
            scan = self._new_scan()
            for entry in scan.entries(position):
                yield from self._entry(scan, entry)
            return
        scan = self._new_scan(_LEN_WINDOW)
        while position < self._source.size:
            position = yield from self._stretch(candidates, scan, position)

    def _candidates(self) -> CandidateBatches | None:
        """Return the search for candidates; None without the extra `arrow`."""
        try:
            from kafka_segments.search.candidate_batches import CandidateBatches

            return CandidateBatches(
                self._source,
                self._conditions,
                check_crc=self._checked == "all",
                max_decompressed=self._max_decompressed,
            )
        except MissingExtraError:
            return None

    def _new_scan(self, len_window: int = WINDOW_SIZE) -> Scan:
        return Scan(
            self._source,
            check_crc=self._checked != "none",
            len_window=len_window,
            max_decompressed=self._max_decompressed,
        )

    def _stretch(
        self, candidates: CandidateBatches, scan: Scan, position: int
    ) -> Generator[Finds, None, int]:
        """Search from an entry on, up to the first damage and through it; return where to go on."""
        counts, before = self.counts, 0
        for place in candidates.places(position, scan.sound_offset):
            counts.num_batches += candidates.num_entries - before
            before = candidates.num_entries
            end, is_sound = yield from self._region(scan, place)
            if not is_sound:
                return end
        counts.num_batches += candidates.num_entries - before
        if self._checked == "all":
            counts.num_verified += candidates.num_entries
        end = candidates.position
        if candidates.is_past_range or end >= self._source.size:
            return self._source.size
        after = EntryPlace(end, candidates.last_offset, candidates.last)
        resume, is_sound = yield from self._region(scan, after)
        counts.num_batches += is_sound
        return resume

    def _region(
        self, scan: Scan, place: EntryPlace, *, is_judged: bool = True
    ) -> Generator[Finds, None, tuple[int, bool]]:
        """Search the entry at a place, or the damage there.

        Args:
            scan: of the source.
            place: of an entry.
            is_judged: whether records of a sound entry may be found; else they are read alone.

        Returns:
            Where that ends, and whether it is a sound entry.
        """
        if place.position != self._last_damage_end:  # after damaged records, the scan knows better
            scan.sound_offset = place.previous_offset
        found = list(scan.region(place.position))
        before = None if isinstance(found[-1], Batch) else place.before
        if before is not None and before.position != self._last_read:
            # It may be what is wrong: its length and its offsets say where damage begins and ends.
            end, is_sound = yield from self._region(scan, before, is_judged=False)
            if not is_sound:
                return end, False
            return (yield from self._region(scan, EntryPlace(place.position, place.previous_offset)))
        for entry in found:
            if isinstance(entry, Padding):
                break
            if isinstance(entry, Batch) and entry.crc_valid is not False:
                self.counts.num_verified += entry.crc_valid is True and self._checked == "candidates"
                yield from self._records(scan, entry, is_judged=is_judged)
                return entry.end_position, True
            yield from self._entry(scan, entry)
            if isinstance(entry, Damage):
                return entry.end_position, False
        return self._source.size, False

    def _entry(self, scan: Scan, entry: Batch | Damage | Padding) -> Iterator[Finds]:
        """Search one entry of the exact way, or the damage there."""
        if isinstance(entry, Damage):
            if self._conditions.touches(entry):
                yield entry
                yield from search_damage(self._source, entry, self._conditions.tests, self._bound)
        elif isinstance(entry, Batch):
            self.counts.num_batches += 1
            self.counts.num_verified += entry.crc_valid is not None
            is_candidate = _is_negative(entry) or self._may_match(scan, entry)
            if entry.crc_valid is not False and is_candidate:
                yield from self._records(scan, entry)

    def _records(self, scan: Scan, batch: Batch, *, is_judged: bool = True) -> Iterator[Finds]:
        """Judge the records of a sound batch, or only read them."""
        if _is_negative(batch):
            yield from self._changed_offset(scan, batch)
        if is_judged and not self._conditions.may_hold(batch):
            return
        self._last_read = batch.position
        last_offset = None
        try:
            opened, records = open_records(
                batch,
                scan.payload(batch),
                max_decompressed=self._max_decompressed,
                check_crc=self._checked != "none",
                rows=self._rows,
                items=scan.items,
            )
            for record in records:
                last_offset = record.offset
                yield from self._judged(opened, record) if is_judged else ()
        except KafkaFormatError as error:
            damage = scan.damage_of(batch, error, last_offset)
            self._last_damage_end = damage.end_position
            yield from self._entry(scan, damage)

    def _changed_offset(self, scan: Scan, batch: Batch) -> Iterator[Damage]:
        """Yield a batch whose offsets were changed as damage; its records have unknown offsets."""
        detail = (
            f"the batch has base offset {batch.base_offset}, but offsets cannot be negative: it was "
            "changed, and no checksum covers it"
        )
        error = SegmentOrderError(detail, path=batch.path, position=batch.position)
        damage = scan.damage_of(batch, error, None)
        self._last_damage_end = damage.end_position
        if self._conditions.touches(damage):
            yield damage

    def _judged(self, batch: Batch, record: Record) -> Iterator[FoundRecord | UndecidedPlace]:
        if record.control is not None:
            return
        try:
            num_bytes = len(record.key or b"") + len(record.value or b"")
            if self._bound.run(lambda: self._conditions.holds(record), num_bytes):
                yield FoundRecord(batch, record)
        except OptionError as error:  # of a bound
            words = " and ".join(test.words for test in self._conditions.tests)
            detail = f"it was not tested, since {error.detail} ({words}): look for something simpler"
            yield UndecidedPlace(batch.path, batch.position, record.offset, detail)

    def _may_match(self, scan: Scan, batch: Batch) -> bool:
        """Return whether the byte strings that a record must contain are in a batch; True where unknown."""
        needles = self._conditions.needles
        if not needles or not self._conditions.may_hold(batch):
            return self._conditions.may_hold(batch)
        if batch.compression != "none" and batch.magic < 2:
            return True
        try:
            payload = scan.payload(batch)
            if batch.compression not in {"none", None}:
                max_size = content_bound(len(payload), self._max_decompressed)
                payload = decompress(str(batch.compression), payload, max_size=max_size)
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            return True  # reading the records says why
        data = bytes(payload)
        return all(needle in data for needle in needles)


def _is_negative(batch: Batch) -> bool:
    return batch.base_offset is not None and batch.base_offset < 0


def position_to_begin(
    places: Places,
    segment: StoredSegment,
    source: Source,
    conditions: Conditions,
    unused: list[KafkaFormatError],
) -> int | None:
    """Return a position before which no record is looked for; None if none is in the whole segment.

    Entries of indexes are verified in the log before they exclude anything; see `log.index_claims`.

    Args:
        places: opens the indexes.
        segment: the segment.
        source: its bytes.
        conditions: those on offsets and times count.
        unused: receives the errors of indexes that are wrong.
    """
    start = conditions.start
    if conditions.since is not None:
        claims = read_claims(places, segment, conditions.since, unused)
        if claims.is_all:
            return None
        if claims.before is not None:
            start = max(claims.before + 1, claims.before + 1 if start is None else start)
    if start is None or start <= segment.base_offset:
        return 0
    position = position_of(places, segment, start, unused)
    return position if is_before(source, position, start) else 0
