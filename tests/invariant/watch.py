"""What this process does to files: noted, refused, or made to fail, by an audit hook (PEP 578).

Libraries in C open files without an audit event: what they change is found by comparing the files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ATTRIBUTES = (
    "os.chflags",
    "os.chmod",
    "os.chown",
    "os.removexattr",
    "os.setxattr",
    "os.truncate",
    "os.utime",
)
_NAMES = ("os.link", "os.mkdir", "os.mkfifo", "os.mknod", "os.remove", "os.rename", "os.rmdir", "os.symlink")
_CHANGES = frozenset((*_ATTRIBUTES, *_NAMES))
_LOCKS = frozenset(["fcntl.flock", "fcntl.lockf"])
Do = Callable[[str, str], None]
"""Called with the event and the path of each change."""
_watching: list[tuple[str, Do]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching or not (event == "open" or event in _CHANGES or event in _LOCKS):
        return
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITES):
        return
    given = arguments[:2] if event in ("os.rename", "os.link", "os.symlink") else arguments[:1]
    for path in map(_path_of, given):
        for folder, do in list(_watching):
            if path == folder or path.startswith(f"{folder}/"):
                do(event, path)


def _path_of(given: Any) -> str:
    """The real path of what is changed; its last part need not exist."""
    if isinstance(given, int):
        try:
            return os.readlink(f"/proc/self/fd/{given}")
        except OSError:
            return ""
    try:
        path = os.fsdecode(given)
    except TypeError:
        return ""
    parent, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(parent), name)


sys.addaudithook(_hook)


@contextmanager
def watching(folder: Path, do: Do) -> Iterator[None]:
    """Call a function before each change at or below a folder; what it raises is raised there."""
    entry = (os.path.realpath(folder), do)
    _watching.append(entry)
    try:
        yield
    finally:
        _watching.remove(entry)
