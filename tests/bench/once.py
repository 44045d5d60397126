"""One measurement in a new process: `python -m tests.bench.once WHAT PATH`, which prints a line of JSON.

| what | does |
|---|---|
| `stream` | reads the segment as arrow batches and drops them |
| `table` | reads it into one table |
| `first` | reads the first arrow batch only |
| `memory` | as `stream`; memory after the import, and the peak |
| `headers` | reads the headers of all batches, several times over |
| `threads` | one thread reads the segment twice, two read it once each, several times over |
"""

from __future__ import annotations

import json
import re
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import ours

PASSES = 5
MIB = 1 << 20


def num_rows(source: bytes | Path) -> int:
    """Stream a segment; return how many rows came."""
    total = 0
    for batch in ours.arrow_batches(source):
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
    """Seconds of the fastest pass over the batches' headers."""
    batches = ours.num_batches(path)
    return {"batches": batches, "seconds": min(timed(lambda: ours.num_batches(path)) for _ in range(PASSES))}


def threads(path: Path) -> dict[str, Any]:
    """Seconds of two passes: by one thread, and by two at once."""
    segment = path.read_bytes()
    records = num_rows(segment)
    one, two = [], []
    for _ in range(PASSES):
        one.append(timed(lambda: (num_rows(segment), num_rows(segment))))
        two.append(timed(lambda: in_two_threads(lambda: num_rows(segment))))
    return {"records": records, "one": min(one), "two": min(two)}


def in_two_threads(work: Callable[[], object]) -> None:
    """Do something twice at once."""
    both = [threading.Thread(target=work) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def timed(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


WHAT: dict[str, Callable[[Path], dict[str, Any]]] = {
    work.__name__: work for work in (stream, table, first, memory, headers, threads)
}

if __name__ == "__main__":
    print(json.dumps(WHAT[sys.argv[1]](Path(sys.argv[2]))))
