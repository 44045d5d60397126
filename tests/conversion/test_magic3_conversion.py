"""Magic 2 to the discarded magic 3 and back: nothing gets lost but what the report counts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from tests import forms
from tests.construct.values import segments
from tests.conversion.compare import values
from tests.made.build import batch as batch_v2
from tests.made.build import control, message, record
from tests.made.encoder import Entry, encode_segment
from tests.made.magic3 import (
    IGNORES_ATTRIBUTES,
    MAGIC_2,
    MAGIC_3,
    METADATA_FIRST,
    TIME,
    Row,
    batch,
    metadata_first,
    records,
)
from tests.made.shapes import QUICK
from tests.made.shapes import segments as generated

from kafka_segments import Batch, Damage, open_segment
from kafka_segments.core.codecs import compress
from kafka_segments.errors import EncodeError, KafkaFormatError, MissingExtraError, OptionError
from kafka_segments.write.convert import Conversion, convert_magic3

ROWS = (
    Row(0, 5, b"k", b"v", ((b"h", None), (b"h", b"2"))),
    Row(1, -3, None, b"", attributes=0),
    Row(7, 1 << 40, b"", None),
)


def to(magic: int, data: bytes, **options: bool) -> Conversion:
    return convert_magic3(data, magic, experimental_magic3=True, **options)


def there_and_back(data: bytes, *, first: bool) -> tuple[bytes, dict[str, int]]:
    """What becomes of a segment on the way to magic 3 and back, and what is reported as lost."""
    going = to(3, data, metadata_first=first)
    between = going.to_bytes()
    coming = to(2, between)
    lost = {
        loss.what: loss.num for report in (going.report, coming.report) for loss in report.losses.values()
    }
    return coming.to_bytes(), lost


@pytest.mark.parametrize("first", [False, True], ids=["as proposed", "metadata first"])
def test_the_example_in_both_directions(first: bool) -> None:
    converted = to(3, MAGIC_2, metadata_first=first).to_bytes()
    rows = [Row(0, value=b"hello"), Row(1, value=b"world")]
    by_hand = batch(
        metadata_first(rows), 2, attributes=IGNORES_ATTRIBUTES | METADATA_FIRST, last_offset_delta=1
    )
    assert converted == (by_hand if first else MAGIC_3)
    conversion = to(2, converted)
    assert conversion.to_bytes() == MAGIC_2
    assert conversion.report.losses == {}
    assert (conversion.report.num_rewritten, conversion.report.num_records) == (1, 2)
    assert to(3, converted, metadata_first=not first).to_bytes() == (MAGIC_3 if first else by_hand)


@pytest.mark.parametrize("first", [False, True], ids=["as proposed", "metadata first"])
@pytest.mark.parametrize("attributes", [0, 0x08, 0x70])
def test_every_field_comes_back(first: bool, attributes: int) -> None:
    made = [record(row.delta, row.key, row.value, row.headers, row.timestamp_delta) for row in ROWS]
    data = batch_v2(
        50,
        made,
        attributes=attributes,
        leader_epoch=3,
        last_offset_delta=99,
        base_timestamp=TIME,
        max_timestamp=TIME - 77,
        producer_id=1 << 60,
        producer_epoch=4,
        base_sequence=2147483647,
    )
    assert there_and_back(data, first=first) == (data, {})


@pytest.mark.parametrize("first", [False, True], ids=["as proposed", "metadata first"])
def test_attributes_of_records_are_kept(first: bool) -> None:
    made = record(0, b"k", b"v")
    assert made[1] == 0
    data = batch_v2(0, [made[:1] + b"\x40" + made[2:], record(1)])
    between = to(3, data, metadata_first=first).to_bytes()
    with open_segment(between, experimental_magic3=True) as segment:
        (header,) = segment.iter_entries()
    assert not header.ignores_message_attributes
    assert there_and_back(data, first=first) == (data, {})


@pytest.mark.parametrize("first", [False, True], ids=["as proposed", "metadata first"])
@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_batches_without_records_and_control_batches(first: bool, codec: int) -> None:
    marker = control(9, (bytes.fromhex("00000001"), bytes(6)), producer_id=3, producer_epoch=0)
    emptied = batch_v2(5, [], attributes=codec, last_offset_delta=3, base_timestamp=-1, max_timestamp=TIME)
    data = emptied + marker + message(10)
    assert there_and_back(data, first=first) == (data, {})


def test_a_codec_stays_and_its_content_does() -> None:
    names = ("gzip", "snappy", "lz4", "zstd")
    made = b"".join(record(at, b"key", b"value" * at) for at in range(20))
    for number, name in enumerate(names, 1):
        data = batch_v2(0, [b""] * 20, payload=compress(name, made), attributes=number)
        for first in (False, True):
            assert there_and_back(data, first=first) == (data, {}), name


def test_what_gets_lost_is_reported() -> None:
    # Lengths of three bytes and of two; and -2 for a null key.
    long = bytes.fromhex("908000" + "00" + "00" + "00" + "01" + "8200" + "76" + "00")
    nulls = bytes.fromhex("0c" + "00" + "00" + "02" + "03" + "01" + "00")
    data = batch_v2(0, [long, nulls], attributes=-0x7E00)
    converted, lost = there_and_back(data, first=False)
    assert lost == {"reserved_bits": 1, "long_varints": 3}
    assert converted == batch_v2(0, [record(0), record(1, None, None)])
    conversion = to(2, batch(b"", 0, attributes=0x8080, base_timestamp=-1))
    assert conversion.to_bytes() == batch_v2(0, [], leader_epoch=-1, base_timestamp=-1, max_timestamp=-1)
    assert conversion.report.losses["reserved_bits"].num == 1


def test_what_is_there_already_is_copied() -> None:
    untouched = batch_v2(0, [record()], attributes=-0x8000)
    assert to(2, untouched + MAGIC_2).to_bytes() == untouched + MAGIC_2
    reserved = batch(records([Row()]), 1, attributes=0x8080)
    assert to(3, reserved).to_bytes() == reserved
    assert to(3, reserved, metadata_first=True).report.num_untouched == 0


def test_a_damaged_batch_is_left_out_and_reported() -> None:
    damaged: list[Damage] = []
    data = MAGIC_2 + batch_v2(2, [record(), b"\x08\0\0"]) + batch_v2(4, [record()])
    conversion = convert_magic3(data, 3, experimental_magic3=True, on_damage=damaged.append)
    with open_segment(conversion.to_bytes(), experimental_magic3=True) as segment:
        assert [one.base_offset for one in segment.iter_entries() if isinstance(one, Batch)] == [0, 4]
    assert len(damaged) == conversion.report.num_damaged == conversion.report.num_dropped == 1
    with pytest.raises(KafkaFormatError):
        to(3, data).to_bytes()


def test_a_batch_with_more_than_is_taken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_segments.write.convert.magic3._MOST_ITEMS", 1)
    with pytest.raises(
        EncodeError, match="it has 2 records and headers, more than the 1 that this conversion takes"
    ):
        to(3, MAGIC_2).to_bytes()


def test_wrong_options() -> None:
    with pytest.raises(OptionError, match="experimental_magic3=True allows it"):
        convert_magic3(MAGIC_2, 3)
    with pytest.raises(OptionError, match="to_magic is 1"):
        to(1, MAGIC_2)
    with pytest.raises(OptionError, match="to_magic is True"):
        to(True, MAGIC_2)
    with pytest.raises(OptionError, match="a layout of magic 3"):
        to(2, MAGIC_2, metadata_first=True)


def test_without_construct(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("kafka_segments_generated.construct")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "construct", None)
    with pytest.raises(MissingExtraError, match="kafka-segments\\[construct\\]"):
        to(3, MAGIC_2).to_bytes()


@pytest.mark.long
@forms.examples(QUICK, 20, 2000)
@given(entries=generated(2))
def test_generated_segments_come_back(entries: list[Entry]) -> None:
    data = encode_segment(entries)
    for first in (False, True):
        converted, _lost = there_and_back(data, first=first)
        assert values(converted) == values(data)


@pytest.mark.long
@pytest.mark.parametrize("path", forms.pick(segments()[::60], segments()), ids=str)
def test_recorded_segments_come_back(path: Path) -> None:
    """All fields and records; every byte too, where a codec or a longer varint does not come between."""
    data = path.read_bytes()
    if len(data) > forms.pick(20_000, 1 << 24):
        pytest.skip("in the full form")
    with open_segment(data) as segment:
        entries = [entry for entry in segment.iter_entries() if isinstance(entry, Batch)]
    length = max((entry.end_position for entry in entries), default=0)
    for first in (False, True):
        converted, lost = there_and_back(data, first=first)
        assert values(converted) == values(data[:length])
        if not lost and all(entry.magic < 2 or entry.compression == "none" for entry in entries):
            assert converted == data[:length]
