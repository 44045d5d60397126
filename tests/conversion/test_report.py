"""The report of a conversion says what differs between the source and what came out, no more and no less."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from tests import forms
from tests.conversion.compare import Stored, has_impossible_offsets, recorded, result, stored
from tests.made.build import batch, control, message, record
from tests.made.encoder import Entry, encode_segment
from tests.made.shapes import QUICK, segments

from kafka_segments import Batch, Record
from kafka_segments.write.convert import LOSSES, ConversionReport, down_convert, filter_batches, up_convert

Pair = tuple[Record, Batch]


def by_offset(entries: list[Stored]) -> dict[int, Pair]:
    """Each record with its batch."""
    return {record.offset: (record, entry.batch) for entry in entries for record in entry.records}


def differences(source: list[Stored], target: list[Stored]) -> Counter[str]:
    """What the source has and the target has not, counted as `LOSSES` says, by comparing the two."""
    found: Counter[str] = Counter()
    there, untouched = by_offset(target), {entry.data for entry in target}
    for entry in source:
        if entry.data in untouched:
            continue
        if entry.batch.is_control:
            found["control_batches"] += 1
            found["control_records"] += len(entry.records)
            continue
        if not entry.records:
            found["empty_batches"] += entry.batch.num_records == 0
            continue
        records = [(record, there[record.offset][0]) for record in entry.records]
        found["headers"] += sum(len(before.headers) - len(after.headers) for before, after in records)
        found["timestamps"] += sum(before.timestamp != after.timestamp for before, after in records)
        found.update(of_headers(entry, [there[record.offset][1] for record in entry.records]))
    return +found


def of_headers(entry: Stored, after: list[Batch]) -> Iterator[str]:
    """Which fields of a batch's header are not in those that its records are in now."""
    fields = {
        "producer_ids": "producer_id",
        "sequences": "base_sequence",
        "leader_epochs": "partition_leader_epoch",
        "transactional_batches": "is_transactional",
        "delete_horizons": "delete_horizon_ms",
    }
    before = entry.batch
    for what, field in fields.items():
        if {getattr(batch, field) for batch in after} != {getattr(before, field)}:
            yield what
    appended = before.timestamp_type == "LogAppendTime"
    if appended and {batch.timestamp_type for batch in after} != {before.timestamp_type}:
        yield "log_append_times"
    if before.magic > after[0].magic:
        bounds = min(batch.base_offset or 0 for batch in after), max(batch.last_offset for batch in after)
        if bounds != (before.base_offset, before.last_offset):
            yield "offset_bounds"


def counts(report: ConversionReport) -> Counter[str]:
    return Counter({what: loss.num for what, loss in report.losses.items()})


@pytest.mark.long
@forms.examples(QUICK, 60, 2000)
@given(entries=segments(2))
@pytest.mark.parametrize("magic", [0, 1])
def test_what_is_lost_on_the_way_down_is_what_differs(magic: int, entries: list[Entry]) -> None:
    data = encode_segment(entries)
    conversion = down_convert(data, magic, on_damage="skip")
    converted = result(conversion)
    # With impossible offsets, records of two batches may have the same.
    if converted is not None and not has_impossible_offsets(data):
        assert counts(conversion.report) == differences(stored(data), stored(converted))


@pytest.mark.long(short=False)
def test_what_is_lost_of_recorded_segments_is_what_differs() -> None:
    found: Counter[str] = Counter()
    for name, data in recorded().items():
        for conversion in (down_convert(data, 0), down_convert(data, 1), up_convert(data)):
            converted = result(conversion)
            if converted is not None:
                lost = counts(conversion.report)
                assert lost == differences(stored(data), stored(converted)), name
                found += lost
    # Batches recorded with these are compressed with zstd, which is refused; keys are for cleaning, and the
    # last two for magic 3.
    others = {"delete_horizons", "empty_batches", "header_keys", "reserved_bits", "long_varints"}
    assert found.keys() == LOSSES.keys() - others


SEGMENT = (
    message(0, magic=1)
    + batch(3, [record(0, headers=((b"a", b"1"), (b"a", None)))], leader_epoch=-1)
    + batch(7, [record(1)], leader_epoch=4, last_offset_delta=5)
    + control(20, (b"\0\0\0\1", b"\0\0\0\0\0\0"), leader_epoch=4)
)


def test_the_report_in_lines_for_programs() -> None:
    conversion = down_convert(SEGMENT, 1)
    size = len(conversion.to_bytes())
    lines = conversion.report.to_jsonl().splitlines()
    assert lines[0] == '{"type":"loss","what":"headers","num":2,"first_offset":3,"last_offset":3}'
    losses = {line["what"]: (line["num"], line["first_offset"]) for line in map(json.loads, lines[:-1])}
    assert losses == {
        "headers": (2, 3),
        "control_batches": (1, 20),
        "control_records": (1, 20),
        "leader_epochs": (1, 8),
        "offset_bounds": (1, 8),
    }
    assert json.loads(lines[-1]) == {
        "type": "conversion",
        "num_entries": 4,
        "num_untouched": 1,
        "num_rewritten": 2,
        "num_dropped": 1,
        "num_damaged": 0,
        "num_records": 2,
        "num_skipped": 0,
        "num_bytes": size,
        "num_records_copied": 1,
    }


def test_the_report_for_people() -> None:
    conversion = down_convert(SEGMENT, 1, first_offset=4)
    conversion.to_bytes()
    text = conversion.report.to_text().splitlines()
    assert text[0] == "4 entries read: 1 copied as they were, 1 rewritten, 2 dropped"
    assert re.fullmatch(r"records copied: \d+, rewritten: \d+, left out: 1; bytes written: \d+", text[1])
    assert text[2].startswith("lost: 1 control_batches (control batches, without which aborted")
    assert text[2].endswith("offsets 20 to 20")


@pytest.mark.long(short=False)
def test_every_entry_is_counted_once() -> None:
    for name, data in recorded().items():
        entries = stored(data)
        for conversion in (
            down_convert(data, 1),
            up_convert(data),
            filter_batches(data, lambda record: record.offset % 3 > 0, delete_horizon_ms=5),
        ):
            if result(conversion) is not None:
                report = conversion.report
                assert report.num_entries == len(entries), name
                done = report.num_untouched + report.num_rewritten + report.num_dropped
                assert done == len(entries), name
