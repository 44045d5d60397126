"""No layout stands in hand-written code of the runtime: places, widths, byte orders are for schemas to say.

`layout_rules` says how one is told; `layout_samples.toml` has what it must find and what it must let pass.
What a codec's own container looks like, no schema of Kafka's says: those modules are in `ALLOWED`, with the
reason.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.house.layout_rules import RULES, findings

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"

MOST_ALLOWED = 5
# Module to why, and what it may have.
ALLOWED: dict[str, tuple[str, set[str]]] = {
    "kafka_segments/core/codecs/gzip.py": (
        "RFC 1952's members: zlib by itself sees their ends otherwise than Java",
        {"packing", "a magic", "a place in a buffer", "a field of bits", "a constant of a layout"},
    ),
    "kafka_segments/core/codecs/lz4.py": (
        "LZ4's frame header: Kafka's rules for it are not the library's; and cut blocks",
        {"packing", "a magic", "a place in a buffer", "a field of bits", "a constant of a layout"},
    ),
    "kafka_segments/core/codecs/snappy.py": (
        "snappy-java's stream of blocks: no library reads it as Java does; and cut blocks",
        {
            "packing",
            "a magic",
            "a place in a buffer",
            "a field of bits",
            "an integer put together",
            "a constant of a layout",
        },
    ),
    "kafka_segments/core/codecs/zstd.py": (
        "RFC 8878's headers of frames and blocks: where one ends, for zstd-jni's reads end elsewhere",
        {"packing", "a magic", "a place in a buffer", "a field of bits", "a constant of a layout"},
    ),
    "kafka_segments/core/formats/java.py": (
        "surrogates in UTF-8: the JDK replaces them otherwise than Python; ints and longs in values",
        {"a magic", "a Kaitai stream read by hand"},
    ),
}


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(RUNTIME.rglob("*.py")):
        yield path.relative_to(RUNTIME).as_posix(), path.read_text(encoding="utf-8")


def test_no_layout_stands_in_the_runtime() -> None:
    found = [
        f"{name}:{line}: {rule}: {code}"
        for name, text in modules()
        for line, rule, code in findings(text)
        if name not in ALLOWED or rule not in ALLOWED[name][1]
    ]
    assert found == []


def test_the_allowed_are_few_and_each_is_needed() -> None:
    texts = dict(modules())
    assert len(ALLOWED) <= MOST_ALLOWED
    for name, (reason, rules) in ALLOWED.items():
        assert len(reason) > 20
        unused = rules - {rule for _, rule, _ in findings(texts.get(name, ""))}
        assert unused == set(), f"{name} needs this no more"


SAMPLES = tomllib.loads(Path(__file__).with_name("layout_samples.toml").read_text(encoding="utf-8"))
BAD = [(rule, code) for rule, found in SAMPLES["bad"].items() for code in found]


@pytest.mark.parametrize(("rule", "code"), BAD, ids=[code for _, code in BAD])
def test_a_layout_is_found(rule: str, code: str) -> None:
    assert rule in [found for _, found, _ in findings(code)]


@pytest.mark.parametrize("code", SAMPLES["good"]["code"])
def test_other_code_passes(code: str) -> None:
    assert findings(code) == []


def test_every_rule_is_shown_at_work() -> None:
    assert RULES.keys() == {rule for rule, _ in BAD}
