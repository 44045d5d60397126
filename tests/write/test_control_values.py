"""Control records from what people give: Kafka's names, and values whose layout the declarations know."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import kafka_segments
from kafka_segments.core.formats import building
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write import control_batches

MARKER: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True}
UUID = "uvNgLjnRRaK5kWWU5hTnCw"
CHANGE = {"version": 0, "leader_id": 1, "voters": [], "granting_voters": []}


def encode(kind: Any, value: Any, **options: Any) -> bytes:
    given = {"timestamp": 1, "partition_leader_epoch": 3, **options}
    return kafka_segments.encode_control([(kind, value)], **given)


def found(data: bytes) -> list[tuple[str, Any]]:
    with kafka_segments.open_segment(data) as segment:
        controls = [
            event.control for event in segment.iter_events() if isinstance(event, kafka_segments.Record)
        ]
    return [(each.type, each.value) for each in controls if each is not None]


@pytest.mark.parametrize("kind", ["commit", "Abort", "leader_change", "kraft_Version", None, 3, ["COMMIT"]])
def test_a_type_is_kafkas_name_to_the_letter(kind: Any) -> None:
    """In other letters it would pass by the rules of its type."""
    value = CHANGE if kind == "leader_change" else {"coordinator_epoch": 0}
    with pytest.raises(EncodeError) as caught:
        encode(kind, value, partition_leader_epoch=-1)
    assert caught.value.rule == "unknown_control_type"


@pytest.mark.parametrize(
    ("kind", "value", "named"),
    [
        ("COMMIT", {}, "coordinator_epoch: it is not given"),
        ("COMMIT", None, "coordinator_epoch: it is not given"),
        ("COMMIT", {"coordinator_epoch": "1"}, "coordinator_epoch"),
        ("COMMIT", {"coordinator_epoch": 2**31}, "coordinator_epoch"),
        ("COMMIT", {"coordinator_epoch": 0, "more": 1}, "no such field in .*: 'more'"),
        ("COMMIT", {1: 2, "x": 3}, "no such field"),
        ("ABORT", {"coordinator_epoch": 0, "version": -1}, "version: -1 is no valid value"),
        ("LEADER_CHANGE", CHANGE | {"version": 5}, "version: 5 is no valid value"),
        ("LEADER_CHANGE", CHANGE | {"voters": 5}, "voters: a list is wanted"),
        ("LEADER_CHANGE", CHANGE | {"voters": [5]}, "a mapping of fields is wanted"),
        ("SNAPSHOT_FOOTER", {"version": 1}, "version: 0 is wanted"),
        ("KRAFT_VERSION", {"version": 10**5000, "k_raft_version": 1}, "."),
    ],
)
def test_a_value_is_refused_by_its_declaration(kind: str, value: Any, named: str) -> None:
    """And the field is named that is missing or wrong, whatever else the value could have had."""
    with pytest.raises(EncodeError, match=named) as caught:
        encode(kind, value, **MARKER)
    assert caught.value.rule == "control_value"
    assert "tagged_fields" not in str(caught.value)


def voters(**changes: Any) -> dict[str, Any]:
    voter = {
        "voter_id": 1,
        "voter_directory_id": UUID,
        "endpoints": [{"name": "CONTROLLER", "host": "höst", "port": 9}],
        "k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
    }
    return {"version": 0, "voters": [voter | changes]}


@pytest.mark.parametrize(
    "changes",
    [
        {"voter_directory_id": "ü" * 22},
        {"voter_directory_id": UUID + "!"},
        {"voter_directory_id": "AAAA"},
        {"voter_directory_id": 5},
        {"endpoints": [{"name": "\ud800", "host": "h", "port": 9}]},
        {"endpoints": [{"name": "n" * 32768, "host": "h", "port": 9}]},
        {"endpoints": [{"name": 7, "host": "h", "port": 9}]},
        {"endpoints": "no"},
        {"k_raft_version_feature": "no"},
    ],
)
def test_texts_and_uuids_are_looked_at(changes: dict[str, Any]) -> None:
    with pytest.raises(EncodeError) as caught:
        encode("KRAFT_VOTERS", voters(**changes))
    assert caught.value.rule == "control_value"


def test_fields_are_those_of_the_declarations() -> None:
    """What kind a field is of, whatever its name, is asked of the declaration; texts and uuids come back."""
    change = {"version": 1, "leader_id": 1, "granting_voters": []}
    change["voters"] = [{"voter_id": 1, "voter_directory_id": UUID}]
    for kind, value in (("KRAFT_VOTERS", voters()), ("LEADER_CHANGE", change)):
        assert found(encode(kind, value)) == [(kind, value)]
    assert found(encode("KRAFT_VOTERS", voters(voter_directory_id=UUID + "=="))) == [
        ("KRAFT_VOTERS", voters())
    ]
    given = found(encode("COMMIT", {"coordinator_epoch": 7}, **MARKER))
    assert given == [("COMMIT", {"coordinator_epoch": 7})]
    assert found(encode("COMMIT", {"coordinator_epoch": 7, "version": 3}, **MARKER)) == given


def test_no_field_is_named_where_control_records_are_written() -> None:
    """Which types there are, which fields each has and which of those are texts, the schema says."""
    fields = {"coordinator_epoch", "tagged_fields", "voter_directory_id", "host", "port"}
    for module in (control_batches, building):
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        assert not fields & {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}, module


@pytest.mark.parametrize(
    "wrong",
    [
        {"timestamp": "x"},
        {"timestamp": None},
        {"timestamp": 1 << 70},
        {"timestamp": 1.0},
        {"base_offset": "1"},
        {"base_offset": -1},
        {"base_offset": 10**5000},
        {"base_sequence": None},
        {"is_transactional": "no"},
        {"compression": ["gzip"]},
        {"producer_id": True},
    ],
)
def test_a_wrong_number_is_an_option(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        encode("COMMIT", {"coordinator_epoch": 0}, **{**MARKER, **wrong})


@pytest.mark.parametrize(
    "records", [5, None, ["COMMIT"], [b"ab"], [("COMMIT",)], [("COMMIT", [1])], "COMMIT"]
)
def test_other_things_are_no_control_records(records: Any) -> None:
    with pytest.raises(OptionError, match="control record"):
        kafka_segments.encode_control(records, timestamp=1, **MARKER)
