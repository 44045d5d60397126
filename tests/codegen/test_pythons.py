"""codegen.py writes the same bytes whatever Python runs it: every supported one that this machine has.

Each other Python gets the generator's own packages in the locked versions, by hash, into a folder of its own
under `.cache`. Where a Python is not there, or its packages cannot be fetched, that is said and no failure,
unless `KAFKA_SEGMENTS_REQUIRE` asks for `pythons` by name: who has one Python only can still run all tests.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiler.toolchain import ensure_packages, find_toolchain
from tools.environment import version_of

pytestmark = pytest.mark.node

ROOT = Path(__file__).resolve().parents[2]
# The oldest and the newest; those between them add nothing but time.
VERSIONS = ((3, 11), (3, 13))
PACKAGES = ("lark", "pyyaml")


def lack(reason: str) -> None:
    """Skip the test, or fail it where it was asked for by name."""
    if "pythons" in os.environ.get("KAFKA_SEGMENTS_REQUIRE", "").split(","):
        pytest.fail(f"KAFKA_SEGMENTS_REQUIRE asks for the pythons tests, but: {reason}", pytrace=False)
    pytest.skip(f"[pythons] {reason}")


def candidates(version: tuple[int, int]) -> Iterator[str]:
    """Where a Python of some version may be: this one, the PATH, pyenv."""
    name = "python{}.{}".format(*version)
    yield sys.executable
    yield name
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(root.glob("versions/{}.{}.*/bin/python".format(*version))))


def locked() -> str:
    """The requirements of the generator as locks/dev.txt has them, with their hashes."""
    text = (ROOT / "locks" / "dev.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", text)
    found = [entry for entry in entries if entry.lower().startswith(tuple(f"{name}==" for name in PACKAGES))]
    assert len(found) == len(PACKAGES)
    return "\n".join(found) + "\n"


def packages(version: tuple[int, int]) -> Path:
    """A folder with the generator's packages for a Python; fetched once a lock."""
    digest = hashlib.sha256(locked().encode()).hexdigest()[:12]
    folder = ROOT / ".cache" / "codegen" / "{}.{}-{}".format(*version, digest)
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        requirements = folder / "requirements.txt"
        requirements.write_text(locked())
        flags = ["--quiet", "--no-input", "--require-hashes", "--no-deps", "--only-binary=:all:"]
        flags += ["--target", str(folder), "--python-version", "{}.{}".format(*version)]
        command = [sys.executable, "-m", "pip", "install", *flags, "-r", str(requirements)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            lack("the generator's packages cannot be fetched: " + done.stderr.strip().splitlines()[-1])
        (folder / "complete").touch()
    return folder


@pytest.mark.long(short=False)
@pytest.mark.parametrize("version", VERSIONS, ids=lambda one: "{}.{}".format(*one))
def test_the_committed_files_are_what_this_python_makes(version: tuple[int, int]) -> None:
    python = next((name for name in candidates(version) if version_of(name) == version), None)
    if python is None:
        lack("no Python {}.{}".format(*version))
        return
    tools = find_toolchain()
    ensure_packages(tools)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {
        "PATH": os.pathsep.join([os.path.dirname(tools.node[0]), environment["PATH"]]),
        "PYTHONPATH": str(packages(version)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": str(version[1]),  # another order of sets, too
    }
    done = subprocess.run(
        [python, "-s", str(ROOT / "codegen.py"), "--check"], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert re.search(r"^\d+ files checked, 0 ", done.stdout, re.MULTILINE)
