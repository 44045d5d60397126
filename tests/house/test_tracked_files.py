"""What no tracked file may hold: addresses, paths of machines, unhashed pins; the locks are whole."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from compiler.targets import webide

ROOT = Path(__file__).resolve().parents[2]

# Written in pieces, or this file would name what it forbids.
HOSTS = ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("yarnpkg", "com"), ("golang", "org/x")
HOSTS += ("maven", "org"), ("debian", "org/debian"), ("crates", "io"), ("jitpack", "io")
ADDRESS_OPTIONS = "index-url", "extra-index-url", "find-links", "trusted-host"
FORBIDDEN = {
    "a registry's host": "|".join(rf"\b{name}\.{top}\b" for name, top in HOSTS),
    "an option with an address": "|".join(f"--{option}" for option in ADDRESS_OPTIONS),
    "a lock entry with an address": r'"resolved":\s*"http|registry\s*=\s*"?http|source\s*=\s*"?https?://',
    "a path of a machine": r"(?<![\w.])/(?:w"
    r"ork|f"
    r"arm|r"
    r"oot|home/\w+)/|/t"
    r"mp/(?!\$|<)[a-z]+_[a-z]",
}


def tracked_names() -> list[str]:
    """Every file that git tracks and that is there, as paths from the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git work tree")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


SAMPLES = {f"generated/webide/{sample.name}" for sample in webide.SAMPLES}
"""What the Web IDE opens: pieces of what was recorded."""


@cache
def tracked_texts() -> dict[str, str]:
    """Path to text of the tracked files that are text; what brokers recorded is data, not ours to word."""
    texts = {}
    for name in tracked_names():
        if name.startswith("tests/vectors/recorded/") or name in SAMPLES:
            continue
        try:
            texts[name] = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return texts


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_names(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what], re.IGNORECASE)
    found = {
        name: match.group(0) for name, text in tracked_texts().items() if (match := pattern.search(text))
    }
    assert found == {}


def test_the_patterns_find_what_they_are_for() -> None:
    examples = {
        "a registry's host": "https://files.python" + "hosted.org/packages/x",
        "an option with an address": "--index" + "-url x",
        "a lock entry with an address": '"resolved"' + ': "https://x"',
        "a path of a machine": "see /wo" + "rk/main",
    }
    assert all(re.search(FORBIDDEN[what], example) for what, example in examples.items())
    assert examples.keys() == FORBIDDEN.keys()


def test_text_files_end_in_one_newline_and_have_no_carriage_returns() -> None:
    ours = {
        name: text
        for name, text in tracked_texts().items()
        if text and not name.startswith("tests/vectors/") and "/gallery/samples/" not in name
    }
    assert [name for name, text in ours.items() if not text.endswith("\n") or text.endswith("\n\n")] == []
    assert [name for name in ours if b"\r" in (ROOT / name).read_bytes()] == []


def test_generated_files_say_on_line_1_what_made_them() -> None:
    generated = {name: text for name, text in tracked_texts().items() if name.startswith("generated/")}
    # Samples for the gallery are bytes of Kafka's, some of which are text.
    generated = {name: text for name, text in generated.items() if "/gallery/samples/" not in name}
    assert generated, "no generated file is tracked"
    for name, text in generated.items():
        first = text.split("\n", 1)[0]
        assert "codegen.py" in first, name
        schema = f"{Path(name).stem}.ksy"
        for_all = Path(name).name in ("__init__.py", "py.typed")
        for_all = for_all or "from schemas/" in first or "from compiler/targets/" in first
        assert schema in first or for_all, name
        assert not re.search(r"\b20\d\d-\d\d-\d\d\b", first), f"{name}: a date makes every run differ"


def test_no_large_file_is_tracked() -> None:
    large = {name: size for name in tracked_names() if (size := (ROOT / name).stat().st_size) > 8 << 20}
    assert large == {}


def test_no_two_test_modules_have_one_name() -> None:
    """Folders of tests are no packages, so pytest refuses to collect the second one."""
    paths = defaultdict(list)
    for path in (ROOT / "tests").rglob("test_*.py"):
        paths[path.name].append(path.relative_to(ROOT).as_posix())
    assert [found for found in paths.values() if len(found) > 1] == []


LOCKS = {path.stem: path for path in sorted((ROOT / "locks").glob("*.txt"))}


def pins(lock: str) -> dict[str, str]:
    """Requirement (name, version, condition) to its hashes, as they stand in the file."""
    text = re.sub(r"^#.*\n", "", LOCKS[lock].read_text(), flags=re.MULTILINE)
    entries = re.split(r"\n(?=\S)", text.strip())
    return {entry.split(" \\\n", 1)[0]: entry.split(" \\\n", 1)[1] for entry in entries}


def normal(name: str) -> str:
    """A distribution's name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;]", name, maxsplit=1)[0]).lower()


def names(lock: str) -> set[str]:
    return {normal(pin) for pin in pins(lock)}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_is_exact_and_hashed(lock: str) -> None:
    for pin, hashes in pins(lock).items():
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==[\w.+]+( ; .*)?$", pin), pin
        assert re.fullmatch(r"( *--hash=sha256:[0-9a-f]{64}( \\\n)?)+", hashes), pin


@pytest.mark.parametrize(("small", "large"), [("core", "run"), ("run", "dev")])
def test_a_lock_holds_the_smaller_one(small: str, large: str) -> None:
    # colorama's condition differs: more packages of dev want it. It is for Windows alone, where Kafka is not.
    wanted = {pin: hashes for pin, hashes in pins(small).items() if "win32" not in pin}
    there = pins(large)
    for pin, hashes in wanted.items():
        # Where other packages want one everywhere, it has no condition any more.
        assert hashes == there.get(pin, there.get(pin.split(" ; ")[0])), pin


def test_the_locks_follow_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    core = {normal(name) for name in project["project"]["dependencies"]}
    extras = project["project"]["optional-dependencies"]
    optional = {normal(name) for extra in ("arrow", "spark") for name in extras[extra]}
    optional.discard(normal(project["project"]["name"]))  # an extra names another one
    groups = project["dependency-groups"]
    assert core <= names("core")
    for lock in LOCKS.keys() - {"build", "core", "java"}:
        assert core | optional <= names(lock), lock
    dev = [name for name in groups["dev"] if isinstance(name, str)]
    dev += [name for one in groups["dev"] if isinstance(one, dict) for name in groups[one["include-group"]]]
    assert {normal(name) for name in dev} <= names("dev")
    assert {normal(name) for name in groups["build"]} <= names("build")
    assert not optional & names("core"), "the core install must do without pyarrow, numba and pyspark"


def test_the_build_backend_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {normal(name) for name in project["build-system"]["requires"]} <= names("build")
