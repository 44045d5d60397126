"""Questions to all doors: a log, what is asked of it, and the rows that the answer has.

The log is a recorded one, one that was damaged, copied or moved, or one that was made here. Rows are those of
Kafka's own reading (`truth`), or those that were written.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.doors import truth
from tests.made import build
from tests.spark import kafka_rows
from tests.spark.kafka_rows import Row
from tests.spark.test_reader import batches, flipped, segment

from kafka_segments.errors import (
    ChecksumMismatchError,
    CorruptBatchError,
    DataLossError,
    DecompressionError,
    KafkaFormatError,
    OptionError,
    TruncatedError,
)

CLEAN = kafka_rows.RECORDED / "kafka-4.3/clean"
TIME = 1_700_000_000_000
FIRST, SECOND = f"{0:020}.log", f"{125:020}.log"


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        name: of the test.
        make: makes the log below a folder, and returns its paths.
        rows: of the answer, if what is damaged or lost is skipped.
        error: that there is if it is not skipped; `OptionError` also if it is.
        topics: names.
        offsets: of the one partition that the topics have.
        since: milliseconds.
        until: likewise.
        isolation: of transactions.
        status: exit status of `ingest`, which skips.
    """

    name: str
    make: Callable[[Path], Sequence[Path]]
    rows: Callable[[], list[Row]] = list
    error: type[KafkaFormatError] | None = None
    topics: tuple[str, ...] | None = None
    offsets: tuple[int, int] | None = None
    since: int | None = None
    until: int | None = None
    isolation: str = "read_uncommitted"
    status: int = 0

    def __str__(self) -> str:
        return self.name


def recorded(name: str) -> Callable[[Path], Sequence[Path]]:
    return lambda _folder: [kafka_rows.RECORDED / name]


@dataclass(frozen=True)
class Copied:
    """A recorded partition of which files are changed."""

    name: str
    change: Callable[[Path], object] = field(default=lambda _path: None)

    def __call__(self, folder: Path) -> list[Path]:
        shutil.copytree(CLEAN / self.name, folder / self.name)
        for file in CLEAN.glob("*-checkpoint"):
            shutil.copy(file, folder)
        self.change(folder / self.name)
        return [folder / self.name]


def made(*segments: tuple[int, Sequence[bytes]]) -> Callable[[Path], Sequence[Path]]:
    """The partition t-4 of these segments."""
    return lambda folder: [segment(folder / "t-4", base, *parts) for base, parts in segments][:1]


def row(offset: int, value: bytes | None = b"v" * 50, key: bytes | None = b"k", **more: object) -> Row:
    values = {"timestamp": TIME * 1000, "timestamp_type": 0, "headers": None, **more}
    return Row(key, value, "t", 4, offset, **values)  # type: ignore[arg-type]


def rows(*offsets: int) -> list[Row]:
    return [row(offset) for offset in offsets]


def swap(path: Path) -> None:
    (path / FIRST).rename(path / "first")
    (path / SECOND).rename(path / FIRST)
    (path / "first").rename(path / SECOND)


def two_disks(folder: Path) -> list[Path]:
    """Two copies, of which one lacks a segment."""
    for disk in ("one", "two"):
        shutil.copytree(CLEAN / "multi-0", folder / disk / "multi-0")
    (folder / "one" / "multi-0" / SECOND).unlink()
    return [folder / "one", folder / "two"]


def contradicting(folder: Path) -> list[Path]:
    last = build.batch(1, [build.record(0, b"k", b"another")])
    segment(folder / "one" / "t-4", 0, *batches(0, 1))
    segment(folder / "two" / "t-4", 0, *batches(0), last)
    return [folder / "one", folder / "two"]


def started_late(folder: Path) -> list[Path]:
    """A log that starts at offset 6, within a batch, behind damage."""
    many = build.batch(4, [build.record(delta, b"k", b"v" * 50) for delta in range(5)])
    segment(folder / "t-4", 0, *batches(0, 1), flipped(batches(2)[0]), many)
    (folder / "log-start-offset-checkpoint").write_text("0\n1\nt 4 6\n")
    return [folder]


