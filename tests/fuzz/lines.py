"""Which lines of some modules have run: by Python's own tracing, and only as long as there is news to expect.

Strategy: a function of which every line has run is not traced any more, so that what goes on for long costs
little. Counted are lines of functions; what stands outside of them runs when a module is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

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
