"""Samples for the gallery: small files, or pieces of files, that Kafka's brokers wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compiler.errors import SchemaError

__all__ = ["SAMPLES", "Sample", "read_sample"]

VECTORS = "tests/vectors"


@dataclass(frozen=True)
class Sample:
    """A file that a schema opens.

    Attributes:
        name: of the file.
        schema: that opens it.
        pieces: files below `tests/vectors`, with the bytes of each that are taken (None: all).
        origin: who wrote the bytes, in words.
    """

    name: str
    schema: str
    pieces: tuple[tuple[str, int | None], ...]
    origin: str


def _recorded(name: str, schema: str, *pieces: tuple[str, int | None], origin: str) -> Sample:
    return Sample(name, schema, tuple((f"recorded/{file}", size) for file, size in pieces), origin)


def _vector(schema: str, vector: str, suffix: str) -> Sample:
    pieces = ((f"{schema}/{vector}.bin", None),)
    return Sample(f"{schema}{suffix}", schema, pieces, "a broker of Kafka 4.3")


SAMPLES = (
    _recorded(
        "record_batches.log",
        "kafka_record_batches",
        ("kafka-4.3/clean/transactions-0/00000000000000000000.log", 460),
        ("kafka-4.3/clean/transactions-0/00000000000000000007.log", 156),
        origin="a broker of Kafka 4.3: batches without compression, and markers of transactions",
    ),
    _recorded(
        "compressed.log",
        "kafka_record_batches",
        ("kafka-4.3/clean/append-time-0/00000000000000000000.log", None),
        origin="a broker of Kafka 4.3: batches by gzip, snappy, lz4 and zstd",
    ),
    _recorded(
        "all_magics.log",
        "kafka_log_segment",
        ("kafka-2.8/clean/mixed-0/00000000000000000000.log", None),
        origin="a broker of Kafka 2.8: messages of magic 0 and 1, then batches of magic 2",
    ),
    _vector("kafka_offset_index", "transactions", ".index"),
    _vector("kafka_time_index", "transactions", ".timeindex"),
    _vector("kafka_transaction_index", "aborted", ".txnindex"),
    _vector("kafka_producer_snapshot", "two_transactional", ".snapshot"),
    _vector("kafka_leader_epoch_checkpoint", "two_epochs", ""),
    _vector("kafka_offset_checkpoint", "log_start_offsets", ""),
    _vector("kafka_partition_metadata", "multi", ".metadata"),
)


def read_sample(sample: Sample, root: Path) -> bytes:
    """Return a sample's bytes.

    Args:
        sample: which one.
        root: the project's folder.

    Raises:
        SchemaError: a file that it is cut from is missing.
    """
    data = b""
    for file, size in sample.pieces:
        path = root / VECTORS / file
        if not path.is_file():
            raise SchemaError(f"the gallery's {sample.name} is cut from {VECTORS}/{file}: not there")
        data += path.read_bytes()[:size]
    return data
