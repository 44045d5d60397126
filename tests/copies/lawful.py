"""What the judge lets pass: rules on a batch, with their reasons, where copies no longer show the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tests.made.sound_batches import Entry, has_other_offsets, keys_of

if TYPE_CHECKING:
    from tests.copies.judge import Judging

Rule = Callable[["Judging", Entry], bool]


HEADER = "its records are not as its header says"
RIVAL = "a copy has the truth"
ELSEWHERE = "a copy has the same at its place"
INDEX = "an index names other offsets"


def trusted(judging: Judging, true: Entry) -> set[int]:
    """The copies that have a true batch, and are trusted up to there: of others it is said why not."""
    name, limits = judging.case.sound.name, judging.result.trusted
    found = {at: limits.get(str(judging.roots[at] / name)) for at in judging.evidence.holders(true)}
    return {at for at, limit in found.items() if limit is None or limit > true.base}


def contradiction(judging: Judging, one: Entry) -> str:
    """What that is true says that a batch cannot have been there; empty if nothing does."""
    evidence, truth = judging.evidence, judging.truth
    same = [true for true in truth.by_content.get(one.content, ()) if true.base != one.base]
    reasons = {
        RIVAL: any(trusted(judging, true) for true in evidence.rivals(one)),
        ELSEWHERE: any(trusted(judging, true) for true in same),
        HEADER: keys_of(one.data) is None,
        "a segment begins within it": any(one.base < base <= one.last for base in evidence.true_names),
        "the log ends below it by the recovery point": one.last >= truth.end in evidence.ends_noted(one)
        and not any(before.last + 1 == one.base for before in judging.result.served),
        INDEX: any(one.base <= last < one.last for last in evidence.indexed)
        or any(true.last in evidence.indexed for true in same),
    }
    return "; ".join(words for words, is_so in reasons.items() if is_so)


def changed_and_nobody_knows(judging: Judging, one: Entry) -> bool:
    """No copy has the truth, no neighbour, name, index or recovery point contradicts, and the records can be
    read as the header says: a batch whose checksum was made right looks like this.
    """
    return not contradiction(judging, one)


def one_against_one(judging: Judging, one: Entry) -> bool:
    """As many copies have it as have the truth, from the same offset on or behind another such batch, and its
    records can be read.
    """
    rivals = [len(trusted(judging, true)) for true in judging.evidence.rivals(one)]
    begins = {*judging.truth.by_base, *(before.last + 1 for before in judging.passed)}
    is_in_place = one.base in begins and one.content not in judging.truth.by_content
    is_readable = is_in_place and keys_of(one.data) is not None
    return is_readable and rivals != [] and len(judging.evidence.holders(one)) >= max(rivals)


def as_good_a_place(judging: Judging, one: Entry) -> bool:
    """A batch with another base offset, which no checksum covers: it joins as much as the true batch does, in
    as many copies, so nothing shows which of the two was moved.
    """
    evidence, same = judging.evidence, judging.truth.by_content.get(one.content, ())
    others = [*evidence.rivals(one), *(true for true in same if evidence.holders(true))]
    is_known = bool(set(contradiction(judging, one).split("; ")) - {RIVAL, ELSEWHERE})
    return not is_known and all(
        same
        and evidence.num_joins(one) >= evidence.num_joins(true)
        and len(evidence.holders(one)) >= len(trusted(judging, true))
        for true in others
    )


def no_true_epoch(judging: Judging, one: Entry) -> bool:
    """No copy that is trusted has the batch with its own leader epoch."""
    return not trusted(judging, judging.truth.by_base[one.base])


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
    rivals = (found for found in judging.result.served if found.base <= one.last and one.base <= found.last)
    return any(one_against_one(judging, found) for found in rivals)


def copy_not_trusted(judging: Judging, one: Entry) -> bool:
    """The copies that have it contradict a better one before it, which is said of them."""
    return not trusted(judging, one)


def behind_a_false_end(judging: Judging, one: Entry) -> bool:
    """A recovery point after a clean shutdown says that the log ended before it."""
    return any(end <= one.last for end in judging.evidence.ends_noted(one))


def unknown_front(judging: Judging, one: Entry) -> bool:
    """In front of all that a name, a checkpoint or a batch shows: retention leaves the same."""
    first = judging.result.served[0].base if judging.result.served else judging.truth.end
    return one.base < first and all(start > one.last for start in judging.evidence.starts)


def looks_cleaned(judging: Judging, one: Entry) -> bool:
    """No copy has a cleaner-offset-checkpoint, and no index names it: the cleaner leaves the same hole."""
    evidence, served = judging.evidence, judging.result.served
    is_inside = any(found.base < one.base for found in served) and any(
        found.base > one.base for found in served
    )
    return is_inside and not evidence.is_never_cleaned and one.last not in evidence.indexed


def in_open_damage(judging: Judging, one: Entry) -> bool:
    """It is said that offsets from one below it on are lost in damaged bytes, behind which nothing stands."""
    is_last = all(found.base < one.base for found in judging.result.served)
    return is_last and any(first <= one.base for first in judging.result.open_from)


def unknown_end(judging: Judging, one: Entry) -> bool:
    """Behind all that a name, a checkpoint, an index or a batch shows."""
    known = [*judging.evidence.ends, *(served.base + 1 for served in judging.result.served)]
    return all(end <= one.base for end in known)


def false_epochs(judging: Judging, one: Entry) -> bool:
    """No copy has the checkpoint as it was, and batches or another checkpoint say something else."""
    is_lower = any(
        found.base > one.base and found.epoch < one.epoch and found.content not in judging.truth.by_content
        for found in judging.result.served
    )
    return (judging.evidence.are_epochs_false or is_lower) and not judging.evidence.has_true_epochs


def only_an_index_knows(judging: Judging, one: Entry) -> bool:
    """Limit: `salvage` asks an index whether offsets were lost, and not which batch stood at a position."""
    return contradiction(judging, one) == INDEX


def epoch_is_told(judging: Judging, one: Entry) -> bool:
    """Limit: of several damaged copies the one with another leader epoch was taken, which is said."""
    return True


def put_aside(judging: Judging, one: Entry) -> bool:
    """Limit: something contradicts what stands beside it, and it is in the quarantine with that reason."""
    return True


def other_offsets(judging: Judging, one: Entry) -> bool:
    """Limit: in its place, with records at other offsets than its header has, as some clients wrote them."""
    return one.base in judging.truth.by_base and has_other_offsets(one.data)


def shifted_alike(judging: Judging, one: Entry) -> bool:
    """Limit: batches in a row that were moved by the same distance confirm each other."""
    places = judging.truth.by_content.get(one.content, ())
    distances = {one.base - place.base for place in places}
    return any(
        found.base - place.base in distances
        for entries in judging.evidence.entries
        for found in entries
        for place in judging.truth.by_content.get(found.content, ())
        if found.content != one.content
    )


def several_damages(judging: Judging, one: Entry) -> bool:
    """Limit: three or more things were done, after which other evidence speaks for it, if falsely."""
    return sum(map(len, judging.case.done)) > 2


def another_checkpoint(judging: Judging, one: Entry) -> bool:
    """Limit: the checkpoint of the copy that is trusted most is another, or one batch stands against it."""
    is_single = sum(served.epoch == one.epoch for served in judging.result.served) == 1
    return is_single or judging.evidence.are_epochs_false


FOREIGN: tuple[Rule, ...] = (
    changed_and_nobody_knows,
    one_against_one,
    as_good_a_place,
    only_an_index_knows,
    other_offsets,
    shifted_alike,
    several_damages,
)
OTHER_EPOCH: tuple[Rule, ...] = (no_true_epoch, epoch_against_epoch, epoch_is_told)
HELD: tuple[Rule, ...] = (deleted, cleaned, rival_taken, copy_not_trusted, behind_a_false_end, put_aside)
GONE: tuple[Rule, ...] = (
    deleted,
    cleaned,
    unknown_front,
    unknown_end,
    looks_cleaned,
    in_open_damage,
)
EPOCH: tuple[Rule, ...] = (false_epochs, another_checkpoint)
LIMITS: dict[Rule, float] = {
    only_an_index_knows: 0.03,
    other_offsets: 0.02,
    shifted_alike: 0.03,
    several_damages: 0.03,
    epoch_is_told: 0.02,
    put_aside: 0.06,
    another_checkpoint: 0.12,
}
"""Where copies show the truth, and `salvage` does not see it: how often for each case, at most."""
TOLD = (one_against_one, as_good_a_place, rival_taken, copy_not_trusted, behind_a_false_end, in_open_damage)
TOLD += (shifted_alike, several_damages, epoch_is_told, put_aside)
"""With these the status must be 1; the others need no word."""


def overused(counts: Mapping[str, int], num_cases: int) -> list[str]:
    """The limits that more cases needed than may."""
    return [
        rule.__name__ for rule, share in LIMITS.items() if counts.get(rule.__name__, 0) > share * num_cases
    ]
