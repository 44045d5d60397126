"""Summaries of logs: what is counted is what the other readers deliver."""

from __future__ import annotations

import os
from collections import Counter
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest
from tests.made.build import message
from tests.python import traced
from tests.report import logs

from kafka_segments import Batch, Record, encode_records, open_partition
from kafka_segments.core.io.filesystems import Places
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.model import LogEnd
from kafka_segments.log.replicas import resolve
from kafka_segments.report.log_summary import LogSummary, summarize_log
from kafka_segments.report.report_totals import ReportTotals

RECORDED = Path(__file__).parents[1] / "vectors" / "recorded"


def summary_of(directory: Path, **options: bool) -> LogSummary:
    places = Places(keep_cache=True)
    (log,) = resolve(places, discover(places, [str(directory)], prefer_names=True))
    return summarize_log(places, log, **{"check_crc": True, "with_payload": False} | options)


@pytest.mark.parametrize(
    "name",
    [
        "kafka-4.3/clean/multi-0",
        "kafka-4.3/clean/transactions-0",
        "kafka-4.3/clean/compact-removed-0",
        "kafka-4.3/clean/timestamps-0",
        "kafka-4.3/extreme-timestamps/extreme-0",
        "kafka-2.8/clean/mixed-0",
    ],
)
def test_figures_are_those_of_all_records(name: str) -> None:
    directory = RECORDED / name
    summary = summary_of(directory)
    with open_partition(directory) as partition:
        events = list(partition.iter_events(on_damage="skip"))
        open_ones, aborted = partition.open_transactions(), partition.aborted_transactions()
    batches = [event for event in events if isinstance(event, Batch)]
    data = [event for event in events if isinstance(event, Record) and event.control is None]
    totals = summary.segments
    assert sum(one.num_batches for one in totals) == len(batches)
    assert sum(one.num_records for one in totals) == len(data)
    assert sum(one.sound_bytes for one in totals) == sum(one.size for one in batches)
    times = [one.max_timestamp for one in batches if one.max_timestamp >= 0]
    firsts = [one.first_timestamp for one in totals if one.first_timestamp is not None]
    assert min(firsts, default=None) == min(times, default=None)
    assert {one for segment in totals for one in segment.codecs} == {one.compression for one in batches}
    horizons = sum(one.delete_horizon_ms is not None for one in batches)
    assert (summary.horizons.sums()[0] if summary.horizons else 0) == horizons
    assert summary.transactions.counts["open"] == len(open_ones)
    assert summary.transactions.counts["aborted"] == len(aborted)
    assert summary.damage == []


