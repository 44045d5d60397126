"""Logs for the tests of `sizes`: real batches in files that take little room on the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from kafka_segments import encode_records

WORDS = ["order", "customer", "shipped", "pending", "returned", "paid", "segment", "price", "amount"]
GIB = 1 << 30
SPACING = 16 << 20
LEN_RUN = 128 << 10


def rows(random: Random, count: int, offset: int) -> list[dict[str, Any]]:
    """Records as applications write them: JSON, some with headers."""
    return [
        {
            "offset": offset + at,
            "timestamp": 1_714_000_000_000 + 3 * (offset + at) + random.randrange(3),
            "key": b"customer-%d" % random.randrange(5000),
            "value": json.dumps(
                {
                    "id": random.randrange(10**9),
                    "text": " ".join(random.choices(WORDS, k=random.randrange(4, 20))),
                    "amount": random.random(),
                }
            ).encode(),
            "headers": [("trace", random.randbytes(8))] if random.random() < 0.2 else [],
        }
        for at in range(count)
    ]


def batches(random: Random, size: int, offset: int = 0, codecs: tuple[str, ...] = ("none",)) -> bytes:
    """Batches of different depth, of at least `size` bytes together."""
    out = bytearray()
    while len(out) < size:
        count = random.randrange(5, 60)
        data = rows(random, count, offset)
        offset += count
        out += encode_records(data, compression=random.choice(codecs), batch_size=1 << 20)
    return bytes(out)


KINDS = (("none", 0.0), ("gzip", 0.0), ("zstd", 0.3), ("none", 1.0), ("lz4", 0.7), ("snappy", 0.1))
"""Codecs, and shares of records whose values are random bytes."""


def mixed(random: Random, size: int, len_run: int, offset: int = 0) -> bytes:
    """Runs of batches of different codecs and contents, of at least `size` bytes together."""
    out = bytearray()
    while len(out) < size:
        codec, share = random.choice(KINDS)
        end = len(out) + random.randrange(1, 2 * len_run)
        while len(out) < end:
            data = rows(random, random.randrange(5, 60), offset)
            for row in data:
                row["value"] = random.randbytes(120) if random.random() < share else row["value"]
            offset += len(data)
            out += encode_records(data, compression=codec, batch_size=1 << 20)
    return bytes(out)


def spread(path: Path, size: int = GIB, seed: int = 0, *, is_mixed: bool = False) -> None:
    """Write a file of holes with runs of batches in them, far from each other."""
    random, offset = Random(seed), 0
    with path.open("wb") as file:
        for position in range(0, size, SPACING):
            file.seek(position)
            run = mixed(random, LEN_RUN, LEN_RUN, offset) if is_mixed else batches(random, LEN_RUN, offset)
            file.write(run)
            offset += 100_000
        file.truncate(size)


def preallocated(path: Path, num_bytes: int, size: int = GIB, seed: int = 0) -> None:
    """Write a segment that is as large as brokers preallocate it, and ends in a hole."""
    with path.open("wb") as file:
        file.write(batches(Random(seed), num_bytes))
        file.truncate(size)


def links(path: Path, folder: Path, count: int) -> list[Path]:
    """Link a file under as many names, in a folder that is made."""
    folder.mkdir()
    return list(_links(path, folder, count))


def _links(path: Path, folder: Path, count: int) -> Iterator[Path]:
    for number in range(count):
        name = folder / f"{number * 1_000_000:020}.log"
        os.link(path, name)
        yield name
