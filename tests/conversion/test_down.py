"""Down-conversion gives what RecordsUtil.downConvert of Kafka 3.9 gives."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from tests import forms
from tests.conversion.compare import agree, as_consumed, has_impossible_offsets, recorded, result, stored
from tests.conversion.kafka_classes import Kafka
from tests.made.build import batch, control, message, patched, record
from tests.made.encoder import Entry, encode_segment
from tests.made.shapes import QUICK, segments

from kafka_segments import Damage
from kafka_segments.errors import ChecksumMismatchError, EncodeError, OptionError
from kafka_segments.write.convert import down_convert


@pytest.mark.oracle
@pytest.mark.parametrize("magic", [0, 1])
def test_recorded_segments_go_down_as_kafka_has_it(kafka39: Kafka, magic: int) -> None:
    found: Counter[str] = Counter()
    for name, data in recorded().items():
        ours, kafkas = result(down_convert(data, magic)), result(partial(kafka39.down_convert, data, magic))
        assert agree(ours, kafkas), name
        found["refused" if ours is None else "the same bytes" if ours == kafkas else "the same values"] += 1
    assert found["the same bytes"] > 180 and found["the same values"] > 25 and found["refused"] > 15, found


@pytest.mark.oracle
def test_records_below_the_offset_asked_for_are_left_out_as_kafka_has_it(kafka39: Kafka) -> None:
    num_skipped = 0
    for name, data in recorded().items():
        plain = [entry.records for entry in stored(data) if entry.batch.compression == "none"]
        # In the middle of the longest batch, and behind all.
        longest = max(plain, key=len, default=[])
        middle = longest[len(longest) // 2].offset if longest else 0
        for offset in (middle, 1 << 40):
            conversion = down_convert(data, 1, first_offset=offset)
            ours = result(conversion)
            assert agree(ours, result(partial(kafka39.down_convert, data, 1, offset))), (name, offset)
            num_skipped += conversion.report.num_skipped
    assert num_skipped > 1000, num_skipped


@pytest.mark.oracle
@pytest.mark.long
@forms.examples(QUICK, 60, 2000)
@given(entries=segments(1))
def test_generated_entries_go_down_as_kafka_has_it(kafka39: Kafka, entries: list[Entry]) -> None:
    data = encode_segment(entries)
    for magic in (0, 1):
        ours, kafkas = result(down_convert(data, magic)), result(partial(kafka39.down_convert, data, magic))
        refuses = ours is None and has_impossible_offsets(data)
        assert refuses or agree(ours, kafkas), (entries, ours, kafkas)


def test_old_entries_are_copied_and_new_ones_keep_what_they_can() -> None:
    new = batch(5, [record(0, b"k", b"v", ((b"h", b"x"),), timestamp_delta=3), record(1, None, None)])
    old = message(3, b"old", magic=0) + message(4, b"newer", magic=1)
    conversion = down_convert(old + new, 1)
    converted = conversion.to_bytes()
    assert converted.startswith(old)
    records = [record for entry in stored(converted)[2:] for record in entry.records]
    assert as_consumed(records) == [
        (5, 1_700_000_000_003, "CreateTime", b"k", b"v", ()),
        (6, 1_700_000_000_000, "CreateTime", None, None, ()),
    ]
    assert (conversion.report.num_untouched, conversion.report.num_rewritten) == (2, 1)
    assert conversion.report.num_bytes == len(converted)


def test_zstd_is_refused_with_its_place() -> None:
    data = batch(0) + batch(1, attributes=4, payload=b"")
    with pytest.raises(EncodeError, match=r"zstd, which magic 1 does not have") as caught:
        down_convert(data, 1).to_bytes()
    assert caught.value.position == len(batch(0))


def test_control_and_empty_batches_are_dropped_and_counted() -> None:
    marker = control(4, (b"\0\0\0\1", b"\0\0\0\0\0\0"), producer_id=7, producer_epoch=0)
    conversion = down_convert(marker + batch(5, [], last_offset_delta=2) + batch(9), 1)
    assert [entry.batch.last_offset for entry in stored(conversion.to_bytes())] == [9]
    losses = conversion.report.losses
    assert (losses["control_batches"].num, losses["control_records"].num) == (1, 1)
    assert (losses["empty_batches"].first_offset, losses["empty_batches"].last_offset) == (5, 7)
    assert conversion.report.num_dropped == 2


def test_damage_is_raised_behind_what_is_sound_or_told() -> None:
    whole = batch(0)
    damaged = patched(batch(1), len(whole) - 1, b"\xff")
    data = whole + damaged + batch(2)
    pieces = iter(down_convert(data, 1))
    first = next(pieces)
    with pytest.raises(ChecksumMismatchError):
        next(pieces)

    told: list[Damage] = []
    conversion = down_convert(data, 1, on_damage=told.append)
    converted = conversion.to_bytes()
    assert converted.startswith(first)
    assert [entry.batch.last_offset for entry in stored(converted)] == [0, 2]
    assert [damage.position for damage in told] == [len(whole)]
    assert conversion.report.num_damaged == 1
    assert down_convert(data, 1, on_damage="skip").to_bytes() == converted


def test_of_a_batch_that_breaks_off_the_sound_records_are_converted() -> None:
    broken = batch(0, [record(0), record(1), b"\x02"], count=3)
    data = broken + batch(3)
    conversion = down_convert(data, 1, on_damage="skip")
    assert [entry.batch.last_offset for entry in stored(conversion.to_bytes())] == [0, 1, 3]


def test_a_control_batch_that_claims_less_than_nothing() -> None:
    marker = control(0, (b"\0\0\0\1", b"\0\0\0\0\0\0"), count=-3)
    conversion = down_convert(marker + batch(1), 1)
    assert [entry.batch.last_offset for entry in stored(conversion.to_bytes())] == [1]
    assert conversion.report.losses["control_batches"].num == 1
    assert "control_records" not in conversion.report.losses


def test_a_first_offset_that_is_none() -> None:
    with pytest.raises(OptionError, match="first_offset is '1'"):
        down_convert(b"", 1, first_offset="1")  # type: ignore[arg-type]


@pytest.mark.parametrize("magic", [-1, 2, 3, True, 1.0])
def test_other_magics_are_refused(magic: int) -> None:
    with pytest.raises(OptionError, match=f"to_magic is {magic}"):
        down_convert(b"", magic)


def test_another_on_damage_is_refused() -> None:
    with pytest.raises(OptionError, match="on_damage is 'ignore'"):
        down_convert(b"", 1, on_damage="ignore")  # type: ignore[arg-type]
