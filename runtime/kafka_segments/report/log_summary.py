"""Summary of a log for a report: transactions and damage, then totals of its headers.

Strategy: the log is read twice, as `read_committed` reads it. The first pass verifies checksums, finds damage
and decides transactions (`log.partition`). The second one reads headers alone, in tables, and adds them to
totals of bounded size. Some payloads are decompressed to measure compression (`payload_samples`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.segment.scan.walk import iter_headers
from kafka_segments.errors import CorruptBatchError, DataLossError, TransactionInDoubtError, TruncatedError
from kafka_segments.log.findings import Finding, Kind, merged
from kafka_segments.log.log_files import UNOPENED, is_unopened
from kafka_segments.log.model import LogPiece, PartitionLog
from kafka_segments.log.opening import open_segment_of, open_stored
from kafka_segments.log.partition import Partition
from kafka_segments.log.transaction_outcomes import TransactionOutcome
from kafka_segments.report.bins import OffsetBins, SizeBins, TimeBins
from kafka_segments.report.header_columns import HeaderColumns, columns_of, is_sound
from kafka_segments.report.message_samples import MessageSample, read_messages
from kafka_segments.report.payload_samples import PayloadSamples
from kafka_segments.report.producer_totals import EpochRuns, ProducerSpans
from kafka_segments.report.segment_totals import SegmentTotals
from kafka_segments.report.transaction_spans import TransactionSpans

if TYPE_CHECKING:
    from kafka_segments.core.io.filesystems import Places

__all__ = ["DamagedPlace", "LogSummary", "summarize_log"]

_MAX_PLACES = 100
_MAX_SHOWN = 256


@dataclass(frozen=True, slots=True)
class DamagedPlace:
    """A damaged region or missing offsets.

    Attributes:
        finding: what is wrong and where.
        content: its first bytes, if they were asked for.
    """

    finding: Finding
    content: bytes | None = None


@dataclass(slots=True)
class LogSummary:
    """Totals of a log.

    Attributes:
        log: as it was listed.
        outcome: of its transactions.
        segments: in the order of the log.
        times: records and bytes by time.
        batch_bytes: sizes of batches.
        batch_records: records of batches.
        offsets: present offsets.
        codecs: batches by codec, and the sample that was decompressed.
        producers: batches by producer.
        epochs: batches by leader epoch.
        transactions: spans.
        horizons: batches by delete horizon.
        places: damage and missing offsets, at most a hundred.
        more_places: how many more there are of each kind.
        findings: what else is wrong: indexes, transactions in doubt, files that were left out.
        messages: first and last records, if they were asked for.
        is_checked: whether checksums were verified.
    """

    log: PartitionLog
    outcome: TransactionOutcome
    transactions: TransactionSpans
    offsets: OffsetBins
    segments: list[SegmentTotals] = field(default_factory=list)
    times: TimeBins = field(default_factory=partial(TimeBins, 2))
    batch_bytes: SizeBins = field(default_factory=SizeBins)
    batch_records: SizeBins = field(default_factory=SizeBins)
    codecs: PayloadSamples = field(default_factory=PayloadSamples)
    producers: ProducerSpans = field(default_factory=ProducerSpans)
    epochs: EpochRuns = field(default_factory=EpochRuns)
    horizons: TimeBins = field(default_factory=partial(TimeBins, 1))
    places: list[DamagedPlace] = field(default_factory=list)
    more_places: Counter[Kind] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    messages: list[MessageSample] = field(default_factory=list)
    is_checked: bool = True

    @property
    def name(self) -> str:
        """TOPIC-PARTITION; of a single file its name."""
        log = self.log
        return f"{log.topic}-{log.partition}" if log.topic else self.segments[0].path.rpartition("/")[2]

    @property
    def num_places(self) -> int:
        """Number of damaged and missing places; a batch that a broker is writing is none."""
        kinds = self.more_places + Counter(one.finding.kind for one in self.places)
        return kinds.total() - kinds[Kind.PENDING]

    @property
    def damage_findings(self) -> list[Finding]:
        """What is damaged or missing, all of it."""
        log, rest = self.log, self.outcome.damage[_MAX_PLACES:]
        more = [Finding.of_damage(one, log.topic, log.partition, _kind_of(one, log)) for one in rest]
        return [*(one.finding for one in self.places), *more]

    @property
    def lost(self) -> list[tuple[int, int]]:
        """Offsets that are lost, as far as damage, gaps and checkpoints name them: see `lost_ranges`."""
        return lost_ranges(self.outcome.damage, self.log.noted.end[0])

    def add(self, columns: HeaderColumns, at: int) -> None:
        """Add the next headers of the segment with a number."""
        self.segments[at].add(columns)
        self.times.add(columns.timestamp, np.stack([columns.num_records, columns.size], axis=1))
        self.batch_bytes.add(columns.size)
        self.batch_records.add(columns.num_present)
        self.offsets.add(columns.first_offset, columns.last_offset, columns.num_present)
        self.codecs.add(columns, at)
        self.producers.add(columns)
        self.epochs.add(columns)
        self.transactions.add(columns)
        has_horizon = columns.delete_horizon >= 0
        ones = np.ones((int(has_horizon.sum()), 1), np.int64)
        self.horizons.add(columns.delete_horizon[has_horizon], ones)


def lost_ranges(damages: Sequence[Damage], noted_end: int = 0) -> list[tuple[int, int]]:
    """Return the lost offsets that damages name, as first offset and offset after the last one, merged.

    Args:
        damages: of a log.
        noted_end: of the log, by its checkpoints; damage at its end holds offsets up to there.
    """
    bounds = (
        (one.first_lost_offset, noted_end if one.last_lost_offset is None else one.last_lost_offset + 1)
        for one in damages
    )
    return merged((first, end) for first, end in bounds if first is not None)


def summarize_log(
    places: Places, log: PartitionLog, *, check_crc: bool, with_payload: bool, is_whole: bool = True
) -> LogSummary:
    """Read a log and sum it up.

    Args:
        places: opens its files.
        log: with one segment or more.
        check_crc: verify checksums.
        with_payload: also keep bytes of damaged regions, and some messages.
        is_whole: whether these are all of its segments.

    Raises:
        MissingCodecError: a codec's package is not installed.
        StoreError: a store refused or failed.
        ReadError: the log cannot be read at all.
    """
    opened = partial(open_segment_of, places, check_crc=check_crc)
    with Partition(log, places, opened, is_whole=is_whole) as partition:
        errors = partition.check_indexes()
        outcome = partition.outcome
    start = min(piece.start for piece in log.pieces)
    spans = TransactionSpans(outcome)
    summary = LogSummary(log, outcome, spans, OffsetBins(start, outcome.end_offset), is_checked=check_crc)
    damages: dict[str | None, list[Damage]] = {}
    for one in outcome.damage:
        damages.setdefault(one.path, []).append(one)
    for at, piece in enumerate(log.pieces):
        _read_headers(places, piece, summary, at, damages.get(piece.segment.path, []))
    spans.end()
    key = log.topic, log.partition
    summary.findings += log.findings
    summary.findings += [Finding.of_error(Kind.UNUSED, *key, error) for error in errors]
    summary.findings += list(_doubts(summary))
    summary.places = [_place(places, one, summary, with_payload) for one in outcome.damage[:_MAX_PLACES]]
    summary.more_places = Counter(_kind_of(one, log) for one in outcome.damage[_MAX_PLACES:])
    _measure(places, summary)
    if with_payload:
        summary.messages = read_messages(places, log.pieces, [one.last_position for one in summary.segments])
    return summary


def _read_headers(
    places: Places, piece: LogPiece, summary: LogSummary, at: int, damages: Sequence[Damage]
) -> None:
    """Add the headers of a segment's part of the log, in which some damage is known."""
    segment = piece.segment
    own = [one for one in damages if one.end_position > one.position]
    totals = SegmentTotals(segment.path, segment.base_offset, segment.size, damages=own)
    summary.segments.append(totals)
    if any(map(is_unopened, damages)):
        return
    try:
        source = open_stored(places, segment)
    except UNOPENED as error:
        # It could be opened a moment ago: retention has removed it since then.
        lost = Damage(segment.path, 0, segment.size, error, piece.start, None)
        summary.findings.append(Finding.of_damage(lost, summary.log.topic, summary.log.partition))
        return
    start = None if piece.start <= segment.base_offset else piece.start
    end = None if piece.end == segment.end_offset else piece.end
    previous = segment.base_offset - 1
    with closing(source):
        for entries in iter_headers(source):
            if isinstance(entries, Damage):
                continue  # the first pass has found it, too
            columns = columns_of(entries, previous)
            previous = int(columns.last_offset[-1])
            wanted = is_sound(columns, own)
            if start is not None:
                wanted &= columns.last_offset >= start
            if end is not None:
                wanted &= columns.first_offset < end
            if wanted.any():
                summary.add(columns.chosen(wanted), at)
    totals.end()


