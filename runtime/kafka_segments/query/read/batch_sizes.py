"""Arrow batches of bounded size, for Spark.

A decoded batch has a few MiB, but more with a large record. Arrow's offsets end at 2 GiB, and the JVM's
buffers before that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_segments.errors import RecordTooLargeError
from kafka_segments.log.model import Split

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bounded"]

_LARGEST = 8 << 20


def bounded(
    batch: pa.RecordBatch, split: Split, max_row_size: int | None, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a batch, in slices of up to 8 MiB or of one row.

    Raises:
        RecordTooLargeError: one row has more than `max_row_size` bytes.
    """
    if batch.nbytes > _LARGEST:
        if batch.num_rows > 1:
            half = batch.num_rows // 2
            for piece in (batch.slice(0, half), batch.slice(half)):
                yield from bounded(piece, split, max_row_size, columns)
            return
        if max_row_size is not None and batch.nbytes > max_row_size:
            raise _too_large(batch, split, max_row_size)
    yield batch if batch.schema.names == list(columns) else batch.select(list(columns))


def _too_large(batch: pa.RecordBatch, split: Split, max_row_size: int) -> RecordTooLargeError:
    offset = batch.column("offset")[0].as_py()
    return RecordTooLargeError(
        f"topic {split.topic}, partition {split.partition}, offset {offset}: the record has {batch.nbytes} "
        f"bytes, more than the {max_row_size} that can be returned; leave out its column, or its offset",
        topic=split.topic,
        partition=split.partition,
        offset=offset,
        size=batch.nbytes,
        path=split.segment.file.path,
    )
