"""What may be left out without a word: each rule with the behaviour of Kafka, or of the verb, behind it.

A rule is asked about one offset that is nowhere, or one record that was not delivered. Nothing else exempts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.invariant.truth import Truth
from tests.made.log_directory import HIGH_WATERMARK, LOG_START, base_of


@dataclass(frozen=True)
class Rule:
    """Offsets that need not be named.

    Attributes:
        name: for the counts.
        reason: what Kafka does that makes it lawful.
        covers: whether it covers an offset that is nowhere; also given is the verb.
    """

    name: str
    reason: str
    covers: Callable[[Truth, str, int], bool]


def _retention(truth: Truth, _verb: str, offset: int) -> bool:
    return offset < truth.log_start


def _unknown_tail(truth: Truth, _verb: str, offset: int) -> bool:
    return offset >= truth.known_end and not _in_damage(truth, offset)


def _torn_tail(truth: Truth, verb: str, offset: int) -> bool:
    if verb not in ("source", "source_strict", "source_split") or offset < truth.known_end:
        return False
    newest = truth.directory.logs[-1]
    return any(one.name == newest and one.is_at_end and one.covers(offset) for one in truth.regions)


def _live_tail(truth: Truth, _verb: str, offset: int) -> bool:
    if not truth.directory.is_live:
        return False
    newest = truth.directory.logs[-1]
    behind_last = [batch.last_offset + 1 for batch in truth.batches[newest][-1:]]
    return offset >= max([0, *truth.true_names, *behind_last])


def _cleaner(truth: Truth, _verb: str, offset: int) -> bool:
    return offset < truth.cleaned_end and not _in_damage(truth, offset)


def _cleaner_of_swap(truth: Truth, verb: str, offset: int) -> bool:
    has_swap = any(name.endswith(".log.swap") for name in truth.directory.files)
    return has_swap and verb in ("salvage", "slice_all") and not _in_damage(truth, offset)


def _misplaced(truth: Truth, _verb: str, offset: int) -> bool:
    return truth.is_before_misplaced(offset) and not _in_damage(truth, offset)


def _not_asked(truth: Truth, verb: str, offset: int) -> bool:
    if not truth.directory.is_live or not verb.startswith(("plan", "source")):
        return False
    return offset >= truth.directory.noted.get(HIGH_WATERMARK, 0)


def _planning(truth: Truth, verb: str, offset: int) -> bool:
    return verb == "plan" and any(one.covers(offset) for one in truth.regions)


def _not_stable(truth: Truth, verb: str, offset: int) -> bool:
    return verb == "dump_committed" and offset >= truth.sound_last_stable


def _in_damage(truth: Truth, offset: int) -> bool:
    """Whether bytes that are not sound stand where the offset may have stood: they must be named."""
    newest = truth.directory.logs[-1] if truth.directory.logs else None
    return any(
        one.covers(offset) and not (one.is_zeros and one.is_at_end and one.name == newest)
        for one in truth.regions
    )


RULES = (
    Rule(
        "retention",
        "Offsets below the first segment's name, or below the log start offset checkpoint: retention and "
        "DeleteRecords remove segments from the front, and LogManager takes the first segment's base offset "
        "as the log start where the checkpoint is lower or not there.",
        _retention,
    ),
    Rule(
        "unknown tail",
        "Offsets at or above everything that the disk names: the checkpoints of the high watermark and of "
        "recovery, the segments' names, the last sound batch. A log that ends earlier looks the same; zeros "
        "at the end of the newest segment are what `preallocate` leaves.",
        _unknown_tail,
    ),
    Rule(
        "torn tail",
        "A last batch that is not whole, in no checkpoint: a broker cuts it off when it starts, and nobody "
        "was told that it is there. The Spark source stops before it (spark-reference.md), `damage` has it.",
        _torn_tail,
    ),
    Rule(
        "live tail",
        "Behind the last sound batch of a log that a broker is writing to: a batch may not be whole yet, and "
        "a checkpoint may be newer than what was seen of the files; the next read has them.",
        _live_tail,
    ),
    Rule(
        "above the high watermark",
        "Of a live directory `plan` and the Spark source read up to the high watermark, as a consumer does; "
        "where none is noted yet, nothing. What lies above it is not asked for.",
        _not_asked,
    ),
    Rule(
        "above the last stable offset",
        "A consumer of committed records is given nothing at or above the first offset of a transaction that "
        "was open in the undamaged log too: what lies there was not asked for.",
        _not_stable,
    ),
    Rule(
        "cleaner",
        "Below the first dirty offset that the cleaner has noted, and below the end of the last segment in "
        "which offsets are missing in or between sound batches as it leaves them, any offsets may have been "
        "cleaned away, but for those where bytes are damaged: it goes through a log from its beginning, by "
        "whole segments (LogCleanerManager, Cleaner.doClean). Without a note, but with such a segment, "
        "anywhere: it may leave no trace in a segment.",
        _cleaner,
    ),
    Rule(
        "cleaner, by a .swap file",
        "A `.swap` file is the finished work of the cleaner: `salvage` and `slice` take it in, as a broker "
        "does when it starts, and see the cleaner's traces in it.",
        _cleaner_of_swap,
    ),
    Rule(
        "in front of a batch out of order",
        "A base offset is covered by no checksum. Where one was changed inside a segment, the batch is told "
        "if it leads out of its segment (docs/damaged-directories.md), and not which offsets it had: what "
        "stands in its bytes is delivered, under the offset that it says.",
        _misplaced,
    ),
    Rule(
        "planning reads no records",
        "`plan` looks at names, ends and indexes; what is damaged in a file its reader tells.",
        _planning,
    ),
)


@dataclass(frozen=True)
class RecordRule:
    """Sound records that need not be delivered.

    Attributes:
        name: for the counts.
        reason: what Kafka does that makes it lawful.
        covers: whether it covers a record, by its place in `Truth.data_rows`; also given is the verb.
    """

    name: str
    reason: str
    covers: Callable[[Truth, str, int], bool]


def _deleted(truth: Truth, verb: str, at: int) -> bool:
    return verb != "dump" and truth.data_rows[at][2].offset < truth.directory.noted.get(LOG_START, 0)


def _above_high_watermark(truth: Truth, verb: str, at: int) -> bool:
    return _not_asked(truth, verb, truth.data_rows[at][2].offset)


def _not_committed(truth: Truth, verb: str, at: int) -> bool:
    if verb != "dump_committed" or not truth.has_transactions:
        return False
    return at not in truth.committed or not truth.is_ordered


def _taken(truth: Truth, verb: str, at: int) -> bool:
    row = truth.data_rows[at][2]
    return verb in _CONSUMERS and any(
        other.offset == row.offset and other != row
        for batches in truth.batches.values()
        for batch in batches
        if batch.base_offset <= row.offset <= batch.last_offset
        for other in batch.rows
    )


def _falling(truth: Truth, verb: str, at: int) -> bool:
    if verb != "plan":
        return False
    name, own, _row = truth.data_rows[at]
    is_behind_damage = any(one.name == name and one.position < own.position for one in truth.regions)
    if is_behind_damage and own.base_offset < base_of(name):
        return True
    return any(
        batch.position < own.position and batch.last_offset >= own.base_offset
        for batch in truth.batches[name]
    )


_CONSUMERS = ("ingest", "source", "source_strict", "source_split")

RECORD_RULES = (
    RecordRule(
        "deleted records",
        "Records below the log start offset checkpoint: DeleteRecords or retention has deleted them, and a "
        "consumer is not given them. `dump` prints files, and prints these too.",
        _deleted,
    ),
    RecordRule(
        "above the high watermark",
        "A live broker gives a consumer no record at or above the high watermark; the plan says so.",
        _above_high_watermark,
    ),
    RecordRule(
        "offset taken",
        "Two different records with one offset, as zeros over a base offset make, or a record and a marker: "
        "a log has one of them, and a consumer is given one. The other is a note in the log and in the view "
        "`damage`.",
        _taken,
    ),
    RecordRule(
        "planning reads no records",
        "`plan` looks at names, ends and indexes; a batch inside a segment whose base offset was changed to "
        "one below those in front of it, or, behind damage, below the segment's name, is told by the "
        "segment's reader.",
        _falling,
    ),
    RecordRule(
        "not committed",
        "A consumer of committed records is not given those of aborted and open transactions, nor any behind "
        "the last stable offset. Where batches do not stand in the order of their offsets, it is not defined "
        "which transaction a batch belongs to.",
        _not_committed,
    ),
)


def record_rule_for(truth: Truth, verb: str, at: int) -> RecordRule | None:
    """The first rule that covers a sound record which was not delivered."""
    return next((rule for rule in RECORD_RULES if rule.covers(truth, verb, at)), None)


def rule_for(truth: Truth, verb: str, offset: int) -> Rule | None:
    """The first rule that covers an offset which is nowhere and was not named."""
    return next((rule for rule in RULES if rule.covers(truth, verb, offset)), None)
