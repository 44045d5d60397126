"""The examples in docstrings of the runtime run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import pytest
from tests.builders.directories import append, run_of

from kafka_segments import scan

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
MODULES = sorted(
    ".".join(path.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__")
    for path in RUNTIME.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
# Its example names a broker's directory; below it is run with another.
SCAN = "kafka_segments.query.scan"


@pytest.mark.parametrize("name", [name for name in MODULES if name != SCAN])
def test_examples_print_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0, "see above"


def test_the_example_of_scan_runs(tmp_path: Path) -> None:
    append(tmp_path / "orders-0", *run_of(0, 3))
    (example,) = doctest.DocTestParser().get_examples(str(scan.__doc__))
    assert example.options == {doctest.SKIP: True}
    names: dict[str, Any] = {"scan": scan}
    exec(example.source.replace("/var/lib/kafka", str(tmp_path)), names)
    assert names["reader"].read_all().num_rows == 3


def test_there_are_examples() -> None:
    assert len(MODULES) > 15 and SCAN in MODULES
