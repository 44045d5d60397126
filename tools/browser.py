"""The browser of the tests with the marker `browser`: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess

__all__ = ["chromium", "install", "missing"]

_PACKAGES = ("chromium", "fonts-dejavu-core")


def chromium() -> str | None:
    """Find the browser's program on the PATH."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def install() -> None:
    """Install Chromium, where there is apt-get and the right to use it."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (("update",), ("install", "-y", "--no-install-recommends", *_PACKAGES)):
        subprocess.run(["apt-get", "-q", *words], env=environment, stdout=subprocess.DEVNULL, check=False)


def missing() -> str | None:
    """Return what is missing to drive a browser, and what to do; None if nothing is."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed (pip install playwright; its own browsers are not needed)"
    return None if chromium() else "no Chromium on the PATH (Debian: apt-get install chromium)"
