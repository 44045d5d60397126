"""Environments with this project's wheel and one of its extras: what the packaging tests run in.

The wheels of the dependencies are fetched once, by hash, for each Python under `.cache/packaging`; pyspark,
which comes as a source distribution, is built once for all. uv makes an environment from these alone, with
hard links; it stays there, and gets a new wheel of this project each time. Other dependencies or another
lock make new ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ((3, 11), (3, 13))
EXTRAS = (
    "core",
    "arrow",
    "completion",
    "construct",
    "delta",
    "duckdb",
    "iceberg",
    "jit",
    "polars",
    "report",
    "spark",
    "stores",
)
WITHOUT_MACHINE_CODE = ("core", "completion", "construct")
"""Those that read nothing into Arrow."""
LOCK = ROOT / "locks" / "run.txt"
_UV = (sys.executable, "-m", "uv", "--quiet", "--no-config")
_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input")


def interpreter(version: tuple[int, int]) -> str | None:
    """A Python of a version: the running one, or one on the PATH; None if there is none."""
    if sys.version_info[:2] == version:
        return sys.executable
    wanted = "{}.{}".format(*version)
    found = shutil.which(f"python{wanted}")
    code = f"import sys; print(sys.executable) if sys.version_info[:2] == {version} else sys.exit(1)"
    for chosen in ({}, {"PYENV_VERSION": wanted}):  # pyenv's commands on the PATH need a version
        if found:
            done = subprocess.run(
                [found, "-c", code], env={**os.environ, **chosen}, capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                return done.stdout.strip()
    return None


@cache
def pythons() -> dict[tuple[int, int], str]:
    """Those of `PYTHONS` that this machine has."""
    found = {version: interpreter(version) for version in PYTHONS}
    return {version: python for version, python in found.items() if python}


def folder() -> Path:
    """Where everything is kept: another one for other dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = json.dumps([project["dependencies"], project["optional-dependencies"]]).encode()
    return ROOT / ".cache" / "packaging" / hashlib.sha256(wanted + LOCK.read_bytes()).hexdigest()[:12]


def prepare() -> None:
    """Fetch what environments are made of; nothing if it is there."""
    spark, others = _split()
    for version, python in pythons().items():
        wheels = folder() / "wheels-{}.{}".format(*version)
        if not (wheels / "complete").exists():
            shutil.rmtree(wheels, ignore_errors=True)
            wheels.mkdir(parents=True)
            lock = wheels / "lock.txt"
            lock.write_text(others, encoding="utf-8")
            flags = ("--require-hashes", "--no-deps", "--only-binary=:all:", "-r", lock, "-d", wheels)
            subprocess.run([python, *_PIP, "download", *flags], check=True)
            (wheels / "complete").touch()
    built = folder() / "pyspark"
    if not (built / "complete").exists():
        built.mkdir(parents=True, exist_ok=True)
        lock = built / "lock.txt"
        lock.write_text(spark, encoding="utf-8")
        flags = ("--require-hashes", "--no-deps", "--no-build-isolation", "-r", lock, "-w", built)
        subprocess.run([sys.executable, *_PIP, "wheel", *flags], check=True)
        (built / "complete").touch()


def _split() -> tuple[str, str]:
    """The lock's entry of pyspark, and the others."""
    entries: list[list[str]] = []
    for line in LOCK.read_text(encoding="utf-8").splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            entries.append([])
        if entries:
            entries[-1].append(line)
    texts = ["".join(entry) for entry in entries]
    return (
        "".join(text for text in texts if text.startswith("pyspark==")),
        "".join(text for text in texts if not text.startswith("pyspark==")),
    )


def environment(wheel: Path, extra: str, version: tuple[int, int]) -> Path:
    """The folder of an environment in which the wheel is installed with an extra, and what that brings.

    The extra jit comes along where a pure wheel needs it.
    """
    is_pure = wheel.name.endswith("-any.whl")
    home = folder() / "{}{}-{}.{}".format(extra, "" if is_pure else "-machine", *version)
    if is_pure and extra not in WITHOUT_MACHINE_CODE:
        extra = f"{extra},jit"
    python = home / "bin" / "python"
    if not (home / "complete").exists():
        command = [*_UV, "venv", "--clear", "--python", pythons()[version], str(home)]
        subprocess.run(command, env=_environ(), check=True)
        wanted = f"{wheel}" if extra == "core" else f"kafka-segments[{extra}] @ {wheel.as_uri()}"
        _install(python, version, wanted)
        (home / "complete").touch()
    else:
        _install(python, version, "--reinstall", "--no-deps", str(wheel))
    return home


def _install(python: Path, version: tuple[int, int], *arguments: str) -> None:
    links = folder() / "wheels-{}.{}".format(*version), folder() / "pyspark"
    command = [*_UV, "pip", "install", "--python", str(python), "--offline", "--no-index", *arguments]
    subprocess.run(command, env=_environ() | {"UV_FIND_LINKS": ",".join(map(str, links))}, check=True)


def _environ() -> dict[str, str]:
    """The environment without settings of this machine for uv, but where its cache is."""
    kept = ("UV_CACHE_DIR",)
    return {name: value for name, value in os.environ.items() if name in kept or not name.startswith("UV_")}
