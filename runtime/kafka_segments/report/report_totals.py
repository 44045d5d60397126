"""Totals of all logs of a report, and which logs are shown in detail.

Strategy: each log is summed up, added here, and dropped, unless it is among those to be shown in detail: the
ones with something wrong first, then the largest. So memory does not grow with the number of partitions, but
for a row of the table of each.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from kafka_segments.errors import KafkaFormatError, TransactionInDoubtError
from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind, copy_words, lost_spans, worst_first
from kafka_segments.log.model import PartitionLog
from kafka_segments.report.bins import SizeBins, TimeBins
from kafka_segments.report.log_summary import MAX_PLACES, LogSummary
from kafka_segments.report.next_steps import MAX_DUMPS
from kafka_segments.report.payload_samples import CodecTotals

__all__ = ["IN_DOUBT", "LogRow", "ReportTotals", "label_of"]

_MAX_TOPICS = 256
_MAX_FINDINGS = 200
OTHER_TOPICS = "(other topics)"


@dataclass(frozen=True, slots=True)
class LogRow:
    """A log in the table of all partitions.

    Attributes:
        name: of the partition.
        log: as it was listed.
        size: bytes of their files.
        num_batches: sound entries.
        num_records: data records.
        first_offset: of its log.
        end_offset: after the last one.
        last_stable_offset: where a reader of committed records stops.
        first_timestamp: in milliseconds, None without one.
        last_timestamp: likewise.
        codecs: names.
        transactions: by state.
        num_places: damaged regions and gaps.
        num_lost: offsets that are known to be lost.
        num_absent: offsets without a record that are not lost.
        num_findings: what else is wrong.
        anchor: id of its section in the page; empty without one.
        verdict: what is lost of it, in words; empty if nothing is wrong.
        lost: the first offsets that are lost, as first offset and offset after the last one.
    """

    name: str
    log: PartitionLog
    size: int
    num_batches: int
    num_records: int
    first_offset: int
    end_offset: int
    last_stable_offset: int
    first_timestamp: int | None
    last_timestamp: int | None
    codecs: Sequence[str]
    transactions: Counter[str]
    num_places: int
    num_lost: int
    num_absent: int
    num_findings: int
    anchor: str
    verdict: str
    lost: Sequence[tuple[int, float]]

    @property
    def places(self) -> Sequence[str]:
        """Its directories, or the file."""
        return self.log.copies if self.log.topic else [self.log.pieces[0].segment.path]

    @property
    def is_wrong(self) -> bool:
        """Whether something is damaged, lost, in doubt or contradicts the log."""
        return bool(self.num_places or self.num_findings)


@dataclass(slots=True)
class ReportTotals:
    """Totals of all logs.

    Attributes:
        max_details: how many logs are shown in detail.
        rows: of all logs.
        times: records and bytes by time.
        topics: the same by topic, of up to 256 topics; the others together.
        batch_bytes: sizes of batches.
        batch_records: records of batches.
        codecs: by number.
        num_findings: how many there are, by `label_of`.
        failures: logs that could not be read: name and error.
        gone: paths of partitions that a broker had when it stopped, and that no longer exist.
        status: greatest of `clean`, `findings`, `not opened`, as 0, 1, 2.
    """

    max_details: int
    rows: list[LogRow] = field(default_factory=list)
    times: TimeBins = field(default_factory=partial(TimeBins, 2))
    topics: dict[str, TimeBins] = field(default_factory=dict)
    batch_bytes: SizeBins = field(default_factory=SizeBins)
    batch_records: SizeBins = field(default_factory=SizeBins)
    codecs: dict[int, CodecTotals] = field(default_factory=dict)
    num_findings: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, KafkaFormatError]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    status: int = 0
    _findings: list[tuple[int, int, LogRow, Finding]] = field(default_factory=list)
    _details: list[tuple[bool, int, int, LogSummary]] = field(default_factory=list)

    def add(self, summary: LogSummary) -> None:
        """Add a log."""
        row = _row(summary, f"log-{len(self.rows)}")
        self.rows.append(row)
        self.times.add_all(summary.times)
        topic = summary.log.topic or summary.name
        topic = topic if topic in self.topics or len(self.topics) < _MAX_TOPICS else OTHER_TOPICS
        self.topics.setdefault(topic, TimeBins(2)).add_all(summary.times)
        self.batch_bytes.add_all(summary.batch_bytes)
        self.batch_records.add_all(summary.batch_records)
        for codec, totals in summary.codecs.totals.items():
            self.codecs.setdefault(codec, CodecTotals()).add(totals)
        self._add_findings(summary, row)
        entry = row.is_wrong, row.size, -len(self.rows), summary
        (heapq.heappush if len(self._details) < self.max_details else heapq.heappushpop)(self._details, entry)

    def fail(self, name: str, error: KafkaFormatError) -> None:
        """Note a log that cannot be read."""
        self.failures.append((name, error))
        self.status = 2

    def miss(self, paths: Iterable[str]) -> None:
        """Note partitions that are gone."""
        self.gone += paths
        self.status = max(self.status, int(bool(self.gone)))

    def _add_findings(self, summary: LogSummary, row: LogRow) -> None:
        for one in (*summary.damage[:MAX_PLACES], *summary.findings):
            self._count(one)
            # The number breaks ties: of those that are as bad, the first ones are kept.
            entry = -worst_first(one), -self.num_findings.total(), row, one
            keep = heapq.heappush if len(self._findings) < _MAX_FINDINGS else heapq.heappushpop
            keep(self._findings, entry)
        for one in summary.damage[MAX_PLACES:]:
            self._count(one)

    def _count(self, finding: Finding) -> None:
        self.num_findings[label_of(finding)] += 1
        if finding.kind is Kind.NOT_OPENED:
            self.status = 2
        elif finding.kind in _WRONG:
            self.status = max(self.status, 1)

    @property
    def findings(self) -> list[tuple[LogRow, Finding]]:
        """The worst findings of all logs, at most two hundred, the worst first."""
        ordered = sorted(self._findings, key=lambda entry: entry[:2], reverse=True)
        return [(row, one) for *_order, row, one in ordered]

    @property
    def details(self) -> list[tuple[LogRow, LogSummary]]:
        """The logs to show in detail: those with something wrong first."""
        return sorted(
            ((self.rows[-order - 1], summary) for _wrong, _size, order, summary in self._details),
            key=lambda one: (not one[0].is_wrong, one[0].log.topic, one[0].log.partition),
        )

    @property
    def transactions(self) -> Counter[str]:
        """Transactions of all logs by state."""
        return sum((row.transactions for row in self.rows), Counter())

    @property
    def topic_names(self) -> set[str]:
        """The topics of all logs; files by themselves are of none."""
        return {row.log.topic for row in self.rows if row.log.topic}

    @property
    def top_topics(self) -> list[str]:
        """The topics by bytes, the largest first."""
        sizes: Counter[str] = Counter()
        for row in self.rows:
            topic = row.log.topic or row.name
            sizes[topic if topic in self.topics else OTHER_TOPICS] += row.size
        return [topic for topic, _size in sizes.most_common()]


_WRONG = (Kind.DAMAGE, Kind.LOST, Kind.UNUSED)
IN_DOUBT = "in doubt"


def label_of(finding: Finding) -> str:
    """Return the kind of a finding in a word or two; that of transactions in doubt is their own."""
    return IN_DOUBT if isinstance(finding.error, TransactionInDoubtError) else finding.kind.value


def _row(summary: LogSummary, anchor: str) -> LogRow:
    segments, outcome, log = summary.segments, summary.outcome, summary.log
    firsts = [one.first_timestamp for one in segments if one.first_timestamp is not None]
    lasts = [one.last_timestamp for one in segments if one.last_timestamp is not None]
    not_wrong = (*LEFT_OUT_KINDS, Kind.REMARK)
    findings = [one for one in summary.findings if one.kind not in not_wrong]
    wrong = [one for one in (*summary.damage, *findings) if one.kind is not Kind.PENDING]
    return LogRow(
        summary.name,
        log,
        sum(one.size for one in segments),
        sum(one.num_batches for one in segments),
        sum(one.num_records for one in segments),
        max(summary.offsets.start, log.log_start_offset or 0),
        outcome.end_offset,
        outcome.last_stable_offset,
        min(firsts, default=None),
        max(lasts, default=None),
        sorted({name for one in segments for name in one.codecs}),
        summary.transactions.counts,
        summary.num_places,
        sum(end - first for first, end in summary.lost),
        sum(one.num_absent for one in segments),
        len(findings),
        anchor,
        copy_words(summary.name, wrong, log.noted.end[0]) if wrong else "",
        lost_spans(wrong)[:MAX_DUMPS],
    )
