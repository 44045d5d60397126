"""Go through cases: `python -m tests.copies.run --seed 0 --first 0 --count 100`.

What is wrong is printed with the command that repeats it. With `--keep DIR` the copies and the result of each
case stay there.
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

from tests.copies.cases import Case, make_case
from tests.copies.judge import Judging
from tests.copies.result import Salvager, salvaged, verified
from tests.invariant.run import SHARED_MEMORY
from tests.invariant.verbs import quiet_logs

MADE = "made"


@dataclass
class Report:
    """What a run has seen."""

    faults: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    lawful: Counter[str] = field(default_factory=Counter)
    num_cases: int = 0
    num_plain: int = 0
    seconds: float = 0

    def table(self) -> str:
        """How often each operation was done, and each rule used."""
        lines = [
            "done: " + ", ".join(f"{name} {count}" for name, count in sorted(self.kinds.items())),
            "lawful: " + ", ".join(f"{name} {count}" for name, count in sorted(self.lawful.items())),
            f"{self.num_cases} cases, {self.num_plain} judged without a rule, "
            f"{1000 * self.seconds / max(1, self.num_cases):.1f} ms each, {len(self.faults)} faults",
        ]
        return "\n".join(lines)


def go_through(
    seed: int, numbers: Iterable[int], salvager: Salvager = salvaged, keep: Path | None = None
) -> Report:
    """Judge the cases of some numbers."""
    report = Report()
    started = time.process_time()
    with ExitStack() as stack:
        base = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="copies-", dir=base)))
        stack.enter_context(quiet_logs())
        for number in numbers:
            case = make_case(seed, number)
            _one(case, folder if keep is None else keep / str(number), report, salvager)
    report.seconds = time.process_time() - started
    return report


def _one(case: Case, folder: Path, report: Report, salvager: Salvager) -> None:
    roots = case.write(folder)
    report.num_cases += 1
    report.kinds.update(kind for kinds in case.done for kind in kinds)
    try:
        result = salvager(roots, folder / MADE, case.sound.name)
        verdict = Judging(case, roots, result).run()
        if result.status == 0 and salvager is salvaged:
            found = verified(folder / MADE)
            verdict.faults += [f"status 0, but verify finds {one}" for one in found[:1]]
    except Exception as error:
        report.faults.append(f"{type(error).__name__}: {error}\n    {case}")
        return
    report.lawful.update(verdict.lawful)
    report.num_plain += not verdict.lawful
    report.faults += [f"{fault}\n    {case}" for fault in verdict.faults]


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.count)
    report = go_through(arguments.seed, numbers, keep=arguments.keep)
    print(*report.faults, sep="\n")
    print(report.table())
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(_main())
