"""The parts of `make test-long`, of tests/parts.toml: print them, or run some.

Without an argument all are printed, with what they cover and how long they take; `K/N` runs one of them,
`all` runs each. A part is tests in their full form, run by `tools/test.py --long`; one has `tools/lowest.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "parts.toml"
LOWEST = "tools/lowest.py"
VARIABLE = "KAFKA_SEGMENTS_PART"
"""It has the number of the part that runs; `tests/conftest.py` leaves out all other tests."""


@dataclass(frozen=True)
class Share:
    """A module, or every `of`-th of its tests, from the `at`-th on (from 1)."""

    module: str
    at: int
    of: int
    seconds: int

    def takes(self, tests: Iterable[str]) -> set[str]:
        """Those of all tests of a run that are in this share."""
        return {*sorted(one for one in tests if one.split("::")[0] == self.module)[self.at - 1 :: self.of]}


@dataclass(frozen=True)
class Part:
    """Modules that are run together; `seconds` are of two idle cores."""

    title: str
    shares: tuple[Share, ...]

    @property
    def seconds(self) -> int:
        """How long it takes."""
        return sum(share.seconds for share in self.shares)

    def takes(self, tests: Iterable[str]) -> set[str]:
        """Those of all tests of a run that are in this part."""
        known = [*tests]
        return {test for share in self.shares for test in share.takes(known)}


def parts() -> list[Part]:
    """All parts, in the order of the table."""
    found = []
    for title, lines in tomllib.loads(TABLE.read_text(encoding="utf-8")).items():
        shares = []
        for line, seconds in lines.items():
            module, _, share = line.partition(" ")
            at, of = map(int, (share or "1/1").split("/"))
            shares.append(Share(module, at, of, seconds))
        found.append(Part(title, tuple(shares)))
    return found


def describe() -> None:
    """Print the parts."""
    every = parts()
    print("make test-long PART=K/N runs a part, PART=all runs all. Minutes of two idle cores:\n")
    for number, part in enumerate(every, 1):
        print(f"{number:3}/{len(every)}  {part.seconds / 60:4.0f} min  {part.title}")
        for share in part.shares:
            of = f" ({share.at}/{share.of})" if share.of > 1 else ""
            print(f"{share.seconds / 60:23.1f}  {share.module}{of}")
    print(f"\n{sum(part.seconds for part in every) / 60:12.0f} min  all")


def run(number: int) -> int:
    """Run a part; returns the exit status."""
    part = parts()[number - 1]
    print(f"part {number}/{len(parts())}: {part.title}, some {part.seconds / 60:.0f} minutes", flush=True)
    modules = sorted({share.module for share in part.shares} - {LOWEST})
    commands = [["tools/test.py", "--long", *modules]] if modules else []
    if any(share.module == LOWEST for share in part.shares):
        commands.append([LOWEST])
    variables = {**os.environ, VARIABLE: str(number)}
    return max(
        abs(subprocess.run([sys.executable, *command], cwd=ROOT, env=variables, check=False).returncode)
        for command in commands
    )


def main(arguments: list[str]) -> int:
    """Print the parts, or run those that are asked for."""
    if not arguments:
        describe()
        return 0
    names = [f"{number}/{len(parts())}" for number in range(1, len(parts()) + 1)]
    if arguments[0] not in (*names, "all"):
        raise SystemExit(f"no part {arguments[0]}: there are {names[0]} to {names[-1]}, and all")
    asked = names if arguments[0] == "all" else arguments[:1]
    failed = [name for name in asked if run(names.index(name) + 1)]
    print(f"failed: {', '.join(failed)}" if failed else f"passed: {', '.join(asked)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
