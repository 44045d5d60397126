"""Checks of one copy of a partition: its segments, how they join, and the files beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.formats.file_names import METADATA_TOPIC, NO_END, directory_of
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.core.segment.beside.index_files import ProducerEntry, read_producer_snapshot
from kafka_segments.core.segment.continuity import (
    CheckpointedOffsets,
    Extent,
    SegmentContents,
    find_gaps,
    swapped_out,
)
from kafka_segments.core.segment.scan.entry_scan import first_offset_in_name
from kafka_segments.errors import (
    KafkaFormatError,
    ReadError,
    SegmentOrderError,
    raise_unless_file_at_fault,
)
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.log_files import LogFile
from kafka_segments.log.model import PartitionCopy, StoredFile
from kafka_segments.log.opening import open_file, open_segment_of
from kafka_segments.log.segment_extents import runs_at
from kafka_segments.verify.entry_checks import EntryChecks, EntryLimits, LogTotals
from kafka_segments.verify.producer_checks import ProducerChecks
from kafka_segments.verify.segment_checks import SegmentReading, check_segment, note_gone
from kafka_segments.verify.sink import CheckSink
from kafka_segments.verify.snapshot_checks import check_snapshot
from kafka_segments.verify.transaction_checks import check_transactions

__all__ = ["CopyResult", "VerifyOptions", "verify_copy"]

_SNAPSHOT = re.compile(r"(\d{20})\.snapshot", re.ASCII)
_OF_FILE = {"leader-epoch-checkpoint": "leader-epoch-file", "partition.metadata": "partition-metadata"}
_INDEXES = ("index", "timeindex")
_LARGEST_SNAPSHOT = 8 << 20
"""Bytes of a producer snapshot that is checked: 190,000 producers, in 200 MiB of memory."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Options of a verification.

    Attributes:
        checks: ids of the chosen checks.
        max_batch_bytes: the largest size of a batch; None for any.
        max_transaction_ms: for how long a transaction may be open (`transaction.max.timeout.ms`).
        is_live: a broker may be appending, though its lock is not seen.
        check_crc: verify checksums.
        cluster_id: that the log directories must have; None for any.
        node_id: likewise.
    """

    checks: frozenset[str]
    max_batch_bytes: int | None = None
    max_transaction_ms: int = 900_000
    is_live: bool = False
    check_crc: bool = True
    cluster_id: str | None = None
    node_id: int | None = None


@dataclass(slots=True)
class CopyResult:
    """Result of the checks of a copy.

    Attributes:
        findings: in the order of the log.
        totals: what was read.
        notes: what could not be checked, and why.
        num_more: findings beyond those kept, by check.
        errors: of files that could not be opened, and of the copy if it could not be read to its end.
    """

    findings: list[Finding] = field(default_factory=list)
    totals: LogTotals = field(default_factory=LogTotals)
    notes: list[str] = field(default_factory=list)
    num_more: dict[str, int] = field(default_factory=dict)
    errors: list[KafkaFormatError] = field(default_factory=list)


def verify_copy(copy: PartitionCopy, options: VerifyOptions, reading: SegmentReading) -> CopyResult:
    """Check a copy of a partition.

    An error of the file system, or of a file that is not a log, ends the checks; the result has it.
    """
    sink = CheckSink(copy.topic, copy.partition, options.checks)
    checks = _CopyChecks(copy, options, reading, sink)
    try:
        checks.run()
    except KafkaFormatError as error:
        sink.errors.append(error)
    num_more = dict(sink.num_more)
    return CopyResult(sink.findings, checks.entries.totals, sink.notes, num_more, sink.errors)


class _CopyChecks:
    """The checks of a copy.

    Args:
        copy: the copy.
        options: of the verification.
        reading: how segments are read.
        sink: collects the findings.
    """

    def __init__(
        self, copy: PartitionCopy, options: VerifyOptions, reading: SegmentReading, sink: CheckSink
    ) -> None:
        self._copy, self._options, self._sink = copy, options, sink
        self._is_live = options.is_live or copy.end.is_live
        self._reading = replace(reading, is_live=self._is_live, check_crc=options.check_crc)
        self._places = reading.places
        self._producers = ProducerChecks(sink)
        limits = EntryLimits(
            options.max_batch_bytes,
            copy.leader_epochs,
            self._is_live,
            _first_in_checkpoints(copy),
            copy.never_cleaned,
        )
        self.entries = EntryChecks(sink, self._producers, limits)
        self._beside: list[FileEntry] = []
        self._gaps: list[Damage] = []
        self._files = [
            LogFile(
                one,
                self._places,
                partial(open_segment_of, self._places, one, check_crc=options.check_crc),
                one.base_offset,
            )
            for one in copy.segments
        ]

    def run(self) -> None:
        """Run all checks."""
        copy, sink = self._copy, self._sink
        if copy.topic and not copy.is_tiered:
            try:
                self._beside = self._places.entries(copy.path)
            except ReadError as error:
                if note_gone(error, sink, is_live=self._is_live):  # its topic was deleted
                    return
                raise
            if not self._is_live and copy.topic != METADATA_TOPIC:  # whose indexes a node rebuilds
                trusted = NO_END if copy.end.was_shut_down else copy.end.recovery_point or 0
                self._reading = replace(self._reading, trusted_end=trusted)
        for one in copy.findings:
            self._unused(one)
            if copy.is_tiered and one.kind is Kind.LEFT_OUT:
                sink.note(f"{one.path}: {one.detail}")
        self._lineage()
        contents = list(self._segments())
        self.entries.end()
        is_whole = not copy.is_tiered and self._is_whole()
        if is_whole:
            self._continuity(contents)
            self._later_snapshots(contents)
        elif copy.topic and not copy.is_tiered:
            sink.note(f"{copy.path}: whether segments join, and the log's end: only some segments were given")
        limit = self._options.max_transaction_ms
        check_transactions(copy, self._files, self.entries, limit, self._gaps, sink=sink)

    def _unused(self, finding: Finding) -> None:
        """Report a file beside the segments that could not be read."""
        if finding.kind is not Kind.UNUSED or finding.error is None:
            return
        path = finding.path or self._copy.path
        check = _OF_FILE.get(path.rpartition("/")[2])
        if check is not None:  # checkpoints are the log directory's
            self._sink.add(check, finding.detail, path=path, position=finding.position, error=finding.error)

    def _lineage(self) -> None:
        path = f"{self._copy.path}/leader-epoch-checkpoint"
        for before, one in zip(self._copy.leader_epochs, self._copy.leader_epochs[1:], strict=False):
            if one.epoch <= before.epoch or one.start_offset < before.start_offset:
                detail = f"epoch {one.epoch} from offset {one.start_offset} comes after epoch "
                detail += f"{before.epoch} from offset {before.start_offset}"
                self._sink.add("leader-epoch-file", detail, path=path)

    def _segments(self) -> Iterator[SegmentContents]:
        """Check the segments; yield the contents of each."""
        indexes = {suffix for one in self._copy.segments for suffix in one.beside if suffix in _INDEXES}
        if indexes:  # older brokers make no .timeindex, none makes that alone
            indexes.add("index")
        for at, file in enumerate(self._files):
            is_plain = file.segment.form == "plain"  # in other forms an empty index is not an object
            for suffix in sorted(indexes - set(file.segment.beside)) if is_plain else ():
                self._sink.add("missing-index", f"there is no .{suffix}", path=file.path_beside(suffix))
            beside = file.segment.beside.get("snapshot")
            entries = None if beside is None else self._read_snapshot(beside)
            if entries is not None and at == 0:
                self._producers.seed(entries)
            elif entries is not None:
                self._check_snapshot(entries, file.base_offset, file.path_beside("snapshot"))
            yield check_segment(file, self.entries, self._sink, self._reading)

    def _check_snapshot(self, entries: Sequence[ProducerEntry], offset: int, path: str) -> None:
        """Compare a snapshot with the state, if that is the one at its offset."""
        if self._sink.wants("snapshot-state", "lost-marker") and self.entries.reached < offset:
            is_reached = self.entries.reached + 1 == offset
            check_snapshot(entries, offset, path, self._producers, self._sink, is_reached=is_reached)

    def _is_whole(self) -> bool:
        """Return whether no segment of the directory was left out, but those below the log start offset."""
        held = {one.base_offset for one in self._copy.segments}
        if not held or not (self._copy.topic or first_offset_in_name(self._files[0].path) is not None):
            return False
        names = [entry.name for entry in self._beside if re.fullmatch(r"\d{20}\.log", entry.name, re.ASCII)]
        return all(int(name[:-4]) in held or int(name[:-4]) < min(held) for name in names) and not any(
            one.kind is Kind.LEFT_OUT and one.first_offset is not None and not self._is_deleted(one)
            for one in self._copy.findings
        )

    def _is_deleted(self, left_out: Finding) -> bool:
        start, last = self._copy.log_start_offset, left_out.last_offset
        return start is not None and last is not None and last < start

    def _continuity(self, contents: Sequence[SegmentContents]) -> None:
        """Report offsets that are in no segment, and segments with offsets of others."""
        noted = self._copy.noted
        by_path = {file.path: file for file in self._files}

        def look(one: SegmentContents) -> Sequence[Extent]:
            file = by_path[one.path]
            return runs_at(file.places, file.segment)

        first = _first_in_checkpoints(self._copy)
        known = replace(noted, log_start_offset=min(first, contents[0].base_offset))
        known = known if noted.log_start_offset is None and self._copy.leader_epochs else noted
        self._gaps = find_gaps(contents, known, lambda one: one.path in self.entries.cleaned, look)
        for gap in self._gaps:
            self._sink.add_damage(_check_of(gap, noted, contents, self.entries.reached + 1), gap)
        self._beyond(noted, contents)

    def _beyond(self, noted: CheckpointedOffsets, contents: Sequence[SegmentContents]) -> None:
        """Report a log start offset beyond the log's end."""
        start, end = noted.log_start_offset, self.entries.reached + 1
        is_read = not any(one.is_unknown or one.is_damaged_after or one.is_damaged_before for one in contents)
        if start is not None and is_read and start > max(end, contents[-1].base_offset):
            detail = f"the log start offset is {start}, but the log ends before offset {end}"
            path = f"{directory_of(self._copy.path)}/log-start-offset-checkpoint"
            self._sink.add("log-start-offset", detail, path=path, first_offset=end, last_offset=start - 1)

    def _later_snapshots(self, contents: Sequence[SegmentContents]) -> None:
        """Check the snapshots that belong to no segment: those of the log's end, and of earlier ends."""
        end = max(self.entries.reached + 1, contents[-1].base_offset)
        bases = {one.base_offset for one in self._copy.segments}
        for entry in self._beside:
            match = _SNAPSHOT.fullmatch(entry.name)
            if match is None or int(match[1]) in bases:
                continue
            offset = int(match[1])
            found = self._read_snapshot(StoredFile.of(entry))
            is_known = not self._is_live and not contents[-1].is_damaged_after
            if is_known and offset > end:
                detail = f"a snapshot of offset {offset}, but the log ends before offset {end}"
                self._sink.add(
                    "snapshot-end", detail, path=entry.path, first_offset=end, last_offset=offset - 1
                )
            elif is_known and found is not None and offset == self.entries.reached + 1:
                self._check_snapshot(found, offset, entry.path)

    def _is_too_large(self, path: str, size: int) -> bool:
        if size > _LARGEST_SNAPSHOT:
            self._sink.note(f"{path}: it has more than {_LARGEST_SNAPSHOT} bytes")
        return size > _LARGEST_SNAPSHOT

    def _read_snapshot(self, file: StoredFile) -> Sequence[ProducerEntry] | None:
        """Read a producer snapshot; None if it cannot be used."""
        if self._is_too_large(file.path, file.size):
            return None
        try:
            return read_producer_snapshot(open_file(self._places, file))
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            if not note_gone(error, self._sink, is_live=self._is_live):
                place = {"path": file.path, "position": error.position}
                self._sink.add("producer-snapshot", error.detail, error=error, **place)
            return None


def _check_of(gap: Damage, noted: CheckpointedOffsets, contents: Sequence[SegmentContents], end: int) -> str:
    """Return the check that a gap is of."""
    first, last = gap.first_lost_offset, gap.last_lost_offset
    if first is None:
        return "segment-name" if isinstance(gap.error, SegmentOrderError) else "zeros"
    if (first, last) in {
        (one[0], one[1]) for one in swapped_out(noted, [each.base_offset for each in contents])
    }:
        return "swap-file"
    if gap.position == 0 and first == noted.log_start_offset and first < contents[0].base_offset:
        return "log-start-offset"
    watermark, recovery = noted.high_watermark or 0, noted.recovery_point or 0
    if last is not None and first >= end and last + 1 == max(watermark, recovery):
        return "high-watermark" if watermark >= recovery else "recovery-point"
    if first >= end and any(one >= first for one in noted.without_log):
        return "lost-segment"
    return "missing-offsets"


def _first_in_checkpoints(copy: PartitionCopy) -> int:
    """Return the log start offset; without its checkpoint that of the leader epochs, which are cut there."""
    if copy.log_start_offset is None and copy.leader_epochs:
        return copy.leader_epochs[0].start_offset
    return copy.log_start_offset or 0
