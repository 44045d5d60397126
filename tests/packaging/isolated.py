"""Programs of an environment, run with no network and no settings of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tools import extras

NOWHERE = "http://127.0.0.1:9"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Spark's JVM: compiling little saves seconds."""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def isolation() -> list[str]:
    """The command prefix that takes the network away; empty where the kernel does not allow it."""
    for prefix in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if shutil.which(prefix[0]) and subprocess.run([*prefix, "true"], capture_output=True).returncode == 0:
            return prefix
    return []


ISOLATION = isolation()
BY = "network namespace" if ISOLATION else "dead proxies"


def network_off(path: Path) -> dict[str, str]:
    """An environment with no settings of this machine, `path` as the whole PATH, and no way out."""
    proxies = {f"{scheme}_proxy": NOWHERE for scheme in ("http", "https", "HTTP", "HTTPS", "ALL")}
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}
    return {**kept, **proxies, "PIP_INDEX_URL": NOWHERE, "PIP_CONFIG_FILE": os.devnull, "PATH": str(path)}


def runner(home: Path, work: Path, kept: Path) -> Run:
    """A function that runs a program of an environment.

    Args:
        home: of the environment.
        work: where programs run, unless a call names another folder.
        kept: has compiled decoders.
    """
    prefix = [shutil.which("unshare") or "", *ISOLATION[1:]] if ISOLATION else []
    variables = {**network_off(home / "bin"), "KAFKA_SEGMENTS_CACHE_DIR": str(kept)}

    def run(
        program: str, *arguments: str | Path, cwd: Path = work, network: bool = False
    ) -> subprocess.CompletedProcess[str]:
        command = [*([] if network else prefix), str(home / "bin" / program), *map(str, arguments)]
        environment = variables
        if network:  # Spark's driver and workers talk to each other
            environment = {name: value for name, value in variables.items() if "proxy" not in name.lower()}
            environment["JAVA_HOME"] = os.environ.get("JAVA_HOME", "")
            environment["JDK_JAVA_OPTIONS"] = SHORT_LIVED
            environment["PATH"] = f"{variables['PATH']}{os.pathsep}/usr/bin{os.pathsep}/bin"
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)

    return run


PYTHONS = [
    pytest.param(
        version,
        id="{}.{}".format(*version),
        marks=pytest.mark.skipif(version not in extras.pythons(), reason="no such Python on the PATH"),
    )
    for version in extras.PYTHONS
]
