"""docs/jsonl.md is true of the output: the keys of each object, in order, and the types of their values."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafka_segments import errors
from kafka_segments.cli.main import _parser, main

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "jsonl.md"
RECORDED = ROOT / "tests" / "vectors" / "recorded"
FILES = (
    "kafka-4.3/clean/shapes-0/00000000000000000000.log",
    "kafka-4.3/clean/transactions-0/00000000000000000007.log",
    "kafka-4.3/clean/compact-horizon-0/00000000000000000000.log",
    "kafka-2.8/clean/mixed-0/00000000000000000000.log",
    "kafka-0.9/clean/codec-lz4-0/00000000000000000000.log",
    "kafka-4.3/running/preallocated-0/00000000000000000000.log",
    "kafka-4.3/dynamic-quorum/__cluster_metadata-0/00000000000000000000.log",
    "kafka-4.3/dynamic-quorum/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
)
WORDS: dict[str, type | None] = {
    "integer": int,
    "string": str,
    "boolean": bool,
    "list": list,
    "base64": str,
    "object": dict,
    "null": None,
}


def tables(kind: str) -> dict[str, str]:
    """Keys of an object and the types of their values, as the page has them."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {kind}\n")[1].split("\n## ")[0]
    first = section.split("| key | type |")[1].split("\n\n")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", first, re.MULTILINE))


@cache
def lines(folder: Path) -> list[dict[str, Any]]:
    """What dump prints of recorded files, and of one with a damaged batch."""
    damaged = bytearray((RECORDED / FILES[1]).read_bytes())
    damaged[70] ^= 1
    (folder / "damaged.log").write_bytes(damaged)
    output = folder / "out"
    with pytest.MonkeyPatch.context() as patch, output.open("w", encoding="utf-8") as stdout:
        patch.setattr("sys.stdout", stdout)
        assert main(["dump", "--format", "jsonl", *(str(RECORDED / name) for name in FILES)]) == 0
        assert main(["dump", "--format", "jsonl", str(folder / "damaged.log")]) == 1
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return lines(tmp_path_factory.mktemp("jsonl"))


@pytest.mark.parametrize("kind", ["batch", "record", "error", "padding"])
def test_the_keys_are_those_of_the_page_in_its_order(printed: list[dict[str, Any]], kind: str) -> None:
    found = [line for line in printed if line["type"] == kind]
    documented = tables(kind)
    assert found
    assert {tuple(line) for line in found} == {tuple(documented)}
    for key, words in documented.items():
        if words == f'`"{kind}"`':
            continue
        allowed = [WORDS[word] for word in words.split(", ")]
        for line in found:
            value = line[key]
            assert (None if value is None else type(value)) in allowed, (key, value)
        if None in allowed and kind in ("batch", "record"):
            seen = {line[key] is None for line in found}
            assert seen == {True, False} or key in (
                "base_offset",
                "crc_valid",
                "compression",
                "num_records",
            ), key


