"""The locks: hashed throughout, nested, and in step with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
