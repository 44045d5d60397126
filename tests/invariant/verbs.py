"""What every verb says of a log directory, brought to one form. Nothing here starts a process or a JVM."""

from __future__ import annotations

import json
import re
import shutil
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.dataset
from tests.in_process import run_main
from tests.invariant.answers import Answer, Named, lines_of, named_by_words, refused
from tests.made.sound_batches import Row, sound_batches
from tests.salvage.accounts import IN_RESULT, Account, check
from tests.spark.planned import batches_of, reader_of

from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.findings import Kind
from kafka_segments.log.open_partition import open_partition
from kafka_segments.report.page import PageFacts
from kafka_segments.report.report_totals import ReportTotals

_OFS_MAGIC = 16
MADE = "made"
"""The name of what is written, beside the log directory."""


def find(partition: Path) -> Answer:
    """`find` of all records, with all checksums."""
    return lines_of(*run_main(["find", "--offsets", "0:", "--all-crc", "--format", "jsonl", str(partition)]))


def cat(partition: Path) -> Answer:
    """`cat` of all records."""
    words = ["cat", "--base64", "--template", "{offset} {key} {value}", str(partition)]
    status, out, error = run_main(words)
    answer = Answer(status, words=error)
    for line in out.splitlines():
        offset, *contents = line.split(" ")
        key, value = (None if one == "-" else b64decode(one) for one in contents)
        answer.rows.add(Row(int(offset), key, value))
    answer.named = [named_by_words(words) for words in error.splitlines()]
    return refused(answer)


def verify(partition: Path) -> Answer:
    """`verify` of the partition: it names, and delivers nothing."""
    status, out, error = run_main(["verify", "--format", "jsonl", str(partition)])
    answer = lines_of(status, out, "")
    answer.words = error
    if status == 2:
        answer.named += [named_by_words(words) for words in json.loads(out.splitlines()[-1])["errors"]]
    return refused(answer)


def salvage(partition: Path) -> Answer:
    """`salvage` of the partition: the records of the result, and what the manifest says is not in it."""
    made = _made_beside(partition)
    with mock.patch("os.fsync"):
        status, out, error = run_main(["salvage", str(partition), str(made)])
    answer = Answer(status, words=error + out)
    if status in (0, 1):
        account = Account(made, json.loads((made / "manifest.json").read_text()))
        check(account)
        _read_written(account.log(partition.name), answer)
        answer.named = [_named_by_range(file, one) for file, one in _unused(account)]
        answer.named += map(named_by_words, account.only()["notes"])
        for missing in account.only()["missing"]:
            answer.named.append(
                Named(f"missing {missing}", None, missing["first_offset"], missing["last_offset"])
            )
    answer.named += [named_by_words(words) for words in error.splitlines()] if status else []
    return refused(answer)


def slice_all(partition: Path) -> Answer:
    """`slice` of all offsets of the partition."""
    made = _made_beside(partition)
    words = ["slice", "--offsets", "0:", "--format", "jsonl", str(partition), str(made)]
    with mock.patch("os.fsync"):
        status, out, error = run_main(words)
    answer = Answer(status, words=error)
    if status in (0, 1):
        _read_written(made, answer)
        for missing in json.loads(out)["missing"]:
            answer.named.append(
                Named(f"missing {missing}", None, missing["first_offset"], missing["last_offset"])
            )
    answer.named += [named_by_words(words) for words in error.splitlines()] if status else []
    return refused(answer)


def _made_beside(partition: Path) -> Path:
    made = partition.parents[1] / MADE
    shutil.rmtree(made, ignore_errors=True)
    return made


def _read_written(directory: Path, answer: Answer) -> None:
    """Read written segments, which hold nothing but sound batches in the order of their offsets."""
    last = -1
    for path in sorted(directory.glob("*.log")):
        data, position = path.read_bytes(), 0
        if data[_OFS_MAGIC : _OFS_MAGIC + 1] < b"\2":
            continue  # of the old formats, or empty
        for batch in sound_batches(data):
            assert batch.position == position, f"{path.name}: no batch at {position}"
            assert batch.base_offset > last, f"{path.name}: {batch.base_offset} after {last}"
            position, last = batch.end, batch.last_offset
            answer.written.update(range(batch.base_offset, last + 1))
            answer.rows.update(() if batch.is_control else batch.rows)
        assert position == len(data), f"{path.name}: no batch at {position}"


