"""How the transactions of a partition ended: from its records, or by its indexes.

Strategy: the records are the truth. All headers are read once, in the order of the log, and the control
batches opened; at the start stands what the snapshot of the first segment's base offset knows, if there is
one. That is what Kafka does when it recovers a log, and what it makes the indexes from.

The indexes are a shortcut for those who ask for it: of the segments up to the last sound snapshot, the
`.txnindex` says what was aborted, and only the records behind are read. What can be checked without reading
the rest is checked: that entries are in order and in their segment, that an ABORT marker stands where each
says, that the segments that are read bear their own indexes out. Whatever fails, the records decide, and the
file is among the findings. An index that leaves something out cannot be told from one of a segment without
aborted transactions; so the shortcut is for directories that a broker has left in order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise

from kafka_segments.entries import Batch, Damage
from kafka_segments.errors import CorruptIndexError, KafkaFormatError
from kafka_segments.indexes import (
    AbortedTxn,
    ProducerEntry,
    read_offset_index,
    read_producer_snapshot,
    read_transaction_index,
)
from kafka_segments.segment import Segment
from kafka_segments.storage import Source
from kafka_segments.transactions import (
    AbortedTransaction,
    DataBatch,
    DoubtfulTransaction,
    Lost,
    Marker,
    OpenTransaction,
    Step,
    Transactions,
    Void,
)

__all__ = ["LogFile", "Outcome", "by_indexes", "by_records", "check_indexes"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogFile:
    """A segment of a partition, wherever it lies.

    Attributes:
        path: of the segment, for people.
        base_offset: by its name.
        open_file: opens it.
        open_beside: opens what belongs to it, by suffix (`txnindex`), or gives its path; None if there is no
            such file.
        start: what it has below this offset belongs to another segment.
        end: likewise from this offset on; None for everything.
    """

    path: str
    base_offset: int
    open_file: Callable[[], AbstractContextManager[Segment]]
    open_beside: Callable[[str], str | Source | None]
    start: int = 0
    end: int | None = None

    def path_beside(self, suffix: str) -> str:
        """How a file beside it is called."""
        folder, slash, _name = self.path.rpartition("/")
        return f"{folder}{slash}{self.base_offset:020d}.{suffix}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the transactions of a partition ended.

    Attributes:
        aborted: by their markers.
        doubtful: those of which damage has taken the end.
        open: by their first offsets.
        last_stable_offset: first offset of the earliest open transaction, or the end of the log.
        end_offset: behind the last offset of the log.
        damage: what of the records could not be read.
        findings: files beside the segments that could not be used.
        file_ends: behind the last offset of each segment, as far as is known.
        void: the batches whose records nobody is to be given.
        abort_markers: producer id and offset, as far as records were read.
    """

    aborted: tuple[AbortedTransaction, ...]
    doubtful: tuple[DoubtfulTransaction, ...]
    open: tuple[OpenTransaction, ...]
    last_stable_offset: int
    end_offset: int
    damage: tuple[Damage, ...]
    findings: tuple[KafkaFormatError, ...]
    file_ends: tuple[int, ...] = field(repr=False)
    void: Void = field(repr=False, compare=False)
    abort_markers: frozenset[tuple[int, int]] = field(repr=False, compare=False)


Check = Callable[[Sequence[LogFile]], None]


def _anything(_files: Sequence[LogFile]) -> None:
    """The check that lets everything be read."""


def by_records(
    files: Sequence[LogFile],
    log_start_offset: int | None,
    findings: Iterable[KafkaFormatError] = (),
    check: Check = _anything,
) -> Outcome:
    """Read the headers of all segments.

    Args:
        files: the segments, by base offset; one at least.
        log_start_offset: if it is known.
        findings: what was found before.
        check: is called with the segments that will be read, before; it may raise.

    Raises:
        ReadError: a segment cannot be opened. (Damage inside is part of the outcome.)
    """
    found = list(findings)
    log_start_offset = max(files[0].base_offset, log_start_offset or 0)
    check(files)
    state = Transactions(files[0].base_offset)
    for producer in _snapshot(files[0], found) or ():
        if producer.current_txn_first_offset >= 0:
            state.begun_before(producer.producer_id, producer.current_txn_first_offset)
    ends = _follow(state, files)
    return _outcome(state, (), log_start_offset, found, ends)


