"""The schemas as files (`.ksy`), which `kafka-segments schemas` lists and exports.

Nothing is read by them at run time: that is the job of the classes and functions generated from them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.resources import files as files_of
from pathlib import Path

from kafka_segments.errors import ReadError
from kafka_segments_generated.catalog import SCHEMAS

if sys.version_info >= (3, 12):
    from importlib.resources.abc import Traversable
else:
    from importlib.abc import Traversable

__all__ = [
    "LICENSE",
    "SchemaFile",
    "Traversable",
    "list_schemas",
    "own_folder",
    "read_schema_files",
    "schema_folder",
]

LICENSE = "LICENSE"
"""The name of the file with the licence of the schemas (CC0)."""


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One schema.

    Attributes:
        name: also of the file, without `.ksy`.
        title: what it describes, in words.
        files: names, as patterns, of the files that it reads; empty for a part of other schemas.
        imports: names of the schemas that it uses.
        imported_by: names of the schemas that use it.
    """

    name: str
    title: str
    files: tuple[str, ...]
    imports: tuple[str, ...]
    imported_by: tuple[str, ...]


def list_schemas() -> list[SchemaFile]:
    """Return all schemas, by name."""
    users: dict[str, list[str]] = {name: [] for name in SCHEMAS}
    for name, (_, _, imports) in SCHEMAS.items():
        for imported in imports:
            users[imported].append(name)
    return [
        SchemaFile(name, title, files, imports, tuple(users[name]))
        for name, (title, files, imports) in SCHEMAS.items()
    ]


def own_folder(name: str, in_clone: str, *members: str) -> Traversable | None:
    """Return the folder of some files; None if there is none: the installation is incomplete.

    Args:
        name: of the folder in the package, as a wheel has it.
        in_clone: path of the folder in a clone or an editable install, which use the package where it is.
        members: files that it must have.
    """
    package = files_of("kafka_segments")
    folders = [package / name]
    if isinstance(package, Path):
        folders.append(package.resolve().parents[1] / in_clone)
    return next((one for one in folders if all((one / member).is_file() for member in members)), None)


def schema_folder() -> Traversable:
    """Return the folder of the schemas.

    Raises:
        ReadError: there is none: the installation is incomplete.
    """
    folder = own_folder("schemas", "schemas", *(f"{name}.ksy" for name in SCHEMAS))
    if folder is None:
        raise ReadError("the schemas are missing in this installation: install kafka-segments again")
    return folder


def read_schema_files() -> dict[str, bytes]:
    """Return the files of all schemas, and their licence, by name.

    Raises:
        ReadError: one of them is missing or cannot be read.
    """
    folder = schema_folder()
    names = [LICENSE, *(f"{name}.ksy" for name in SCHEMAS)]
    try:
        return {name: (folder / name).read_bytes() for name in names}
    except OSError as error:
        raise ReadError(f"a schema cannot be read: {error.strerror}", path=str(folder)) from error
