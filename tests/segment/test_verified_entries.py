"""Entries with what their records show: in tables, by compiled code, the same as one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests import forms
from tests.made.build import batch, record
from tests.made.samples import RECORDED, sampled
from tests.made.segments import some_segment

from kafka_segments.core.formats.entries import Damage, Padding
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.columnar import fused_scan, reader
from kafka_segments.core.segment.columnar.record_columns import Capacity
from kafka_segments.core.segment.scan import scanner
from kafka_segments.core.segment.verified import folding_decoder, verified_tables
from kafka_segments.core.segment.verified.run_folding import DISORDERED
from kafka_segments.core.segment.verified.sound_runs import RunFolder, SoundRun
from kafka_segments.core.segment.verified.verifying import iter_verified
from kafka_segments.errors import MissingExtraError

NUM_DAMAGED = forms.pick(30, 3000)


@pytest.fixture(autouse=True, params=["large", "small", "fused"])
def windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Windows as they are; small ones, many of which are read with one call; and fused ones."""
    monkeypatch.setattr(scanner, "_FEW", 0)
    if request.param != "large":
        monkeypatch.setattr(scanner, "_LEN_FIRST_WINDOW", 100)
        monkeypatch.setattr(scanner, "_LEN_WINDOW", 3000)
        monkeypatch.setattr(scanner, "LEN_RUN_WINDOW", 1500)
        monkeypatch.setattr(scanner, "LEN_RUN", 20_000)
        monkeypatch.setattr(folding_decoder, "_CAPACITY", Capacity(7, 1000, 10))
    monkeypatch.setattr(reader, "is_loaded", lambda _factory: False)
    if request.param == "fused":
        monkeypatch.setattr(reader, "_COMPILED_FROM", 0)
        monkeypatch.setattr(fused_scan, "LEN_PIECE", 700)
    return str(request.param)


def events(path: Path, **options: Any) -> Iterator[tuple[Any, ...]]:
    """Entries, each as a run, damage and padding, one by one."""
    source, folder = open_source(str(path)), RunFolder()
    try:
        for event in iter_verified(source, **options):
            if isinstance(event, Damage):
                offsets = event.first_lost_offset, event.last_lost_offset
                yield event.position, event.end_position, *offsets, type(event.error), event.error.detail
            elif isinstance(event, Padding):
                yield event.position, event.end_position
            else:
                assert [one[0] for one in event.heads()] == event.entries.values("position")
                for row in range(len(event)):
                    yield from map(numbers, folder.runs(event.part(row, row + 1)))
    finally:
        source.close()


def numbers(run: SoundRun) -> tuple[Any, ...]:
    """What a run says, and the header and the greatest timestamp of its entry."""
    header = [run.value(name) for name in ("crc", "max_timestamp", "codec")]
    places = run.position, run.end_position, run.first, run.last
    return "run", *places, run.epoch, run.flags, run.num_data_records, run.num_lacking, run.newest, *header


def slow_events(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Any]:
    """The same without numba."""

    def missing(*_arguments: object, **_options: object) -> None:
        raise MissingExtraError("not installed", extra="arrow")

    with monkeypatch.context() as patch:
        patch.setattr(verified_tables, "iter_tables_verified", missing)
        return list(events(path, **options))


def check(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare both ways, with records and without; return how many events there are."""
    found = list(events(path))
    assert found == slow_events(path, monkeypatch)
    headers = list(events(path, with_records=False))
    assert headers == slow_events(path, monkeypatch, with_records=False)
    return len(found)


@pytest.mark.long
@pytest.mark.parametrize("path", sampled(sorted(RECORDED.glob("*/*/*/*.log"))))
def test_a_recorded_segment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(path, monkeypatch)


@pytest.mark.long
def test_damaged_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    num_events = 0
    for seed in range(NUM_DAMAGED):
        random = Random(seed)
        data = bytearray(some_segment(random.randrange(5, 60), seed))
        for _ in range(random.randrange(4)):
            at = random.randrange(len(data))
            data[at : at + random.choice((0, 1, 9))] = random.randbytes(random.choice((1, 1, 5)))
        path = tmp_path / f"{0:020}.log"
        path.write_bytes(data)
        num_events += check(path, monkeypatch)
    assert num_events > 10 * NUM_DAMAGED


def test_batches_of_many_records_are_folded_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    increasing, falling, repeated, beyond = [*range(50)], [*range(50)], [*range(50)], [*range(5, 55)]
    falling[30], repeated[49] = 3, 48
    data = b""
    for number, deltas in enumerate((increasing, falling, repeated, beyond)):
        records = [record(delta, b"v" * 20, timestamp_delta=delta % 13) for delta in deltas]
        data += batch(100 * number, records, last_offset_delta=49)
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(data)
    assert [one[6] & DISORDERED != 0 for one in events(path)] == [False, True, True, True]
    assert check(path, monkeypatch) == 4


@pytest.mark.parametrize("with_records", [True, False])
def test_compiled_code_reads_on_by_itself(
    windows: str, with_records: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(batch(at, [record(0, b"key", b"v" * 90)]) for at in range(500)))
    loaded = []
    load = scanner.HeaderScan._load

    def watched(self: scanner.HeaderScan, position: int, size: int) -> None:
        loaded.append(position)
        load(self, position, size)

    monkeypatch.setattr(scanner.HeaderScan, "_load", watched)
    assert len(list(events(path, with_records=with_records))) == 500
    is_read_on = windows == "fused" or (windows == "small" and not with_records)
    assert len(loaded) <= 2 if is_read_on or windows == "large" else len(loaded) > 20
