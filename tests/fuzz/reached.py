"""Which lines of the decoders fuzzing reaches, with kernels as plain Python, and which input is the first.

`Traced.go` is the feedback: it says how many lines an input was the first to reach. `grow` keeps such inputs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from tests.fuzz import inputs, kernels, plain, targets
from tests.fuzz.run import Progress, Result, slow_cpu, small_windows

import kafka_segments
from kafka_segments.core.native.keys import global_names
from kafka_segments_generated import columns

_IS_FUNCTION = 0x1  # CO_OPTIMIZED: not a module's code, and not a class's


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _lines_of(code: CodeType) -> set[int]:
    """The lines of a function's body; that of a nested function's `def` is the outer one's."""
    lines = {line for _start, _end, line in code.co_lines() if line is not None}
    is_one_line = len(lines) == 1
    return lines if is_one_line else lines - {code.co_firstlineno}


class Lines:
    """Traces this thread from `start` to `stop`, as often as one likes.

    Args:
        files: of the modules.
        counts: whether a function counts, by its file and qualified name; else all do.

    Attributes:
        num_seen: how many lines have run so far.
    """

    def __init__(self, files: list[Path], counts: Callable[[Path, str], bool] | None = None) -> None:
        self._all: dict[str, set[int]] = {}
        self._left: dict[tuple[str, int, str], set[int]] = {}
        # By identity: code of two modules may be equal.
        self._by_code: dict[int, Callable[..., Any] | None] = {}
        self._codes: list[CodeType] = []
        self._names = {str(file) for file in files}
        self.num_seen = 0
        for file in files:
            whole = compile(file.read_text(encoding="utf-8"), str(file), "exec")
            for code in _codes(whole):
                if code.co_flags & _IS_FUNCTION and (counts is None or counts(file, code.co_qualname)):
                    lines = _lines_of(code)
                    self._all.setdefault(str(file), set()).update(lines)
                    self._left.setdefault(self._key(code), set()).update(lines)
        self._seen: dict[str, set[int]] = {name: set() for name in self._all}

    def start(self) -> None:
        """Trace from here on."""
        sys.settrace(self._trace)

    def stop(self) -> None:
        """Trace no more."""
        sys.settrace(None)

    @property
    def num_all(self) -> int:
        """How many lines there are."""
        return sum(map(len, self._all.values()))

    def missed(self) -> dict[str, list[int]]:
        """By file, the lines that have not run."""
        found = {name: sorted(lines - self._seen[name]) for name, lines in self._all.items()}
        return {name: lines for name, lines in found.items() if lines}

    def counts(self) -> dict[str, tuple[int, int]]:
        """By file, how many lines have run, and how many there are."""
        return {name: (len(self._seen[name]), len(lines)) for name, lines in self._all.items()}

    @staticmethod
    def _key(code: CodeType) -> tuple[str, int, str]:
        return code.co_filename, code.co_firstlineno, code.co_qualname

    def _trace(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._names:
            return None
        if id(code) not in self._by_code:
            left = self._left.get(self._key(code))
            self._by_code[id(code)] = self._noting(code, left) if left else None
            self._codes.append(code)
        return self._by_code[id(code)]

    def _noting(self, code: CodeType, left: set[int]) -> Callable[..., Any]:
        seen = self._seen[code.co_filename]

        def note(frame: FrameType, event: str, _arg: Any) -> Any:
            line = frame.f_lineno
            if event == "line" and line in left:
                left.discard(line)
                if line not in seen:
                    seen.add(line)
                    self.num_seen += 1
                if not left:
                    self._by_code[id(code)] = None
            return note

        return note


HEAVY = ("unreadable", "partition", "verify", "salvage")
"""Targets of which an input takes a tenth of a second; those of others take a hundredth."""
RUNTIME = Path(kafka_segments.__file__).parent
COLUMNS = Path(columns.__file__).parent
DECODERS = (
    *(f"core/segment/{name}" for name in ("batch_records", "index_files", "legacy_messages")),
    *("log/transaction_outcomes", "log/tiers"),
    *(
        f"query/read/{name}"
        for name in ("segment_finder", "replica_comparison", "incomplete_tail", "batch_views")
    ),
)
"""Modules of the runtime that decode; also all of `codecs`, `formats` and the packages of `segment`."""

EXPORTS = ("schema_files", "exported_files")
"""Modules of `formats` that list the schemas as files, and decode nothing."""


def decoders() -> list[Path]:
    """The files whose lines are counted: generated decoders, and what decodes in the runtime."""
    # The scanners of the experimental segment are those of the segment, and one more.
    others = ("_", "kafka_log_segment_experimental")
    generated = [path for path in COLUMNS.glob("*.py") if not path.name.startswith(others)]
    folders = [
        path
        for name in ("codecs", "formats", "segment/columnar", "segment/scan", "segment/transactions")
        for path in (RUNTIME / "core" / name).glob("*.py")
    ]
    found = [*generated, *folders, *(RUNTIME / f"{name}.py" for name in DECODERS)]
    return sorted(path for path in found if path.stem not in EXPORTS)


def is_decoder(file: Path, name: str) -> bool:
    """Whether a function decodes; generated modules, codecs and `formats` have encoders too."""
    if file.parent == COLUMNS:
        return name.partition(".")[0] in _decoding(file.stem)
    word = name.rpartition(".")[2].lstrip("_")
    return file.stem not in ("building", "batch_values", "payload_building") and not word.startswith(
        ("compress", "check_level")
    )


@cache
def _decoding(stem: str) -> set[str]:
    """The functions of a generated module that scanners, decoders and readers call, themselves included."""
    module = import_module(f"{columns.__name__}.{stem}")
    functions = {name: value for name, value in vars(module).items() if isinstance(value, FunctionType)}
    found = {name for name in functions if name in ("scanner", "decoder") or name.startswith("read")}
    reached = [called for name in found for called in reachable(functions[name])]
    return {called.__name__ for called in reached if called.__module__ == module.__name__}


def reachable(function: FunctionType, seen: set[FunctionType] | None = None) -> Iterator[FunctionType]:
    """The function and all that it may call, each once."""
    seen = set() if seen is None else seen
    if function in seen:
        return
    seen.add(function)
    yield function
    for name in global_names(function.__code__):
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType):
            yield from reachable(called, seen)