def by_indexes(files: Sequence[LogFile], log_start_offset: int | None, check: Check = _anything) -> Outcome:
    """Take the shortcut, or `by_records` where it leads nowhere; arguments as there."""
    findings: list[KafkaFormatError] = []
    at, producers = len(files), None
    while producers is None and at > 0:
        at -= 1
        producers = _snapshot(files[at], findings)
    if producers is None or at == 0:
        return by_records(files, log_start_offset, findings if at else (), check)
    check(files[at:])
    log_start_offset = max(files[0].base_offset, log_start_offset or 0)
    state = Transactions(files[at].base_offset)
    for producer in producers:
        if producer.current_txn_first_offset >= 0:
            state.begun_before(producer.producer_id, producer.current_txn_first_offset)
    try:
        indexed = _indexed(files, at)
        ends = _follow(state, files[at:])
        _bear_out(files[at:], state.aborted, state.abort_markers)
    except KafkaFormatError as error:
        _log.warning("%s; the records decide", error)
        return by_records(files, log_start_offset, [*findings, error], check)
    unread = [file.base_offset for file in files[1 : at + 1]]
    return _outcome(state, indexed, log_start_offset, findings, [*unread, *ends])


def check_indexes(files: Sequence[LogFile], outcome: Outcome) -> list[KafkaFormatError]:
    """What the `.txnindex` files say otherwise than the records.

    An index may list more than the records show: compaction takes the records of aborted transactions first.
    """
    findings: list[KafkaFormatError] = []
    has_any = any(_exists(file, suffix) for file in files for suffix in ("txnindex", "index"))
    for file, end in _ranges(files) if has_any else ():  # else the segments alone were copied
        try:
            _bear_out_one(file, end, outcome.aborted, outcome.abort_markers)
        except KafkaFormatError as error:
            findings.append(error)
    return findings


def _outcome(
    state: Transactions,
    indexed: Sequence[AbortedTransaction],
    log_start_offset: int,
    findings: Iterable[KafkaFormatError],
    file_ends: Sequence[int],
) -> Outcome:
    return Outcome(
        (*indexed, *state.aborted),
        tuple(state.doubtful),
        tuple(state.open()),
        state.last_stable_offset(log_start_offset),
        state.end_offset,
        tuple(state.damage),
        tuple(findings),
        tuple(file_ends),
        Void([*((one.producer_id, one.first_offset, one.last_offset) for one in indexed), *state.void]),
        frozenset(state.abort_markers),
    )


def _follow(state: Transactions, files: Sequence[LogFile]) -> list[int]:
    """Go through segments; returns where each ends."""
    ends = []
    for file, following in _ranges(files):
        state.begin_file(file.base_offset)
        with file.open_file() as segment:
            steps = segment.iter_steps()
            is_whole = file.end is None and file.start <= file.base_offset
            state.follow(steps if is_whole else _inside(steps, file.start, file.end))
        state.end_file(following)
        ends.append(state.file_end_offset)
    return ends


def _snapshot(file: LogFile, findings: list[KafkaFormatError]) -> tuple[ProducerEntry, ...] | None:
    """What was known of producers where a segment begins; None if nothing can be had."""
    try:
        source = file.open_beside("snapshot")
        return None if source is None else read_producer_snapshot(source)
    except KafkaFormatError as error:
        # A broker does the same (ProducerStateManager.loadFromSnapshot), and takes an earlier one.
        _log.warning("%s; passed over", error)
        findings.append(error)
        return None


def _indexed(files: Sequence[LogFile], count: int) -> list[AbortedTransaction]:
    """The aborted transactions of the first segments, by their indexes."""
    found: list[AbortedTransaction] = []
    last_of: dict[int, int] = {}
    for file, end in list(_ranges(files))[:count]:
        entries = _transaction_index(file)
        if not entries:
            continue
        _check_order(file, end, entries, last_of)
        with file.open_file() as segment:
            for entry in entries:
                _check_marker(file, segment, entry)
        found += [_as_transaction(entry) for entry in entries]
    return found


def _as_transaction(entry: AbortedTxn) -> AbortedTransaction:
    return AbortedTransaction(
        entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
    )


