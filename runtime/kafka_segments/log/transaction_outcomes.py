"""Outcomes of a partition's transactions, from its records or from its indexes.

Strategy: the records decide. All headers are read once, in the order of the log, and the control batches
decoded; the producer snapshot of the first segment, if there is one, is the initial state. Kafka does the
same when it recovers a log and rebuilds the indexes.

The indexes are an optional shortcut: up to the last sound snapshot the `.txnindex` files have the aborted
transactions, and only the records after it are read. All checks that need no other reads are made: entries
are in order and in their segment, each has an ABORT marker at its offset, and the segments that are read
agree with their own indexes. If one fails, the records decide, and the file is a finding. An incomplete index
looks like that of a segment without aborted transactions; so the shortcut is for directories that a broker
has left in order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kafka_segments import errors
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.formats.file_names import with_ends
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.segment.beside.index_files import (
    AbortedTxn,
    ProducerEntry,
    read_producer_snapshot,
    read_transaction_index,
)
from kafka_segments.core.segment.continuity import out_of_order
from kafka_segments.core.segment.segment import Segment
from kafka_segments.core.segment.transactions.state import (
    AbortedTransaction,
    AbortedTransactions,
    DoubtfulTransaction,
    ExcludedBatches,
    OpenTransaction,
    Transactions,
)
from kafka_segments.errors import CorruptBatchError, CorruptIndexError, KafkaFormatError
from kafka_segments.log.index_claims import position_of
from kafka_segments.log.log_files import UNOPENED, Listen, LogFile, Unplaced, is_unopened, lost_file

__all__ = ["TransactionOutcome", "by_indexes", "by_records", "check_indexes"]

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    """Outcomes of a partition's transactions.

    Attributes:
        aborted: in the order of their markers.
        doubtful: those whose marker may be in damaged bytes.
        open: by their first offsets.
        last_stable_offset: first offset of the earliest open transaction, or the end of the log.
        end_offset: offset after the last one of the log.
        damage: regions that could not be read.
        findings: errors of indexes and snapshots that were not used.
        file_ends: offset after the last one of each segment, if known.
        excluded: batches whose records no consumer receives.
        bare_aborts: producer id and offset in turn, of ABORT markers without any record read.
    """

    aborted: AbortedTransactions
    doubtful: tuple[DoubtfulTransaction, ...]
    open: tuple[OpenTransaction, ...]
    last_stable_offset: int
    end_offset: int
    damage: tuple[Damage, ...]
    findings: tuple[KafkaFormatError, ...]
    file_ends: tuple[int, ...] = field(repr=False)
    excluded: ExcludedBatches = field(repr=False, compare=False)
    bare_aborts: array[int] = field(repr=False, compare=False)


Check = Callable[[Sequence[LogFile]], object]


def by_records(
    files: Sequence[LogFile],
    log_start_offset: int | None,
    findings: Iterable[KafkaFormatError] = (),
    check: Check = lambda _files: None,
    *,
    may_lack_segments: bool = False,
    gaps: Sequence[Damage] | None = None,
    listeners: Sequence[Listen] = (),
) -> TransactionOutcome:
    """Determine the outcomes by the headers of all segments.

    A segment that cannot be opened is damage, and not raised.

    Args:
        files: one segment or more, by base offset.
        log_start_offset: if it is known.
        findings: earlier findings, for the outcome.
        check: called with the segments before they are read; it may raise.
        may_lack_segments: if offsets are missing between two segments, use the snapshot of the second one to
            find the producers with markers there; the outcome of their transactions is in doubt.
        gaps: offsets that are in no segment, see `continuity`: markers there are lost too. None if that was
            not checked; then segments with foreign offsets are not reported either.
        listeners: hear of all that is read, in this pass.
    """
    found = list(findings)
    log_start_offset = max(files[0].base_offset, log_start_offset or 0)
    check(files)
    state = Transactions(files[0].base_offset)
    is_at_start = not files[0].is_unplaced  # the snapshot of an unplaced segment is for another offset
    for producer in (_snapshot(files[0], found) if is_at_start else None) or ():
        if producer.current_txn_first_offset >= 0:
            state.begun_before(producer.producer_id, producer.current_txn_first_offset)
    ends = _apply_segments(state, files, found if may_lack_segments else None, gaps, listeners)
    return _outcome(state, log_start_offset, found, ends)


def by_indexes(
    files: Sequence[LogFile], log_start_offset: int | None, check: Check = lambda _files: None
) -> TransactionOutcome:
    """Determine the outcomes by the indexes, or else by `by_records`; arguments as there."""
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
        indexed = _read_indexes(files, at)
        for one in indexed:
            state.excluded.add(one.producer_id, one.first_offset, one.last_offset)
        ends = _apply_segments(state, files[at:])
        for wrong in _index_errors(files[at:], state.aborted, state.bare_aborts):
            raise wrong
    except KafkaFormatError as error:
        errors.raise_unless_file_at_fault(error)
        _log.warning("%s; the records decide", error)
        return by_records(files, log_start_offset, [*findings, error], check)
    unread = [file.base_offset for file in files[1 : at + 1]]
    indexed.extend(state.aborted)
    state.aborted = indexed
    return _outcome(state, log_start_offset, findings, [*unread, *ends])


def check_indexes(files: Sequence[LogFile], outcome: TransactionOutcome) -> list[KafkaFormatError]:
    """Compare the `.txnindex` files with the records; return their errors.

    An index may have more transactions: compaction removes the records of aborted ones first. The index of a
    segment that cannot be opened is not checked.
    """
    has_any = any(suffix in file.segment.beside for file in files for suffix in ("txnindex", "index"))
    if not has_any:  # the segments alone were copied
        return []
    unread = {damage.path for damage in outcome.damage if is_unopened(damage)}
    return list(_index_errors(files, outcome.aborted, outcome.bare_aborts, unread))


def _outcome(
    state: Transactions,
    log_start_offset: int,
    findings: Iterable[KafkaFormatError],
    file_ends: Sequence[int],
) -> TransactionOutcome:
    state.excluded.seal()
    return TransactionOutcome(
        state.aborted,
        tuple(state.doubtful),
        tuple(state.open()),
        state.last_stable_offset(log_start_offset),
        state.end_offset,
        tuple(state.damage),
        tuple(findings),
        tuple(file_ends),
        state.excluded,
        state.bare_aborts,
    )


def _apply_segments(
    state: Transactions,
    files: Sequence[LogFile],
    findings: list[KafkaFormatError] | None = None,
    gaps: Sequence[Damage] | None = None,
    listeners: Sequence[Listen] = (),
) -> list[int]:
    """Apply segments to the state; return their end offsets. `findings`: given if segments may be missing."""
    ends: list[int] = []
    own: dict[str, list[Damage]] = {}
    for gap in gaps or ():
        own.setdefault(gap.path, []).append(gap)
    unplaced = Unplaced(files, gaps or ())
    for at, (file, following) in enumerate(with_ends(files)):
        if findings is not None and ends and ends[-1] < file.base_offset:
            _doubt_missing_markers(state, files[at - 1], file, findings)
        state.may_lack(unplaced.before(file))
        gaps_after = list(_gaps_before(state, own.get(file.path, ())))
        state.begin_file(file.base_offset)
        hears = [listen(file, state) for listen in listeners]
        try:
            opened = file.open_file()
        except UNOPENED as error:
            state.damaged(lost_file(file, following, error))
        else:
            with opened as segment:
                state.follow(file.steps_of(segment, hears))
        num_known = len(state.damage)
        state.end_file(following)
        for gap in gaps_after:
            if not any(_covers(own_damage, gap) for own_damage in state.damage[num_known:]):
                state.damaged(gap)
        stray = None if gaps is None else state.misplaced.damage(file.path, file.size, following)
        if stray is not None and not out_of_order(own.get(file.path, ())):
            state.damage.append(stray)
        ends.append(state.file_end_offset)
        state.may_lack(unplaced.after(file))
    state.may_lack(unplaced.before(None))
    return ends


def _covers(one: Damage, gap: Damage) -> bool:
    """Return whether damage already reports the offsets of a gap as lost."""
    return one.last_lost_offset is None or (
        gap.last_lost_offset is not None and gap.last_lost_offset <= one.last_lost_offset
    )


def _gaps_before(state: Transactions, gaps: Iterable[Damage]) -> Iterator[Damage]:
    """Apply the gaps before a segment; yield those after it."""
    for gap in gaps:
        if gap.first_lost_offset is None:  # a wrong name: the segment's content is read all the same
            state.damage.append(gap)
        elif gap.position == 0:
            state.damaged(gap)
        else:
            yield gap


def _doubt_missing_markers(
    state: Transactions, before: LogFile, file: LogFile, findings: list[KafkaFormatError]
) -> None:
    """Put transactions in doubt that count as open but have ended by a segment's snapshot."""
    producers = _snapshot(file, findings)
    if producers is None:
        return
    firsts = {one.producer_id: one.current_txn_first_offset for one in producers}
    missing = state.file_end_offset
    detail = f"offsets {missing} to {file.base_offset - 1} are missing after it"
    for one in state.open():
        if not 0 <= firsts.get(one.producer_id, -1) < missing:
            error = CorruptBatchError(detail, position=before.size, path=before.path)
            place = before.path, before.size, before.size
            offsets = missing, file.base_offset - 1, missing - 1, file.base_offset
            state.damaged(Damage(*place, error, *offsets), one.producer_id)


