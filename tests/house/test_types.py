"""Pyright finds nothing, as mypy --strict does in `make lint`: users of either see types that hold.

A test, of the long form, and no part of `make lint`: pyright runs under Node, and fetches itself from npm.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from compiler.toolchain import find_toolchain

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.node
@pytest.mark.long(short=False)
def test_pyright_finds_nothing_in_the_runtime() -> None:
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("[pyright] is not installed")
    node = os.path.dirname(find_toolchain().node[0])
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([node, os.environ["PATH"]]),
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        pytest.skip(f"[pyright] does not start: {(done.stderr.strip() or 'no word of it').splitlines()[-1]}")
    assert report["summary"]["filesAnalyzed"] > 30
    assert [
        f"{Path(found['file']).name}:{found['range']['start']['line'] + 1}: {found['message']}"
        for found in report["generalDiagnostics"]
    ] == []
