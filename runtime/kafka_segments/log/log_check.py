"""Check of a log's continuity without reading it, for `plan`.

Strategy: the first and last entries of every segment are read (`segment_extents`), within the budget, and
`continuity` judges them. Tasks that read the log find the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kafka_segments.core.formats.file_names import TIERED_NAME, name_in, with_ends
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.continuity import SegmentContents
from kafka_segments.errors import CorruptBatchError, KafkaFormatError, StoreError
from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind, of_kinds
from kafka_segments.log.log_files import gaps_in
from kafka_segments.log.model import LogPiece, PartitionLog, StoredSegment
from kafka_segments.log.opening import Budget, is_remote, open_stored
from kafka_segments.log.segment_extents import contents_of_stored

__all__ = ["check_log"]

T = TypeVar("T")


@dataclass
class _Found:
    log: PartitionLog
    findings: list[Finding] = field(default_factory=list)

    def lose(self, error: KafkaFormatError, first: int, last: int) -> None:
        key = self.log.topic, self.log.partition
        self.findings.append(Finding(Kind.LOST, *key, str(error), first, last, error=error))

    def add_error(self, error: KafkaFormatError) -> None:
        self.findings.append(Finding.of_error(Kind.DAMAGE, self.log.topic, self.log.partition, error))

    def remark(self, why: str) -> None:
        detail = f"the continuity of its segments was not checked: {why}"
        self.findings.append(Finding(Kind.REMARK, self.log.topic, self.log.partition, detail))


def check_log(places: Places, log: PartitionLog, budget: Budget) -> list[Finding]:
    """Check that the segments of a log are consecutive and can be read.

    Args:
        places: opens files.
        log: its segments are not read if they are in a store, or in a tier with manifests, which have their
            ends, or in several copies, whose ends planning has compared.
        budget: bytes to read for the ends of segments without an index, or for traces of the cleaner.

    Returns:
        Offsets that are in no segment; segments that cannot be read, or have other offsets than their names
        say; a remark on the parts that were not checked.
    """
    found = _Found(log)
    segments = [piece.segment for piece in log.pieces]
    if not segments:
        return found.findings
    if any(is_remote(one.file) or one.form != "plain" for one in segments):
        found.remark("its segments are in a store or a tier")
        return found.findings
    is_tiered = all(TIERED_NAME.fullmatch(name_in(one.file.path)) for one in segments)
    if len(log.copies) != 1 or not (
        not of_kinds(log.findings, *LEFT_OUT_KINDS) if is_tiered else _is_whole(segments)
    ):
        is_one = len(log.copies) == 1
        why = "only some of its segments were chosen" if is_one else "it is merged from several copies"
        found.remark(why)
        for one in segments:
            _open(places, one, found)
        return found.findings
    held = [_contents_of(places, piece, budget, found) for piece in log.pieces]
    unopened = {one.path for one in found.findings}
    num_unknown = sum(one.is_unknown and one.path not in unopened for one in held)
    if num_unknown:
        why = f"{num_unknown} of them have no index, and at most {budget.max_bytes} bytes are scanned "
        why += "(raise maxWalkBytes to read them)"
        found.remark(why)
    noted = replace(log.noted, swaps=())  # the plan reports those
    for gap in gaps_in(places, segments, held, noted, budget=budget):
        if gap.first_lost_offset is None:
            if not is_tiered:  # where segments may overlap
                found.add_error(gap.error)
            continue
        last = gap.first_lost_offset if gap.last_lost_offset is None else gap.last_lost_offset
        found.lose(gap.error, gap.first_lost_offset, last)
    return found.findings


def _is_whole(segments: Sequence[StoredSegment]) -> bool:
    """Return whether no segment of the directory was left out between these or after them."""
    return all(one.end_offset == end for one, end in with_ends(segments))


def _contents_of(places: Places, piece: LogPiece, budget: Budget, found: _Found) -> SegmentContents:
    """Summarize a segment; add a finding if it cannot be read or has no sound batch."""
    segment = piece.segment
    unknown = SegmentContents(segment.file.path, segment.base_offset, segment.size, is_unknown=True)
    if "index" not in segment.beside and not budget.spend(segment.file):
        _open(places, segment, found)
        return unknown
    held = _or_finding(lambda: contents_of_stored(places, segment), segment, found)
    if held is None:
        return unknown
    if held.extent is None and held.is_damaged_before:
        detail = "it has no sound batch: dump it to see the damage, and take its offsets from a replica"
        found.add_error(CorruptBatchError(detail, path=segment.file.path, position=0))
    return held


def _open(places: Places, segment: StoredSegment, found: _Found) -> None:
    """Check only that a segment can be opened."""
    _or_finding(lambda: open_stored(places, segment).close(), segment, found)


def _or_finding(look: Callable[[], T], segment: StoredSegment, found: _Found) -> T | None:
    """Call a function for a segment; return None and add a finding if the segment cannot be read."""
    try:
        return look()
    except KafkaFormatError as error:
        if isinstance(error, StoreError):
            raise
        found.add_error(error.with_context(path=error.path or segment.file.path))
        return None
