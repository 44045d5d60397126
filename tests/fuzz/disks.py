"""The verbs for damaged disks under fuzz: a search, a verification, Kafka's dump, and a salvage of any bytes.

Each way to do the same is held against the other; every byte is in something sound or in something named.
"""

from __future__ import annotations

import atexit
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from tests.fuzz import checks
from tests.fuzz.guard import place
from tests.made.edits import edited
from tests.numbered import MEMORY
from tests.salvage.accounts import salvaged
from tests.verify.test_plants import verified

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.cli.main import main
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.columnar import record_objects
from kafka_segments.core.segment.records import batch_records
from kafka_segments.errors import MissingExtraError, SegmentOrderError
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.content_tests import Contains, ContentTest, HasHeader, HasKey, MatchesPattern
from kafka_segments.search.found import FoundRecord
from kafka_segments.search.segment_search import Checked, SegmentSearch
from kafka_segments.verify.catalogue import CHECKS, GROUPS

TABLES = "kafka_segments.core.segment.verified.verified_tables.iter_tables_verified"
NAME = f"{0:020}.log"
OPTIONS = (
    ["--print-data-log"],
    ["--print-data-log"],
    ["--deep-iteration"],
    [],
    ["--print-data-log", "--skip-record-metadata"],
    ["--max-bytes", "200"],
)


def _conditions(dice: Random, data: bytes) -> Conditions:
    """Conditions that something in the data may fulfil."""
    at = dice.randrange(len(data) + 1)
    part = data[at : at + dice.choice((1, 1, 2, 3, 8))] or b"\0"
    few: tuple[ContentTest, ...] = dice.choice(
        (
            (),
            (Contains(part),),
            (Contains(part, "value"),),
            (HasKey(part),),
            (MatchesPattern(re.compile(rb"[a-m]+\d?")),),
            (MatchesPattern(re.compile(re.escape(part[:2]) + rb".?", re.DOTALL), "key"), Contains(part[:1])),
            (HasHeader(part),),
        )
    )
    start = dice.choice((None, None, None, 0, 3))
    return Conditions(few, 0 if start is None and not few else start, dice.choice((None, None, None, 9)))


def search(dice: Random, data: bytes) -> str:
    """A search finds the records that reading everything finds; with all checksums, the same damage."""
    conditions = _conditions(dice, data)
    expected, lost = _read(data, conditions)
    # Before damage the search reads a batch that it has passed over, as reading without conditions does.
    all_expected, all_lost = _read(data, conditions, is_all=True)
    # After batches above the range nothing is read: offsets that fall again are not found there.
    is_bounded = conditions.end is not None
    for way in dice.choice((("all",), ("candidates", "none"))):
        found, damage = _searched(place(dice, data), conditions, way)
        if way != "none":
            assert [one for one in found if one not in expected and one not in all_expected] == []
            assert is_bounded or found in (expected, all_expected) or (way == "candidates" and lost)
        if way == "all":
            unknown = [one for one in damage if one not in lost and one not in all_lost]
            if conditions.needles:
                # A batch that is passed over may be damaged inside. Its offsets count all the same, so that
                # damage after it goes on over batches which reading takes for sound.
                unknown = [one for one in unknown if not any(_holds(one, other) for other in lost)]
            assert unknown == []
            # Of a batch that has none of the bytes that are looked for, no record is decoded.
            assert is_bounded or conditions.needles or all(_is_in(one, damage) for one in lost)
            assert is_bounded or conditions.start or conditions.needles or damage in (lost, all_lost)
    return "damaged" if lost else "sound"


