"""Go through cases: `python -m tests.copies.run --seed 0 --first 0 --count 100`.

What is wrong is printed with the command that repeats it. With `--keep DIR` the copies and the result of each
case stay there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import numbered
from tests.copies.cases import make_case
from tests.copies.judge import Judging
from tests.copies.result import salvaged, verified
from tests.invariant.verbs import quiet_logs
from tests.numbered import Judge, Report

MADE = "made"
DONE, LAWFUL, OF_CASES = "done", "lawful", "cases"
PLAIN = "judged without a rule"


@contextmanager
def session(seed: int, keep: Path | None = None) -> Iterator[Judge]:
    """Salvage copies, and judge what was made of them."""
    with numbered.folder("copies-") as place, quiet_logs():

        def one(number: int, report: Report) -> None:
            _one(seed, number, place if keep is None else keep / str(number), report)

        yield numbered.each(one)


def _one(seed: int, number: int, place: Path, report: Report) -> None:
    case = make_case(seed, number)
    roots = case.write(place)
    report.counts[DONE].update(kind for kinds in case.done for kind in kinds)
    try:
        result = salvaged(roots, place / MADE, case.sound.name)
        verdict = Judging(case, roots, result).run()
        if result.status == 0:
            found = verified(place / MADE)
            verdict.faults += [f"status 0, but verify finds {one}" for one in found[:1]]
    except Exception as error:
        report.faults.append(f"{type(error).__name__}: {error}\n    {case}")
        return
    report.counts[LAWFUL].update(verdict.lawful)
    report.counts[OF_CASES][PLAIN] += not verdict.lawful
    report.faults += [f"{fault}\n    {case}" for fault in verdict.faults]


def _main() -> int:
    parser = numbered.parser(__doc__)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    found = numbered.go_through(session(options.seed, options.keep), numbered.numbers_of(options))
    return numbered.told(found)


if __name__ == "__main__":
    sys.exit(_main())
