"""Generated Construct declarations, and control records and index files that are built with them.

Records and headers are written by the generated encoders; see `write`. Needs the extra `construct`, and is
imported where something is built.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from kafka_segments.errors import EncodeError
from kafka_segments.errors.packages import check_packages

__all__ = [
    "build_control_key",
    "build_control_value",
    "build_leader_epochs",
    "build_offset_checkpoint",
    "build_partition_metadata",
    "build_producer_snapshot",
    "build_transaction_index",
    "control_types",
    "declarations",
]


def declarations(stem: str = "", need: str = "control records and index files need") -> Any:
    """The generated declarations of a schema, or the package of all.

    Args:
        stem: of the schema.
        need: what needs them, for the message.

    Raises:
        MissingExtraError: the package construct is not installed.
    """
    try:
        return import_module(f"kafka_segments_generated.construct{stem and f'.{stem}'}")
    except ImportError:
        check_packages(["construct"], need, "construct")
        raise


def _built(stem: str, values: Mapping[str, Any]) -> bytes:
    """Build what a schema describes of the values of its fields."""
    name = "".join(map(str.capitalize, stem.split("_")))
    built: bytes = getattr(declarations(stem), name).build(values)
    return built


@cache
def control_types() -> dict[str, int]:
    """The types of control records: names as the schema has them, and numbers."""
    return {kind.name: int(kind) for kind in declarations("kafka_control_record_key").ControlRecordType}


def build_control_key(kind: str) -> bytes:
    """The key of a control record of one of `control_types`."""
    return _built("kafka_control_record_key", {"record_type": kind})


def build_control_value(kind: str, content: Mapping[str, Any]) -> bytes:
    """The value of a control record.

    Args:
        kind: one of `control_types`.
        content: its fields, as reading gives them: texts and uuids as str, no lengths, no tagged fields.

    Raises:
        EncodeError: a field is missing, does not exist, or cannot have its value.
    """
    declaration = declarations("kafka_control_record_value").KafkaControlRecordValue
    try:
        fields = _declared(declaration.by_name["content"].subcon.cases[kind], content)
        value: bytes = declaration.build({"content": fields}, record_type=kind)
        declaration.parse(
            value, record_type=kind
        )  # building does not look whether a field may have its value
    except (import_module("construct").ConstructError, TypeError, ValueError) as error:
        raise EncodeError(
            f"the value of a control record {kind} cannot be built: {_reason(error)}"
        ) from error
    return value


def _declared(declaration: Any, value: Any) -> Any:
    """A plain value in the form that its declaration takes; the declaration refuses what does not fit."""
    package = declarations()
    while hasattr(declaration, "subcon") and not isinstance(declaration, package.Array):
        declaration = declaration.subcon
    if isinstance(declaration, package.Array) and isinstance(value, (list, tuple)):
        return [_declared(declaration.subcon, one) for one in value]
    if declaration is declarations("kafka_control_record_value").CompactString and isinstance(value, str):
        return {"data": value.encode("utf-8")}
    if isinstance(declaration, package.Bytes) and isinstance(value, str):
        # What has a fixed number of bytes is a uuid: 22 characters of base64url (Kafka's Uuid.toString).
        digits = value.rstrip("=")
        return base64.b64decode(digits + "=" * (-len(digits) % 4), altchars=b"-_", validate=True)
    if isinstance(declaration, package.Struct) and isinstance(value, Mapping):
        members = declaration.by_name
        return {
            name: _declared(members[name].subcon, one) if name in members else one
            for name, one in value.items()
        }
    return value


def _reason(error: Exception) -> str:
    """The field that cannot be built, and the reason, on one line."""
    field = (getattr(error, "path", None) or "").partition(" -> content -> ")[2]
    reason = str(error).strip().rpartition("\n")[2] or type(error).__name__
    return f"{field}: {reason}" if field else reason


def build_producer_snapshot(entries: Sequence[Mapping[str, int]]) -> bytes:
    """The content of a producer snapshot.

    Args:
        entries: one a producer, by the names of the declaration.
    """
    return _built("kafka_producer_snapshot", {"producer_entries": list(entries)})


def build_transaction_index(entries: Sequence[Mapping[str, int]]) -> bytes:
    """The content of a `.txnindex`.

    Args:
        entries: one an aborted transaction, by the names of the declaration.
    """
    return _built("kafka_transaction_index", {"entries": [dict(entry) for entry in entries]})


def build_leader_epochs(epochs: Sequence[tuple[int, int]]) -> bytes:
    """The content of a `leader-epoch-checkpoint`.

    Args:
        epochs: pairs of a leader epoch and its first offset, in order.
    """
    entries = [{"epoch_text": b"%d" % epoch, "start_offset_text": b"%d" % first} for epoch, first in epochs]
    return _checkpoint("kafka_leader_epoch_checkpoint", entries)


def build_offset_checkpoint(offsets: Mapping[tuple[str, int], int]) -> bytes:
    """The content of an offset checkpoint, such as `recovery-point-offset-checkpoint`.

    Args:
        offsets: by topic and partition.
    """
    entries = [
        {"topic_bytes": topic.encode(), "partition_text": b"%d" % partition, "offset_text": b"%d" % offset}
        for (topic, partition), offset in offsets.items()
    ]
    return _checkpoint("kafka_offset_checkpoint", entries)


def _checkpoint(stem: str, entries: Sequence[Mapping[str, bytes]]) -> bytes:
    values = {"version_text": b"0", "num_entries_text": b"%d" % len(entries), "entries": entries}
    return _built(stem, values)


def build_partition_metadata(topic_id: str) -> bytes:
    """The content of a `partition.metadata`.

    Args:
        topic_id: 22 characters of base64url.
    """
    # Labels and blanks as PartitionMetadataFile.PartitionMetadataFileFormatter writes them.
    values = {
        "version_label": b"version",
        "version_text": b" 0",
        "topic_id_label": b"topic_id",
        "topic_id_text": b" " + topic_id.encode("ascii"),
    }
    return _built("kafka_partition_metadata", values)
