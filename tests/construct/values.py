"""Values to build from, and what the tests ask of recorded files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.codegen.vectors import VECTORS
from tests.made.codecs import compress

from kafka_segments.core.codecs import decompress
from kafka_segments_generated.construct import plain
from kafka_segments_generated.construct.kafka_log_segment import KafkaLogSegment

RECORDED = VECTORS / "recorded"


class Hook:
    """A codec as the declarations take it, over the package's own."""

    def __init__(self, name: str, magic: int = 2) -> None:
        self.name, self.magic = name, magic

    def compress(self, data: bytes) -> bytes:
        return compress(self.name, data, self.magic)

    def decompress(self, data: bytes) -> bytes:
        return decompress(self.name, data, magic=self.magic)


def hooks(magic: int = 2) -> dict[str, Hook]:
    """A codec for each of Kafka's algorithms; LZ4 in magic 0 is another one."""
    return {name: Hook(name, magic) for name in ("gzip", "snappy", "lz4", "zstd")}


def segments() -> list[Path]:
    """Every recorded file that holds entries."""
    found = [path for path in RECORDED.rglob("*") if path.suffix in (".log", ".checkpoint")]
    return sorted(found + [path for path in RECORDED.rglob("*.log.*") if path.is_file()])


def recorded_entries() -> Iterator[tuple[Any, bytes]]:
    """Every recorded entry: as a tree, and its bytes."""
    for path in segments():
        data = path.read_bytes()
        begin = 0
        for entry in KafkaLogSegment.parse(data).entries:
            end = entry._end
            yield entry, data[begin:end]
            begin = end
        assert begin == len(data)


def bare(values: Any) -> Any:
    """Values without any length, count, checksum or constant, whatever the declarations think of them.

    A count stays where what it counts is not there: it is in compressed bytes. So does the magic of a
    message, which is one of two.
    """
    if isinstance(values, list):
        return [bare(part) for part in values]
    if not isinstance(values, dict):
        return values
    is_batch = "records" in values or "payload" in values
    is_opaque = is_batch and values.get("records") is None

    def says_something(name: str) -> bool:
        if name.startswith("len_") or name == "crc" or (name == "magic" and is_batch):
            return False
        return not name.startswith("num_") or is_opaque

    return {name: bare(part) for name, part in values.items() if says_something(name)}


def plain_values(entry: Any) -> Any:
    """All that is to be read in an entry, but nothing that follows from the rest."""
    return bare(plain(entry, derived=True))


def names_in(values: Any) -> Iterator[str]:
    """All names in nested values."""
    for part in values.values() if isinstance(values, dict) else values if isinstance(values, list) else ():
        yield from names_in(part)
    if isinstance(values, dict):
        yield from values


def batch(records: list[dict[str, Any]], base_offset: int = 0, **header: Any) -> dict[str, Any]:
    """An entry with a batch of magic 2, from values."""
    bodies = [{"body": record} for record in records]
    return {"base_offset": base_offset, "body": {"content": {**header, "records": bodies}}}


def message(magic: int, base_offset: int = 0, timestamp: int | None = None, **fields: Any) -> dict[str, Any]:
    """An entry with a message of magic 0 or 1, from values."""
    header = {"magic": magic, "attributes": fields.pop("attributes", {})}
    if timestamp is not None:
        header["timestamp"] = timestamp
    return {"base_offset": base_offset, "body": {"content": {"header": header, **fields}}}


def segment(*entries: dict[str, Any], **context: Any) -> bytes:
    """The bytes of entries."""
    built: bytes = KafkaLogSegment.build({"entries": list(entries)}, **context)
    return built
