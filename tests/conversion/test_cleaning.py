"""Cleaning gives what MemoryRecords.filterTo gives for the same decisions, in Kafka 3.9 and in 4.3."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import forms
from tests.conversion.compare import agree, has_impossible_offsets, recorded, result, stored
from tests.conversion.kafka_classes import DELETE, DELETE_EMPTY, RETAIN_EMPTY, Decisions, Kafka, KafkaError
from tests.made.build import batch, message
from tests.made.encoder import Batch as NewBatch
from tests.made.encoder import Entry, encode_segment
from tests.made.encoder import Record as NewRecord
from tests.made.shapes import QUICK, segments

import kafka_segments
from kafka_segments import Batch
from kafka_segments.core.formats import java_text
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.write.convert import Conversion, Retention, filter_batches

RETENTIONS = {
    DELETE: Retention.DELETE,
    RETAIN_EMPTY: Retention.RETAIN_EMPTY,
    DELETE_EMPTY: Retention.DELETE_EMPTY,
}


def cleaned(data: bytes, decisions: Decisions, keeps_magic: bool) -> Conversion:
    """Our cleaning by Kafka's decisions."""
    by_position = {
        entry.batch.position: decision
        for entry, decision in zip(stored(data), decisions.batches, strict=True)
    }
    return filter_batches(
        data,
        lambda record: record.offset in decisions.retained,
        delete_horizon_ms=decisions.current_time + decisions.delete_retention_ms,
        retention=lambda batch: RETENTIONS[by_position[batch.position][0]],
        ends_nothing=lambda batch: by_position[batch.position][1],
        keeps_magic=keeps_magic,
    )


def decide(data: bytes, seed: object, share: float) -> Decisions:
    """Decisions by chance."""
    chance = random.Random(f"{seed} {share}")
    batches, retained = [], set()
    for entry in stored(data):
        kinds = (DELETE, RETAIN_EMPTY, DELETE_EMPTY, DELETE_EMPTY, DELETE_EMPTY)
        kind = chance.choice(kinds) if entry.batch.magic == 2 else DELETE_EMPTY
        batches.append((kind, entry.batch.is_control and chance.random() < 0.5))
        retained.update(record.offset for record in entry.records if chance.random() < share)
    return Decisions(batches, frozenset(retained))


OF_TEST_LONG = pytest.mark.long(short=False)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("release", "share"),
    [
        ("39", 0.6),
        ("43", 1.0),
        pytest.param("39", 1.0, marks=OF_TEST_LONG),
        pytest.param("43", 0.6, marks=OF_TEST_LONG),
    ],
)
def test_recorded_segments_are_cleaned_as_kafka_has_it(
    request: pytest.FixtureRequest, release: str, share: float
) -> None:
    kafka: Kafka = request.getfixturevalue(f"kafka{release}")
    found: Counter[str] = Counter()
    for name, data in recorded().items():
        decisions = decide(data, name, share)
        ours = result(cleaned(data, decisions, keeps_magic=release == "39"))
        kafkas = result(partial(kafka.filter, data, decisions))
        assert agree(ours, kafkas), name
        found["refused" if ours is None else "the same bytes" if ours == kafkas else "the same values"] += 1
    assert found["the same bytes"] > 150 and found["refused"] < 5, found
    # Kafka 3.9 writes hardly anything anew if all stays: batches that get a horizon.
    assert found["the same values"] > (20 if share < 1 or release == "43" else 1), found


@pytest.mark.oracle
@pytest.mark.long
@forms.examples(QUICK, 60, 2000)
@given(entries=segments(1), seed=st.integers(0, 255), share=st.sampled_from([0.5, 1.0, 0.0]))
def test_generated_entries_are_cleaned_as_kafka_has_it(
    kafka39: Kafka, kafka43: Kafka, entries: list[Entry], seed: int, share: float
) -> None:
    data = encode_segment(entries)
    decisions = decide(data, seed, share)
    for kafka in (kafka39, kafka43):
        ours = result(cleaned(data, decisions, keeps_magic=kafka is kafka39))
        kafkas = result(partial(kafka.filter, data, decisions))
        refuses = ours is None and has_impossible_offsets(data)
        assert refuses or agree(ours, kafkas), (entries, decisions, ours, kafkas)


