"""Summary of a log for a report: transactions and damage, and totals of its headers.

Strategy: each segment is read once. The pass that decides transactions (`Partition.check_indexes`) verifies
checksums and finds damage; the summary hears of all sound entries, and adds them to totals of bounded size.
Some payloads are decompressed to measure compression (`payload_samples`). Only where a batch inside a segment
turns out to have the offset of another place, which takes all of it out of the totals, the log is read again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.segment.continuity import out_of_order
from kafka_segments.core.segment.scan.entry_table import EntryTable
from kafka_segments.core.segment.scan.walk import Walk
from kafka_segments.core.segment.transactions.markers import Hear
from kafka_segments.core.segment.transactions.state import Lost, Step, Transactions
from kafka_segments.errors import (
    CorruptBatchError,
    DataLossError,
    KafkaFormatError,
    TransactionInDoubtError,
    TruncatedError,
)
from kafka_segments.log.findings import Finding, Kind, merged
from kafka_segments.log.log_files import UNOPENED, LogFile, is_unopened
from kafka_segments.log.model import PartitionLog
from kafka_segments.log.opening import open_segment_of, open_stored
from kafka_segments.log.partition import Partition
from kafka_segments.log.transaction_outcomes import TransactionOutcome
from kafka_segments.report.bins import OffsetBins, SizeBins, TimeBins
from kafka_segments.report.entry_figures import EntryFigures
from kafka_segments.report.message_samples import MessageSamples
from kafka_segments.report.payload_samples import PayloadSamples
from kafka_segments.report.segment_totals import SegmentTotals
from kafka_segments.report.spans import EpochRuns, ProducerSpans, TransactionSpans

if TYPE_CHECKING:
    from kafka_segments.core.io.filesystems import Places
    from kafka_segments.core.io.storage import Source

__all__ = ["MAX_PLACES", "LogSummary", "summarize_log"]

MAX_PLACES = 100
"""Damaged and missing places of a log that are shown."""
_MAX_SHOWN = 256


@dataclass(slots=True)
class LogSummary:
    """Totals of a log.

    Attributes:
        log: as it was listed.
        astray: paths of the segments that have offsets of others, and are in no total.
        with_payload: whether some messages are kept.
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
        damage: damage and missing offsets, payloads of the sample that do not decompress.
        contents: first bytes of some of these, by number, if they were asked for.
        findings: what else is wrong: indexes, transactions in doubt, files that were left out.
        messages: first and last records, if they were asked for.
    """

    log: PartitionLog
    astray: Collection[str]
    with_payload: bool
    offsets: OffsetBins
    segments: list[SegmentTotals]
    outcome: TransactionOutcome = field(init=False)
    transactions: TransactionSpans = field(default_factory=TransactionSpans)
    times: TimeBins = field(default_factory=partial(TimeBins, 2))
    batch_bytes: SizeBins = field(default_factory=SizeBins)
    batch_records: SizeBins = field(default_factory=SizeBins)
    codecs: PayloadSamples = field(default_factory=PayloadSamples)
    producers: ProducerSpans = field(default_factory=ProducerSpans)
    epochs: EpochRuns = field(default_factory=EpochRuns)
    horizons: TimeBins = field(default_factory=partial(TimeBins, 1))
    damage: list[Finding] = field(default_factory=list)
    contents: dict[int, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    messages: MessageSamples = field(default_factory=MessageSamples)

    @property
    def name(self) -> str:
        """TOPIC-PARTITION; of a single file its name."""
        log = self.log
        return f"{log.topic}-{log.partition}" if log.topic else self.segments[0].path.rpartition("/")[2]

    @property
    def num_places(self) -> int:
        """Number of damaged and missing places; a batch that a broker is writing is none."""
        return sum(one.kind is not Kind.PENDING for one in self.damage)

    @property
    def lost(self) -> list[tuple[int, int]]:
        """Offsets that are lost, as far as damage, gaps and checkpoints name them; merged.

        As first offset and offset after the last one. Damage at the end holds those up to a checkpoint's.
        """
        noted_end = self.log.noted.end[0]
        ends = (noted_end if one.last_offset is None else one.last_offset + 1 for one in self.damage)
        pairs = zip((one.first_offset for one in self.damage), ends, strict=True)
        return merged((first, end) for first, end in pairs if first is not None)

    @classmethod
    def of(cls, log: PartitionLog, astray: Collection[str], *, with_payload: bool) -> LogSummary:
        """Begin the summary of a log."""
        segments = (piece.segment for piece in log.pieces)
        totals = [SegmentTotals(one.path, one.base_offset, one.size) for one in segments]
        return cls(log, astray, with_payload, OffsetBins(min(piece.start for piece in log.pieces)), totals)

    def listen(self, file: LogFile, state: Transactions) -> Hear:
        """Begin a segment; see `log_files.Listen`."""
        at = next(at for at, one in enumerate(self.log.pieces) if one.segment is file.segment)
        self.transactions.doubts = state.doubtful
        return partial(self._hear, file, at)

    def _hear(
        self,
        file: LogFile,
        at: int,
        walk: Walk,
        piece: EntryTable | Damage | Padding,
        steps: Sequence[Step],
    ) -> None:
        """Add the next piece of the segment with a number; see `markers.Hear`."""
        totals, is_first, is_last = self.segments[at], at == 0, at == len(self.segments) - 1
        if not isinstance(piece, EntryTable):
            if is_first:
                self.messages.stop()
            if isinstance(piece, Damage) and piece.last_lost_offset is not None:
                totals.previous_offset = max(totals.previous_offset, piece.last_lost_offset)
            return
        if self.with_payload and (is_first or is_last):
            self.messages.add(walk, piece, is_first=is_first, is_last=is_last)
        figures = EntryFigures(piece, totals.previous_offset)
        totals.previous_offset = int(figures.last_offset[-1])
        lost = [step.damage.position for step in steps if isinstance(step, Lost)]
        is_wanted = ~np.isin(piece.column("position"), lost) & (file.path not in self.astray)
        if file.start is not None:
            is_wanted &= figures.last_offset >= file.start
        if file.end is not None:
            is_wanted &= figures.first_offset < file.end
        if is_wanted.any():
            figures = figures.chosen(is_wanted)
            self._add(figures, at, walk)
            self.transactions.add(figures, steps)

    def _add(self, figures: EntryFigures, at: int, walk: Walk) -> None:
        self.segments[at].add(figures)
        self.times.add(figures.timestamp, np.stack([figures.num_records, figures.size], axis=1))
        self.batch_bytes.add(figures.size)
        self.batch_records.add(figures.num_present)
        self.offsets.add(figures.first_offset, figures.last_offset, figures.num_present)
        self.codecs.add(figures, at, partial(walk.payload, figures.entries))
        self.producers.add(figures)
        self.epochs.add(figures)
        horizons = figures.of_batch("base_timestamp")[figures.of_batch("has_delete_horizon", 0) != 0]
        self.horizons.add(horizons[horizons >= 0], np.ones((int((horizons >= 0).sum()), 1), np.int64))

    def end(self, outcome: TransactionOutcome, errors: Sequence[KafkaFormatError]) -> None:
        """End the log, whose indexes have some errors."""
        self.outcome, log, key = outcome, self.log, (self.log.topic, self.log.partition)
        self.offsets.close(outcome.end_offset)
        self.transactions.end(outcome)
        damages: dict[str | None, list[Damage]] = {}
        for one in outcome.damage:
            damages.setdefault(one.path, []).append(one)
        for totals in self.segments:
            totals.end([one for one in damages.get(totals.path, ()) if one.end_position > one.position])
        self.findings += log.findings
        self.findings += [Finding.of_error(Kind.UNUSED, *key, error) for error in errors]
        self.findings += _doubts(self)
        self.damage += [Finding.of_damage(one, *key, _kind_of(one, log)) for one in outcome.damage]
        self.damage += _not_decompressed(self)


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
        astray = set(out_of_order(partition.gaps))
        while True:
            summary = LogSummary.of(log, frozenset(astray), with_payload=with_payload)
            errors, outcome = partition.check_indexes([summary.listen]), partition.outcome
            if astray.issuperset(out_of_order(outcome.damage)):
                break
            astray.update(out_of_order(outcome.damage))
    summary.end(outcome, errors)
    if with_payload:
        summary.contents.update(_contents(places, log, summary.damage[:MAX_PLACES]))
    return summary


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


def _contents(places: Places, log: PartitionLog, damage: Sequence[Finding]) -> Iterator[tuple[int, bytes]]:
    """Yield the first bytes of damaged regions, by number; each segment is opened once."""
    segments = {piece.segment.path: piece.segment for piece in log.pieces}
    opened: dict[str, Source] = {}
    with ExitStack() as stack:
        for number, one in enumerate(damage):
            path, start = one.path or "", one.position or 0
            if path not in segments or one.kind is Kind.NOT_OPENED:
                continue
            with suppress(*UNOPENED):  # a sector that cannot be read has no bytes to show
                if path not in opened:
                    opened[path] = open_stored(places, segments[path])
                    stack.callback(opened[path].close)
                size = min(_MAX_SHOWN, (one.end_position or start) - start)
                yield number, bytes(opened[path].read(start, size)) if size > 0 else b""


def _not_decompressed(summary: LogSummary) -> Iterator[Finding]:
    """Yield the payloads of the sample that do not decompress: damage under a valid checksum."""
    log = summary.log
    for at, position, detail in summary.codecs.end():
        path = summary.segments[at].path
        error = CorruptBatchError(f"a payload that was sampled: {detail}", position=position, path=path)
        damage = Damage(path, position, position, error, None, None)
        yield Finding.of_damage(damage, log.topic, log.partition)
