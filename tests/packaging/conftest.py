"""The distributions, built once a session."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
from tests.forms import IS_FULL
from tests.packaging.isolated import Run, runner
from tools import extras
from tools.wheel_hook import VARIABLE
from tools.wheels import libraries

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("runtime", "generated", "schemas", "compiler", "docs")
FILES = (
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "codegen.py",
    "tools/wheel_hook.py",
)


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it, out of a copy of the tree."""
    tree, dist = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    unwanted = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in SOURCES:
        shutil.copytree(ROOT / name, tree / name, ignore=unwanted)
    for name in FILES:
        (tree / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    build(tree, dist)
    build(tree, dist / "direct", "--wheel")
    return dist


def build(tree: Path, out: Path, *options: str, **variables: str) -> None:
    """Build with the locked backend of the running environment; an isolated one would have to be fetched."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *options, str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def machine_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with machine code for this machine; its libraries are built once for these sources."""
    out = tmp_path_factory.mktemp("machine")
    build(ROOT, out, "--wheel", **{VARIABLE: str(libraries(platform.machine()))})
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def homes(distributions: Path) -> Callable[[str, tuple[int, int]], Path]:
    """Makes a function that installs the wheel with one extra, once for each Python, and returns where."""
    extras.prepare()
    (wheel,) = distributions.glob("*.whl")
    return cache(partial(extras.environment, wheel))


@pytest.fixture(scope="session")
def environments(
    homes: Callable[[str, tuple[int, int]], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Run]:
    """Makes a function that runs code in an environment with one extra, with the network off.

    Decoders are compiled once for each Python and state of the sources; in the full form, in each
    environment.
    """

    def of(extra: str, version: tuple[int, int]) -> Run:
        work = tmp_path_factory.mktemp("work")
        return runner(homes(extra, version), work, work if IS_FULL else decoders(version))

    return cache(of)


def decoders(version: tuple[int, int]) -> Path:
    """Where compiled decoders are kept, for each Python and state of the sources."""
    kept = extras.folder() / "kept-{}.{}".format(*version)
    kept.mkdir(mode=0o700, exist_ok=True)
    return kept
