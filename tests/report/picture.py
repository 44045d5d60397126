"""The pictures of reports in docs/: `python -m tests.report.picture` takes them anew, in Chromium.

`report.png` is of a log directory that is written here: a topic with a daily rhythm and damage in it, and one
with transactions, of which one is open. `report-damaged.png` is of what chapter 4 of the tutorial damages.
Beside the pictures is the SHA-256 of each page, by which a test finds that a page has changed since.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from PIL import Image
from tests.chromium import started_browser
from tests.made.samples import RECORDED

from kafka_segments import open_partition_writer
from kafka_segments.cli.main import main as kafka_segments

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SUMS = PICTURES / "report.sha256"
MINUTE, START, DAYS = 60_000, 1_760_000_000_000, 3
META = "version=1\nnode.id=3\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\ndirectory.id=yc2b0GrBoIJJ_pUZLjvI-A\n"
MAX_LEN = 150_000


def write_orders(directory: Path, random: Random) -> None:
    """Write records by a daily rhythm into several segments."""
    words = [random.randbytes(40) + b"order " * 12 for _ in range(50)]
    with open_partition_writer(directory, segment_bytes=500_000) as writer:
        for minute in range(0, DAYS * 1440, 20):
            count = int(40 + 36 * math.sin(minute / 1440 * math.tau) + random.randrange(16))
            rows = [
                {"timestamp": START + (minute + at % 20) * MINUTE, "key": b"%d" % at, "value": words[at % 50]}
                for at in range(count)
            ]
            writer.write(rows)
        writer.close()


def write_payments(directory: Path, random: Random) -> None:
    """Write transactions of three producers; the last one is open."""
    with open_partition_writer(directory) as writer:
        for number in range(60):
            producer = {"producer_id": 4001 + number % 3, "producer_epoch": 0}
            time = START + number * 72 * MINUTE
            rows = [
                {"timestamp": time + at, "value": b"paid" * 30} for at in range(20 + random.randrange(30))
            ]
            writer.write(rows, is_transactional=True, **producer)
            if number < 59:
                kind = "ABORT" if random.random() < 0.2 else "COMMIT"
                writer.write_marker(kind, timestamp=time + 9000, **producer)
        writer.close()


def write_rhythm(logs: Path) -> None:
    """Write the log directory of docs/report.md."""
    random = Random(19)
    write_orders(logs / "orders-0", random)
    write_orders(logs / "orders-1", random)
    write_payments(logs / "payments-0", random)
    (logs / "meta.properties").write_text(META)
    segment = sorted((logs / "orders-1").glob("*.log"))[0]
    data = bytearray(segment.read_bytes())
    data[200_000:230_000] = random.randbytes(30_000)
    segment.write_bytes(data)


def write_chapter_4(logs: Path) -> None:
    """Copy and damage what chapter 4 of the tutorial copies and damages."""
    clean = RECORDED / "kafka-4.3/clean"
    for name in ("multi-0", "codec-zstd-0", "transactions-0", "compact-horizon-0"):
        shutil.copytree(clean / name, logs / name)
    for path in (clean / "meta.properties", *clean.glob("*checkpoint")):
        shutil.copy(path, logs)
    multi, zstd = (logs / name / f"{0:020}.log" for name in ("multi-0", "codec-zstd-0"))
    data = bytearray(multi.read_bytes())
    data[6500] ^= 1
    multi.write_bytes(data)
    zstd.write_bytes(zstd.read_bytes()[:-50])


PAGES: dict[str, tuple[Callable[[Path], None], str, int]] = {
    "report.png": (write_rhythm, "/var/lib/kafka", 1210),
    "report-damaged.png": (write_chapter_4, "/mnt/broker-1", 940),
}
"""How the logs of each picture are written, which directory it shows, and how high it is."""


def page_of(name: str, folder: Path) -> str:
    """Return the page of a picture, the same each time: with one time for all files, and another path."""
    write, shown, _height = PAGES[name]
    logs, page = folder / "logs", folder / "report.html"
    logs.mkdir()
    write(logs)
    for path in logs.rglob("*"):
        os.utime(path, (START // 1000 + DAYS * 86_400, START // 1000 + DAYS * 86_400))
    kafka_segments(["report", str(logs), "-o", str(page)])
    text = page.read_text(encoding="utf-8").replace(str(logs), shown)
    return re.sub(r"Made at [\d :.-]+ UTC by kafka-segments \S+", "Made", text)


def sum_of(page: str) -> str:
    """Return the SHA-256 of a page."""
    return hashlib.sha256(page.encode()).hexdigest()


def main() -> None:
    """Take the pictures anew, in the few colours that they have, and note the pages' sums."""
    sums = []
    for name, (*_logs, height) in PAGES.items():
        with tempfile.TemporaryDirectory() as folder, started_browser() as browser:
            page = page_of(name, Path(folder))
            path = Path(folder) / "report.html"
            path.write_text(page, encoding="utf-8")
            tab = browser.new_page(viewport={"width": 1200, "height": height}, color_scheme="light")
            tab.goto(path.as_uri())
            picture = Image.open(io.BytesIO(tab.screenshot()))
            picture.convert("RGB").quantize(128).save(PICTURES / name, optimize=True)
            assert (PICTURES / name).stat().st_size < MAX_LEN, name
            sums.append(f"{sum_of(page)}  {name}\n")
    SUMS.write_text("".join(sums))


if __name__ == "__main__":
    main()
