"""What the judge lets pass, each rule with its reason: where copies no longer show the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.copies.entries import Entry, keys_of

if TYPE_CHECKING:
    from tests.copies.judge import Judging


@dataclass(frozen=True)
class Rule:
    """A reason to let a batch pass.

    Attributes:
        name: for the counts.
        reason: why nobody could know better, or what Kafka does.
        covers: whether it covers a batch.
        is_silent: whether nothing needs to be said; otherwise the status must be 1.
    """

    name: str
    reason: str
    covers: Callable[[Judging, Entry], bool]
    is_silent: bool = False


def contradiction(judging: Judging, one: Entry) -> str:
    """What that is true says that a batch cannot have been there; empty if nothing does."""
    evidence, truth = judging.evidence, judging.truth
    same = [true for true in truth.by_content.get(one.content, ()) if true.base != one.base]
    reasons = {
        "a copy has the truth": evidence.rivals(one),
        "a copy has the same at its place": any(map(evidence.holders, same)),
        "its records are not as its header says": keys_of(one.data) is None,
        "a segment begins within it": any(one.base < base <= one.last for base in evidence.true_names),
        "the log ends below it by the recovery point": evidence.is_end_noted and one.last >= truth.end,
        "an index names an offset within it": any(one.base <= last < one.last for last in evidence.indexed),
        "an index has its own last offset": any(true.last in evidence.indexed for true in same),
    }
    return "; ".join(words for words, is_so in reasons.items() if is_so)


def _nobody_knows(judging: Judging, one: Entry) -> bool:
    return not contradiction(judging, one)


def _as_many(judging: Judging, one: Entry) -> bool:
    evidence = judging.evidence
    true = judging.truth.by_base.get(one.base)
    if true is None or true.last != one.last or keys_of(one.data) is None:
        return False
    return len(evidence.holders(one)) >= len(evidence.holders(true))


def _no_true_epoch(judging: Judging, one: Entry) -> bool:
    true = judging.truth.by_base[one.base]
    return not judging.evidence.holders(true)


def _epoch_as_many(judging: Judging, one: Entry) -> bool:
    evidence = judging.evidence
    if evidence.has_true_epochs or len(evidence.holders(one)) < len(
        evidence.holders(judging.truth.by_base[one.base])
    ):
        return False
    at = [served.base for served in judging.result.served].index(one.base)
    around = judging.result.served[max(0, at - 1) : at + 2]
    return [served.epoch for served in around] == sorted(served.epoch for served in around)


def _deleted(judging: Judging, one: Entry) -> bool:
    """Below a log start offset that can be right."""
    return any(one.last < start <= judging.result.bounds[1] for start in judging.evidence.noted_starts) or (
        one.last < judging.truth.start
    )


def _cleaned(judging: Judging, one: Entry) -> bool:
    return judging.evidence.is_cleaned(one.base)


def _not_trusted(judging: Judging, one: Entry) -> bool:
    evidence, result = judging.evidence, judging.result
    for at in evidence.holders(one):
        path = str(judging.roots[at] / judging.case.sound.name)
        limit = result.trusted.get(path)
        if limit is None or limit > one.last:
            return False
    return True


def _rival_taken(judging: Judging, one: Entry) -> bool:
    served = judging.served.get(one.base)
    return served is not None and _as_many(judging, served)


def _unknown_front(judging: Judging, one: Entry) -> bool:
    first = judging.result.served[0].base if judging.result.served else judging.truth.end
    starts = [*judging.evidence.names, *judging.evidence.epoch_starts, *judging.evidence.noted_starts]
    return one.base < first and all(start > one.last for start in starts)


def _unknown_end(judging: Judging, one: Entry) -> bool:
    if any(one.base < served.base for served in judging.result.served):
        return False
    known = [*judging.evidence.ends, *(offset + 1 for offset in judging.evidence.indexed)]
    return all(end <= one.base for end in known)


def _false_epochs(judging: Judging, one: Entry) -> bool:
    return judging.evidence.are_epochs_false and not judging.evidence.has_true_epochs


def is_end_named(judging: Judging, end: int) -> bool:
    """Whether the name of a segment says that the log went up to an offset."""
    return end in judging.evidence.names


FOREIGN = (
    Rule(
        "changed, and nobody knows",
        "No copy has the truth, no neighbour, name, index or recovery point contradicts, and the records can "
        "be read as the header says: a batch whose checksum was made right looks like this.",
        _nobody_knows,
        is_silent=True,
    ),
    Rule(
        "one against one",
        "As many copies have it as have the truth, at the same offsets, with records that can be read.",
        _as_many,
    ),
)
OTHER_EPOCH = (
    Rule("no true epoch", "No copy has the batch with its own leader epoch.", _no_true_epoch, is_silent=True),
    Rule(
        "epoch against epoch",
        "As many copies have this epoch, it fits between its neighbours', and no checkpoint is as it was.",
        _epoch_as_many,
        is_silent=True,
    ),
)
HELD = (
    Rule(
        "deleted",
        "Below the log start offset that a copy has noted: DeleteRecords and retention are lawful.",
        _deleted,
        is_silent=True,
    ),
    Rule(
        "cleaned",
        "What the cleaner removed from one copy does not come back from another.",
        _cleaned,
        is_silent=True,
    ),
    Rule("one against one", "Another batch, in as many copies, was taken.", _rival_taken),
    Rule(
        "copy not trusted",
        "The copies that have it contradict a better one before it, which is said of them.",
        _not_trusted,
    ),
)
GONE = (
    HELD[0],
    HELD[1],
    Rule(
        "unknown front",
        "In front of all that a name, a checkpoint or a batch shows: retention leaves the same.",
        _unknown_front,
        is_silent=True,
    ),
    Rule(
        "unknown end",
        "Behind all that a name, a checkpoint, an index or a batch shows.",
        _unknown_end,
        is_silent=True,
    ),
)
EPOCH = (
    Rule(
        "false epochs",
        "No copy has the checkpoint as it was, and batches or another checkpoint say something else.",
        _false_epochs,
        is_silent=True,
    ),
)
