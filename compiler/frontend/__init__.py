"""Front end: `.ksy` files to the typed representation in `model`.

It takes a part of Kaitai's language (docs/own-formats.md). Anything else is a `SchemaError` that names file,
YAML path, line and column, so that no target ever has to guess. A test compares what is resolved here with
what the Kaitai compiler itself resolves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from compiler.errors import Problems, SchemaError
from compiler.frontend.build import Builder
from compiler.frontend.declare import Declarations, DeclaredSchema, declare_schema
from compiler.frontend.extensions import codec_content
from compiler.frontend.model import Model
from compiler.frontend.resolve import Resolver
from compiler.frontend.yaml_tree import Node

__all__ = ["load", "load_sound"]


def load(paths: Sequence[Path], folders: Iterable[Path] = ()) -> Model:
    """Read schemas and what they import.

    Args:
        paths: `.ksy` files. An import means one of these, else one in the folder of the file that imports it,
            else one in `folders`.
        folders: where else to look for imports.

    Raises:
        SchemaError: a schema is wrong, or uses what is not supported; `more` has all else that is.
    """
    problems = Problems()
    model = load_sound(paths, folders, problems)
    problems.check()
    return model


def load_sound(paths: Sequence[Path], folders: Iterable[Path], problems: Problems) -> Model:
    """Those of the schemas, and of what they import, in which nothing is wrong; see `load`.

    Args:
        paths: `.ksy` files.
        folders: where else to look for imports.
        problems: what is wrong in the others, all of it.
    """
    files = {path.stem: path for path in paths}
    if len(files) < len(paths):
        raise SchemaError("two schemas have the same name", schema=str(paths[0].parent))
    try:
        schemas = _Collector(files, tuple(folders), problems).collect()
        for declared in schemas.values():
            declared.problems = problems
        builder = Builder(Resolver(Declarations(schemas)), problems)
        # First, so that a misspelt key is reported before what its absence makes of another line.
        for declared in schemas.values():
            builder.check_keys(declared)
        built = {stem: builder.schema(declared) for stem, declared in schemas.items()}
    except RecursionError:
        raise SchemaError("nested too deeply", schema=", ".join(path.name for path in paths)) from None
    return Model({stem: built[stem] for stem in sound_stems(schemas, problems)})


def sound_stems(schemas: dict[str, DeclaredSchema], problems: Problems) -> list[str]:
    """The schemas without a problem, whose imports have none either; for the others there is one."""
    sound: list[str] = []
    for stem, declared in schemas.items():
        for name, node in declared.imports.items():
            if name not in sound:
                problems.add(node.error(f"it imports {name}, which is left out"))
        if stem not in problems.stems():
            sound.append(stem)
    return sound


class _Collector:
    """Reader of files, each after those that it imports."""

    def __init__(self, files: dict[str, Path], folders: tuple[Path, ...], problems: Problems) -> None:
        self._files = files
        self._folders = folders
        self._problems = problems
        self._open: list[str] = []
        self._done: dict[str, DeclaredSchema] = {}
        self._inside: dict[str, Path] = {}

    def collect(self) -> dict[str, DeclaredSchema]:
        """All schemas in dependency order."""
        for path in self._files.values():
            with self._problems.noted():
                self._visit(path)
        # What is only named as the content of compressed bytes may import what names it: it comes last.
        while self._inside:
            self._visit(self._inside.popitem()[1])
        return self._done

    def _visit(self, path: Path) -> None:
        if path.stem in self._done:
            return
        declared = declare_schema(path)
        for error in declared.problems.found:
            self._problems.add(error)
        self._open.append(path.stem)
        for name, node in declared.imports.items():
            with self._problems.noted():
                self._import(name, node, path.parent)
        self._open.pop()
        self._done[path.stem] = declared
        self._note_contents(declared, path.parent)

    def _import(self, name: str, node: Node, beside: Path) -> None:
        if name in self._open:
            circle = " -> ".join([*self._open[self._open.index(name) :], name])
            raise node.error(f"imports go in a circle: {circle}")
        found = self._find(node.text(), beside)
        if found is None:
            raise node.error(f"no schema {name}.ksy beside this one or in the folders of imports")
        self._visit(found)

    def _find(self, name: str, beside: Path) -> Path | None:
        """The file of an import; an absolute one is below the nearest folder above that has such a file."""
        if name in self._files:
            return self._files[name]
        above = beside.resolve()
        folders = (above, *above.parents) if name.startswith("/") else (beside, *self._folders)
        candidates = (folder / f"{name.lstrip('/')}.ksy" for folder in folders)
        return next((path for path in candidates if path.is_file()), None)

    def _note_contents(self, declared: DeclaredSchema, beside: Path) -> None:
        members: list[Node] = []
        for each in declared.root.walk():
            members += [*each.fields.values(), *each.instances.values()]
        for name in filter(None, map(codec_content, members)):
            found = self._find(name, beside)
            if found is not None:
                self._inside[name] = found
