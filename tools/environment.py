"""Make `.venv` what a lock says, then run a command of it: `environment.py LOCK [-- ARGUMENT...]`.

`environment.py run -- -m pytest` runs `.venv/bin/python -m pytest` in an environment that holds
`locks/run.txt` and this project, editable. The standard library is enough, and an old Python 3 may run
this: it looks for a newer one. When the stamp in `.venv` fits, nothing is started at all.

Installs are by hash and without dependency resolution (a lock is complete), build backends first, so
that pyspark's sdist and the editable install are built with what `locks/build.txt` says and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "kafka-segments.json"
OLDEST = (3, 11)
TESTED = ((3, 13), (3, 12), (3, 11))
# dev is compiled under run's pins and holds all of them (tests/house checks it).
HOLDS = {"run": ("run",), "dev": ("dev", "run")}


class SetupError(Exception):
    """Something that only the person at the keyboard can mend; the message says how."""


def say(text: str) -> None:
    """Print progress at once, also into a pipe."""
    print(text, flush=True)


def version_of(python: str) -> tuple[int, int] | None:
    """The (major, minor) of an interpreter, or None when it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        output = subprocess.run(
            [python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=True
        ).stdout
        major, minor = output.split()
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return int(major), int(minor)


def find_python() -> str:
    """The interpreter for `.venv`: the running one if it is tested, else the newest tested one on PATH."""
    running = sys.version_info[:2]
    if running in TESTED:
        return sys.executable
    for wanted in TESTED:
        found = shutil.which("python{}.{}".format(*wanted))
        if found and version_of(found) == wanted:
            return found
    if running >= OLDEST:
        say("Python {}.{} is newer than those tested (3.11 to 3.13); trying it".format(*running))
        return sys.executable
    raise SetupError(
        "Python 3.11 or newer is needed, and this is {}.{}.\n"
        "Install one (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python)\n"
        "or name it: make PYTHON=/path/to/python3.13 ...".format(*running)
    )


def digest(*paths: Path) -> str:
    """One hash over files, by content."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes())
    return total.hexdigest()


def wanted_stamp(lock: str) -> dict[str, str]:
    """What the stamp must say before `lock` counts as installed: locks, project metadata, place."""
    return {
        "root": str(ROOT),
        "build": digest(ROOT / "locks" / "build.txt"),
        "project": digest(ROOT / "pyproject.toml"),
        lock: digest(ROOT / "locks" / (lock + ".txt")),
    }


def read_stamp() -> dict[str, str]:
    """The stamp of the environment as it is; empty when there is none that works."""
    if not PYTHON.exists():
        return {}
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    # A copied or moved tree has scripts and an editable install that point elsewhere.
    return stamp if isinstance(stamp, dict) and stamp.get("root") == str(ROOT) else {}


def create() -> None:
    """Create `.venv`, over whatever stands there that does not run."""
    version = version_of(str(PYTHON)) if PYTHON.exists() else None
    if version is not None and version >= OLDEST:
        return
    python = find_python()
    say(f"creating .venv with {python}")
    made = subprocess.run([python, "-m", "venv", "--clear", str(VENV)], check=False)
    if made.returncode != 0:
        raise SetupError(
            f"{python} could not create a virtual environment (Debian, Ubuntu: apt-get install python3-venv)"
        )


def pip_install(*arguments: str, python: Path = PYTHON) -> None:
    """Run an environment's pip without resolution and without network-fetched build environments."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run([*command, "--no-deps", "--no-build-isolation", *arguments], cwd=ROOT, check=False)
    if done.returncode != 0:
        raise SetupError(
            f"pip install {' '.join(arguments)} failed (its words are above). Is a package index reachable?"
        )


def install_lock(lock: str) -> None:
    """Install `locks/LOCK.txt` by hash into `.venv`."""
    say(f"installing locks/{lock}.txt by hash (first time: a minute or two)")
    pip_install("--require-hashes", "-r", f"locks/{lock}.txt")


def ensure(lock: str) -> None:
    """Bring `.venv` to `lock`: create, install what changed, write the stamp."""
    want, have = wanted_stamp(lock), read_stamp()
    if all(have.get(name) == value for name, value in want.items()):
        return
    create()
    if have.get("build") != want["build"]:
        install_lock("build")
    if have.get(lock) != want[lock]:
        install_lock(lock)
    if any(have.get(name) != want[name] for name in ("build", "project")):
        pip_install("--editable", ".")
    for held in HOLDS[lock]:
        want[held] = digest(ROOT / "locks" / (held + ".txt"))
    STAMP.write_text(json.dumps({**have, **want}, indent=1), encoding="utf-8")


def main() -> None:
    """Bring the environment to the lock named, then become the command after `--`, if there is one."""
    started = time.time()
    arguments = sys.argv[1:]
    if not arguments or arguments[0] not in HOLDS:
        raise SystemExit(f"usage: environment.py {'|'.join(HOLDS)} [-- ARGUMENT...]")
    try:
        ensure(arguments[0])
    except SetupError as problem:
        raise SystemExit(f"environment: {problem}") from None
    if arguments[1:2] == ["--"]:
        os.environ["PATH"] = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        os.environ["VIRTUAL_ENV"] = str(VENV)
        os.environ.setdefault("KAFKA_SEGMENTS_STARTED", repr(started))
        os.execv(str(PYTHON), [str(PYTHON), *arguments[2:]])


if __name__ == "__main__":
    main()
