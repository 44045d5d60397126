"""Tables of entries, checked as a whole: most need no other check.

Strategy: a table passes if nothing in it can be a finding, which takes a few operations on whole columns; the
state of the checks is then that after its last entry. What does not pass is checked entry by entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_segments.verify.entry_checks import EntryChecks
from kafka_segments.verify.producer_checks import ProducerChecks, ProducerState

if TYPE_CHECKING:
    from kafka_segments.core.segment.verified.entry_rows import VerifiedTable

__all__ = ["check_table"]

_LARGEST_SEQUENCE = (1 << 31) - 1


def check_table(checks: EntryChecks, table: VerifiedTable) -> None:
    """Check the entries of a table, as a whole if it passes."""
    if _passes(checks, table):
        _go_on(checks, table)
        return
    for entry in table.rows():
        checks.entry(entry)


def _passes(checks: EntryChecks, table: VerifiedTable) -> bool:
    """Return whether no entry of a table can be a finding."""
    if not table.has_batches_alone:
        return False
    limit = checks.limits.max_batch_bytes
    if limit is not None and (table.sizes > limit).any():
        return False
    if not table.has_ordered_records.all() or not _is_dense(checks, table):
        return False
    return (
        _has_right_times(table) and _has_right_epochs(checks, table) and _has_right_producers(checks, table)
    )


def _is_dense(checks: EntryChecks, table: VerifiedTable) -> bool:
    """Whether each offset is there, in order, from the entry before on."""
    firsts, lasts = table.first_offset, table.last_offset
    before = checks.reached if checks.previous is None else checks.previous
    if checks.previous is None and before < 0:
        before = int(firsts[0]) - 1
    is_joined = int(firsts[0]) == before + 1 and bool((firsts[1:] == lasts[:-1] + 1).all())
    return is_joined and bool((table.num_records == lasts - firsts + 1).all())


def _has_right_times(table: VerifiedTable) -> bool:
    import numpy as np

    greatest, headers = table.greatest_timestamp, table.max_timestamp
    is_right = np.maximum(greatest, -1) == headers
    if is_right.all():
        return True
    from kafka_segments.core.segment.verified.entry_rows import UNKNOWN_TIMESTAMP

    is_unknown = greatest == UNKNOWN_TIMESTAMP
    is_moved = table.of_batches("has_delete_horizon", 0) != 0
    return bool((is_right | is_unknown | (is_moved & (greatest <= headers))).all())


def _has_right_epochs(checks: EntryChecks, table: VerifiedTable) -> bool:
    epochs = table.of_batches("partition_leader_epoch")
    first = int(epochs[0])
    if first < checks.leader_epoch or not (epochs == first).all():
        return False  # an epoch begins: that is rare
    return first < 0 or checks.is_right_epoch(first, int(table.first_offset[0]), int(table.last_offset[-1]))


def _has_right_producers(checks: EntryChecks, table: VerifiedTable) -> bool:
    import numpy as np

    ids = table.of_batches("producer_id")
    is_control = table.of_batches("is_control", 0)
    if (ids < 0).all():
        return not is_control.any()
    is_special = table.of_batches("is_transactional", 0) | is_control
    sequences = table.of_batches("base_sequence")
    if (is_special != 0).any() or checks.producers.open or (sequences[ids >= 0] < 0).any():
        return False
    rows = np.flatnonzero(ids >= 0)
    rows = rows[np.argsort(ids[rows], kind="stable")]
    ids, epochs, lasts = ids[rows], table.of_batches("producer_epoch")[rows], table.last_sequence[rows]
    is_same = ids[1:] == ids[:-1]
    following = np.where(lasts[:-1] == _LARGEST_SEQUENCE, 0, lasts[:-1] + 1)
    is_next = (epochs[1:] == epochs[:-1]) & (sequences[rows][1:] == following)
    if not is_next[is_same].all():
        return False
    begins = np.flatnonzero(np.append(True, ~is_same))
    heads = zip(ids[begins].tolist(), epochs[begins].tolist(), sequences[rows][begins].tolist(), strict=True)
    if not all(_follows(checks.producers, *head) for head in heads):
        return False
    _note_producers(checks.producers, table, rows[np.append(begins[1:], len(rows)) - 1])
    return True


def _follows(producers: ProducerChecks, producer_id: int, epoch: int, sequence: int) -> bool:
    """Return whether a producer's next batch is what its state says, or it is not known."""
    state = producers.known.get(producer_id)
    if state is None:
        return True
    last = state.last_sequence
    if last is None or last < 0 or epoch != state.epoch:
        return False
    return sequence == (0 if last == _LARGEST_SEQUENCE else last + 1)


def _note_producers(producers: ProducerChecks, table: VerifiedTable, rows: Any) -> None:
    """Note the last batch of each producer."""
    firsts, lasts = table.first_offset[rows], table.last_offset[rows]
    columns = (
        table.of_batches("producer_id")[rows],
        table.of_batches("producer_epoch")[rows],
        table.last_sequence[rows],
        lasts,
        lasts - firsts,
        table.max_timestamp[rows],
    )
    for producer_id, epoch, *last in zip(*(column.tolist() for column in columns), strict=True):
        sequence, offset, delta, timestamp = last
        state = ProducerState(epoch, sequence, offset, delta, timestamp, producers.num_missing)
        producers.known[producer_id] = state
    producers.limit()


def _go_on(checks: EntryChecks, table: VerifiedTable) -> None:
    """Move the state of the checks to the end of a table that passed."""
    first, last = int(table.first_offset[0]), int(table.last_offset[-1])
    checks.previous = last
    checks.first_offset = first if checks.first_offset is None else min(first, checks.first_offset)
    checks.last_offset = last if checks.last_offset is None else max(last, checks.last_offset)
    checks.reached = max(checks.reached, last)
    epoch = int(table.of_batches("partition_leader_epoch")[-1])
    checks.leader_epoch = checks.leader_epoch if epoch < 0 else epoch
    _note_times(checks, table)
    checks.totals.num_batches += len(table)
    checks.totals.num_records += int(table.num_data_records.sum())


def _note_times(checks: EntryChecks, table: VerifiedTable) -> None:
    is_brokers, timestamps = table.is_append_time, table.max_timestamp
    if not is_brokers.all():
        checks.greatest_timestamp = max(checks.greatest_timestamp, int(timestamps[~is_brokers].max()))
    if is_brokers.any():
        checks.broker_timestamp = max(checks.broker_timestamp, int(timestamps[is_brokers].max()))
