"""The schemas keep to Kaitai's style guide, https://doc.kaitai.io/ksy_style_guide.html, and to our rules."""

from __future__ import annotations

import json
import keyword
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compiler.toolchain import FOLDER, ensure_packages, find_toolchain, run_node
from tests.codegen.vectors import SCHEMAS, STEMS

Node = dict[str, Any]

META = [
    "id", "title", "application", "file-extension", "-file-name", "xref", "tags", "license", "ks-version",
    "imports", "encoding", "endian", "bit-endian",
]  # fmt: skip
TYPE = [
    "meta", "-orig-id", "doc", "doc-ref", "-webide-representation", "-varint", "to-string", "params", "seq",
    "instances", "types", "enums",
]  # fmt: skip
ATTRIBUTE = [
    "id", "-orig-id", "-webide-parse-mode", "-checksum", "-codec", "-derive", "-default", "-encode",
    "-null", "-batch-column", "-record-column", "io", "pos", "value", "size", "size-eos", "type", "enum",
    "terminator", "consume", "include", "eos-error", "pad-right", "encoding", "process", "contents", "valid",
    "repeat", "repeat-expr", "repeat-until", "if", "doc", "doc-ref",
]  # fmt: skip
EXPRESSIONS = ["pos", "value", "size", "if", "repeat-expr", "repeat-until"]

# Attributes that Kafka has no name for, and why.
OURS = {
    "groups": "the bytes of a varint",
    "body": "a stream of its own for what a length counts",
    "header": "a part that can be read alone",
    "content": "the same bytes, switched by type",
    "fifth_group": "a byte of a varint",
    "tenth_group": "a byte of a varint",
    "invalid_len_body": "a check",
    "invalid_num_headers": "a check",
    "invalid_rest": "a check that nothing is left",
    "invalid_len_key": "a check",
    "invalid_len_headers": "a check",
    "invalid_value": "a check",
    "invalid_len_data": "a check",
    "invalid_num_fields": "a check",
    "padding": "not part of the format",
    "partial": "not part of the format",
    "num_voters": "part of a compact array",
    "num_granting_voters": "part of a compact array",
    "num_endpoints": "part of a compact array",
    "tagged_fields": "implied by flexibleVersions",
    "value_plus_one": "part of a compact array",
    "len_data_plus_one": "part of a compact string",
    "data": "part of a compact string or of a tagged field, or bytes of an unknown kind",
    "fields": "local to Kafka's generated code",
    "reserved": "unused bits",
    "leader_epoch_or_crc": "two fields in one place",
    "version_text": "bytes of a number",
    "num_entries_text": "bytes of a number",
    "partition_text": "bytes of a number",
    "offset_text": "bytes of a number",
    "epoch_text": "bytes of a number",
    "start_offset_text": "bytes of a number",
    "topic_id_text": "bytes of a text",
    "version_label": "what Kafka does not look at",
    "topic_id_label": "what Kafka does not look at",
    "num_producer_entries": "part of an array",
    "topic_bytes": "bytes of a text",
    "entries": "Kafka's word for them has no field",
    "has_metadata_first": "a bit of our own, of an experiment",
    "heads": "part of a layout of our own",
    "contents": "part of a layout of our own",
    "len_headers": "part of a layout of our own",
}


@pytest.fixture(scope="module")
def schemas() -> dict[str, Node]:
    tools = find_toolchain()
    ensure_packages(tools)
    found = json.loads(run_node(tools, Path(__file__).with_name("schemas.js"), str(FOLDER), str(SCHEMAS)))
    assert sorted(found) == STEMS
    return found


def types_of(schema: Node, name: str = "") -> Iterator[tuple[str, Node]]:
    """A schema and the types in it, each with its path."""
    yield name, schema
    for inner, found in schema.get("types", {}).items():
        yield from types_of(found, f"{name}::{inner}")


def attributes_of(schema: Node) -> Iterator[tuple[str, Node, str]]:
    """Every attribute and instance: path, content, and ``seq``, ``params`` or ``instances``."""
    for name, found in types_of(schema):
        for section in ("params", "seq"):
            for attribute in found.get(section, []):
                yield f"{name}/{attribute['id']}", attribute, section
        for instance, content in found.get("instances", {}).items():
            yield f"{name}/{instance}", content, "instances"


def in_order(keys: list[str], order: list[str]) -> bool:
    """Whether keys are all known and stand in a given order."""
    return [key for key in order if key in keys] == keys


