"""One measurement in a new process: `python -m tests.bench.once WHAT PATH`, which prints a line of JSON.

| what | does |
|---|---|
| `stream` | reads the segment as arrow batches and drops them |
| `table` | reads it into one table |
| `first` | reads the first arrow batch only |
| `memory` | as `stream`; memory after the import, and the peak |
| `headers` | reads the headers of all batches, and plainly the pages that these are on, several times over |
| `threads` | one thread reads the segment twice, two read it once each, several times over |
| `threads_views` | the same with views |
| `tables` | reads eight times the segment into a table by one thread, and by two, several times over |
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import ours

PASSES = 5
NUM_FILES = 8
MIB = 1 << 20
LEN_PAGE = 4096
LEN_HEADER = 61
_SOME_BYTES = bytes(MIB)


def num_rows(source: bytes | Path, *, views: bool = False) -> int:
    """Stream a segment; return how many rows came."""
    total = 0
    for batch in ours.arrow_batches(source, views=views):
        total += batch.num_rows
        del batch  # or it would be there still while the next one is made
    return total


def stream(path: Path) -> dict[str, Any]:
    """Everything, in bounded memory."""
    return {"records": num_rows(path)}


def table(path: Path) -> dict[str, Any]:
    """Everything at once."""
    return {"records": ours.num_table_rows(path)}


def first(path: Path) -> dict[str, Any]:
    """The first arrow batch."""
    return {"some": next(iter(ours.arrow_batches(path))).num_rows > 0}


def memory(path: Path) -> dict[str, Any]:
    """Resident MiB at most, over what they are after the import."""
    before = resident("VmRSS")
    records = num_rows(path)
    return {"records": records, "before": before, "peak": resident("VmHWM")}


def resident(what: str) -> float:
    """MiB of this process: VmRSS now, VmHWM at most; off Linux the most is all that is known."""
    status = Path("/proc/self/status")
    if not status.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB
    found = re.search(rf"^{what}:\s+(\d+) kB", status.read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)) / 1024


def headers(path: Path) -> dict[str, Any]:
    """Seconds of the fastest pass over the batches' headers, and of reading the pages that they are on."""
    positions = ours.header_positions(path)
    works = {"seconds": lambda: ours.num_batches(path), "floor": lambda: read_pages(path, positions)}
    found = [{name: timed(work) for name, work in works.items()} for _ in range(PASSES)]
    return {"batches": len(positions), **{name: min(one[name] for one in found) for name in works}}


def read_pages(path: Path, positions: list[int]) -> None:
    """Read the page, or the two, with each header."""
    page = memoryview(bytearray(2 * LEN_PAGE))
    one, two = [page[:LEN_PAGE]], [page]
    descriptor = os.open(path, os.O_RDONLY)
    for position in positions:
        within = position % LEN_PAGE
        os.preadv(descriptor, one if within + LEN_HEADER <= LEN_PAGE else two, position - within)
    os.close(descriptor)


def threads(path: Path, *, views: bool = False) -> dict[str, Any]:
    """Seconds of two passes: by one thread, and by two at once. And what two threads are worth here: the same
    of work that needs neither memory nor Python, in turns with ours.
    """
    segment = path.read_bytes()
    records = num_rows(segment, views=views)
    works: dict[str, Callable[[], object]] = {
        "": lambda: num_rows(segment, views=views),
        "limit_": in_the_cache,
    }
    found: dict[str, list[float]] = {}
    for _ in range(PASSES):
        for name, work in works.items():
            found.setdefault(f"{name}one", []).append(timed(work, work))
            found.setdefault(f"{name}two", []).append(timed(lambda work=work: in_two_threads(work)))
    return {"records": records, **{name: min(times) for name, times in found.items()}}


def threads_views(path: Path) -> dict[str, Any]:
    """The same with views."""
    return threads(path, views=True)


def tables(path: Path) -> dict[str, Any]:
    """Seconds of reading a segment, as eight files, into a table by one thread, and by two."""
    files = [path] * NUM_FILES
    works = {
        "one": lambda: ours.num_rows_of_tables(files, 1),
        "two": lambda: ours.num_rows_of_tables(files, 2),
    }
    records = works["two"]() // NUM_FILES
    found = [{name: timed(work) for name, work in works.items()} for _ in range(PASSES)]
    return {"records": records, **{name: min(one[name] for one in found) for name in works}}


def in_the_cache() -> None:
    """Checksums of the same MiB, which the C library computes without Python's lock."""
    for _ in range(200):
        zlib.crc32(_SOME_BYTES)


def in_two_threads(work: Callable[[], object]) -> None:
    """Do something twice at once."""
    both = [threading.Thread(target=work) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def timed(*works: Callable[[], object]) -> float:
    """Seconds that some things take, one after the other."""
    started = time.perf_counter()
    for work in works:
        work()
    return time.perf_counter() - started


WHAT: dict[str, Callable[[Path], dict[str, Any]]] = {
    work.__name__: work for work in (stream, table, first, memory, headers, threads, threads_views, tables)
}

if __name__ == "__main__":
    print(json.dumps(WHAT[sys.argv[1]](Path(sys.argv[2]))))