def _unused(account: Account) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Files and ranges that are not in the result, but for segments that a broker had put aside."""
    return [
        (file, one)
        for _partition, file in account.files()
        for one in file["ranges"]
        if one["status"] not in (*IN_RESULT, "padding") and file["path"].endswith(".log")
    ]


def _named_by_range(file: dict[str, Any], one: dict[str, Any]) -> Named:
    offsets, positions = (one["first_offset"], one["last_offset"]), (one["position"], one["end_position"])
    return Named(f"{one['status']}: {one['reason']}", file["path"], *offsets, *positions)


def dump(partition: Path) -> Answer:
    """`dump` of all segments."""
    return _dump(partition, [])


def dump_committed(partition: Path) -> Answer:
    """`dump --isolation read_committed` of all segments."""
    return _dump(partition, ["--isolation", "read_committed"])


def _dump(partition: Path, options: list[str]) -> Answer:
    paths = sorted(str(path) for path in partition.glob("*.log"))
    if not paths:
        return Answer(2, named=[Named("no segments", is_all=True)])
    return lines_of(*run_main(["dump", *paths, "--format", "jsonl", *options]))


def aborted(partition: Path) -> Answer:
    """`aborted` of the partition."""
    return lines_of(*run_main(["aborted", str(partition), "--format", "jsonl"]))


def plan(partition: Path) -> Answer:
    """`plan` of the partition."""
    return lines_of(*run_main(["plan", str(partition), "--format", "jsonl"]))


_INGEST_REMARK = re.compile(
    r"kafka-segments: (partitions: |compiling decoders|waiting for another process, which compiles|"
    r"\S+ \w+ of \S+ \w+ done|left out: internal topics"
    r"|\S+: \S+: (overlap: )?offsets \d+ to \d+ are stored here, below its base offset: they are read"
    r"|\S+: \S+: offsets \d+ to \d+ are read from this segment; by the segments' names they belong to"
    r"|\S+: \S+: overlap: offsets \d+ to \d+ are stored here, from the next segment's, \d+, on: they are read"
    r"|\S+: [\d,]+ of the records written are not committed|\S+: nothing is read: the log starts at offset)"
)
"""What `ingest` says when nothing is wrong."""


def ingest(partition: Path) -> Answer:
    """`ingest` of the partition, in this process, to the end of the log."""
    destination = partition.parents[1] / "ingested"
    shutil.rmtree(destination, ignore_errors=True)
    words = ["ingest", "--engine", "local", "-o", "endingOffsets=log-end"]
    with mock.patch("os.fsync"):
        status, out, error = run_main([*words, str(partition), str(destination)])
    answer = Answer(status, words=error + out)
    for path in destination.glob("topic=*/partition=*/*.parquet"):
        table = pyarrow.parquet.ParquetFile(path).read(["offset", "key", "value"])
        answer.rows.update(_rows_of(table))
    answer.named = [named_by_words(words) for words in error.splitlines() if not _INGEST_REMARK.match(words)]
    return refused(answer)


def _rows_of(table: pa.Table | pa.RecordBatch) -> Iterator[Row]:
    columns = (table.column(name).to_pylist() for name in ("offset", "key", "value"))
    return (Row(*values) for values in zip(*columns, strict=True))


def partition_events(partition: Path) -> Answer:
    """`open_partition(...).iter_events(on_damage="skip")`."""
    return _partition(partition, _add_events)


def partition_batches(partition: Path) -> Answer:
    """`open_partition(...).read_batches(on_damage="skip")`, with what raises at "raise"."""
    return _partition(partition, _add_batches)


def _partition(partition: Path, add: Callable[[Any, Answer], None]) -> Answer:
    answer = Answer()
    try:
        with open_partition(partition) as opened:
            add(opened, answer)
    except KafkaFormatError as error:
        answer.tell(Named(f"{type(error).__name__}: {error}", error.path, is_all=True))
    return answer


def _add_events(opened: Any, answer: Answer) -> None:
    for event in opened.iter_events(on_damage="skip"):
        kind = type(event).__name__
        if kind == "Record":
            if event.control is None:
                answer.rows.add(Row(event.offset, event.key, event.value))
        elif kind not in ("Batch", "Padding"):
            first = getattr(event, "first_lost_offset", getattr(event, "first_offset", None))
            last = getattr(event, "last_lost_offset", getattr(event, "last_offset", None))
            where = (getattr(event, name, None) for name in ("position", "end_position"))
            answer.tell(Named(str(event), getattr(event, "path", None), first, last, *where))


def _add_batches(opened: Any, answer: Answer) -> None:
    for batch in opened.read_batches(["offset", "key", "value"]):
        answer.rows.update(_rows_of(batch))


def source(partition: Path) -> Answer:
    """The Spark source, with the rows for what is damaged or lost."""
    return source_of(partition, mode="PERMISSIVE", failOnDataLoss="false", columns="offset,key,value,damage")


def source_strict(partition: Path) -> Answer:
    """The Spark source with its default options: what is damaged or lost is an error."""
    return source_of(partition, columns="offset,key,value")


def source_split(partition: Path) -> Answer:
    """The Spark source with a task for every few records."""
    tolerant = {"mode": "PERMISSIVE", "failOnDataLoss": "false", "columns": "offset,key,value,damage"}
    return source_of(partition, maxRecordsPerPartition="5", **tolerant)


def source_damage(partition: Path) -> Answer:
    """The Spark source's view `damage`, which holds no records."""
    return source_of(partition, view="damage", failOnDataLoss="false")