class Traced:
    """Runs targets with lines counted."""

    def __init__(self) -> None:
        self.lines = Lines(decoders(), is_decoder)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count lines meanwhile."""
        self.lines.start()
        try:
            yield
        finally:
            self.lines.stop()

    def go(self, target: targets.Target, dice: Any) -> tuple[str, int]:
        """What came of an input, and how many lines ran for the first time."""
        before = self.lines.num_seen
        with self.counting():
            outcome = target.go(dice)[0]
        plain.raise_pending()
        return outcome, self.lines.num_seen - before


def run(options: argparse.Namespace, progress: Progress) -> Result:
    """The inputs of a job with lines counted: in large windows, in small ones, and on a slow CPU."""
    result, traced = Result(), Traced()
    with traced.counting():
        names = [*targets.all_targets()] if options.targets == ["all"] else options.targets
        for check_crc, whole in ((True, True), (False, True), (False, False)):
            storm = kernels.Storm(options.seed, check_crc=check_crc, whole=whole)
            storm.run(options.first, options.first + 8 * options.count)
            result.counts["inputs"]["kernels"] += 8 * options.count
    plain.raise_pending()
    third = -(-options.count // 3)
    for at, prepare in enumerate((None, small_windows, slow_cpu)):
        if prepare is not None:
            prepare()
        numbers = range(options.first + at * third, options.first + (at + 1) * third)
        for place, name in enumerate(names):
            in_vain, patience = 0, options.patience and options.patience // (3 if name in HEAVY else 1)
            for number in numbers:
                progress.note(place, number)
                outcome, news = traced.go(targets.all_targets()[name], inputs.dice_of(options.seed, number))
                result.counts["outcomes"][f"{name} {outcome}"] += 1
                result.counts["inputs"][name] += 1
                in_vain = 0 if news else in_vain + 1
                if in_vain == patience:
                    break
    result.lines_of = {"missed": shortened(traced.lines.missed()), "counts": shortened(traced.lines.counts())}
    return result


def shortened(found: dict[str, Any]) -> dict[str, Any]:
    """Paths from the packages on."""
    return {"/".join(Path(name).parts[-3:]): value for name, value in found.items()}
