"""The door to the generated Construct declarations, which build: small things that there are few of.

What there is much of (records, heads) is written by the generated encoders; see `writing`. Needs the extra
`construct`, and is imported where something is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from kafka_segments.errors import EncodeError, MissingExtraError

__all__ = [
    "EntryLayout",
    "build_control_key",
    "build_control_value",
    "build_producer_snapshot",
    "control_types",
    "entry_layout",
]

_ENTRIES = {
    "kafka_offset_index": "Entry",
    "kafka_time_index": "Entry",
    "kafka_transaction_index": "AbortedTxn",
}


def _module(stem: str) -> Any:
    """A generated module.

    Raises:
        MissingExtraError: the package construct is not installed.
    """
    try:
        return import_module(f"kafka_segments_generated.construct.{stem}")
    except ImportError as error:
        if not (error.name or "").startswith("construct"):
            raise
        message = "control records and index files need construct: pip install 'kafka-segments[construct]'"
        raise MissingExtraError(message, extra="construct") from error


@cache
def control_types() -> dict[str, int]:
    """The types of control records: names as the schema has them, and numbers."""
    return {kind.name: int(kind) for kind in _module("kafka_control_record_key").ControlRecordType}


def build_control_key(kind: str) -> bytes:
    """The key of a control record of one of `control_types`."""
    key: bytes = _module("kafka_control_record_key").KafkaControlRecordKey.build({"type": kind})
    return key


def build_control_value(kind: str, content: Mapping[str, Any]) -> bytes:
    """The value of a control record.

    Args:
        kind: one of `control_types`.
        content: the fields, as the declaration has them.

    Raises:
        EncodeError: a field is missing, does not exist, or cannot have its value.
    """
    declaration = _module("kafka_control_record_value").KafkaControlRecordValue
    try:
        value: bytes = declaration.build({"content": dict(content)}, type=kind)
    except _construct_error() as error:
        reason = str(error).strip().rpartition("\n")[2] or type(error).__name__
        raise EncodeError(f"the value of a control record {kind} cannot be built: {reason}") from error
    return value


def build_producer_snapshot(entries: Sequence[Mapping[str, int]]) -> bytes:
    """A snapshot of what is known of producers.

    Args:
        entries: one a producer, by the names of the declaration.
    """
    declaration = _module("kafka_producer_snapshot").KafkaProducerSnapshot
    snapshot: bytes = declaration.build({"producer_entries": [dict(entry) for entry in entries]})
    return snapshot


def _construct_error() -> Any:
    return import_module("construct").ConstructError


class EntryLayout:
    """Where the bytes of an index entry's fields are, all of one size.

    Learned from the generated declaration: each byte of each field in turn is set in an entry of zeros, and
    the place seen where it comes out. So entries can be made by the thousand without being built one by one.

    Attributes:
        zeros: an entry whose fields are 0.
        places: by field, where its bytes are in the entry; the least significant first.
    """

    def __init__(self, declaration: Any, names: tuple[str, ...]) -> None:
        self.zeros: bytes = declaration.build(dict.fromkeys(names, 0))
        self.places = {name: list(self._places(declaration, names, name)) for name in names}

    def _places(self, declaration: Any, names: tuple[str, ...], name: str) -> Iterator[int]:
        for byte in range(len(self.zeros)):
            values = dict.fromkeys(names, 0) | {name: 1 << (8 * byte)}
            try:
                built = declaration.build(values)
            except _construct_error():  # the field is not that wide
                return
            changed = [
                at for at, pair in enumerate(zip(built, self.zeros, strict=True)) if pair[0] != pair[1]
            ]
            yield changed[0]


@cache
def entry_layout(stem: str, *names: str) -> EntryLayout:
    """The layout of an index's entries.

    Args:
        stem: of the schema.
        names: fields that are said; the others are as the schema has them.
    """
    return EntryLayout(getattr(_module(stem), _ENTRIES[stem]), names)