@pytest.mark.node
@pytest.mark.parametrize("stem", STEMS)
def test_sections_and_keys_are_in_order(schemas: dict[str, Node], stem: str) -> None:
    schema = schemas[stem]
    assert in_order(list(schema["meta"]), META)
    for name, found in types_of(schema):
        assert in_order(list(found), TYPE), f"{name}: {list(found)}"
        assert name == "" or "meta" not in found
    for place, attribute, _ in attributes_of(schema):
        # A type that a switch chooses stands where a plain one would.
        assert in_order(list(attribute), ATTRIBUTE), f"{place}: {list(attribute)}"


@pytest.mark.node
@pytest.mark.parametrize("stem", STEMS)
def test_schema_says_what_it_is(schemas: dict[str, Node], stem: str) -> None:
    schema = schemas[stem]
    meta = schema["meta"]
    assert meta["id"] == stem
    assert meta["license"] == "CC0-1.0"
    assert meta["title"] and meta["application"] and meta["ks-version"] in ("0.10", "0.11")
    assert not meta.keys() & {"ks-debug", "ks-opaque-types"}
    assert meta.get("imports", []) == sorted(meta.get("imports", []))
    assert schema["doc"] and schema["doc-ref"]


@pytest.mark.node
@pytest.mark.parametrize("stem", STEMS)
def test_names(schemas: dict[str, Node], stem: str) -> None:
    for place, attribute, section in attributes_of(schemas[stem]):
        name = place.rpartition("/")[2]
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name), place
        assert name not in {"on", "off", "yes", "no", "items", "keys", "values"}, place
        assert not keyword.iskeyword(name), place
        if "repeat" in attribute:
            assert name.endswith("s"), f"{place}: repeated, so in the plural"
        if section == "seq":
            named = "-orig-id" in attribute
            assert named != (name in OURS), f"{place}: Kafka's own name, or a reason why there is none"


@pytest.mark.node
def test_names_without_an_original_are_all_in_use(schemas: dict[str, Node]) -> None:
    used = {place.rpartition("/")[2] for schema in schemas.values() for place, _, _ in attributes_of(schema)}
    assert OURS.keys() <= used


@pytest.mark.node
@pytest.mark.parametrize("stem", STEMS)
def test_arithmetic_is_safe_in_javascript(schemas: dict[str, Node], stem: str) -> None:
    """No bitwise operators: those of JavaScript cut to 32 bits, and make a signed number of it."""
    for place, attribute, _ in attributes_of(schemas[stem]):
        valid = attribute.get("valid")
        texts = [str(attribute[key]) for key in EXPRESSIONS if key in attribute]
        texts += [str(valid["expr"])] if isinstance(valid, dict) and "expr" in valid else []
        for text in texts:
            assert not re.search(r"<<|>>|[&|^~]", text), f"{place}: {text}"


@pytest.mark.parametrize("stem", STEMS)
def test_text(stem: str) -> None:
    raw = (SCHEMAS / f"{stem}.ksy").read_bytes()
    assert raw.endswith(b"\n") and not raw.endswith(b"\n\n")
    assert b"\r" not in raw and b"\t" not in raw and not raw.startswith(b"---")
    for line in raw.decode("ascii").splitlines():
        assert line == line.rstrip()
        # Addresses and names of types cannot be folded.
        assert len(line) <= 80 or "://" in line or re.match(r" +\S+::\S+: \S+$", line), line


def test_upstream_names_every_schema_and_the_tag() -> None:
    upstream = tomllib.loads((SCHEMAS / "UPSTREAM.toml").read_text(encoding="utf-8"))
    assert sorted(upstream["schemas"]) == STEMS
    folders = upstream["kafka"]["folders"]
    for stem, files in upstream["schemas"].items():
        text = (SCHEMAS / f"{stem}.ksy").read_text(encoding="utf-8")
        tags = re.findall(r"github\.com/apache/kafka/(?:blob|tree)/([^/\s]+)/", text)
        if isinstance(files, dict):
            assert {"repository", "files"} < files.keys()
            assert tags in ([], [files.get("branch")])
        else:
            assert files and all(file.split("/")[0] in folders for file in files)
            assert set(tags) <= {upstream["kafka"]["tag"]}


def test_licence_is_there() -> None:
    assert "CC0 1.0 Universal" in (SCHEMAS / "LICENSE").read_text(encoding="utf-8")