@pytest.mark.oracle
@settings(QUICK, max_examples=60, derandomize=True)
@given(
    key=st.binary(max_size=6)
    | st.lists(st.sampled_from([0xED, 0xE0, 0xF0, 0xF4, 0xF5, 0xA0, 0x80, 0x9F, 0xBF, 0xC1, 0xC3, 0x41])).map(
        bytes
    )
)
def test_header_keys_become_what_java_makes_of_them(kafka43: Kafka, key: bytes) -> None:
    """A batch that is written anew has its headers' keys from Java strings (RecordHeader.key)."""
    records = (NewRecord(0, value=b"goes"), NewRecord(1, value=b"stays", headers=((key, b"x"),)))
    data = NewBatch(records=records).encode()
    (entry,) = stored(kafka43.filter(data, Decisions([(DELETE_EMPTY, False)], frozenset([1]))))
    assert entry.records[0].headers == ((java_text(key).encode(), b"x"),)


def test_a_header_key_that_is_no_utf_8_is_counted_where_it_changes() -> None:
    records = (NewRecord(0), NewRecord(1, headers=((b"\xff", b"x"), (b"good", None))))
    data = NewBatch(base_offset=8, records=records).encode()
    untouched = filter_batches(data, lambda record: True, delete_horizon_ms=0)
    assert (untouched.to_bytes(), untouched.report.losses) == (data, {})
    changed = filter_batches(data, lambda record: record.offset == 9, delete_horizon_ms=0)
    assert stored(changed.to_bytes())[0].records[0].headers == ((b"\xef\xbf\xbd", b"x"), (b"good", None))
    loss = changed.report.losses["header_keys"]
    assert (loss.num, loss.first_offset, loss.last_offset) == (1, 9, 9)


def test_a_decision_is_asked_for_once_a_batch() -> None:
    asked: list[int | None] = []

    def retention(batch: Batch) -> Retention:
        asked.append(batch.base_offset)
        return Retention.DELETE_EMPTY

    conversion = filter_batches(
        batch(0) + batch(1), lambda record: False, delete_horizon_ms=0, retention=retention
    )
    assert (conversion.to_bytes(), asked, conversion.report.num_dropped) == (b"", [0, 1], 2)


def test_an_old_message_cannot_be_kept_without_records() -> None:
    conversion = filter_batches(
        message(0),
        lambda record: False,
        delete_horizon_ms=0,
        retention=lambda batch: Retention.RETAIN_EMPTY,
    )
    with pytest.raises(EncodeError, match="magic 1 cannot be kept without records"):
        conversion.to_bytes()


@pytest.mark.oracle
def test_offsets_below_0_are_refused_as_kafka_has_it(kafka43: Kafka) -> None:
    data = batch(-5)
    with pytest.raises(EncodeError, match="its last offset is -5"):
        filter_batches(data, lambda record: True, delete_horizon_ms=0).to_bytes()
    with pytest.raises(KafkaError, match="shallowOffset undefined"):
        kafka43.filter(data, Decisions([(DELETE_EMPTY, False)], frozenset([-5])))


def test_retention_may_be_said_by_its_value_and_by_nothing_else() -> None:
    data = batch(0)

    def cleaned_by(retention: object) -> Conversion:
        return filter_batches(
            data,
            lambda _record: False,
            delete_horizon_ms=0,
            retention=lambda _batch: retention,  # type: ignore[arg-type,return-value]
        )

    assert (
        cleaned_by("retain_empty").to_bytes() == cleaned_by(kafka_segments.Retention.RETAIN_EMPTY).to_bytes()
    )
    assert cleaned_by("delete").to_bytes() == b""
    for wrong in ("keep", None, True):
        with pytest.raises(OptionError, match="it must be a Retention, one of 'delete'"):
            cleaned_by(wrong).to_bytes()
    with pytest.raises(OptionError, match="delete_horizon_ms is '5'"):
        filter_batches(data, lambda _record: True, delete_horizon_ms="5")  # type: ignore[arg-type]
