"""Whole batches of magic 2, and of both layouts of the discarded magic 3, as plain values and back.

Strategy: the generated Construct declarations parse and build. What a batch is, whatever its layout, is a
`BatchValues`; a declaration derives from it what only its own layout has: lengths, counts, the checksum.
Needs the extra `construct`, and is imported where a batch is converted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from kafka_segments.core.formats.building import declarations
from kafka_segments.core.formats.java import wrap_long
from kafka_segments.errors import EncodeError
from kafka_segments_generated.columns import kafka_varlong

__all__ = ["BatchValues", "Hook", "RecordValues", "build_batch", "parse_batch"]

_FLAGS = ("has_delete_horizon", "is_control", "is_transactional")
_NUMBERS = ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence")
_NULL = -1  # the length that is written for null
_HAS_ATTRIBUTES = 2  # the magic whose records always have attributes


class Hook(Protocol):
    """A codec, as the declarations take it."""

    def compress(self, data: bytes) -> bytes: ...

    def decompress(self, data: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class RecordValues:
    """A record as it is stored: its timestamp and offset are differences to those of its batch."""

    attributes: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class BatchValues:
    """A batch, whatever its layout.

    Attributes:
        base_offset: of the batch.
        last_offset_delta: the last offset, less `base_offset`.
        base_timestamp: milliseconds; a delete horizon if the attributes say so.
        max_timestamp: milliseconds.
        numbers: epoch of the leader, producer and sequence, by the schema's names.
        flags: of the attributes, likewise.
        timestamp_type: its number.
        compression: the codec's number.
        records: all of them; empty for a batch without.
        has_payload: whether a batch without records has a payload all the same, as some codecs make one.
        num_reserved_bits: bits of the attributes that have no meaning and are set.
        num_long_varints: varints that were longer than needed, and lengths of null other than -1.
    """

    base_offset: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    numbers: Mapping[str, int]
    flags: Mapping[str, bool]
    timestamp_type: int
    compression: int
    records: Sequence[RecordValues]
    has_payload: bool = True
    num_reserved_bits: int = field(default=0, compare=False)
    num_long_varints: int = field(default=0, compare=False)


def _declaration() -> Any:
    """The generated declaration of a segment that may hold all these batches; errors as `declarations`."""
    module = declarations("kafka_log_segment_experimental", "converting batches of magic 3 needs")
    return module.KafkaLogSegmentExperimental


def parse_batch(entry: bytes, codecs: Mapping[str, Hook]) -> BatchValues:
    """Parse a batch of magic 2 or 3, which has been read before and is sound.

    Args:
        entry: all its bytes.
        codecs: by their names.
    """
    tree = _declaration().parse(entry, codecs=codecs).entries[0]
    content, attributes = tree.body.content, tree.body.content.attributes
    names = ("last_offset_delta", "base_timestamp", "max_timestamp_delta")
    varying = [getattr(content, name) for name in names if hasattr(content, name)]
    num_long = sum(map(_is_long, varying))
    records = list[RecordValues]()
    if content.num_records > 0:
        records = [_record(head, one, headers) for _length, head, one, headers in _parts(content)]
        num_long += _num_long(content)
    return BatchValues(
        base_offset=tree.base_offset,
        last_offset_delta=int(content.last_offset_delta),
        base_timestamp=int(content.base_timestamp),
        max_timestamp=wrap_long(int(content.max_timestamp)),
        numbers={name: getattr(content, name) for name in _NUMBERS},
        flags={name: bool(getattr(attributes, name)) for name in _FLAGS},
        timestamp_type=int(attributes.timestamp_type),
        compression=int(attributes.compression),
        records=records,
        has_payload=len(content.payload) > 0,
        num_reserved_bits=attributes.reserved.bit_count(),
        num_long_varints=num_long,
    )


def _parts(content: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Of each record of a parsed batch: a length of its own, its metadata, key and value, and headers."""
    if isinstance(content.records, list):
        for record in content.records:
            yield record.len_body, record.body, record.body, record.body.headers
        return
    for head, one in zip(content.records.heads, content.records.contents, strict=True):
        yield head.len_headers, head, one, one.headers.headers


def _record(head: Any, content: Any, headers: Any) -> RecordValues:
    return RecordValues(
        attributes=head.attributes or 0,
        timestamp_delta=int(head.timestamp_delta),
        offset_delta=int(head.offset_delta),
        key=content.key,
        value=content.value,
        headers=tuple((header.key, header.value) for header in headers),
    )


