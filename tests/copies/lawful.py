"""What the judge lets pass: rules on a batch, with their reasons, where copies no longer show the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.copies.entries import Entry, keys_of

if TYPE_CHECKING:
    from tests.copies.judge import Judging

Rule = Callable[["Judging", Entry], bool]


def contradiction(judging: Judging, one: Entry) -> str:
    """What that is true says that a batch cannot have been there; empty if nothing does."""
    evidence, truth = judging.evidence, judging.truth
    same = [true for true in truth.by_content.get(one.content, ()) if true.base != one.base]
    reasons = {
        "a copy has the truth": evidence.rivals(one),
        "a copy has the same at its place": any(map(evidence.holders, same)),
        "its records are not as its header says": keys_of(one.data) is None,
        "a segment begins within it": any(one.base < base <= one.last for base in evidence.true_names),
        "the log ends below it by the recovery point": one.last >= truth.end in evidence.ends_noted(one),
        "an index names an offset within it": any(one.base <= last < one.last for last in evidence.indexed),
        "an index has its own last offset": any(true.last in evidence.indexed for true in same),
    }
    return "; ".join(words for words, is_so in reasons.items() if is_so)


def changed_and_nobody_knows(judging: Judging, one: Entry) -> bool:
    """No copy has the truth, no neighbour, name, index or recovery point contradicts, and the records can be
    read as the header says: a batch whose checksum was made right looks like this.
    """
    return not contradiction(judging, one)


def one_against_one(judging: Judging, one: Entry) -> bool:
    """As many copies have it as have the truth, at the same offsets, with records that can be read."""
    evidence, true = judging.evidence, judging.truth.by_base.get(one.base)
    if true is None or true.last != one.last or keys_of(one.data) is None:
        return False
    return len(evidence.holders(one)) >= len(evidence.holders(true))


def no_true_epoch(judging: Judging, one: Entry) -> bool:
    """No copy has the batch with its own leader epoch."""
    return not judging.evidence.holders(judging.truth.by_base[one.base])


def epoch_against_epoch(judging: Judging, one: Entry) -> bool:
    """As many copies have this epoch, it fits between its neighbours', and no checkpoint is as it was."""
    evidence, true = judging.evidence, judging.truth.by_base[one.base]
    if evidence.has_true_epochs or len(evidence.holders(one)) < len(evidence.holders(true)):
        return False
    at = [served.base for served in judging.result.served].index(one.base)
    epochs = [served.epoch for served in judging.result.served[max(0, at - 1) : at + 2]]
    return epochs == sorted(epochs)


def deleted(judging: Judging, one: Entry) -> bool:
    """Below the log start offset, or one that a copy has noted: DeleteRecords and retention are lawful."""
    starts = [start for start in judging.evidence.noted_starts if start <= judging.result.bounds[1]]
    return one.last < max([judging.truth.start, *starts])


def cleaned(judging: Judging, one: Entry) -> bool:
    """What the cleaner removed from one copy does not come back from another."""
    return judging.evidence.is_cleaned(one.base)


def rival_taken(judging: Judging, one: Entry) -> bool:
    """Another batch, in as many copies, was taken."""
    served = judging.served.get(one.base)
    return served is not None and one_against_one(judging, served)


def copy_not_trusted(judging: Judging, one: Entry) -> bool:
    """The copies that have it contradict a better one before it, which is said of them."""
    paths = (judging.roots[at] / judging.case.sound.name for at in judging.evidence.holders(one))
    limits = [judging.result.trusted.get(str(path)) for path in paths]
    return all(limit is not None and limit <= one.last for limit in limits)


def behind_a_false_end(judging: Judging, one: Entry) -> bool:
    """A recovery point after a clean shutdown says that the log ended before it."""
    return any(end <= one.last for end in judging.evidence.ends_noted(one))


def unknown_front(judging: Judging, one: Entry) -> bool:
    """In front of all that a name, a checkpoint or a batch shows: retention leaves the same."""
    first = judging.result.served[0].base if judging.result.served else judging.truth.end
    return one.base < first and all(start > one.last for start in judging.evidence.starts)


def unknown_end(judging: Judging, one: Entry) -> bool:
    """Behind all that a name, a checkpoint, an index or a batch shows."""
    known = [*judging.evidence.ends, *(served.base + 1 for served in judging.result.served)]
    return all(end <= one.base for end in known)


def false_epochs(judging: Judging, one: Entry) -> bool:
    """No copy has the checkpoint as it was, and batches or another checkpoint say something else."""
    return judging.evidence.are_epochs_false and not judging.evidence.has_true_epochs


FOREIGN: tuple[Rule, ...] = (changed_and_nobody_knows, one_against_one)
OTHER_EPOCH: tuple[Rule, ...] = (no_true_epoch, epoch_against_epoch)
HELD: tuple[Rule, ...] = (deleted, cleaned, rival_taken, copy_not_trusted, behind_a_false_end)
GONE: tuple[Rule, ...] = (deleted, cleaned, unknown_front, unknown_end)
EPOCH: tuple[Rule, ...] = (false_epochs,)
TOLD = (one_against_one, rival_taken, copy_not_trusted, behind_a_false_end)
"""With these the status must be 1; the others need no word."""