def _doubts(summary: LogSummary) -> Iterator[Finding]:
    """Yield a finding for each transaction in doubt."""
    for one in summary.outcome.doubtful:
        detail = f"the transaction of producer {one.producer_id} at offsets {one.first_offset} to "
        detail += f"{one.last_offset} is in doubt: its marker may be in the damage at {one.damage.position}"
        error = TransactionInDoubtError(detail, path=one.damage.path, position=one.damage.position)
        key = summary.log.topic, summary.log.partition
        yield Finding(Kind.DAMAGE, *key, detail, one.first_offset, one.last_offset, error.path, error=error)


def _kind_of(damage: Damage, log: PartitionLog) -> Kind:
    if isinstance(damage.error, DataLossError):
        return Kind.LOST
    if is_unopened(damage):
        return Kind.NOT_OPENED
    newest = log.pieces[-1].segment
    is_last = damage.path == newest.path and damage.end_position >= newest.size
    if log.end.is_live and is_last and isinstance(damage.error, TruncatedError):
        return Kind.PENDING
    return Kind.DAMAGE


def _place(places: Places, damage: Damage, summary: LogSummary, with_payload: bool) -> DamagedPlace:
    """Make a finding of damage, with its bytes if they are asked for."""
    log, kind = summary.log, _kind_of(damage, summary.log)
    finding = Finding.of_damage(damage, log.topic, log.partition, kind)
    segment = next((one.segment for one in log.pieces if one.segment.path == damage.path), None)
    if not with_payload or segment is None or kind is Kind.NOT_OPENED:
        return DamagedPlace(finding)
    size = min(_MAX_SHOWN, damage.end_position - damage.position)
    with closing(open_stored(places, segment)) as source, suppress(*UNOPENED):
        return DamagedPlace(finding, bytes(source.read(damage.position, size)) if size > 0 else b"")
    return DamagedPlace(finding)  # a sector that cannot be read has no bytes to show


def _measure(places: Places, summary: LogSummary) -> None:
    """Measure compression; a payload that does not decompress is damage under a valid checksum."""
    segments = [piece.segment for piece in summary.log.pieces]
    for segment, position, detail in summary.codecs.measure(places, segments):
        error = CorruptBatchError(
            f"a payload that was sampled: {detail}", position=position, path=segment.path
        )
        damage = Damage(segment.path, position, position, error, None, None)
        finding = Finding.of_damage(damage, summary.log.topic, summary.log.partition)
        summary.places.append(DamagedPlace(finding))
