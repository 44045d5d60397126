"""Modules as in a process that has not imported them, for the time of a test."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import pytest

__all__ = ["forget"]


def forget(monkeypatch: pytest.MonkeyPatch, names: Iterable[str]) -> None:
    """Take modules out of `sys.modules` and out of their packages; both are as before after the test.

    A module is an attribute of its package, too. If only the entry in `sys.modules` came back, the attribute
    would be what the test imported, and later tests would patch one module and call the other.
    """
    for name in names:
        module = sys.modules.get(name)
        if module is None:
            continue
        package, _, own = name.rpartition(".")
        monkeypatch.delitem(sys.modules, name)
        holder = sys.modules.get(package)
        if getattr(holder, own, None) is module:
            monkeypatch.delattr(holder, own)