def _holds(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[0] and other[1] <= one[1]


def _is_in(place: tuple[int, int], damage: list[tuple[int, int]]) -> bool:
    return any(start < place[1] and place[0] < end for start, end in damage)


def _read(
    data: bytes, conditions: Conditions, *, is_all: bool = False
) -> tuple[list[Record], list[tuple[int, int]]]:
    """The records that fulfil conditions, and the damage that may hide some; of all batches, or of some."""
    records: list[Record] = []
    lost = []
    with open_segment(data, max_decompressed=checks.MAX_DECOMPRESSED) as segment:
        wanted = None if is_all else conditions.may_hold
        for event in segment.iter_events(on_damage="skip", wanted=wanted):
            if isinstance(event, Damage) and conditions.touches(event):
                lost.append((event.position, event.end_position))
            elif isinstance(event, Record) and event.control is None and conditions.holds(event):
                records.append(event)
    return records, lost


def _searched(data: Any, conditions: Conditions, way: Checked) -> tuple[list[Record], list[tuple[int, int]]]:
    source = open_source(data)
    try:
        found = list(
            SegmentSearch(source, conditions, checked=way, max_decompressed=checks.MAX_DECOMPRESSED).events()
        )
    finally:
        source.close()
    # Reading gives batches whose offsets were changed, to negative ones, as they are.
    damage = [
        (one.position, one.end_position)
        for one in found
        if isinstance(one, Damage) and not isinstance(one.error, SegmentOrderError)
    ]
    return [one.record for one in found if isinstance(one, FoundRecord)], damage


def verify(dice: Random, data: bytes) -> str:
    """Tables and entries give the same findings, one for each place that holds nothing sound."""
    folder = _written(data)
    wanted = CHECKS if dice.randrange(3) else set(CHECKS) - set(GROUPS["contents"])
    other = edited(dice, data) if dice.randrange(3) == 0 else None
    if other is not None:
        _write(folder / "copy", other)
    rows, summary = verified(folder, checks=wanted)
    assert summary.totals.num_bytes == len(data) + len(other or b"")
    if dice.randrange(2):
        with mock.patch(TABLES, _missing):
            slow_rows, slow = verified(folder, checks=wanted)
        assert rows == slow_rows
        assert summary.totals == slow.totals
    if other is not None:
        return "two copies"
    named = {position for _check, _path, position, _first, _last in rows}
    with open_segment(folder / "topic-0" / NAME) as segment:
        for entry in segment.iter_entries(on_damage="skip"):
            assert not isinstance(entry, Damage) or entry.position in named, entry
    return rows[0][0] if rows else "sound"


def _missing(*_arguments: object, **_options: object) -> None:
    raise MissingExtraError("not installed", extra="arrow")


def like_kafka(dice: Random, data: bytes) -> str:
    """The compiled decoder of records and the exact one print the same, up to the same end."""
    path = _written(data) / "topic-0" / NAME
    words = ["dump", "--like-kafka", "--files", str(path), *dice.choice(OPTIONS)]
    printed = []
    for many, few in ((0, 0), (0, 3), (1 << 40, 0)):
        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(batch_records, "_MANY", many))
            stack.enter_context(mock.patch.object(record_objects, "_FEW", few))
            out = stack.enter_context(_standard_output())
            status = main(words)
        printed.append((status, out.getvalue()))
    assert printed[0] == printed[1] == printed[2]
    assert printed[0][0] in (0, 1)
    return ("whole", "ended")[printed[0][0]]


@contextmanager
def _standard_output() -> Iterator[io.BytesIO]:
    """Standard output in memory; standard error is nowhere."""
    out = io.BytesIO()
    stream = io.TextIOWrapper(out, encoding="utf-8")
    with mock.patch.object(sys, "stdout", stream), mock.patch.object(sys, "stderr", io.StringIO()):
        yield out
        stream.flush()
        stream.detach()


def salvage(dice: Random, data: bytes) -> str:
    """Every byte has a fate, and what was made is sound, and in the order of offsets."""
    folder = _written(data)
    account = salvaged([folder / "topic-0"], folder / "made")
    last, statuses = -1, set()
    for path in sorted(account.log("topic-0").glob("*.log")):
        with open_segment(path, max_decompressed=checks.MAX_DECOMPRESSED) as segment:
            for entry in segment.iter_entries(on_damage="skip"):
                assert isinstance(entry, Batch) and entry.crc_valid, entry
                first = entry.last_offset if entry.base_offset is None else entry.base_offset
                assert first > last
                last = max(first, entry.last_offset)
    for _partition, file in account.files():
        statuses |= {one["status"] for one in file["ranges"]}
    return " and ".join(sorted(statuses)) or "nothing"


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / "disk"


def _written(data: bytes) -> Path:
    """A folder with one partition, of one segment."""
    folder = _folder()
    shutil.rmtree(folder, ignore_errors=True)
    _write(folder, data)
    return folder


def _write(folder: Path, data: bytes) -> None:
    (folder / "topic-0").mkdir(parents=True)
    (folder / "topic-0" / NAME).write_bytes(data)
