"""Run tests of reading and writing on an emulated aarch64 CPU, with the machine code of its wheel.

Run by `make test-aarch64`. Strategy: apt fetches Debian's Python for arm64 and what that needs into a folder
of its own, with a state of its own, so that this machine's packages stay as they are. Wheels for aarch64 come
by hash from the locks. qemu-user runs Python; tests that start processes are left out, as the kernel would
have to know the emulator. Further arguments are tests, or other arguments of pytest.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.test import FAST  # noqa: E402  the root is no package
from tools.wheels import libraries  # noqa: E402

from kafka_segments.core.native.library import VARIABLE, file_name, level_of  # noqa: E402

MACHINE = "aarch64"
EMULATOR = "qemu-aarch64"
DEBIAN = ("python3", "libstdc++6", "zlib1g")
WHEELS = (
    *(
        "attrs",
        "construct",
        "crc32c",
        "cramjam",
        "deflate",
        "execnet",
        "hypothesis",
        "iniconfig",
        "kaitaistruct",
    ),
    *("lark", "lz4", "msgspec", "numpy", "packaging", "pluggy", "pyarrow", "pygments", "pytest"),
    *("pytest-randomly", "python-snappy", "pyyaml", "sortedcontainers", "zstandard"),
)
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")
TESTS = (
    "tests/native/test_library.py::test_every_function_is_in_the_library",
    "tests/codecs/test_compression_direct.py",
    "tests/columns/test_decoder_recorded.py",
    "tests/columns/test_encoder_recorded.py",
    "tests/segment/test_columnar_reader.py",
    "tests/write/test_roundtrip.py",
)


class NotHereError(Exception):
    """Something that cannot be had on this machine."""


def main() -> int:
    """Fetch what is missing, and run the tests."""
    try:
        folder = _prepared()
    except (NotHereError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"aarch64: {error}") from None
    library = libraries(MACHINE) / file_name(MACHINE, level_of(MACHINE))
    paths = (ROOT / "runtime", ROOT / "generated", ROOT, folder / "site")
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        VARIABLE: str(library),
    }
    command = [EMULATOR, "-L", str(folder / "root"), str(_python(folder)), "-B", "-m", "pytest", "-q"]
    command += ["-p", "no:cacheprovider", "-m", FAST, *(sys.argv[1:] or TESTS)]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def _prepared() -> Path:
    """The folder with Debian's files (`root`) and Python packages (`site`)."""
    if shutil.which(EMULATOR) is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise NotHereError(f"{EMULATOR} is not installed: install qemu-user")
        subprocess.run(["apt-get", "install", "-y", "-qq", "qemu-user"], check=True)
    lock = _lock()
    key = hashlib.sha256((lock + Path(__file__).read_text(encoding="utf-8")).encode()).hexdigest()[:12]
    folder = ROOT / ".cache" / "aarch64" / key
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _fetch_debian(folder)
        _fetch_wheels(folder, lock)
        (folder / "complete").touch()
    return folder


def _fetch_debian(folder: Path) -> None:
    state, cache, root = folder / "state", folder / "archives", folder / "root"
    for made in (state / "lists" / "partial", cache / "archives" / "partial", root):
        made.mkdir(parents=True)
    status = folder / "status"
    status.touch()
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Dir::State": state,
        "Dir::State::status": status,
        "Dir::Cache": cache,
    }
    apt = [
        "apt-get",
        "-qq",
        *(word for name, value in settings.items() for word in ("-o", f"{name}={value}")),
    ]
    subprocess.run([*apt, "update"], check=True)
    fetch = ("install", "-y", "--no-install-recommends", "--download-only")
    subprocess.run([*apt, *fetch, *DEBIAN], check=True, stdout=subprocess.DEVNULL)
    for package in sorted((cache / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)


def _fetch_wheels(folder: Path, lock: str) -> None:
    named = folder / "lock.txt"
    named.write_text(lock, encoding="utf-8")
    version = _python(folder).name.removeprefix("python")
    command = [sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check", "install"]
    command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--implementation", "cp"]
    command += [f"--platform={platform}" for platform in (*PLATFORMS, "any")]
    command += [f"--python-version={version}", "--target", str(folder / "site"), "-r", str(named)]
    subprocess.run(command, check=True)


def _python(folder: Path) -> Path:
    """Debian's Python: a file such as `python3.11`, not a link to it."""
    return next(
        path for path in (folder / "root" / "usr" / "bin").glob("python3.*") if path.name[8:].isdigit()
    )


def _lock() -> str:
    """The entries of the lock for the packages that the tests need."""
    text = (ROOT / "locks" / "dev.txt").read_text(encoding="utf-8")
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    return "".join(one for one in entries if one.partition("==")[0] in WHEELS)


if __name__ == "__main__":
    raise SystemExit(main())
