"""One pass of each encoder that is written in Python, ours and the peers.

Everybody holds the records of a segment in the form that is natural to it, made before the time begins, and
writes the batches of that segment again. Strategy: about a MiB is written, then the clock stands still while
its bytes go into the checksum, so that what comes out is compared whole and costs nobody anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from crc32c import crc32c
from tests.bench.corpora import ENCODED, LEADER_EPOCH, MIB, cut, new_builder, placed
from tests.bench.passes import Pass, Result

# The batches are given, so that no builder may find one full.
LEN_LARGEST = 2 * MIB

# Number of records, and what makes the buffers that were written, one behind the other; called once.
Piece = tuple[int, Callable[[], Iterator[Any]]]
# Offset in the batch, timestamp, key, value, headers.
Row = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def timed(pieces: Callable[[], Iterator[Piece]]) -> Pass:
    """A pass over what writes a piece whenever it is asked for the next one."""

    def write() -> Result:
        now = time.perf_counter
        seconds, num_records, checksum = 0.0, 0, 0
        began = now()
        for count, written in pieces():
            seconds += now() - began
            num_records += count
            for part in written():
                checksum = crc32c(part, checksum)
                del part
            # Or its memory could not be used again.
            del written
            began = now()
        return Result(seconds + now() - began, num_records, checksum)

    return write


def rows_of(segment: bytes) -> list[tuple[int, list[Row]]]:
    """Base offset and rows of each batch, as aiokafka reads them."""
    found = []
    batches = import_module("aiokafka.record.memory_records").MemoryRecords(segment)
    while batches.has_next():
        batch = batches.next_batch()
        base = batch.base_offset
        rows = [(one.offset - base, one.timestamp, one.key, one.value, one.headers) for one in batch]
        found.append((base, rows))
    return found


def built(
    batches: list[tuple[int, list[Row]]], builder: Callable[[int], Any]
) -> Callable[[], Iterator[Piece]]:
    """Pieces of batches by a Python client's builder. Neither client knows of base offset and leader epoch,
    which are no part of its work: they are put in outside the time.
    """

    def pieces() -> Iterator[Piece]:
        count = size = 0
        piece: list[tuple[int, Any]] = []
        for base, rows in batches:
            one = builder(LEN_LARGEST)
            append = one.append
            for offset, timestamp, key, value, headers in rows:
                append(offset, timestamp, key, value, headers)
            written = one.build()
            piece.append((base, written))
            count += len(rows)
            size += len(written)
            if size >= MIB:
                yield count, lambda piece=piece: (placed(batch, base) for base, batch in piece)
                count, size, piece = 0, 0, []
        yield count, lambda: (placed(batch, base) for base, batch in piece)

    return pieces


def kafka_python_builder(batch_size: int) -> Any:
    """kafka-python's builder of one batch."""
    return import_module("kafka.record.default_records").DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=batch_size,
    )


BUILDERS: dict[str, Callable[[int], Any]] = {
    "aiokafka-builder": new_builder,
    "kafka-python-builder": kafka_python_builder,
}
NAMES = ("encoder", *BUILDERS)


def columns(segment: bytes, batch_size: int) -> Callable[[], Iterator[Piece]]:
    """Ours, from one arrow batch."""
    from tests.bench import ours

    batch = ours.one_arrow_batch(segment)

    def pieces() -> Iterator[Piece]:
        held = []
        for piece in ours.encoded(batch, batch_size, LEADER_EPOCH):
            held.append(piece)
            del piece
            yield 0, lambda: iter([held.pop()])
        yield batch.num_rows, lambda: iter(())

    return pieces


def make(name: str, path: Path, limit: int = 0) -> Pass:
    """The pass of an encoder by name that writes a file again, or its first `limit` bytes.

    Args:
        name: one of `NAMES`.
        path: named like its corpus.
        limit: 0 is everything.
    """
    if name == "encoder":
        return timed(columns(cut(path.read_bytes(), limit), ENCODED[path.stem]))
    return timed(built(rows_of(cut(path.read_bytes(), limit)), BUILDERS[name]))