def source_of(partition: Path, **options: str) -> Answer:
    answer = Answer()
    try:
        batches = batches_of(reader_of(path=str(partition), **options))
        for row in (row for batch in batches for row in batch.to_pylist()):
            if options.get("view") == "damage":
                answer.tell(_named_by_row(row))
            elif row.get("damage") is not None:
                answer.tell(named_by_words(row["damage"]))
            else:
                answer.rows.add(Row(row["offset"], row["key"], row["value"]))
    except KafkaFormatError as error:
        answer.tell(Named(f"{type(error).__name__}: {error}", error.path, is_all=True))
    return answer


def _named_by_row(row: dict[str, Any]) -> Named:
    """A row of the view `damage`; where it has no offsets of its own, its message may."""
    text = f"{row['kind']}: {row['message']}"
    path, first, last = row["sourceFile"], row["firstOffset"], row["lastOffset"]
    if first is None:
        words = named_by_words(text)
        first, last = words.first, words.last
    return Named(text, path, first, last, row["position"], row["endPosition"])


def report(partition: Path) -> Answer:
    """`report` of the partition: the findings of its page, which is not drawn."""
    page = partition.parents[1] / "report.html"
    page.unlink(missing_ok=True)
    made: list[ReportTotals] = []

    def draw(totals: ReportTotals, _facts: PageFacts) -> str:
        made.append(totals)
        return ""

    with mock.patch("os.fsync"), mock.patch("kafka_segments.report.page.page_of", draw):
        status, out, error = run_main(["report", str(partition), "-o", str(page)])
    # The last line is the verdict, which what is named must agree with.
    said = [one for one in error.splitlines() if not one.startswith(f"kafka-segments: {page}: ")]
    answer = Answer(status, words=error + out, named=[named_by_words(one) for one in said])
    for one in (one for totals in made for _row, one in totals.findings if one.kind in _TOLD):
        offsets, positions = (one.first_offset, one.last_offset), (one.position, one.end_position)
        answer.named.append(Named(one.message, one.path, *offsets, *positions))
    return refused(answer)


_TOLD = (Kind.DAMAGE, Kind.LOST, Kind.NOT_OPENED, Kind.UNUSED, Kind.PENDING)


VERBS: dict[str, Callable[[Path], Answer]] = {
    one.__name__: one
    for one in (
        dump,
        dump_committed,
        aborted,
        plan,
        ingest,
        partition_events,
        partition_batches,
        source,
        source_strict,
        source_split,
        source_damage,
        report,
        find,
        cat,
        verify,
        salvage,
        slice_all,
    )
}


_IN_TURNS = (
    ("dump_committed", "partition_batches", "source_strict", "cat", "slice_all"),
    ("source_split", "source_damage", "report", "find", "verify", "salvage"),
)


def verbs_for(number: int) -> list[str]:
    """The verbs that read a case: all but those whose turn it is not."""
    waiting = _IN_TURNS[number // 7 % len(_IN_TURNS)]  # kinds of damage follow on each other by number, too
    return [verb for verb in VERBS if verb not in waiting]


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep what verbs log off the terminal: rows, events and statuses are judged here, not logs."""
    import logging

    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
