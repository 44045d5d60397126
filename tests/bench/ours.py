"""The project under measurement, through its public API: the one module that knows how it is called.

Importing it imports nothing but `kafka_segments`: what that takes is measured too.
"""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kafka_segments

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

COLUMNS = ("offset", "timestamp", "key", "value", "headers")
# Where compiled kernels are kept; an empty folder makes the next process compile.
CACHE_VARIABLE = "KAFKA_SEGMENTS_CACHE_DIR"

# Offset, timestamp, key, value, headers.
Row = tuple[int, int, bytes | None, bytes | None, Sequence[tuple[Any, bytes | None]]]


def arrow_batches(
    source: bytes | Path, *, check_crc: bool = True, views: bool = False
) -> Iterator[pa.RecordBatch]:
    """All records of a segment as arrow batches with the columns of the checksum, one at a time."""
    with kafka_segments.open_segment(source, check_crc=check_crc) as segment:
        yield from segment.read_batches(columns=list(COLUMNS), binary="view" if views else "copy")


def one_arrow_batch(source: bytes) -> pa.RecordBatch:
    """All records of a segment as one arrow batch."""
    import pyarrow as pa

    (batch,) = pa.Table.from_batches(list(arrow_batches(source))).combine_chunks().to_batches()
    return batch


def encoded(records: pa.RecordBatch, batch_size: int, leader_epoch: int) -> Iterator[memoryview]:
    """Batches filled up to a size, from an arrow batch: some at a time, whose memory is used again."""
    # Batches of a MiB may pass the bound that a broker has by default.
    yield from kafka_segments.iter_encoded(
        records, batch_size=batch_size, partition_leader_epoch=leader_epoch, max_message_bytes=None
    )


def num_table_rows(source: Path) -> int:
    """Read a whole segment into one Arrow table; return how many rows it has."""
    table: pa.Table = kafka_segments.read_table(source, columns=list(COLUMNS))
    return int(table.num_rows)


def num_rows_of_tables(sources: Sequence[Path], threads: int) -> int:
    """Read several segments into one Arrow table by several threads; return how many rows it has."""
    table: pa.Table = kafka_segments.read_table(sources, columns=list(COLUMNS), threads=threads)
    return int(table.num_rows)


def header_positions(source: Path) -> list[int]:
    """Read the headers of all batches of a segment, without payloads; return where they are."""
    with kafka_segments.open_segment(source) as segment:
        positions: list[int] = segment.read_headers()["position"].to_pylist()
    return positions


def num_batches(source: Path) -> int:
    """The same, but return only how many there are."""
    with kafka_segments.open_segment(source) as segment:
        return int(segment.read_headers().num_rows)


def polars_frame(log_directory: Path, **options: Any) -> pl.LazyFrame:
    """All records of a log directory as a frame of polars."""
    from kafka_segments.polars import scan_segments

    return scan_segments(log_directory, **options)


def polars_frame_of_copies(log_directory: Path) -> pl.DataFrame:
    """The same by copied columns, which polars is handed one arrow batch at a time."""
    import polars as pl

    batches = kafka_segments.scan(log_directory, binary="copy")
    return pl.concat([pl.DataFrame(pl.from_arrow(batch, rechunk=False)) for batch in batches])


def find_bytes(source: Path, needle: bytes) -> int:
    """Search a segment for records that contain a byte string, as the verb `find` does; return how many."""
    from kafka_segments.core.io.storage import open_source
    from kafka_segments.search.conditions import Conditions
    from kafka_segments.search.content_tests import Contains
    from kafka_segments.search.segment_search import SegmentSearch

    opened = open_source(source)
    try:
        return sum(1 for _ in SegmentSearch(opened, Conditions((Contains(needle),))).events())
    finally:
        opened.close()


def direct_codec(name: str) -> Any:
    """`(payload, target) -> bytes written`; not public, and only for the limits.

    Raises:
        ImportError: a codec has no such way in this installation.
    """
    from kafka_segments.core.segment.columnar.codec_loops import new_loop

    loop = new_loop(name)
    if loop is None:
        raise ImportError(f"no direct way for {name}")
    places = array("q", [0, 0])

    def expand(payload: memoryview, target: memoryview) -> int | None:
        places[0], places[1] = 0, len(payload)
        num_done, size = loop.expand(payload, places, target, 1)
        return size if num_done else None

    return expand


def kaitai_rows(segment: bytes) -> Iterator[Row]:
    """Records of uncompressed v2 batches by the generated Kaitai classes."""
    from kaitaistruct import KaitaiStream

    from kafka_segments_generated.kaitai.kafka_log_segment import KafkaLogSegment

    return rows_of(KafkaLogSegment(KaitaiStream(io.BytesIO(segment))).entries)


def construct_rows(segment: bytes) -> Iterator[Row]:
    """Records of uncompressed v2 batches by the generated Construct declarations."""
    module = import_module("kafka_segments_generated.construct.kafka_log_segment")
    return rows_of(module.KafkaLogSegment.parse(segment).entries)


def rows_of(entries: Iterable[Any]) -> Iterator[Row]:
    """Records of parsed entries, whose trees are alike; the CRC is compared here: neither does it."""
    from crc32c import crc32c

    for entry in entries:
        batch = entry.body.content
        if crc32c(batch.crc_region) != batch.crc:
            raise ValueError("a wrong checksum")
        for record in batch.records:
            body = record.body
            headers = [(header.key, header.value) for header in body.headers]
            key, value = getattr(body, "key", None), getattr(body, "value", None)
            yield body.offset, body.timestamp, key, value, headers