def test_control_records_have_the_keys_of_the_page(printed: list[dict[str, Any]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    controls = [line["control"] for line in printed if line["type"] == "record" and line["control"]]
    assert {
        "COMMIT",
        "LEADER_CHANGE",
        "SNAPSHOT_HEADER",
        "SNAPSHOT_FOOTER",
        "KRAFT_VERSION",
        "KRAFT_VOTERS",
    } <= {one["type"] for one in controls}
    for control in controls:
        assert tuple(control) == ("type", "type_id", "version", "value")
        (row,) = [
            line for line in page.splitlines() if line.startswith("| ") and f"`{control['type']}`" in line
        ]
        assert set(keys_of(control["value"])) <= set(re.findall(r"`(\w+)`", row))


def keys_of(value: Any) -> list[str]:
    """All keys in a value, inner ones too."""
    if isinstance(value, list):
        return [key for part in value for key in keys_of(part)]
    if isinstance(value, dict):
        return [*value, *(key for part in value.values() for key in keys_of(part))]
    return []


def test_errors_that_the_page_names_exist() -> None:
    named = set(re.findall(r"^\| `(\w+Error)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert len(named) == 7
    assert named <= set(errors.__all__)


CALLS = {
    "aborted": ["aborted", "--format", "jsonl", "transactions-0", "open-transaction-0"],
    "plan": ["plan", "--format", "jsonl", "transactions-0", "deleted-head-0", "-o", "startingOffsets=LATE"],
    "find": ["find", "--format", "jsonl", "--offsets", "0:9", "transactions-0", "--to-segment", "OUT"],
    "convert": ["convert", "--report", "jsonl", "--to-magic", "1", f"shapes-0/{0:020}.log", "OUT"],
    "sizes": ["sizes", "--format", "jsonl", "--magic", "1", "--compression", "gzip", "transactions-0"],
    "sizes --sample": [
        "sizes",
        "--format",
        "jsonl",
        "--compression",
        "none",
        "--sample",
        "5k",
        "transactions-0",
    ],
    "schemas list": ["schemas", "list", "--format", "jsonl"],
    "convert --codec": ["convert", "--report", "jsonl", "--codec", "lz4", f"shapes-0/{0:020}.log", "OUT"],
    "ls": ["ls", "--format", "jsonl", "shapes-0", "deleted-head-0"],
    "ls -l": ["ls", "--format", "jsonl", "-l", "shapes-0"],
    "ls --level": ["ls", "--format", "jsonl", "--level", "topics", "--headers", "shapes-0"],
    "ls --level partitions": ["ls", "--format", "jsonl", "--level", "partitions", "shapes-0"],
    "verify": ["verify", "--format", "jsonl", "transactions-0"],
    "salvage": ["salvage", "--format", "jsonl", "transactions-0", "DEST"],
    "slice": ["slice", "--format", "jsonl", "--offsets", "3:9", "transactions-0", "DEST"],
}
# Objects that these calls print; others need damage, snapshots, or a directory that misses something.
PRINTED = {
    "aborted": {"partition", "aborted", "open"},
    "plan": {"range", "split", "passed_over", "plan", "left_out"},
    "find": {"written", "summary"},
    "convert": {"loss", "conversion"},
    "sizes": {"source", "size", "loss"},
    "sizes --sample": {"source", "sample", "size", "loss"},
    "schemas list": {"schema"},
    "convert --codec": {"recompression"},
    "ls": {"copy", "passed_over", "total"},
    "ls -l": {"segment", "total"},
    "ls --level": {"topic", "total"},
    "ls --level partitions": {"partition", "total"},
    "verify": {"summary"},
    "salvage": {"partition"},
    "slice": {"slice"},
}


@pytest.mark.parametrize("verb", CALLS)
def test_objects_of_other_verbs_have_the_keys_of_the_page(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(RECORDED / "kafka-4.3" / "clean")
    late = 'startingOffsets={"transactions":{"0":50},"deleted-head":{"0":-2}}'
    words = {
        "OUT": str(tmp_path / "out.log"),
        "DEST": str(tmp_path / "transactions-0"),
        "startingOffsets=LATE": late,
    }
    assert main([words.get(word, word) for word in CALLS[verb]]) == 0
    printed = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    section = PAGE.read_text(encoding="utf-8").split("\n## Other verbs\n")[1]
    rows = re.findall(r"^\| (`.+?) \| `(\w+)` \| (.+?) \| .+ \|$", section, re.MULTILINE)
    name = verb.partition(" -")[0]
    documented = {kind: re.findall(r"`(\w+)`", keys) for verbs, kind, keys in rows if f"`{name}`" in verbs}
    assert {line["type"] for line in printed} == PRINTED[verb] <= documented.keys()
    for line in printed:
        assert list(line) == ["type", *documented[line["type"]]]


def test_the_page_lists_every_object_of_other_verbs() -> None:
    section = PAGE.read_text(encoding="utf-8").split("\n## Other verbs\n")[1]
    documented = set(re.findall(r"^\| `.+? \| `(\w+)` \|", section, re.MULTILINE))
    cli = ROOT / "runtime" / "kafka_segments" / "cli"
    modules = ("output.py", "plan.py", "aborted.py", "find_output.py", "sizes.py", "salvage.py", "slice.py")
    text = "".join((cli / name).read_text(encoding="utf-8") for name in modules)
    named = set(re.findall(r'"type": "(\w+)"', text)) | set(re.findall(r'_values\("(\w+)"', text))
    assert len(named) > 10
    named |= {"loss", "remark", "conversion", "recompression", "source", "sample", "size", "schema"}
    named |= {"topic", "partition", "copy", "segment", "total", "raw", "undecided", "summary"}
    assert named == documented


def test_every_verb_with_json_lines_is_on_the_page() -> None:
    section = PAGE.read_text(encoding="utf-8").split("\n## Other verbs\n")[1]
    documented = set(
        re.findall(r"`([a-z ]+)`", " ".join(re.findall(r"^\| (`.+?) \| `", section, re.MULTILINE)))
    )
    assert {*verbs_with_json_lines(_parser())} == {*documented, "dump"}


def verbs_with_json_lines(parser: argparse.ArgumentParser, words: str = "") -> Iterator[str]:
    """Names of the verbs below a parser with an option that takes jsonl."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for name, verb in action.choices.items():
                yield from verbs_with_json_lines(verb, f"{words} {name}".strip())
        elif "jsonl" in (action.choices or ()):
            yield words


def test_batches_of_magic_3_have_two_keys_more(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    file = ROOT / "tests" / "vectors" / "kafka_log_segment_experimental" / "three_layouts.bin"
    assert main(["dump", "--experimental-magic3", "--format", "jsonl", str(file)]) == 0
    batches = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines() if b'"batch"' in line]
    assert [batch["magic"] for batch in batches] == [2, 3, 3]
    more = ["ignores_message_attributes", "has_metadata_first"]
    assert [list(batch) for batch in batches[1:]] == [[*tables("batch"), *more]] * 2
    introduction = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    assert all(f"`{key}`" in introduction for key in more)
