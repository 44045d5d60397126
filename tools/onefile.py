"""Build dist/kafka-segments.pyz: the command and all that its core needs, in one file. Run by `make onefile`.

Strategy: a zip archive that Python runs. Wheels of the core's packages, of construct (which writes entries
and indexes) and of shtab are fetched by hash for every Python and machine. Their Python code is the same in
all, and goes in once; of machine code each variant goes in, as far as it is loaded (`onefile_strip`), with a
stand-in that loads the right one (`onefile_natives`). The same sources give the same bytes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.lock import clean_environment
from tools.onefile_strip import stripped

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "dist" / "kafka-segments.pyz"
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
MACHINES = ("x86_64", "aarch64")
GLIBC = "manylinux_2_28"  # the oldest that all these wheels are built for
WITH_CORE = ("construct", "shtab")
TOOLS = ROOT / "tools"
_SKIPPED = re.compile(
    r"(^|/)(bin|__pycache__|tests?)/|\.pyi$|py\.typed$|_cffi\.|/(RECORD|WHEEL|INSTALLER|REQUESTED)$|/sboms/"
)
_TIME = (1980, 1, 1, 0, 0, 0)
_STAND_IN = "from kafka_segments_natives import load\n\nload(__name__)\n"


class BuildError(Exception):
    """The file cannot be built."""


def lock_text() -> str:
    """The hashed requirements: those of the core, and of `WITH_CORE` as they are locked with all extras."""
    entries = re.split(
        r"^(?=\S)", (ROOT / "locks" / "run.txt").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    more = [one for one in entries if one.startswith(tuple(f"{name}==" for name in WITH_CORE))]
    core = (ROOT / "locks" / "core.txt").read_text(encoding="utf-8")
    return core + "".join(one for one in more if one.partition("==")[0] + "==" not in core)


def fetched(lock: str) -> dict[tuple[str, tuple[int, int]], Path]:
    """The unpacked wheels for each machine and Python, fetched once."""
    digest = hashlib.sha256((lock + GLIBC).encode()).hexdigest()[:12]
    found = {}
    for machine in MACHINES:
        for version in PYTHONS:
            folder = ROOT / ".cache" / "onefile" / digest / "{}-{}.{}".format(machine, *version)
            if not (folder / "complete").exists():
                _fetch(lock, machine, version, folder)
            found[machine, version] = folder / "packages"
    return found


def _fetch(lock: str, machine: str, version: tuple[int, int], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "lock.txt").write_text(lock, encoding="utf-8")
    platform = ("--python-platform", f"{machine}-{GLIBC}", "--python-version", "{}.{}".format(*version))
    flags = ("--quiet", "--no-config", "--no-deps", "--require-hashes", "--only-binary", ":all:")
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        *flags,
        *platform,
        "--target",
        str(folder / "packages"),
    ]
    done = subprocess.run(
        [*command, "-r", str(folder / "lock.txt")],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"wheels for Python {version} on {machine} cannot be fetched:\n{done.stderr}")
    (folder / "complete").touch()


def own_wheel(folder: Path) -> Path:
    """Build this project's wheel."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the wheel cannot be built:\n{done.stdout}{done.stderr}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def contents(wheel: Path, packages: dict[tuple[str, tuple[int, int]], Path]) -> dict[str, bytes]:
    """All files of the archive, by name.

    Raises:
        BuildError: a file of Python code differs between Pythons or machines.
    """
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not _SKIPPED.search(name):
                found[name] = archive.read(name)
    for variant, folder in packages.items():
        for name, data in _files(folder):
            if name.endswith(".so"):
                module, _, suffix = name.removesuffix(".so").replace("/", ".").partition(".cpython-")
                found[f"natives/cpython-{suffix}/{module}.so"] = stripped(data)
                found[f"{module.replace('.', '/')}.py"] = _STAND_IN.encode()
            elif found.setdefault(name, data) != data:
                raise BuildError(f"{name} is another file for {variant}: it has to be chosen at the start")
    start = (TOOLS / "onefile_start.py").read_text(encoding="utf-8")
    start = start.replace("PYTHONS = ()", f"PYTHONS = {PYTHONS}").replace(
        "MACHINES = ()", f"MACHINES = {MACHINES}"
    )
    found["__main__.py"] = start.encode()
    found["kafka_segments_natives.py"] = (TOOLS / "onefile_natives.py").read_bytes()
    return found


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not _SKIPPED.search(name) and name != ".lock":
            yield name, path.read_bytes()


def write(files: dict[str, bytes], target: Path) -> None:
    """Write the archive, the same bytes for the same files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    with unfinished.open("wb") as output:
        output.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in sorted(files):
                info = zipfile.ZipInfo(name, _TIME)
                info.compress_type, info.external_attr, info.create_system = (
                    zipfile.ZIP_DEFLATED,
                    0o644 << 16,
                    3,
                )
                archive.writestr(info, files[name])
    unfinished.chmod(0o755)
    unfinished.replace(target)


def build(target: Path = TARGET) -> Path:
    """Build the file.

    Raises:
        BuildError: wheels are missing, or differ where they must not.
    """
    packages = fetched(lock_text())
    with tempfile.TemporaryDirectory() as folder:
        write(contents(own_wheel(Path(folder)), packages), target)
    return target


def main() -> int:
    """Build the file into dist/."""
    try:
        target = build()
    except BuildError as error:
        print(f"onefile: {error}", file=sys.stderr)
        return 1
    versions = ", ".join("{}.{}".format(*version) for version in PYTHONS)
    size = target.stat().st_size >> 20
    print(f"{target.relative_to(ROOT)}: {size} MiB, CPython {versions}, Linux {' and '.join(MACHINES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