def test_each_segment_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is opened to find its place in the log, and to read it."""
    opened: Counter[str] = Counter()
    open_one = Places.open

    def counted(places: Places, path: str) -> object:
        opened[path.rpartition(".")[2]] += 1
        return open_one(places, path)

    monkeypatch.setattr(Places, "open", counted)
    summary = summary_of(RECORDED / "kafka-4.3/clean/multi-0", with_payload=True)
    assert opened["log"] <= 2 * len(summary.segments) > 2
    assert summary.messages.found and summary.codecs.totals


def test_transactions_are_spans(tmp_path: Path) -> None:
    logs.transactions(tmp_path / "t-0")
    summary = summary_of(tmp_path / "t-0")
    spans = {one.key: one for one in summary.transactions.kept}
    assert {number: one.state for number, one in spans.items()} == {1: "committed", 2: "aborted", 3: "open"}
    assert [(one.first_offset, one.last_offset) for one in spans.values()] == [(0, 3), (2, 4), (5, 5)]
    assert [one.duration_ms for one in spans.values()] == [2 * logs.HOUR, 2 * logs.HOUR, 0]
    assert spans[1].num_records == 2
    producers = {one.key: one for one in summary.producers.top(9)}
    assert producers.keys() == {1, 2, 3, 4}
    assert (producers[4].highest_epoch, producers[4].num_transactional) == (7, 0)
    assert summary.outcome.last_stable_offset == 5


def test_compression_is_measured(tmp_path: Path) -> None:
    logs.plain_and_gzip(tmp_path / "t-0")
    summary = summary_of(tmp_path / "t-0")
    plain, packed = (summary.codecs.totals[codec] for codec in (0, 1))
    content = b"".join(logs.secret_records(1))
    assert (packed.num_batches, packed.num_sampled, packed.sampled_decompressed) == (1, 1, len(content))
    assert packed.ratio == len(content) / packed.num_payload_bytes > 1
    assert (plain.num_sampled, plain.ratio) == (0, None)
    assert [(run.key, run.first_offset, run.last_offset) for run in summary.epochs.runs] == [
        (0, 0, 1),
        (3, 2, 3),
    ]


def test_damage_and_missing_offsets(tmp_path: Path) -> None:
    logs.damaged(tmp_path / "t-0")
    summary = summary_of(tmp_path / "t-0")
    assert {one.kind for one in summary.damage} == {Kind.DAMAGE, Kind.LOST}
    assert summary.lost == [(2, 4), (6, 10)]
    assert [one.num_batches for one in summary.segments] == [2, 1]
    assert [one.num_absent for one in summary.segments] == [0, 0]
    assert summary.segments[0].damaged_bytes > 0
    assert summary.contents == {}


def test_a_batch_that_a_broker_is_writing_is_no_damage(tmp_path: Path) -> None:
    entries = logs.batch(0, logs.secret_records(0)), logs.batch(2, logs.secret_records(1))[:-9]
    logs.write(tmp_path / "t-0", 0, *entries)
    for is_live, kind, num_places in ((True, Kind.PENDING, 0), (False, Kind.DAMAGE, 1)):
        places = Places(keep_cache=True)
        (log,) = resolve(places, discover(places, [str(tmp_path / "t-0")], prefer_names=True))
        log = replace(log, end=LogEnd(is_live=is_live))
        summary = summarize_log(places, log, check_crc=True, with_payload=False)
        assert [one.kind for one in summary.damage] == [kind]
        assert summary.num_places == num_places
        totals = ReportTotals(1)
        totals.add(summary)
        assert totals.status == num_places


def many_damages(directory: Path) -> None:
    """Write 120 damaged batches between sound ones."""
    entries = [logs.batch(2 * at, logs.secret_records(0)) for at in range(240)]
    data, size = bytearray(b"".join(entries)), len(entries[0])
    for at in range(1, 240, 2):
        data[at * size + 80] ^= 0xFF
    logs.write(directory, 0, bytes(data))


def test_the_worst_is_kept_and_counted_after_much_else(tmp_path: Path) -> None:
    many_damages(tmp_path / "t-0")
    os.mkfifo(tmp_path / "t-0" / f"{500:020}.log")
    summary = summary_of(tmp_path / "t-0")
    kinds = Counter(one.kind for one in summary.damage)
    assert (kinds[Kind.DAMAGE], kinds[Kind.NOT_OPENED]) == (120, 1)
    assert summary.segments[0].num_batches == 120, "those between the damaged ones"
    totals = ReportTotals(1)
    note = Finding(Kind.NOTE, "a", 0, "a name that contradicts what is in it")
    other = copy(summary)
    other.damage, other.findings = [], [note] * 300
    totals.add(other)
    totals.add(summary)
    assert totals.status == 2
    assert (totals.num_findings["not opened"], totals.num_findings["note"]) == (1, 300)
    assert len(totals.findings) == 200
    assert Counter(one.kind for _row, one in totals.findings)[Kind.DAMAGE] == 100


def test_damage_is_not_found_without_checksums(tmp_path: Path) -> None:
    logs.damaged(tmp_path / "t-0")
    summary = summary_of(tmp_path / "t-0", check_crc=False)
    assert {one.kind for one in summary.damage} == {Kind.LOST}


def test_bytes_and_messages_on_request(tmp_path: Path) -> None:
    path = logs.damaged(tmp_path / "t-0")
    summary = summary_of(tmp_path / "t-0", with_payload=True)
    number, place = next((at, one) for at, one in enumerate(summary.damage) if one.kind is Kind.DAMAGE)
    position = place.position or 0
    assert summary.contents[number] == path.read_bytes()[position : position + 256]
    assert [one.offset for one in summary.messages.found] == [0, 1, 10, 11]
    assert summary.messages.found[0].key == b"key-of-the-message-0"
    assert summary.messages.found[0].headers == ((b"head-of-the-message-0", b"held-of-the-message-0"),)


def test_large_messages_are_cut_one_by_one(tmp_path: Path) -> None:
    value = bytes(30 << 20)
    data = b"".join(encode_records([{"offset": at, "value": value}], compression="zstd") for at in range(9))
    logs.write(tmp_path / "t-0", 0, data)
    with traced() as memory:
        found = summary_of(tmp_path / "t-0", with_payload=True).messages.found
        _now, peak = memory()
    assert [(one.len_value, len(one.value or b"")) for one in found] == [(30 << 20, 256)] * 9
    assert peak < 5 * len(value)


def test_a_payload_that_does_not_decompress_is_damage(tmp_path: Path) -> None:
    fields = {"attributes": logs.GZIP, "count": 2, "last_offset_delta": 1}
    logs.write(tmp_path / "t-0", 0, logs.batch(0, payload=b"no gzip", **fields))
    summary = summary_of(tmp_path / "t-0")
    (place,) = summary.damage
    assert place.kind is Kind.DAMAGE
    assert "does not decompress" in place.detail


def test_what_the_cleaner_removed_is_absent_and_not_lost(tmp_path: Path) -> None:
    logs.horizons(tmp_path / "t-0")
    summary = summary_of(tmp_path / "t-0")
    assert (summary.segments[0].num_absent, summary.lost) == (2, [])
    assert summary.horizons.range() == (logs.START + logs.HOUR, logs.START + logs.HOUR + 125)


def test_old_messages_have_no_timestamps_or_their_own(tmp_path: Path) -> None:
    entries = [message(offset, magic=offset % 2, time=5000) for offset in range(4)]
    logs.write(tmp_path / "t-0", 0, *entries)
    summary = summary_of(tmp_path / "t-0")
    assert summary.times.num_without == 2
    assert summary.times.range() == (5000, 5125)
    assert summary.segments[0].magics == {0, 1}
    assert [run.key for run in summary.epochs.runs] == [-1]


def test_very_many_producers_and_transactions_are_bounded(tmp_path: Path) -> None:
    entries, offset = [], 0
    for producer in range(6000):
        fields = {"producer_id": producer, "producer_epoch": 0, "attributes": logs.TRANSACTIONAL}
        entries.append(logs.batch(offset, [logs.record()] * (1 + producer % 3), **fields))
        entries.append(logs.end_of(offset + 3, producer, logs.COMMIT, 0))
        offset += 4
    logs.write(tmp_path / "t-0", 0, *entries)
    summary = summary_of(tmp_path / "t-0")
    assert summary.transactions.counts == {"committed": 6000}
    assert len(summary.transactions.kept) + summary.transactions.num_left_out == 6000
    assert len(summary.transactions.kept) <= 240
    assert len(summary.producers) + summary.producers.num_dropped == 6000
    assert len(summary.producers) <= 4096
