"""What is in folders: to compare two, or one before and after."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any


def files_in(folder: Path, *but: str) -> dict[str, bytes]:
    """The contents of a folder's files, at any depth, without those of some names."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in but)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def state_of(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Names, kinds, rights, sizes, times of the last change and contents of all files in a folder."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        size = 0 if path.is_dir() else status.st_size
        found[path.relative_to(folder).as_posix()] = (status.st_mode, size, status.st_mtime_ns, content)
    return found
