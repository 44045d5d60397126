"""Run as a program: one job of the fuzzing, in a process of its own, for what is found may end the process.

It prints a line of JSON with its counts. Before each input its number is noted in a file, so that whoever
started the job can say which input it was if the process dies. An input that takes too long ends the job with
the traces of all threads; memory beyond the bound is refused by the system, and then a finding as well.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import mmap
import resource
import struct
import sys
import time
import tracemalloc
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tests import addresses, numbered, work
from tests.numbered import Report

MOST_SECONDS = 120
"""For some dozens of inputs, or a thousand of compiled kernels, on a machine that does other things too."""
SLOWEST = 2.0
"""Seconds of the CPU that one input may take, compiling left out."""
MOST_GROWTH = 256 << 20
"""Bytes by which a process may grow after its first inputs: decompressed payloads (a MiB here), arenas."""
MOST_TRACED = 24 << 20
"""Bytes that Python objects of one input may take at a time in the slow way."""
ADDRESSES = 3 << 30
"""Bytes of addresses that a process may have beyond what it starts with: zstd reserves windows of 128 MiB."""
WARM_UP = 300
CHUNK = 1000
WAYS = {"verified": (True, True), "unverified": (False, True), "headers": (False, False)}
"""What the scanner is made to check: checksums, and that all of an entry is there."""
NUMBER = struct.Struct("=qq")


@dataclass
class Result(Report):
    """What a job tells; tables of its counts: inputs, outcomes, sealed, compared."""

    slowest: float = 0.0
    begin: int = 0
    grown: int = 0
    peak: int = 0
    traced: int = 0
    lines_of: dict[str, Any] = field(default_factory=dict)


class Progress:
    """A file that tells which input is under way."""

    def __init__(self, path: str | None) -> None:
        self._file = open(path, "r+b") if path else None  # noqa: SIM115 (kept open as long as the process)
        self._memory = mmap.mmap(self._file.fileno(), 4096) if self._file else None

    def note(self, target: int, number: int) -> None:
        """About to go through an input."""
        if self._memory is not None:
            NUMBER.pack_into(self._memory, 0, target, number)

    def words(self) -> Any:
        """Words in the file, for the state of `storm`; None if there is no file."""
        import numpy as np

        return None if self._memory is None else np.frombuffer(self._memory, np.int64, 64, offset=1024)


def peak() -> int:
    """The most memory that this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def settle(result: Result) -> None:
    """All is imported and the memory taken that is used again and again: from here on there are bounds."""
    if result.begin == 0:
        result.begin = peak()
        addresses.bound(ADDRESSES)


def small_windows() -> None:
    """Have windows and pieces end among the entries of inputs, and everything fused."""
    from kafka_segments.core.segment.columnar import decoding, fused_scan, reader
    from kafka_segments.core.segment.scan import scanner

    replace(scanner, _LEN_FIRST_WINDOW=100, _LEN_WINDOW=400, _LEN_MEMORY_WINDOW=400)
    replace(scanner, LEN_RUN_WINDOW=300, LEN_RUN=900)  # of files, which compiled code reads by itself
    replace(reader, _COMPILED_FROM=0)
    replace(fused_scan, LEN_PIECE=60)
    small = decoding.Capacity(num_rows=7, num_bytes=300, num_items=5)
    decoding.RecordDecoder.__init__.__kwdefaults__["capacity"] = small


def slow_cpu() -> None:
    """Be a CPU without instructions for checksums, for which they are not computed by compiled scanners."""
    from kafka_segments.core.segment.scan import scanner

    replace(scanner, has_crc32c=lambda: False)


def replace(module: ModuleType, **values: object) -> None:
    """Replace what a module has under some names; one that it no longer has would have no effect.

    Raises:
        AttributeError: it has no such name.
    """
    for name, value in values.items():
        getattr(module, name)
        setattr(module, name, value)


def run_kernels(options: argparse.Namespace, progress: Progress, result: Result) -> None:
    """Inputs for the compiled scanner and decoders, as many with each way to scan."""
    from tests.fuzz import kernels, storm

    for way, (check_crc, whole) in WAYS.items():
        if options.ways and way not in options.ways:
            continue
        count = options.count * options.factor
        blow = kernels.Storm(options.seed, check_crc=check_crc, whole=whole, state=progress.words())
        _blow(blow, range(options.first, options.first + count), result)
        name = f"kernels:{way}"
        result.counts["inputs"][name] += count
        result.counts["outcomes"].update({f"{name} {word}": number for word, number in blow.counts().items()})
        result.counts["sealed"][name] += int(blow.state[storm.NUM_SOUND if check_crc else storm.NUM_SEALED])


