"""Write the tables of docs/formats that explain a vector byte by byte. Run by `make generate`.

Strategy: the real Kaitai compiler makes classes of the schemas that note where each field begins and ends
(its debug mode). They read the first vector that a page shows; what they note, with the values and the
schema's own words, becomes the table at the end of the page. A byte that no field takes, or that two take, is
an error, so no table can leave something out. `--check` writes nothing and names the pages that are stale.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "runtime"), str(ROOT / "generated")]

from compiler.frontend.model import Model  # noqa: E402
from compiler.toolchain import FOLDER, ensure_packages, find_toolchain, run_node  # noqa: E402
from tools.field_rows import Row, read_rows  # noqa: E402

from codegen import load_schemas  # noqa: E402  the root is no package

PAGES = ROOT / "docs" / "formats"
VECTORS = ROOT / "tests" / "vectors"
MARKS = r"(<!-- made by tools/format_pages\.py -->\n).*?(<!-- end -->\n)"
HEADING = "\n## Every byte\n\n<!-- made by tools/format_pages.py -->\n<!-- end -->\n"
LONG = 8
"""Bytes that are shown whole."""
NUM_PARTS = 3
"""Parts of a field's path that are shown, the inner ones."""


def debug_modules(schemas: Iterable[Path], folder: Path) -> dict[str, ModuleType]:
    """Compile schemas into a package of their own below a folder; return its modules by schema."""
    tools = find_toolchain()
    ensure_packages(tools)
    texts = json.loads(run_node(tools, ROOT / "tools" / "debug_classes.js", str(FOLDER), *map(str, schemas)))
    package = folder / "debug_classes"
    package.mkdir()
    for name, text in {"__init__.py": "", **texts}.items():
        (package / name).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return {name[:-3]: importlib.import_module(f"debug_classes.{name[:-3]}") for name in texts}
    finally:
        sys.path.remove(str(folder))


def vector_of(page: str) -> str:
    """The name of the first vector that a page shows."""
    found = re.search(r"^Vector: `(\w+)`$", page, re.MULTILINE)
    if found is None:
        raise SystemExit("a page of docs/formats shows no vector: give it a line Vector: `name`, and a dump")
    return found[1]


def table(stem: str, name: str, module: ModuleType, model: Model) -> str:
    """The text below the heading: of which vector, and a line for each field."""
    data = (VECTORS / stem / f"{name}.bin").read_bytes()
    about = tomllib.loads((VECTORS / stem / f"{name}.toml").read_text(encoding="utf-8"))
    rows = list(read_rows(model, stem, module, data, about.get("params", [])))
    if not about.get("leaves_bytes", False):
        _check_cover(rows, len(data), f"{stem}/{name}")
    lines = [f"`{name}`: {about['about']}.", "", "| at | bytes | field | value | |", "|---|---|---|---|---|"]
    lines += [_line(row, data) for row in rows]
    return "\n".join(lines) + "\n"


def _check_cover(rows: Iterable[Row], size: int, vector: str) -> None:
    """Check that each byte belongs to one field; instances may read again what fields have read."""
    at = 0
    for row in rows:
        if not row.is_leaf or row.start is None or (row.is_again and row.start != at):
            continue
        if row.start != at:
            raise SystemExit(f"{vector}: byte {at} belongs to no field, or to two (field {row.name})")
        at = row.end
    if at != size:
        raise SystemExit(f"{vector}: no field takes the bytes from {at} on, of {size}")


def _line(row: Row, data: bytes) -> str:
    shown = ""
    if row.start is not None:
        piece = data[row.start : row.end]
        whole = piece.hex(" ")
        shown = f"`{whole}`" if len(piece) <= LONG else f"`{piece[:4].hex(' ')} …` {len(piece)} bytes"
        shown = shown if piece else "none"
    place = "" if row.start is None else str(row.start)
    parts = row.name.split(".")
    name = "…" * (len(parts) > NUM_PARTS) + ".".join(parts[-NUM_PARTS:])
    cells = (place, row.bits or shown, f"`{name}`", row.value, row.doc)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def renewed(text: str, new: str) -> str:
    """The page with its table; the heading is added where it is missing."""
    if "<!-- made by tools/format_pages.py -->" not in text:
        text += HEADING
    return re.sub(MARKS, lambda match: f"{match[1]}{new}{match[2]}", text, flags=re.DOTALL)


def main(arguments: list[str], pages: Path = PAGES) -> int:
    """Renew the pages, or with `--check` name those that are stale."""
    model, schemas = load_schemas()
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        modules = debug_modules(schemas, Path(folder))
    for schema in schemas:
        path = pages / f"{schema.stem}.md"
        text = path.read_text(encoding="utf-8")
        new = renewed(text, table(schema.stem, vector_of(text), modules[schema.stem], model))
        if new != text:
            stale.append(path.name)
            if arguments != ["--check"]:
                path.write_text(new, encoding="utf-8")
    if stale and arguments == ["--check"]:
        print(f"stale: docs/formats/ {', '.join(stale)}; run make generate", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
