"""Files are opened in few places: sources by `storage` alone, for reading."""

from __future__ import annotations

import ast

from tests.house.test_size import trees

RUNTIME = "runtime/kafka_segments/"
# Who opens files, and what for.
OPENERS = {
    "storage.py": "sources",
    "writing/files.py": "what is written",
    "spark/parquet.py": "what an ingest writes",
    "spark/publish.py": "its reports and locks",
    "native/cache.py": "machine code that is kept",
    "cli/console.py": "where output goes that nobody reads",
}
OPENS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "os": ("open", "fdopen"),
        "io": ("open", "open_code", "FileIO"),
        "tempfile": ("mkstemp", "NamedTemporaryFile", "SpooledTemporaryFile", "TemporaryFile"),
        "pa": ("memory_map", "OSFile"),
    }.items()
    for name in names
)
METHODS = frozenset(("read_bytes", "read_text", "write_bytes", "write_text"))


def opens(tree: ast.Module) -> bool:
    """Whether a module opens files by one of the usual ways."""
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {ast.unparse(function) for function in called if isinstance(function, ast.Name | ast.Attribute)}
    methods = {function.attr for function in called if isinstance(function, ast.Attribute)}
    return "open" in names or bool(OPENS & names) or bool(METHODS & methods)


def test_files_are_opened_in_few_places() -> None:
    found = {name for name, tree in trees().items() if name.startswith(RUNTIME) and opens(tree)}
    assert {name.removeprefix(RUNTIME) for name in found} == OPENERS.keys()


def test_the_ways_to_open_are_noticed() -> None:
    for line in ("open('x')", "os.open('x', 0)", "tempfile.TemporaryFile()", "Path('x').read_bytes()"):
        assert opens(ast.parse(f"def f():\n    return {line}"))
    assert not opens(ast.parse("self.open(path)"))
