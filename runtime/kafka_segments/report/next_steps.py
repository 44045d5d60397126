"""What to type after a report: command lines for a shell."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from math import inf

from kafka_segments.core.formats.file_names import absolute_path

__all__ = ["MAX_DUMPS", "Step", "dump_steps", "next_steps", "shell_word"]

Step = tuple[str, str]
"""A command for a shell, and what it does."""
MAX_DUMPS = 3
"""Lost ranges of a partition that have a command."""


def next_steps(paths: Sequence[str], *, is_damaged: bool, is_live: bool) -> list[Step]:
    """Return what to type for all that was read.

    Args:
        paths: as they were given.
        is_damaged: something can be salvaged.
        is_live: a broker has some of it open.
    """
    sources = " ".join(shell_word(absolute_path(path)) for path in paths)
    verify = f"kafka-segments verify{' --live' * is_live} {sources}"
    steps = [(verify, "runs every check on every copy, and says whether a broker starts")]
    if is_damaged:
        why = "copies what is sound into a new directory; name copies of other brokers before it"
        steps.append((f"kafka-segments salvage {sources} salvaged", why))
    return steps


def dump_steps(path: str, lost: Sequence[tuple[int, float]]) -> list[Step]:
    """Return what to type to see what is around lost offsets of a directory or file, for the first ranges."""
    ranges = [f"{max(0, first - 1)}:{'' if end == inf else int(end) + 1}" for first, end in lost[:MAX_DUMPS]]
    why = ("shows the damage, with the record before and after it", "", "")
    lines = (f"kafka-segments dump --offsets {one} {shell_word(path)}" for one in ranges)
    return list(zip(lines, why, strict=False))


def shell_word(text: str) -> str:
    r"""Quote a word for a shell; one with unprintable characters as bash and zsh take it.

    Example:
        >>> print(shell_word("it's here"), shell_word("a\tb"))
        'it'"'"'s here' $'a\x09b'
    """
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(one: str) -> str:
    if one.isprintable() and one not in "\\'":
        return one
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(one))
