"""Verification of partitions and log directories: all checks, copy by copy."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.threads import check_wanted, in_threads
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.findings import Finding
from kafka_segments.log.model import PartitionCopy
from kafka_segments.log.skipped_files import SkippedFiles
from kafka_segments.verify.catalogue import CHECKS
from kafka_segments.verify.copy_comparison import check_copies
from kafka_segments.verify.entry_checks import LogTotals
from kafka_segments.verify.log_dir_checks import check_log_dirs
from kafka_segments.verify.node_checks import LogDir
from kafka_segments.verify.partition_checks import CopyResult, VerifyOptions, verify_copy
from kafka_segments.verify.segment_checks import SegmentReading
from kafka_segments.verify.sink import CheckSink

__all__ = ["VerifySubject", "VerifySummary", "iter_findings"]


@dataclass(frozen=True, slots=True)
class VerifySubject:
    """What is verified.

    Attributes:
        copies: of partitions.
        skipped: files and directories that were left out of them.
        is_whole: whether these are all partitions of their log directories.
        is_single: files that are in no partition's directory.
    """

    copies: Sequence[PartitionCopy]
    skipped: Sequence[SkippedFiles] = ()
    is_whole: bool = True
    is_single: bool = False

    @property
    def num_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(one.size for copy in self.copies for one in copy.segments)


@dataclass(slots=True)
class VerifySummary:
    """What was verified; filled while the findings are yielded.

    Attributes:
        num_copies: copies of partitions.
        totals: of their segments.
        num_findings: findings by check, with those that were counted only.
        notes: what could not be checked, and why.
        errors: of files and directories that could not be opened.
        log_dirs: that were verified whole, by all checks, with what a broker makes of each when it starts.
    """

    num_copies: int = 0
    totals: LogTotals = field(default_factory=LogTotals)
    num_findings: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    errors: list[KafkaFormatError] = field(default_factory=list)
    log_dirs: list[LogDir] = field(default_factory=list)

    def add(self, result: CopyResult) -> None:
        """Add the result of a copy."""
        self.num_copies += 1
        self.totals.add(result.totals)
        self.count(result.findings)
        self.num_findings.update(result.num_more)
        self.notes += [note for note in result.notes if note not in self.notes]
        self.notes += [
            f"{check}: {count} more findings of a partition are not shown"
            for check, count in result.num_more.items()
        ]
        self.errors += result.errors

    def count(self, findings: Sequence[Finding]) -> None:
        """Count findings."""
        self.num_findings.update(one.check or "" for one in findings)


def iter_findings(
    subject: VerifySubject,
    options: VerifyOptions,
    reading: SegmentReading,
    summary: VerifySummary,
    *,
    num_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Finding]:
    """Verify copies of partitions and their log directories; yield the findings.

    Args:
        subject: what is verified.
        options: of the verification.
        reading: how segments are read.
        summary: receives what was verified.
        num_jobs: threads; each verifies one copy at a time. The order of the findings never depends on it.
        progress: called with the number of bytes that were read since the last call, by one thread at a time.

    Raises:
        StoreError: a store failed where several directories are compared.
    """
    seen: dict[tuple[object, ...], Finding] = {}
    for result in _results(subject, options, reading, num_jobs, progress):
        summary.add(result)
        for one in result.findings:
            seen[one.check, one.topic, one.partition, one.path, one.end_position is None] = one
        yield from result.findings
    if not subject.is_single:
        found = list(_of_directories(reading.places, subject, options, summary))
        summary.count(found)
        yield from found
        for node in summary.log_dirs:
            for one in (*seen.values(), *found):
                node.add(one)


def _results(
    subject: VerifySubject,
    options: VerifyOptions,
    reading: SegmentReading,
    num_jobs: int,
    progress: Callable[[int], None] | None,
) -> Iterator[CopyResult]:
    lock = threading.Lock()

    def add(num_bytes: int) -> None:
        check_wanted()
        if progress is not None:
            with lock:
                progress(num_bytes)

    def verified(copy: PartitionCopy) -> Generator[CopyResult, None, None]:
        yield verify_copy(copy, options, replace(reading, progress=add))

    with closing(in_threads(verified, subject.copies, num_jobs, num_waiting=None)) as found:
        yield from (result for _, result in found)


def _of_directories(
    places: Places, subject: VerifySubject, options: VerifyOptions, summary: VerifySummary
) -> Iterator[Finding]:
    """Yield what several files and directories show together."""
    sink = CheckSink("", -1, options.checks)
    is_whole = subject.is_whole
    log_dirs = check_log_dirs(places, subject.copies, subject.skipped, options, sink, is_whole=is_whole)
    if is_whole and len(options.checks) == len(CHECKS) and not options.is_live:
        is_any_live = any(one.end.is_live for one in subject.copies)
        kraft = [one for one in log_dirs if one.is_kraft or one.meta is None]
        seen = {one.path for one in subject.copies}.union(*(one.paths for one in subject.skipped))
        summary.log_dirs += [] if is_any_live else [one for one in kraft if one.partitions <= seen]
    summary.notes += sink.notes
    yield from sink.findings
    for (topic, partition), group in groupby(subject.copies, key=lambda one: (one.topic, one.partition)):
        copies = [one for one in group if all(each.form == "plain" for each in one.segments)]
        sink = CheckSink(topic, partition, options.checks)
        if sink.wants("copies-diverged", "copies-differ"):
            for other in copies[1:]:
                if None in (copies[0].topic_id, other.topic_id) or copies[0].topic_id == other.topic_id:
                    check_copies(places, copies[0], other, sink)
        yield from sink.findings
