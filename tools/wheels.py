"""Build the sdist, the pure wheel, and a wheel with machine code for each machine, into dist/: `make wheels`.

Strategy: libraries are kept in `build/machine_code` under the digest of all that they are made from, so that
only a change of the sources or of the compiler builds them again (some ten minutes for each machine).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from tools import machine_code
from tools.compiled_functions import sources
from tools.wheel_hook import VARIABLE

from kafka_segments.core.native.library import LEVELS, digest, file_name

__all__ = ["libraries"]

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
_BUILDERS = ("llvmlite", "numba", "ziglang")


def libraries(machine: str, levels: tuple[str, ...] = ()) -> Path:
    """Build the libraries for a machine, unless they are there; return their folder, whose name it has.

    Args:
        machine: as `platform.machine` names it.
        levels: of its CPU; all if there are none.
    """
    versions = " ".join(f"{name} {version(name)}" for name in _BUILDERS)
    texts = digest(sources()) + Path(machine_code.__file__).read_text(encoding="utf-8")
    key = hashlib.sha256(f"{versions} {texts}".encode()).hexdigest()[:12]
    folder = ROOT / "build" / "machine_code" / key / machine
    missing = [
        level for level in levels or LEVELS[machine] if not (folder / file_name(machine, level)).exists()
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda level: machine_code.build(folder, f"{machine}-{level}"), missing))
    return folder


def main() -> None:
    """Build everything."""
    folders = [libraries(machine) for machine in LEVELS]
    shutil.rmtree(DIST, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST)]
    subprocess.run([*build, "."], cwd=ROOT, check=True)
    for folder in folders:
        environment = {**os.environ, VARIABLE: str(folder)}
        subprocess.run([*build, "--wheel", "."], cwd=ROOT, check=True, env=environment)
    for path in sorted(DIST.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
