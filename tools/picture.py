"""Draw the rooms of the runtime from its imports into docs/architecture.md. Run by `make picture`.

A room is a module or package directly below `kafka_segments`, or below its `core`. It stands one floor above
the highest room that it imports. Imports for type checkers alone do not count. An arrow that follows from
others is left out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "runtime" / "kafka_segments"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- made by `make picture` -->\n", "<!-- end of the picture -->\n"
HEAD = """\
 schemas/*.ksy                 the only place where a layout of Kafka's files is written
      |  codegen.py            compiler/frontend: schemas to a typed model; compiler/targets: model to code
      v
 generated/webide/             schemas and samples for the Kaitai Web IDE
 generated/kafka_segments_generated
      |-- kaitai/              classes of the Kaitai compiler: read a structure, exactly
      |-- construct/           Construct declarations: parse and build a structure
      `-- columns/             scanners, decoders and encoders in plain Python, which native/ compiles
      v
 runtime/kafka_segments        a room imports only rooms of lower floors
"""


def rooms() -> dict[str, Path]:
    """Each room's name and file: the module, or the package's `__init__`."""
    found = {}
    for path in sorted([*RUNTIME.iterdir(), *(RUNTIME / "core").iterdir()]):
        name = path.relative_to(RUNTIME).with_suffix("").as_posix()
        if path.suffix == ".py":
            found[name] = path
        elif (path / "__init__.py").exists():
            found[name] = path / "__init__.py"
    del found["core"], found["core/__init__"]
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """Full names of the modules that a module imports, wherever in it."""
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def arrows() -> dict[str, set[str]]:
    """The rooms that each room imports."""
    names = rooms()
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, first in names.items():
        own = [first] if first.parent == RUNTIME else sorted(first.parent.rglob("*.py"))
        for path in own:
            for module in imported(ast.parse(path.read_text(encoding="utf-8"))):
                package, *parts = module.split(".")
                room = "/".join(parts[: 2 if parts[:1] == ["core"] else 1])
                if package == "kafka_segments" and room in names:
                    found[name].add(room)
        found[name].discard(name)
    return found


def floors(found: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room, from 1.

    Raises:
        ValueError: rooms import each other in a circle.
    """
    known: dict[str, int] = {}

    def floor(name: str, way: tuple[str, ...]) -> int:
        if name in way:
            raise ValueError(f"rooms import each other: {' -> '.join([*way, name])}")
        if name not in known:
            known[name] = 1 + max((floor(one, (*way, name)) for one in found[name]), default=0)
        return known[name]

    for name in found:
        floor(name, ())
    return known


def drawn(found: dict[str, set[str]]) -> str:
    """The picture as text."""
    high, files = floors(found), rooms()
    lines = []
    for name in sorted(found, key=lambda name: (-high[name], name)):
        direct = {one for one in found[name] if not any(one in found[other] for other in found[name])}
        is_package = files[name].parent != RUNTIME
        text = _summary(files[name])
        arrow = f"  -> {' '.join(sorted(direct))}" if direct else ""
        lines.append(f"  {high[name]}  {name + '/' * is_package:<14} {text:<80}{arrow}".rstrip())
    return HEAD + "\n".join(lines) + "\n"


def _summary(path: Path) -> str:
    """The first line of a module's docstring, without its full stop."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0].rstrip(".")


def page(text: str) -> str:
    """The page with the picture of today's imports."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}```\n{drawn(arrows())}```\n{END}{after}"


def main() -> None:
    """Write the picture, or with `--check` say whether it is stale."""
    text = PAGE.read_text(encoding="utf-8")
    new = page(text)
    if "--check" in sys.argv[1:]:
        sys.exit(None if new == text else "docs/architecture.md: the picture is stale; run `make picture`")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