def _snapshot(file: LogFile, findings: list[KafkaFormatError]) -> tuple[ProducerEntry, ...] | None:
    """Read the producer snapshot of a segment's base offset; None if there is none to use."""
    try:
        source = file.open_beside("snapshot")
        return None if source is None else read_producer_snapshot(source)
    except KafkaFormatError as error:
        errors.raise_unless_file_at_fault(error)
        # A broker does the same (ProducerStateManager.loadFromSnapshot), and takes an earlier one.
        _log.warning("%s; skipped", error)
        findings.append(error)
        return None


def _read_indexes(files: Sequence[LogFile], count: int) -> AbortedTransactions:
    """Read the aborted transactions of the first segments from their indexes."""
    found = AbortedTransactions()
    last_of: dict[int, int] = {}
    for file, end in list(with_ends(files))[:count]:
        entries = _transaction_index(file)
        if not entries:
            continue
        _check_order(file, end, entries, last_of)
        with file.open_file() as segment:
            for entry in entries:
                _check_marker(file, segment, entry)
        found.extend(map(_as_transaction, entries))
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
            raise _wrong(file, f"{_words(entry)} is listed after {_words(before)}, which ended later")
    for entry in entries:
        is_inside = end is None or entry.last_offset < end
        if not (is_inside and entry.first_offset < entry.last_offset):
            raise _wrong(file, f"{_words(entry)} cannot have ended in this segment")
        if entry.first_offset <= last_of.get(entry.producer_id, -1):
            raise _wrong(file, f"{_words(entry)} began before the one before it had ended")
        last_of[entry.producer_id] = entry.last_offset


