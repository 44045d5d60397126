"""A real S3 server over a directory of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests import work

__all__ = ["ACCESS_KEY", "SECRET_KEY", "Store", "binary", "module", "running"]

ROOT = Path(__file__).resolve().parents[2]
ACCESS_KEY, SECRET_KEY = "canary-access-8f1c", "canary-secret-77ab03"
"""No text that we write may hold these."""


@dataclass(frozen=True)
class Store:
    """A running server: its port, and the directory whose subdirectories are its buckets."""

    port: int
    folder: Path


def _pin() -> dict[str, str]:
    pin: dict[str, str] = tomllib.loads(Path(__file__).with_name("server.toml").read_text())
    return pin


def module() -> str:
    """What `go install` is to be called with."""
    return f"{_pin()['module']}@{_pin()['version']}"


def binary() -> Path:
    """Where the program is, once `tools/test.py` has built it."""
    name = _pin()["module"].rpartition("/")[2]
    return ROOT / ".cache" / "s3" / _pin()["version"] / name


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Store]:
    """Start the server over a new directory; it is ended with the block."""
    buckets, beside = folder / "buckets", folder / "beside"
    buckets.mkdir(parents=True)
    beside.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(binary()), "--port", f"127.0.0.1:{port}", "--quiet", "--keep-alive", "posix"]
    keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--sidecar", str(beside), str(buckets)],
            env={**os.environ, **keys},
            stdout=log,
            stderr=log,
        )
        try:
            _wait_for(server, port, folder / "server.log")
            yield Store(port, buckets)
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + work.HANGS
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"the S3 server ended at once: {log.read_text()}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the S3 server does not listen: {log.read_text()}")
