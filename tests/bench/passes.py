"""One pass of each decoder that is written in Python, ours and the peers, and of the limits.

A pass is a function without arguments that reads the segment it was made for and returns a `Result`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.bench import codecs
from tests.bench.corpora import MIB, cut


@dataclasses.dataclass(frozen=True)
class Result:
    """What a pass did; a limit has no records and no checksum.

    Attributes:
        seconds: of the whole pass.
        consuming: the part of it that went into the checksum, where that can be told apart.
        library: what did the work, where several could.
    """

    seconds: float
    records: int | None = None
    checksum: int | None = None
    consuming: float | None = None
    library: str = ""


Pass = Callable[[], Result]

CLIENTS = {
    "aiokafka": "aiokafka.record.memory_records",
    "kafka-python": "kafka.record.memory_records",
}


def columns(source: bytes | Path, *, check_crc: bool = True, views: bool = False) -> Pass:
    """Our arrow batches, each added up and dropped."""
    from tests.bench import checksum, ours

    def read() -> Result:
        now = time.perf_counter
        num_rows = total = 0
        consuming = 0.0
        started = now()
        for batch in ours.arrow_batches(source, check_crc=check_crc, views=views):
            began = now()
            total += checksum.of_batch(batch)
            num_rows += batch.num_rows
            # Or it would be there still while the next one is made.
            del batch
            consuming += now() - began
        return Result(now() - started, num_rows, checksum.wrapped(total), consuming)

    return read


def rows(segment: bytes, read_rows: Callable[[bytes], Iterator[Any]]) -> Pass:
    """A decoder that hands out tuples."""
    from tests.bench import checksum

    def read() -> Result:
        started = time.perf_counter()
        num_rows, total = checksum.of_rows(read_rows(segment))
        return Result(time.perf_counter() - started, num_rows, total)

    return read


def client(segment: bytes, memory_records: Callable[[bytes], Any]) -> Pass:
    """A Python client's MemoryRecords, added up in the same loop, without a tuple between."""
    from tests.bench.checksum import wrapped

    def read() -> Result:
        num_rows = total = 0
        started = time.perf_counter()
        batches = memory_records(segment)
        while batches.has_next():
            batch = batches.next_batch()
            if not batch.validate_crc():
                raise ValueError("a wrong checksum")
            for record in batch:
                num_rows += 1
                total += record.offset + record.timestamp
                key, value = record.key, record.value
                if key is not None:
                    total += len(key)
                if value:
                    total += value[len(value) >> 1]
                for header_key, header_value in record.headers:
                    total += len(header_key) + (0 if header_value is None else len(header_value))
        return Result(time.perf_counter() - started, num_rows, wrapped(total))

    return read


def memcpy(segment: bytes) -> Pass:
    """Copy a segment piece by piece into the same MiB."""
    import numpy as np

    source = np.frombuffer(segment, np.uint8)
    target = np.empty(MIB, np.uint8)

    def copy() -> Result:
        started = time.perf_counter()
        for begin in range(0, len(source), MIB):
            piece = source[begin : begin + MIB]
            target[: len(piece)] = piece
        return Result(time.perf_counter() - started)

    return copy


def decompress(segment: bytes) -> Pass:
    """Only decompress the payloads, by the library that is fastest here."""
    payloads = list(codecs.payloads(segment))
    library, into = codecs.fastest(payloads)

    def inflate() -> Result:
        started = time.perf_counter()
        for payload in payloads:
            into(payload)
        return Result(time.perf_counter() - started, library=library)

    return inflate


def make(name: str, path: Path, limit: int = 0) -> Pass:
    """The pass of a decoder by name over a file, or the first `limit` bytes of it."""
    views = name.startswith("views")
    if name.endswith("-file"):
        return columns(path, views=views)
    segment = cut(path.read_bytes(), limit)
    if views or name.startswith("columns"):
        return columns(segment, check_crc=not name.endswith("-no-crc"), views=views)
    if name in ("kaitai", "construct"):
        from tests.bench import ours

        return rows(segment, ours.kaitai_rows if name == "kaitai" else ours.construct_rows)
    if name == "librdkafka":
        from tests.bench import mock_broker

        return mock_broker.consumed(segment, path.stem)
    if name in CLIENTS:
        return client(segment, import_module(CLIENTS[name]).MemoryRecords)
    return memcpy(segment) if name == "memcpy" else decompress(segment)