def _num_long(content: Any) -> int:
    """How many of the varints of a batch's records are longer than needed; null has the length -1."""
    num = 0
    for length, head, _content, headers in _parts(content):
        numbers = [length, head.timestamp_delta, head.offset_delta, head.num_headers]
        num += sum(map(_is_long, [*numbers, *(header.len_key for header in headers)]))
        lengths = [head.len_key, head.len_value, *(header.len_value for header in headers)]
        num += sum(_is_long(one) or int(one) < _NULL for one in lengths)
    return num


def _is_long(number: Any) -> bool:
    """Whether a varint is longer than needed; a number of a fixed size is not."""
    return hasattr(number, "len") and bool(number.len > kafka_varlong.size(int(number)))


def build_batch(
    values: BatchValues, magic: int, codecs: Mapping[str, Hook], *, metadata_first: bool
) -> bytes:
    """Build a batch.

    Args:
        values: of the batch.
        magic: 2 or 3.
        codecs: by their names.
        metadata_first: in magic 3, the layout.

    Raises:
        EncodeError: a value does not fit its field.
    """
    content = _content(values, magic, metadata_first=metadata_first)
    body = {"magic": magic, "high_attributes": int(metadata_first), "content": content}
    try:
        entry = {"base_offset": values.base_offset, "body": body}
        built: bytes = _declaration().build({"entries": [entry]}, codecs=codecs)
    except (import_module("construct").ConstructError, TypeError, ValueError) as error:
        reason = str(error).strip().rpartition("\n")[2] or type(error).__name__
        raise EncodeError(f"the batch cannot be built: {reason}", offset=values.base_offset) from error
    return built


def _content(values: BatchValues, magic: int, *, metadata_first: bool) -> dict[str, Any]:
    """The values of a batch, as its declaration takes them."""
    attributes: dict[str, Any] = dict(values.flags)
    attributes |= {"timestamp_type": values.timestamp_type, "compression": values.compression}
    is_bare = magic != _HAS_ATTRIBUTES and not any(record.attributes for record in values.records)
    content = {
        **values.numbers,
        "attributes": attributes,
        "last_offset_delta": values.last_offset_delta,
        "base_timestamp": values.base_timestamp,
    }
    if values.records or values.has_payload:
        content["records"] = (_split if metadata_first else _whole)(values.records, is_bare=is_bare)
    else:
        content["payload"] = b""
    if metadata_first or "records" not in content:
        content["num_records"] = len(values.records)
    if magic == _HAS_ATTRIBUTES:
        return content | {"max_timestamp": values.max_timestamp}
    attributes["ignores_message_attributes"] = is_bare
    return content | {"max_timestamp_delta": wrap_long(values.max_timestamp - values.base_timestamp)}


def _whole(records: Sequence[RecordValues], *, is_bare: bool) -> list[dict[str, Any]]:
    """Records one after the other."""
    return [{"body": _head(record, is_bare=is_bare) | _values(record)} for record in records]


def _split(records: Sequence[RecordValues], *, is_bare: bool) -> dict[str, Any]:
    """The metadata of all records, and their contents."""
    declaration = declarations("kafka_record_header").KafkaRecordHeader
    heads, contents = [], []
    for record in records:
        content = _values(record)
        headers = content.pop("headers")
        lengths = {
            "len_key": _NULL if record.key is None else len(record.key),
            "len_value": _NULL if record.value is None else len(record.value),
            "num_headers": len(headers),
            "len_headers": sum(len(declaration.build(header)) for header in headers),
        }
        heads.append(_head(record, is_bare=is_bare) | lengths)
        contents.append(content | {"headers": {"headers": headers}})
    return {"heads": heads, "contents": contents}


def _head(record: RecordValues, *, is_bare: bool) -> dict[str, Any]:
    head = {"timestamp_delta": record.timestamp_delta, "offset_delta": record.offset_delta}
    return head if is_bare else head | {"attributes": record.attributes}


def _values(record: RecordValues) -> dict[str, Any]:
    """Key, value and headers of a record; without what is null."""
    found: dict[str, Any] = {"headers": [_present(key=key, value=value) for key, value in record.headers]}
    return found | _present(key=record.key, value=record.value)


def _present(**values: bytes | None) -> dict[str, bytes]:
    return {name: value for name, value in values.items() if value is not None}
