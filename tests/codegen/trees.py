"""Trees of parsed files, by the Python and by the JavaScript classes of one compiler, and how they compare.

A tree is what trees.js prints: objects become dictionaries from camelCase names to values (parameters, what
was read, and instances; what is absent has no key), enums their numbers, bytes ``{"hex": ...}`` or length and
SHA-256. An instance that cannot be had becomes ``{"error": ...}``.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import json
import math
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from compiler.toolchain import FOLDER, ensure_packages, find_toolchain
from kaitaistruct import KaitaiStream, KaitaiStruct, KaitaiStructError

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
# Beyond it JavaScript's numbers are rounded.
EXACT = 2**53
# A varlong is summed up of ten parts there, each sum rounded.
ROUNDING = 2.0**-50


@dataclass(frozen=True)
class Job:
    """A file to be parsed with a schema's class, and the class's parameters."""

    schema: str
    file: Path
    params: tuple[Any, ...] = field(default=())


def python_class(schema: str) -> type[KaitaiStruct]:
    """The generated class of a schema."""
    module = importlib.import_module(f"kafka_segments_generated.kaitai.{schema}")
    name = "".join(part.capitalize() for part in schema.split("_"))
    found: type[KaitaiStruct] = getattr(module, name)
    return found


def python_tree(job: Job) -> Any:
    """The tree of a file by the Python classes."""
    try:
        with job.file.open("rb") as stream:
            return _tree(python_class(job.schema)(*job.params, KaitaiStream(stream)))
    except (KaitaiStructError, EOFError) as error:
        return {"error": type(error).__name__, "message": str(error)}


def javascript_trees(jobs: list[Job], schemas: Path = SCHEMAS) -> Iterator[Any]:
    """The trees of files by the JavaScript classes of a folder's schemas."""
    process = _node(schemas)
    assert process.stdin is not None and process.stdout is not None
    for job in jobs:
        line = {"schema": job.schema, "file": str(job.file), "params": job.params}
        process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer, f"trees.js ended on {job.file}"
        yield json.loads(answer)


@cache
def _node(schemas: Path) -> subprocess.Popen[str]:
    """One process for all trees of a folder's schemas: to start, it compiles them, which takes seconds."""
    tools = find_toolchain()
    ensure_packages(tools)
    script = Path(__file__).with_name("trees.js")
    command = [*tools.node, str(script), str(FOLDER), str(schemas)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8")
    atexit.register(process.communicate)
    return process


def _tree(value: Any) -> Any:
    if isinstance(value, bytes):
        if len(value) <= 32:
            return {"hex": value.hex()}
        return {"length": len(value), "sha256": hashlib.sha256(value).hexdigest()}
    if isinstance(value, list):
        return [_tree(part) for part in value]
    if not isinstance(value, KaitaiStruct):
        return value
    fields = {name: _tree(part) for name, part in vars(value).items() if not name.startswith("_")}
    for name, part in vars(type(value)).items():
        if isinstance(part, property):
            fields[name] = _instance(value, name)
    return {_camel(name): part for name, part in fields.items() if part is not None}


def _instance(value: KaitaiStruct, name: str) -> Any:
    try:
        return _tree(getattr(value, name))
    except UnicodeDecodeError as error:
        # JavaScript's decoder replaces, as Java's does; Python's is strict. The schemas say so.
        return error.object.decode("utf-8", "replace")
    except (KaitaiStructError, EOFError, ValueError) as error:
        return {"error": type(error).__name__}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


@cache
def s8_fields() -> frozenset[str]:
    """Names in the trees of what the schemas read as ``s8``."""
    text = "".join(path.read_text(encoding="utf-8") for path in SCHEMAS.glob("*.ksy"))
    names = re.findall(r"- id: (\w+)\n(?:(?! *- id:).*\n)*? +type: s8\n", text)
    return frozenset(map(_camel, names))


def differences(python: Any, javascript: Any, place: str = "") -> Iterator[str]:
    """Where two trees differ, in words; nothing if they are the same.

    An error is the same as any other error: the languages have different classes of them.
    """
    if isinstance(python, dict) and isinstance(javascript, dict):
        if "error" in python and "error" in javascript:
            return
        for name in sorted(python.keys() | javascript.keys()):
            if name not in python or name not in javascript:
                yield f"{place}/{name}: only in {'Python' if name in python else 'JavaScript'}"
            else:
                yield from differences(python[name], javascript[name], f"{place}/{name}")
    elif isinstance(python, list) and isinstance(javascript, list):
        if len(python) != len(javascript):
            yield f"{place}: {len(python)} elements in Python, {len(javascript)} in JavaScript"
        for index, parts in enumerate(zip(python, javascript, strict=False)):
            yield from differences(*parts, f"{place}/{index}")
    elif not (same_scalar(python, javascript) or is_upstream_bug(python, javascript, place)):
        yield f"{place}: {python!r} in Python, {javascript!r} in JavaScript"


def same_scalar(python: Any, javascript: Any) -> bool:
    """Whether two leaves are the same, large integers up to JavaScript's rounding."""
    if type(python) is bool or type(javascript) is bool or not isinstance(python, int):
        return type(python) is type(javascript) and python == javascript
    if abs(python) <= EXACT:
        return type(javascript) in (int, float) and python == javascript
    return isinstance(javascript, int | float) and math.isclose(python, javascript, rel_tol=ROUNDING)


def is_upstream_bug(python: Any, javascript: Any, place: str) -> bool:
    """Whether this is the known error of the JavaScript runtime 0.11.0 in negative 64-bit integers.

    ``readS8be`` inverts the lower half with ``^``, which gives a signed number: where the top bit of that
    half is not set, the result is too great by 2^32.
    https://github.com/kaitai-io/kaitai_struct_javascript_runtime/pull/16
    """
    if place.rsplit("/", 1)[-1] not in s8_fields() or not isinstance(python, int) or python >= 0:
        return False
    return python % 2**32 < 2**31 and same_scalar(python + 2**32, javascript)


def count_leaves(tree: Any) -> int:
    """The number of values in a tree."""
    if isinstance(tree, dict):
        return 1 if "hex" in tree or "sha256" in tree else sum(map(count_leaves, tree.values()))
    return sum(map(count_leaves, tree)) if isinstance(tree, list) else 1
