"""Pythons that packages are tested with; those that are not on the PATH are skipped."""

from __future__ import annotations

import pytest
from tools import extras

PYTHONS = [
    pytest.param(
        version,
        id="{}.{}".format(*version),
        marks=pytest.mark.skipif(version not in extras.pythons(), reason="no such Python on the PATH"),
    )
    for version in extras.PYTHONS
]