HEADERS = ((b"h", None), (b"h", b""), (b"", b"\xff"), (b"\xed\xa0\x80", b"x"))
ODD = build.batch(5, [build.record(0, None, None), build.record(1, b"", b"", HEADERS, -3)])
ODD_ROWS = [
    row(5, None, None),
    row(
        6,
        b"",
        b"",
        timestamp=(TIME - 3) * 1000,
        headers=(("h", None), ("h", b""), ("", b"\xff"), ("\ufffd", b"x")),
    ),
]
APPENDED = build.batch(0, [build.record(0, b"k", b"v" * 50)], attributes=8, max_timestamp=9_000)
MARKER = build.control(1, (b"\0\0\0\1", b"\0\0\0\0\0\0"))
BROKEN = build.batch(1, payload=build.record(0, b"k", b"v" * 50) + b"\x7f", count=2, last_offset_delta=1)
SQUEEZED = build.batch(1, payload=b"no gzip", count=1, attributes=1)
ZERO, ONE, TWO, FIVE = (batches(offset)[0] for offset in (0, 1, 2, 5))
MANY = [
    build.batch(0, [build.record(delta, b"k", b"") for delta in range(25_000)]),
    build.batch(25_000, [build.record(delta, b"k", b"x" * (3 << 20)) for delta in range(4)]),
]
MIDDLE = truth.of("multi")[103].timestamp // 1000


def many_rows() -> list[Row]:
    return [row(at, b"" if at < 25_000 else b"x" * (3 << 20)) for at in range(25_004)]


def at_times(start: int, end: int) -> list[Row]:
    return [one for one in truth.of("multi") if start * 1000 <= one.timestamp < end * 1000]


MULTI, CLEANED = partial(truth.of, "multi"), recorded("kafka-4.3/clean")
QUESTIONS = [
    *(Question(name, recorded(name), partial(truth.everything, name)) for name in kafka_rows.SETS),
    *(
        Question(
            f"{name}, committed", recorded(name), partial(truth.committed, name), isolation="read_committed"
        )
        for name in kafka_rows.SETS
        if name.endswith("/clean")
    ),
    Question("topics", CLEANED, lambda: truth.of("multi") + truth.of("shapes"), topics=("multi", "shapes")),
    Question("offsets", CLEANED, partial(MULTI, range(7, 90)), topics=("multi",), offsets=(7, 90)),
    Question("since a time", CLEANED, partial(at_times, MIDDLE, 1 << 50), topics=("multi",), since=MIDDLE),
    Question("until a time", CLEANED, partial(at_times, 0, MIDDLE), topics=("multi",), until=MIDDLE),
    Question("a topic that is not there", CLEANED, error=OptionError, topics=("absent",), status=2),
    Question("null, empty, headers", made((5, [ODD])), lambda: ODD_ROWS),
    Question(
        "time of appending", made((0, [APPENDED])), lambda: [row(0, timestamp=9_000_000, timestamp_type=1)]
    ),
    Question("a marker", made((0, [ZERO, MARKER, TWO])), partial(rows, 0, 2)),
    Question("many and large", made((0, MANY)), many_rows),
    Question("an empty segment", made((0, []))),
    Question("a late start", started_late, partial(rows, 6, 7, 8)),
    Question("copies, one of which lacks a segment", two_disks, MULTI),
    Question("copies of other logs", contradicting, error=OptionError, status=2),
    Question(
        "a checksum",
        made((0, [ZERO, flipped(ONE), TWO])),
        partial(rows, 0, 2),
        ChecksumMismatchError,
        status=1,
    ),
    Question(
        "a batch cut off",
        made((0, [ZERO, ONE[:-7]]), (2, [TWO])),
        partial(rows, 0, 2),
        TruncatedError,
        status=1,
    ),
    Question(
        "no record", made((0, [ZERO, BROKEN, FIVE])), partial(rows, 0, 1, 5), CorruptBatchError, status=1
    ),
    Question("no gzip", made((0, [ZERO, SQUEEZED, TWO])), partial(rows, 0, 2), DecompressionError, status=1),
    Question("a hole", made((0, [ZERO]), (5, [FIVE])), partial(rows, 0, 5), DataLossError, status=1),
    Question(
        "a segment that was emptied",
        Copied("multi-0", lambda path: (path / FIRST).write_bytes(b"")),
        partial(MULTI, range(125, 206)),
        DataLossError,
        status=1,
    ),
    Question(
        "a segment that is gone",
        Copied("transactions-0", lambda path: (path / f"{7:020}.log").unlink()),
        lambda: [one for one in truth.of("transactions") if one.partition == 0 and not 7 <= one.offset < 87],
        DataLossError,
        status=1,
    ),
    Question("swapped segments", Copied("multi-0", swap), MULTI, status=1),
    Question(
        "a misnamed segment",
        Copied("multi-0", lambda path: (path / SECOND).rename(path / f"{100:020}.log")),
        MULTI,
        status=1,
    ),
]
