"""Up-conversion gives what brokers stored, and what LogValidator of Kafka 3.9 gives."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from tests import forms
from tests.conversion.compare import (
    agree,
    as_consumed,
    has_impossible_offsets,
    is_same,
    recorded,
    result,
    stored,
    values,
)
from tests.conversion.kafka_classes import Decisions, Kafka
from tests.made.build import batch, message
from tests.made.encoder import Entry, encode_segment
from tests.made.shapes import QUICK, segments
from tests.recording.sets import RECORDED

from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.convert import up_convert

ALL = 1 << 30
NOW = 1_600_000_000_000


def requests(data: bytes) -> list[bytes]:
    """The old entries of a segment as a producer would send them: a wrapper, or messages without one."""
    found: list[tuple[tuple[object, ...], bytes]] = []
    for entry in stored(data):
        batch = entry.batch
        if batch.magic == 2:
            continue
        kind = (batch.magic, batch.timestamp_type)
        if batch.compression == "none" and found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + entry.data)
        else:
            found.append((kind if batch.compression == "none" else (), entry.data))
    return [data for _kind, data in found]


def renumbered(data: bytes) -> list[dict[str, Any]]:
    """Values with offsets as a broker assigns them: one after the other."""
    rows, offset = values(data), -1
    for row in rows:
        if "offset" in row:
            offset += 1
            row["offset"] = offset
        else:
            row["base_offset"] = row["last_offset"] = None
    return rows


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.oracle
def test_what_a_client_of_0_9_sent_becomes_what_a_2_8_broker_stored(kafka39: Kafka, codec: str) -> None:
    """The recorded bytes are the broker's; the client's magic 0 is made of them by Kafka's own conversion."""
    recorded_up = (RECORDED / f"kafka-2.8/clean/up-{codec}-0/00000000000000000000.log").read_bytes()
    entries = stored(recorded_up)
    assert len(entries) > 3
    for entry in entries:
        sent = kafka39.down_convert(entry.data, 0)
        assert {message.batch.magic for message in stored(sent)} == {0}
        epoch = entry.batch.partition_leader_epoch
        converted = up_convert(sent, batch_size=ALL, partition_leader_epoch=epoch).to_bytes()
        assert converted == entry.data if codec == "none" else is_same(converted, entry.data)


@pytest.mark.oracle
def test_recorded_messages_go_up_as_a_broker_takes_them(kafka39: Kafka) -> None:
    found: Counter[str] = Counter()
    for name, data in recorded().items():
        for request in requests(data):
            records = [record for entry in stored(request) for record in entry.records]
            if records[0].timestamp_type == "LogAppendTime":  # a producer must not send that
                continue
            first, count = records[0].offset, len(records)
            has_gaps = [record.offset for record in records] != list(range(first, first + count))
            for type_, time in (("CreateTime", None), ("LogAppendTime", NOW)):
                ours = up_convert(
                    request, batch_size=ALL, partition_leader_epoch=7, log_append_time=time
                ).to_bytes()
                kafkas = kafka39.up_convert(
                    request, next_offset=first, timestamp_type=type_, now=NOW, leader_epoch=7
                )
                same = renumbered(ours) == renumbered(kafkas) if has_gaps else is_same(ours, kafkas)
                assert same, (name, type_)
                found["gaps" if has_gaps else "the same bytes" if ours == kafkas else "the same values"] += 1
    assert found["the same bytes"] > 400 and found["the same values"] > 200 and found["gaps"] > 100, found


@pytest.mark.oracle
@pytest.mark.long
@forms.examples(QUICK, 60, 2000)
@given(entries=segments(1))
def test_generated_entries_go_up_as_kafkas_cleaner_has_it(kafka43: Kafka, entries: list[Entry]) -> None:
    """An entry alone becomes what Kafka 4 makes of it when it cleans a log, but for delete horizons."""
    data = encode_segment(entries)
    sources = stored(data)
    records = [record for source in sources for record in source.records]
    if sources[0].batch.magic == 2 or any(record.value is None for record in records):
        return
    decisions = Decisions([(2, False)], frozenset(record.offset for record in records))
    ours, kafkas = result(up_convert(data)), result(partial(kafka43.filter, data, decisions))
    refuses = ours is None and has_impossible_offsets(data)
    assert refuses or agree(ours, kafkas), (entries, ours, kafkas)


def test_messages_are_gathered_up_to_a_size_and_while_they_are_of_a_kind() -> None:
    def made(messages: list[bytes], **options: Any) -> list[tuple[int | None, int | None]]:
        converted = stored(up_convert(b"".join(messages), **options).to_bytes())
        assert {entry.batch.magic for entry in converted} == {2}
        return [(entry.batch.base_offset, entry.batch.num_records) for entry in converted]

    alike = [message(offset, magic=0) for offset in range(5)]
    assert made(alike) == [(0, 5)]
    assert made(alike, batch_size=2 * len(alike[0])) == [(0, 2), (2, 2), (4, 1)]
    assert made(alike, batch_size=0) == [(offset, 1) for offset in range(5)]
    assert made([message(0, magic=0), message(1, magic=1)]) == [(0, 1), (1, 1)]
    assert made([message(0), message(1 << 31)]) == [(0, 1), (1 << 31, 1)]
    assert made([message(0), message((1 << 31) - 1)]) == [(0, 2)]
    # LogAppendTime is one time for a whole batch.
    appended = [message(0, attributes=8, time=5), message(1, attributes=8, time=5)]
    assert made([*appended, message(2, attributes=8, time=6), message(3, time=6)]) == [(0, 2), (2, 1), (3, 1)]


def test_batches_of_magic_2_are_copied_and_end_what_was_gathered() -> None:
    new = batch(1, leader_epoch=3)
    conversion = up_convert(message(0, magic=0) + new + message(2, b"x", magic=1))
    entries = stored(conversion.to_bytes())
    assert entries[1].data == new
    assert as_consumed(entries[0].records + entries[2].records) == [
        (0, -1, "CreateTime", None, b"v", ()),
        (2, 7, "CreateTime", None, b"x", ()),
    ]
    assert (conversion.report.num_untouched, conversion.report.num_rewritten) == (1, 2)
    assert conversion.report.losses == {}


def test_what_cannot_be_written_is_told_at_its_own_place() -> None:
    """Whatever is to become of damage: this is none."""
    data = message(0, magic=1) + message(1, magic=1, time=-5) + message(2, magic=1)
    with pytest.raises(EncodeError, match="timestamp -5") as caught:
        up_convert(data, on_damage="skip").to_bytes()
    assert (caught.value.position, caught.value.offset) == (len(message(0, magic=1)), 1)
    assert caught.value.rule == "negative_timestamp"


@pytest.mark.parametrize(
    "option",
    [
        {"batch_size": -1},
        {"batch_size": "x"},
        {"partition_leader_epoch": -9},
        {"log_append_time": -5},
        {"log_append_time": True},
    ],
)
def test_numbers_are_judged_at_once(option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(option))):
        up_convert(b"", **option)


def test_bytes_are_given_once() -> None:
    conversion = up_convert(message(0))
    assert conversion.to_bytes()
    for again in (conversion.to_bytes, conversion.__iter__):
        with pytest.raises(OptionError, match="taken already"):
            again()
