"""`verify` beside its floor, in a new process that prints JSON: `python -m tests.bench.verifying PATH`.

The floor of an uncompressed segment is reading its bytes and computing CRC-32C of them; of a compressed one,
reading and decompressing all payloads by this project's own loops, and nothing else. All are CPU seconds of
the fastest of several passes in turns, with the file in the page cache.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crc32c
import numpy as np

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.columnar.decompressed import PlainRecords
from kafka_segments.core.segment.scan.entry_table import count_alike
from kafka_segments.core.segment.scan.scanner import HeaderScan, returned
from kafka_segments.log.model import PartitionCopy, StoredFile, StoredSegment
from kafka_segments.verify.catalogue import GROUPS, chosen_checks
from kafka_segments.verify.partition_checks import VerifyOptions, verify_copy
from kafka_segments.verify.segment_checks import SegmentReading
from kafka_segments_generated.columns import kafka_log_segment

PASSES = 7
LEN_BUFFER = 1 << 20


def checksum_alone(path: Path) -> None:
    """Read a file, and compute the CRC-32C of its bytes."""
    buffer = memoryview(bytearray(LEN_BUFFER))
    descriptor = os.open(path, os.O_RDONLY)
    position = crc = 0
    while size := os.preadv(descriptor, [buffer], position):
        crc = crc32c.crc32c(buffer[:size], crc)
        position += size
    os.close(descriptor)


def decompression_alone(path: Path) -> None:
    """Read a segment, and decompress all payloads."""
    source, plain, position = open_source(str(path)), PlainRecords(1 << 30), 0
    headers = HeaderScan(source, kafka_log_segment, check_crc=False)
    while True:
        entries, position, _is_trouble = returned(headers.scan(position))
        if not len(entries):
            break
        spans = entries.spans(np.arange(len(entries)), headers.window_position)
        places, codecs, done = np.ascontiguousarray(spans[:, :2]), entries.column("codec"), 0
        while done < len(entries):
            same = places[done : done + count_alike([codecs[done:]])]
            done += plain.fill(memoryview(headers.window), int(codecs[done]), same)
    source.close()


def verified(path: Path, skip: tuple[str, ...] = ()) -> int:
    """Verify a segment; return its number of records."""
    stored = StoredSegment(StoredFile(str(path), path.stat().st_size, ""), 0, is_newest=True)
    copy = PartitionCopy(str(path.parent), "", -1, (stored,))
    result = verify_copy(copy, VerifyOptions(chosen_checks((), skip)), SegmentReading(Places()))
    assert result.findings == [] and result.errors == [] and result.notes == [], result
    return result.totals.num_records


def seconds_of(works: dict[str, Callable[[], object]], passes: int = PASSES) -> dict[str, float]:
    """CPU seconds of the fastest pass of each, in turns."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(passes):
        for name, work in works.items():
            started = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - started)
    return best


def measured(path: Path) -> dict[str, Any]:
    """The figures of a segment."""
    num_records = verified(path)
    works: dict[str, Callable[[], object]] = {
        "checksum": lambda: checksum_alone(path),
        "decompression": lambda: decompression_alone(path),
        "verify": lambda: verified(path),
        "headers": lambda: verified(path, GROUPS["contents"]),
    }
    if path.stem == "json170":
        del works["decompression"]
    return {"records": num_records, **seconds_of(works)}


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]))))
