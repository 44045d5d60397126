"""The picture of docs/report.md: `python -m tests.report.picture docs/pictures/report.png` makes it anew.

It is of a log directory that is written here: a topic with a daily rhythm and damage in it, and one with
transactions, of which one is open.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from random import Random

from playwright.sync_api import sync_playwright
from tools.browser import chromium

from kafka_segments import open_partition_writer
from kafka_segments.cli.main import main as kafka_segments

MINUTE, START, DAYS = 60_000, 1_760_000_000_000, 3
SHOWN = "/var/lib/kafka"
SIZE = {"width": 1200, "height": 1230}


def write_orders(directory: Path, random: Random) -> None:
    """Write records by a daily rhythm, with lz4, into several segments."""
    words = [random.randbytes(40) + b"order " * 12 for _ in range(50)]
    with open_partition_writer(directory, segment_bytes=500_000) as writer:
        for minute in range(0, DAYS * 1440, 10):
            count = int(20 + 18 * math.sin(minute / 1440 * math.tau) + random.randrange(8))
            rows = [
                {"timestamp": START + (minute + at % 10) * MINUTE, "key": b"%d" % at, "value": words[at % 50]}
                for at in range(count)
            ]
            writer.write(rows, compression="lz4" if minute % 40 else "none")
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
            writer.write(rows, compression="zstd", is_transactional=True, **producer)
            if number < 59:
                kind = "ABORT" if random.random() < 0.2 else "COMMIT"
                writer.write_marker(kind, timestamp=time + 9000, **producer)
        writer.close()


def write_logs(logs: Path) -> None:
    """Write the log directory."""
    random = Random(19)
    write_orders(logs / "orders-0", random)
    write_orders(logs / "orders-1", random)
    write_payments(logs / "payments-0", random)
    segment = sorted((logs / "orders-1").glob("*.log"))[0]
    data = bytearray(segment.read_bytes())
    data[200_000:230_000] = random.randbytes(30_000)
    segment.write_bytes(data)


def take(page: Path, picture: Path) -> None:
    """Take a picture of the upper part of a page."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        tab = browser.new_page(viewport=SIZE, color_scheme="light")
        tab.goto(page.as_uri())
        tab.screenshot(path=str(picture))
        browser.close()


def main(picture: Path) -> None:
    """Write the logs, the page and the picture."""
    with tempfile.TemporaryDirectory() as folder:
        logs, page = Path(folder) / "logs", Path(folder) / "report.html"
        logs.mkdir()
        write_logs(logs)
        kafka_segments(["report", str(logs), "-o", str(page)])
        page.write_text(page.read_text(encoding="utf-8").replace(folder, SHOWN), encoding="utf-8")
        take(page, picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