def _blow(blow: Any, numbers: range, result: Result) -> None:
    """Go through inputs by the thousand; the last of each is read in both ways."""
    from tests.fuzz import checks, plain, storm

    for first in range(numbers.start, numbers.stop, CHUNK):
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        started = time.process_time()
        end = min(first + CHUNK, numbers.stop)
        blow.run(first, end)
        plain.raise_pending()
        result.slowest = max(result.slowest, (time.process_time() - started) / (end - first))
        assert blow.state[storm.WRONG] == 0, f"invariant {blow.state[storm.WRONG]} is broken"
        checks.compare(blow.last_input)
    faulthandler.cancel_dump_traceback_later()


def run_target(at: int, name: str, options: argparse.Namespace, progress: Progress, result: Result) -> None:
    """Inputs for another target, one after the other."""
    from tests.fuzz import inputs, plain, targets

    target = targets.all_targets()[name]
    for number in numbered.numbers_of(options):
        if number % 64 == 0:
            faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        progress.note(at, number)
        dice = inputs.dice_of(options.seed, number)
        is_warm = number >= options.first + WARM_UP
        if is_warm:
            settle(result)
        started = time.process_time()
        outcome, is_sealed = (
            traced(target, dice, result) if is_warm and options.trace_memory else target.go(dice)
        )
        if is_warm:
            took = time.process_time() - started
            if took > SLOWEST:  # it may have been the first for which something was compiled
                started = time.process_time()
                target.go(inputs.dice_of(options.seed, number))
                took = min(took, time.process_time() - started) / work.slowness()
            result.slowest = max(result.slowest, took)
        plain.raise_pending()
        result.counts["outcomes"][f"{name} {outcome}"] += 1
        result.counts["sealed"][name] += bool(is_sealed)
    faulthandler.cancel_dump_traceback_later()
    result.counts["inputs"][name] += options.count


def run_targets(options: argparse.Namespace, progress: Progress) -> Result:
    """All that the job is to go through; memory counts from when the first of it is done."""
    result = Result()
    for at, name in enumerate(options.targets):
        if name == "kernels":
            run_kernels(options, progress, result)
        else:
            run_target(at, name, options, progress, result)
        settle(result)
    result.grown = peak() - result.begin
    return result


def traced(target: Any, dice: Any, result: Result) -> tuple[str, bool | None]:
    """One input, with the memory bounded that its objects take at a time."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    found: tuple[str, bool | None] = target.go(dice)
    held = tracemalloc.get_traced_memory()[1] - before
    assert held <= MOST_TRACED, f"{held} bytes of objects"
    result.traced = max(result.traced, held)
    return found


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The job."""
    parser = numbered.parser(__doc__)
    parser.set_defaults(seed=1, count=1000)
    parser.add_argument("targets", nargs="+", help="`kernels`, or names of targets")
    parser.add_argument("--factor", type=int, default=1, help="times as many of `kernels`")
    parser.add_argument("--ways", nargs="+", choices=WAYS, help="ways to scan; else all, as many of each")
    parser.add_argument("--progress", help="a file of 4096 bytes to note each input's number in")
    parser.add_argument("--plain", action="store_true", help="kernels as plain Python")
    parser.add_argument("--small-windows", action="store_true")
    parser.add_argument("--slow-cpu", action="store_true", help="no instructions for checksums")
    parser.add_argument("--trace-memory", action="store_true", help="bound what each input's objects take")
    parser.add_argument("--lines", action="store_true", help="count the lines of decoders that run")
    parser.add_argument("--patience", type=int, help="most inputs in a row that reach no new line")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Do the job."""
    logging.getLogger("kafka_segments").setLevel(logging.CRITICAL)  # it says what is wrong with each file
    options = parsed(arguments)
    faulthandler.enable()
    if options.plain or options.lines:
        from tests.fuzz import plain

        plain.install()
    if options.small_windows:
        small_windows()
    if options.slow_cpu:
        slow_cpu()
    if options.trace_memory:
        tracemalloc.start()
    started = time.perf_counter()
    progress = Progress(options.progress)
    from tests.fuzz import checks

    if options.lines:
        from tests.fuzz import reached

        result = reached.run(options, progress)
    else:
        result = run_targets(options, progress)
    result.counts["compared"] = checks.COMPARED
    result.seconds, result.peak = time.perf_counter() - started, peak()
    print(json.dumps(vars(result)))
    if result.grown > MOST_GROWTH:
        print(f"{result.grown} bytes more than at the beginning", file=sys.stderr)
        return 1
    if result.slowest > SLOWEST and not options.lines:
        print(f"an input took {result.slowest} s", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
