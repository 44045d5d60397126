"""Plan of one partition: its files surveyed, the bytes of the result chosen, everything else compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.cleaner_traces import Traces
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.findings import Finding, Kind, of_kinds
from kafka_segments.log.log_dir import is_deleted, segments_in
from kafka_segments.log.log_end import NamedOffsets, find_end
from kafka_segments.log.model import PartitionCopy, StoredFile, StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.salvage.choice import Choice
from kafka_segments.salvage.comparison import compare_covered, without_markers
from kafka_segments.salvage.confirmation import confirm_doubted
from kafka_segments.salvage.ledger import Fate, Ledger, MissingOffsets, Status
from kafka_segments.salvage.source_files import (
    Digests,
    RankedCopies,
    RankedCopy,
    SourceFile,
    SourceFiles,
    rank_copies,
)
from kafka_segments.salvage.survey import FileSurvey, readable_parts

__all__ = ["PartitionPlan", "make_plan", "num_bytes_of"]

_PUT_ASIDE = re.compile(r"(\d{20})\.log\.(deleted|cleaned|swap)", re.ASCII)
_WHY_ASIDE = {
    "deleted": "a broker had marked it for deletion (.deleted)",
    "cleaned": "the log cleaner had not finished it (.cleaned)",
    "swap": "a broker would delete it or has the segments that it replaces (.swap)",
}


@dataclass
class PartitionPlan:
    """What is made of a partition.

    Attributes:
        topic: name.
        partition: number.
        ranked: its copies, the most trusted first.
        files: their files.
        digests: SHA-256 of files, by their numbers, as far as they are hashed.
        ledger: stretches, pieces and fates.
        choice: bounds.
        start_offset: the log start offset of the result.
        end_offset: its log end offset.
        gaps_from: offset below which nothing is missed: what was there is deleted.
        empty_segments: base offsets of segments without batches, before and after all others.
        notes: what else there is to say.
    """

    topic: str
    partition: int
    ranked: RankedCopies
    files: SourceFiles
    ledger: Ledger
    choice: Choice
    digests: dict[int, Future[str | None]] = field(default_factory=dict)
    start_offset: int = 0
    end_offset: int = 0
    gaps_from: int = 0
    empty_segments: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def num_gaps(self) -> int:
        """How many `gaps` are."""
        return self.ledger.num_gaps(self.gaps_from)

    def gaps(self) -> Iterator[MissingOffsets]:
        """Yield the offsets from `gaps_from` on that are in no copy."""
        return self.ledger.gaps(self.gaps_from)

    def hash_files(self, digests: Digests) -> None:
        """Begin to hash the files that are not hashed."""
        for file in self.files:
            if file.number not in self.digests:
                opener = partial(open_stored, self.files.places, file.segment)
                self.digests[file.number] = digests.of(opener)


def make_plan(
    places: Places,
    copies: Sequence[PartitionCopy],
    *,
    ledger: Ledger,
    progress: Callable[[int], None],
) -> PartitionPlan:
    """Survey the copies of one partition, and choose what the result has of them.

    Args:
        places: opens files.
        copies: of one partition.
        ledger: an empty one.
        progress: is called with the number of bytes read.

    Raises:
        OptionError: the copies are of two topics with one name.
        KafkaFormatError: a file cannot be opened, for no fault of its own.
    """
    notes: list[str] = []
    ranked = rank_copies(places, [_with_deleted(places, one, notes) for one in copies])
    files = SourceFiles(places)
    try:
        for number, one in enumerate(ranked.copies):
            _add_files(places, files, number, one)
        is_compacted = ranked.log.cleaned_up_to is not None
        for file in files:
            is_compacted = _survey(ledger, ranked, files, file, progress) or is_compacted
        choice = _chosen(ledger, ranked, files, is_compacted)
    except BaseException:
        files.close()
        raise
    log = ranked.log
    plan = PartitionPlan(log.topic, log.partition, ranked, files, ledger, choice, notes=notes)
    plan.notes += map(_note_on, (one for one in files if one.is_unopened and not one.segment.size))
    _set_bounds(plan)
    return plan


def _chosen(ledger: Ledger, ranked: RankedCopies, files: SourceFiles, is_compacted: bool) -> Choice:
    """Choose until the copies outvote no more batches of the result."""
    num_copies = len(ranked.copies)
    confirm_doubted(ledger, files, num_copies)
    cleaned, known_end = _traces(files, ranked.log.cleaned_up_to), _known_end(files.places, ranked.copies)
    mark, outvoted = ledger.mark(), without_markers(ledger, files, num_copies)
    while True:
        votes = sorted(outvoted.items())
        choice = Choice(ledger, files, num_copies + 1, is_compacted, cleaned, votes, known_end)
        choice.run()
        found_others = compare_covered(ledger, files, num_copies)
        if found_others <= outvoted.keys():
            return choice
        outvoted |= dict.fromkeys(found_others, "most copies have another batch at its offsets")
        ledger.back_to(mark)


def _with_deleted(places: Places, copy: PartitionCopy, notes: list[str]) -> PartitionCopy:
    """Return a copy with all of its segments, if its log start offset is beyond the end of the log."""
    noted = copy.log_start_offset
    if noted is None or not copy.segments or noted <= copy.segments[-1].base_offset:
        return copy
    end = find_end(places, copy.segments[-1]).end_offset
    if noted <= end:
        return copy
    notes.append(
        f"log-start-offset-checkpoint has offset {noted}, which is beyond the end, {end}, of {copy.path}; "
        "it was not copied: a broker would delete everything"
    )
    given = {one.path for one in copy.findings if not _is_not_given(copy, one)}
    segments = [one for one in segments_in(places.entries(copy.path)) if one.path in given]
    left = tuple(one for one in copy.findings if one.path not in given)
    return replace(copy, log_start_offset=None, segments=(*segments, *copy.segments), findings=left)


def num_bytes_of(copies: Sequence[PartitionCopy]) -> int:
    """Return how many bytes of segments copies have."""
    return sum(segment.size for copy in copies for segment in copy.segments)


def _add_files(places: Places, files: SourceFiles, number: int, ranked: RankedCopy) -> None:
    """Add the files of a copy: segments by base offset, then those that are not used at all."""
    copy = ranked.copy
    reason = ranked.reason if ranked.limit < 0 else ""
    swaps = dict(copy.swaps)
    aside = list(_put_aside(places, copy, set(swaps.values())))
    segments = [*copy.segments, *(one for one, why in aside if not why)]
    for segment in sorted(segments, key=lambda one: one.base_offset):
        files.add(number, segment, reason)
    for segment, why in aside:
        if why:
            files.add(number, segment, why, is_lawful=True)
    for left_out in of_kinds(copy.findings, Kind.LEFT_OUT):
        if _is_not_given(copy, left_out):
            continue
        entry = None if left_out.path is None else places.entry(left_out.path)
        if entry is not None:
            segment = StoredSegment(StoredFile.of(entry), left_out.first_offset or 0)
            files.add(number, segment, left_out.detail, is_lawful=True)


def _is_not_given(copy: PartitionCopy, left_out: Finding) -> bool:
    """Return whether a segment was left out because others were given by name, and not as it is deleted."""
    start = copy.log_start_offset
    return start is None or left_out.last_offset is None or left_out.last_offset >= start


def _put_aside(places: Places, copy: PartitionCopy, swaps: set[str]) -> Iterator[tuple[StoredSegment, str]]:
    """Yield segments with another suffix, and why they are not used; that is empty for those to swap in."""
    if copy.is_tiered:
        return
    for entry in places.entries(copy.path):
        match = _PUT_ASIDE.fullmatch(entry.name)
        if match and not entry.is_directory:
            why = "" if entry.path in swaps else _WHY_ASIDE[match[2]]
            yield StoredSegment(StoredFile.of(entry), int(match[1])), why


def _survey(
    ledger: Ledger,
    ranked: RankedCopies,
    files: SourceFiles,
    file: SourceFile,
    progress: Callable[[int], None],
) -> bool:
    """Survey a file; return whether batches lack records, as after the log cleaner."""
    start = ranked.log.log_start_offset
    if not file.whole_reason and is_deleted(files.places, file.segment, start):
        file.whole_reason = f"its records are deleted: the log starts at offset {start}"
        file.is_lawful = True
    try:
        source = files.source(file.number)
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        file.is_unopened, file.whole_reason = True, f"it cannot be opened: {error.detail}"
        ledger.add_fate(Fate(file.number, 0, file.segment.size, Status.UNREADABLE, file.whole_reason))
        return False
    if file.whole_reason:
        for position, end_position, why in readable_parts(source, 0, source.size):
            status = Status.QUARANTINED if why is None else Status.UNREADABLE
            ledger.add_fate(Fate(file.number, position, end_position, status, why or file.whole_reason))
        progress(source.size)
        return False
    one = ranked.copies[file.copy]
    with closing(NamedOffsets(files.places, file.segment)) as named:
        survey = FileSurvey(
            ledger,
            file,
            source,
            copy=one.copy,
            limit=_limit_of(files.places, one),
            doubtful=len(ranked.copies),
            named=named,
            progress=progress,
        )
        survey.run()
    return survey.is_cleaned


def _traces(files: SourceFiles, noted: int | None) -> Traces:
    """Return how far the log cleaner has come, by its checkpoint and by what the files show."""
    held = [(one.last_offset, one) for one in files if one.last_offset is not None and not one.whole_reason]
    begins = (one.segment.base_offset for _last, one in held)
    return Traces(noted, begins, [last for last, _one in held], lambda at: held[at][1].shows_cleaner)


def _known_end(places: Places, copies: Sequence[RankedCopy]) -> int:
    """Return the end of the log by the checkpoints of all copies, if one of them had a clean shutdown."""
    ends = [one.copy.end for one in copies]
    noted = [offset for one in ends for offset in (one.recovery_point, one.high_watermark) if offset]
    is_known = any(_limit_of(places, one)[0] < one.limit for one in copies)
    return max(noted) if noted and is_known else NO_END


def _limit_of(places: Places, one: RankedCopy) -> tuple[int, str]:
    """Return the offset up to which a copy is part of the log, and why.

    After a clean shutdown the recovery point is the end of the log, and has a snapshot of producers.
    """
    end, path = one.copy.end.recovery_point, one.copy.path.rstrip("/")
    if not one.copy.end.was_shut_down or one.copy.end.is_live or not end or end >= one.limit:
        return one.limit, one.reason
    if places.entry(f"{path}/{end:020d}.snapshot") is None:
        return one.limit, one.reason
    return end, f"the log ended at offset {end}, by the recovery point and a snapshot of a clean shutdown"


def _note_on(file: SourceFile) -> str:
    """Return what there is to say of a file without bytes, such as a pipe in a segment's place."""
    first, end = file.segment.base_offset, file.segment.end_offset
    may_have = f"offset {first} and above" if end is None else f"offsets {first} to {end - 1}"
    return f"{file.path}: {file.whole_reason}; a segment would have {may_have} here"