def _check_marker(file: LogFile, segment: Segment, entry: AbortedTxn) -> None:
    # Entries of an index have last offsets: the one below the marker's is of a batch before it.
    position = position_of(file.places, file.segment, entry.last_offset, None)
    batch = segment.find_batch(entry.last_offset, position)
    is_marker = batch is not None and batch.is_control and batch.producer_id == entry.producer_id
    if batch is None or not is_marker or not _is_abort(segment, batch):
        raise _wrong(file, f"{_words(entry)} ended where the log has no ABORT marker of its producer")


def _is_abort(segment: Segment, batch: Batch) -> bool:
    record = next(segment.iter_records(batch), None)
    return record is not None and record.control is not None and record.control.type == "ABORT"


def _index_errors(
    files: Sequence[LogFile],
    aborted: AbortedTransactions,
    bare_aborts: array[int],
    unread: Collection[str] = (),
) -> Iterator[KafkaFormatError]:
    """Compare the indexes of segments with the records; yield the first error of each."""
    ended = _by_segment(files, (one.last_offset for one in aborted))
    bare = _by_segment(files, bare_aborts[1::2])
    for file, numbers, bare_numbers in zip(files, ended, bare, strict=True):
        if file.path not in unread:
            markers = {(bare_aborts[2 * number], bare_aborts[2 * number + 1]) for number in bare_numbers}
            try:
                _check_index(file, [aborted[number] for number in numbers], markers)
            except KafkaFormatError as error:
                errors.raise_unless_file_at_fault(error)
                yield error


def _by_segment(files: Sequence[LogFile], offsets: Iterable[int]) -> list[array[int]]:
    """Group offsets by segment: their numbers in the sequence, for each segment."""
    bases = [file.base_offset for file in files]
    found = [array("q") for _ in files]
    for number, offset in enumerate(offsets):
        at = bisect_right(bases, offset) - 1
        if at >= 0:
            found[at].append(number)
    return found


def _check_index(file: LogFile, aborted: Sequence[AbortedTransaction], markers: set[tuple[int, int]]) -> None:
    entries = {(entry.producer_id, entry.last_offset): entry for entry in _transaction_index(file)}
    for one in aborted:
        entry = entries.get((one.producer_id, one.last_offset))
        if entry is None:
            is_there = "txnindex" in file.segment.beside
            raise _wrong(file, f"{_words(one)} is not listed" + ("" if is_there else ": the file is missing"))
        if entry.first_offset > one.first_offset:
            raise _wrong(file, f"{_words(entry)} began at offset {one.first_offset}")
    markers = markers.union((one.producer_id, one.last_offset) for one in aborted)
    for key, entry in entries.items():
        if key not in markers:
            raise _wrong(file, f"{_words(entry)} ended where the log has no ABORT marker of its producer")
        if entry.last_stable_offset > entry.last_offset + 1:  # TransactionIndex.collectAbortedTxns ends there
            what = f"{_words(entry)} has the last stable offset {entry.last_stable_offset}"
            raise _wrong(file, f"{what}: a broker overlooks the aborted transactions after it")


def _transaction_index(file: LogFile) -> tuple[AbortedTxn, ...]:
    source = file.open_beside("txnindex")
    if source is None:
        return ()
    entries = read_transaction_index(source, file.base_offset)
    return tuple(
        entry
        for entry in entries
        if (file.start is None or entry.last_offset >= file.start)
        and (file.end is None or entry.last_offset < file.end)
    )


def _words(one: AbortedTxn | AbortedTransaction) -> str:
    offsets = f"offsets {one.first_offset} to {one.last_offset}"
    return f"the aborted transaction of producer {one.producer_id}, {offsets},"


def _wrong(file: LogFile, detail: str) -> CorruptIndexError:
    return CorruptIndexError(detail, path=file.path_beside("txnindex"))