def _check_order(
    file: LogFile, end: int | None, entries: Sequence[AbortedTxn], last_of: dict[int, int]
) -> None:
    for before, entry in pairwise(entries):
        if entry.last_offset <= before.last_offset:
            raise _wrong(file, f"{entry} stands behind {before}, which ends later")
    for entry in entries:
        is_inside = end is None or entry.last_offset < end
        if not (is_inside and entry.first_offset < entry.last_offset):
            raise _wrong(file, f"{entry} cannot have ended in this segment")
        if entry.first_offset <= last_of.get(entry.producer_id, -1):
            raise _wrong(file, f"{entry} begins before the one before it ends")
        last_of[entry.producer_id] = entry.last_offset


def _check_marker(file: LogFile, segment: Segment, entry: AbortedTxn) -> None:
    """See that the log has the marker."""
    index = file.open_beside("index")
    position = 0
    if index is not None:
        # Entries are of last offsets: the one below the marker's is of a batch before it.
        position = read_offset_index(index, file.base_offset).lookup(entry.last_offset - 1)[1]
    batch = segment.find_batch(entry.last_offset, position)
    is_marker = batch is not None and batch.is_control and batch.producer_id == entry.producer_id
    if batch is None or not is_marker or not _is_abort(segment, batch):
        raise _wrong(file, f"{entry} ends where the log has no ABORT marker of its producer")


def _is_abort(segment: Segment, batch: Batch) -> bool:
    record = next(segment.iter_records(batch), None)
    return record is not None and record.control is not None and record.control.type == "ABORT"


def _bear_out(
    files: Sequence[LogFile], aborted: Sequence[AbortedTransaction], markers: set[tuple[int, int]]
) -> None:
    for file, end in _ranges(files):
        _bear_out_one(file, end, aborted, markers)


def _bear_out_one(
    file: LogFile,
    end: int | None,
    aborted: Sequence[AbortedTransaction],
    markers: set[tuple[int, int]] | frozenset[tuple[int, int]],
) -> None:
    """Raise `CorruptIndexError` if a segment's index says otherwise than its records."""
    entries = {(entry.producer_id, entry.last_offset): entry for entry in _transaction_index(file)}
    for one in aborted:
        if one.last_offset < file.base_offset or (end is not None and one.last_offset >= end):
            continue
        entry = entries.get((one.producer_id, one.last_offset))
        if entry is None:
            raise _wrong(file, f"{one} is not listed")
        if entry.first_offset > one.first_offset:
            raise _wrong(file, f"{entry} begins at offset {one.first_offset}")
    for key, entry in entries.items():
        if key not in markers:
            raise _wrong(file, f"{entry} ends where the log has no ABORT marker of its producer")


def _transaction_index(file: LogFile) -> tuple[AbortedTxn, ...]:
    source = file.open_beside("txnindex")
    if source is None:
        return ()
    entries = read_transaction_index(source, file.base_offset)
    return tuple(
        entry
        for entry in entries
        if entry.last_offset >= file.start and (file.end is None or entry.last_offset < file.end)
    )


def _exists(file: LogFile, suffix: str) -> bool:
    source = file.open_beside(suffix)
    if source is not None and not isinstance(source, str):
        source.close()
    return source is not None


def _ranges(files: Sequence[LogFile]) -> Iterable[tuple[LogFile, int | None]]:
    """Each segment, and the base offset of the next one."""
    ends = [*(file.base_offset for file in files[1:]), None]
    return zip(files, ends, strict=True)


def _inside(steps: Iterable[Step], start: int, end: int | None) -> Iterator[Step]:
    """What a segment shows of some offsets; the others are another segment's to tell."""
    for step in steps:
        if isinstance(step, DataBatch | Marker):
            offset = step.base_offset if isinstance(step, DataBatch) else step.offset
            if offset >= start and (end is None or offset < end):
                yield step
        elif isinstance(step, Lost):
            if step.damage.touches(start, end):
                yield step
        elif isinstance(step, int):
            yield step if end is None else min(step, end - 1)
        else:
            yield step


def _wrong(file: LogFile, detail: str) -> CorruptIndexError:
    return CorruptIndexError(detail, path=file.path_beside("txnindex"))
