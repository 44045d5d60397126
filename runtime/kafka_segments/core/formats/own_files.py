"""Files that come with the package: in its directory, in a clone beside it, or in an archive (zipapp)."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

if sys.version_info >= (3, 12):
    from importlib.resources.abc import Traversable
else:
    from importlib.abc import Traversable

__all__ = ["Traversable", "own_folder"]


def own_folder(name: str, in_clone: str, *members: str) -> Traversable | None:
    """Return the folder of some files; None if there is none: the installation is incomplete.

    Args:
        name: of the folder in the package, as a wheel has it.
        in_clone: path of the folder in a clone or an editable install, which use the package where it is.
        members: files that it must have.
    """
    package = files("kafka_segments")
    folders = [package / name]
    if isinstance(package, Path):
        folders.append(package.resolve().parents[1] / in_clone)
    return next((one for one in folders if all((one / member).is_file() for member in members)), None)
