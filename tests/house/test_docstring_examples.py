"""The examples in docstrings of the runtime run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import pytest
from tests.made.directories import append, run_of

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
MODULES = sorted(
    ".".join(path.relative_to(RUNTIME).with_suffix("").parts).removesuffix(".__init__")
    for path in RUNTIME.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
# Their examples name a broker's directory; below they are run with another.
SCANS = {
    "kafka_segments.duckdb.relations": ("relation", []),
    "kafka_segments.polars.segment_frames": ("scan_segments", ["pl"]),
    "kafka_segments.query.scan": ("scan", []),
}


@pytest.mark.parametrize("name", [name for name in MODULES if name not in SCANS])
def test_examples_print_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0, "see above"


@pytest.mark.parametrize("name", SCANS)
def test_the_examples_of_scans_run(name: str, tmp_path: Path) -> None:
    append(tmp_path / "orders-0", *run_of(0, 3))
    function, others = SCANS[name]
    names: dict[str, Any] = {one: getattr(importlib.import_module(name), one) for one in (function, *others)}
    examples = doctest.DocTestParser().get_examples(str(names[function].__doc__))
    assert examples and all(one.options == {doctest.SKIP: True} for one in examples)
    for example in examples:
        exec(example.source.replace("/var/lib/kafka", str(tmp_path)), names)
    if "reader" in names:
        assert names["reader"].read_all().num_rows == 3


def test_there_are_examples() -> None:
    assert len(MODULES) > 15 and set(SCANS) <= set(MODULES)
