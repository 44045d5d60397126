"""Go through cases: `python -m tests.invariant.run --seed 0 --first 0 --count 100 [--verb dump]`.

Every case is read by each verb that is asked for; what is wrong is printed with the command that repeats it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.invariant.cases import Case, make_case
from tests.invariant.directory import Holder
from tests.invariant.judge import judge
from tests.invariant.mutations import KINDS
from tests.invariant.truth import truth_of
from tests.invariant.verbs import VERBS, quiet_logs, verbs_for

SHARED_MEMORY = Path("/dev/shm")


@dataclass
class Report:
    """What a run has seen."""

    faults: list[str] = field(default_factory=list)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    lawful: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    num_cases: int = 0

    def add(self, other: Report) -> None:
        """Take in what another process has seen."""
        self.faults += other.faults
        self.pairs += other.pairs
        self.lawful += other.lawful
        self.seconds += other.seconds
        self.num_cases += other.num_cases

    def table(self) -> str:
        """How often each verb read each kind of mutation."""
        verbs = list(VERBS)
        lines = ["kind".ljust(14) + "".join(verb.rjust(18) for verb in verbs)]
        for kind in KINDS:
            counts = (str(self.pairs[kind, verb]).rjust(18) for verb in verbs)
            lines.append(kind.ljust(14) + "".join(counts))
        lines.append("lawful: " + ", ".join(f"{name} {count}" for name, count in sorted(self.lawful.items())))
        per_case = {
            name: f"{1000 * spent / max(1, self.num_cases):.1f}" for name, spent in self.seconds.items()
        }
        lines.append("ms a case: " + ", ".join(f"{name} {spent}" for name, spent in per_case.items()))
        return "\n".join(lines)


def go_through(seed: int, numbers: Iterable[int], verbs: Iterable[str] | None = None) -> Report:
    """Judge the cases of some numbers, by the verbs given or by those whose turn it is."""
    report = Report()
    base = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="invariant-", dir=base)))
        stack.enter_context(quiet_logs())
        holder = stack.enter_context(Holder(folder))
        for number in numbers:
            _one(make_case(seed, number), folder / "log", holder, report, verbs)
    return report


def _one(case: Case, root: Path, holder: Holder, report: Report, verbs: Iterable[str] | None) -> None:
    partition = case.directory.write(root, holder)
    truth = truth_of(case)
    report.num_cases += 1
    for verb in verbs or verbs_for(case.number):
        if verb.startswith("dump") and not case.directory.is_for_dump:
            continue
        started = time.perf_counter()
        try:
            answer = VERBS[verb](partition)
        except Exception as error:
            report.faults.append(f"{verb}: {type(error).__name__}: {error}\n    {case}")
            continue
        finally:
            report.seconds[verb] += time.perf_counter() - started
        verdict = judge(truth, verb, answer)
        report.lawful += verdict.lawful
        report.pairs.update((kind, verb) for kind in case.kinds)
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--verb", action="append", choices=list(VERBS))
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.count)
    verbs = arguments.verb or (list(VERBS) if arguments.count == 1 else None)
    report = go_through(arguments.seed, numbers, verbs)
    print(*report.faults, sep="\n")
    print(report.table())
    print(f"{report.num_cases} cases, {len(report.faults)} faults")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(_main())