def _set_bounds(plan: PartitionPlan) -> None:
    """Set where the result begins and ends, also by segments without batches, as cleaning leaves them."""
    choice = plan.choice
    bases = [(one.segment.base_offset, one.is_empty) for one in plan.files if _is_in_best(one)]
    lowest, highest = min(bases, default=(0, True)), max(bases, default=(0, True))
    if choice.start_offset is None:
        plan.start_offset = plan.end_offset = highest[0]
        plan.empty_segments = [highest[0]]
    else:
        plan.start_offset, plan.end_offset = choice.start_offset, choice.end_offset
        if highest[1] and highest[0] >= plan.end_offset:
            choice.note_gap(plan.end_offset, highest[0])
            plan.end_offset = highest[0]
            plan.empty_segments.append(highest[0])
    if lowest[1] and lowest[0] < plan.start_offset:
        choice.note_gap(lowest[0], plan.start_offset)
        plan.start_offset = lowest[0]
        plan.empty_segments.append(lowest[0])
    _note_ends(plan, lowest[0] if bases else plan.start_offset)
    noted = plan.ranked.log.log_start_offset
    if noted is not None and plan.start_offset < noted <= plan.end_offset:
        plan.start_offset = noted


def _note_ends(plan: PartitionPlan, lowest: int) -> None:
    """Note what is missing before the first batch and after the last one, by checkpoints and by names.

    No cleaner removes the segment at the end of a log, and a broker that truncates one notes it.
    """
    # The name of a segment without a sound batch shows how far the log went before it.
    below = max((one.segment.base_offset for one in plan.files if _is_without_batches(one)), default=0)
    noted = plan.ranked.log.noted
    best = plan.ranked.copies[0].copy
    is_whole = not any(_is_not_given(best, one) for one in of_kinds(best.findings, Kind.LEFT_OUT))
    start = noted.log_start_offset
    if start is None and is_whole and not best.is_tiered:
        # A broker that deletes segments moves the first epoch with the log's start.
        start = min((one.start_offset for one in plan.ranked.log.leader_epochs[:1]), default=lowest)
        start = min(start, lowest)
    start = lowest if start is None or start > plan.end_offset else start
    plan.choice.note_gap(start, plan.start_offset, is_certain=start < lowest)
    plan.gaps_from = start
    end = 0  # the end of the log may be in segments that were not given
    if is_whole:
        refused = (one.refused_end for one in plan.files if not one.whole_reason)
        trusted = [one.copy.end for one in plan.ranked.copies if one.limit == NO_END]
        marks = [(one.high_watermark or 0, one.recovery_point or 0) for one in trusted if not one.is_live]
        end = max(*refused, *chain.from_iterable(marks), 0, 0)
    plan.choice.note_gap(plan.end_offset, end, is_certain=True)
    plan.choice.note_gap(max(plan.end_offset, end), below)


def _is_in_best(file: SourceFile) -> bool:
    return file.copy == 0 and not file.whole_reason


def _is_without_batches(file: SourceFile) -> bool:
    """Whether a segment of the best copy has no sound batch, or cannot be opened."""
    return file.copy == 0 and (file.is_unopened or (not file.whole_reason and file.last_offset is None))
