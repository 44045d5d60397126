"""Go through cases: `python -m tests.invariant.run --seed 0 --first 0 --count 100 [--verb dump]`.

Every case is read by each verb that is asked for; what is wrong is printed with the command that repeats it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import numbered
from tests.invariant.cases import Case, make_case
from tests.invariant.judge import judge
from tests.invariant.truth import truth_of
from tests.invariant.verbs import VERBS, quiet_logs, verbs_for
from tests.numbered import Judge, Report
from tests.python import locked

PAIRS, SPENT, LAWFUL = "mutation and verb", "milliseconds", "lawful"


@contextmanager
def session(seed: int, verbs: Iterable[str] | None = None) -> Iterator[Judge]:
    """Judge cases by the verbs given or by those whose turn it is."""
    with numbered.folder("invariant-") as place, quiet_logs(), locked(place / "held.lock") as lock:

        def one(number: int, report: Report) -> None:
            case = make_case(seed, number)
            partition = case.directory.write(place / "log", lock)
            for verb in verbs or verbs_for(number):
                if case.directory.is_for_dump or not verb.startswith("dump"):
                    _read(case, verb, partition, report)

        yield numbered.each(one)


def _read(case: Case, verb: str, partition: Path, report: Report) -> None:
    started = time.perf_counter()
    try:
        answer = VERBS[verb](partition)
    except Exception as error:
        report.faults.append(f"{verb}: {type(error).__name__}: {error}\n    {case}")
        return
    finally:
        report.counts[SPENT][verb] += round(1000 * (time.perf_counter() - started))
    truth = truth_of(case)
    verdict = judge(truth, verb, answer)
    report.counts[LAWFUL] += verdict.lawful
    report.counts[PAIRS].update((kind, verb) for kind in case.kinds)
    report.faults += [f"{verb}: {fault}\n    {case}" for fault in verdict.faults]
    # The cleaner may leave an empty file and no other trace. A broker notes where it was; a copy without
    # that checkpoint looks like one that has lost the segment's bytes.
    is_tellable = case.directory.sound.first_dirty is None or truth.cleaned_end > 0
    if case.kinds == ["nothing"] and is_tellable and (answer.status or (answer.named and verb != "plan")):
        said = answer.named[0].text if answer.named else answer.words
        report.faults.append(
            f"{verb}: nothing is wrong, but status {answer.status}: {said[:300]}\n    {case}"
        )


def _main() -> int:
    parser = numbered.parser(__doc__)
    parser.add_argument("--verb", action="append", choices=list(VERBS))
    options = parser.parse_args()
    verbs = options.verb or (list(VERBS) if options.count == 1 else None)
    return numbered.told(numbered.go_through(session(options.seed, verbs), numbered.numbers_of(options)))


if __name__ == "__main__":
    sys.exit(_main())
