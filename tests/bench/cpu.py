"""The CPU that a run is on: its name, and its kind, by which some goals differ and charts are named."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
from pathlib import Path

_INFO = Path("/proc/cpuinfo")
_KINDS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}


@dataclasses.dataclass(frozen=True)
class Cpu:
    """Kind of a CPU (`intel`, `amd`, or the machine's name, such as `aarch64`), and what it calls itself."""

    kind: str
    name: str


def this_cpu(info: str | None = None) -> Cpu:
    """The CPU of this machine.

    Args:
        info: what `/proc/cpuinfo` says; None reads it, where it is.
    """
    if info is None:
        info = _INFO.read_text(encoding="utf-8") if _INFO.exists() else ""
    said = dict(re.findall(r"^(\w+(?: \w+)*)\s*: (.+)$", info, re.MULTILINE))
    kind = _KINDS.get(said.get("vendor_id", ""), platform.machine())
    return Cpu(kind, said.get("model name", platform.processor() or kind))


def num_cores() -> int:
    """The cores that we may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
