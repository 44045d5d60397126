"""Records of v2 batches: what Kafka's reader takes we take, with the same records; what it refuses we refuse.

The rows are those of the notes on Kafka 4.3.1's own reader and of DefaultRecord.readFrom.
"""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder
from tests import work
from tests.made.build import batch, patched, record, sized, unsigned_varint, varint
from tests.python import traced

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.core.segment.records.batch_records import MAX_NUM_HEADERS
from kafka_segments.errors import (
    CorruptBatchError,
    DecompressionError,
    KafkaFormatError,
    MissingCodecError,
    OptionError,
)

TIME = 1_700_000_000_000
LEAST_LONG, MOST_LONG, MOST_INT = -(1 << 63), (1 << 63) - 1, (1 << 31) - 1


def read(data: bytes) -> list[Record]:
    with open_segment(data) as segment:
        return [event for event in segment.iter_events() if isinstance(event, Record)]


def read_damaged(data: bytes, **options: Any) -> tuple[list[int], KafkaFormatError]:
    """Offsets that were delivered, and the error, of a segment of one batch and a sound one behind it."""
    with open_segment(data + batch(1000), **options) as segment:
        events = list(segment.iter_events(on_damage="skip"))
    (damage,) = [event for event in events if isinstance(event, Damage)]
    assert (damage.position, damage.end_position) == (0, len(data))
    assert damage.error.position == 0
    offsets = [event.offset for event in events if isinstance(event, Record)]
    assert offsets.pop() == 1000
    return offsets, damage.error


def body(*parts: bytes) -> bytes:
    """A record of these parts, behind attributes and timestamp delta."""
    text = b"\0\0" + b"".join(parts)
    return varint(len(text)) + text


def test_what_a_record_holds() -> None:
    headers = ((b"h", b"1"), (b"h", b"2"), (b"", None), (b"\xff\xfe", b""), (b"bin", b"\0\xff"))
    data = batch(5, [record(0, b"k", b"v", headers, 3), record(1, None, None), record(2, b"", b"")])
    first, second, third = read(data)
    assert first == Record(0, 5, TIME + 3, "CreateTime", -1, b"k", b"v", headers, None)
    assert (second.key, second.value, second.headers, second.offset) == (None, None, (), 6)
    assert (third.key, third.value) == (b"", b"")


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_batches_of_another_encoder(codec: int) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=1,
        producer_id=7,
        producer_epoch=3,
        base_sequence=MOST_INT - 1,
        batch_size=1 << 20,
    )
    for index in range(40):
        headers = [("n", str(index).encode()), ("null", None)]
        builder.append(
            index, timestamp=TIME + index * index, key=b"%d" % index, value=b"v" * index * 50, headers=headers
        )
    with open_segment(bytes(builder.build())) as segment:
        (entry, *records) = segment.iter_events()
    assert isinstance(entry, Batch)
    assert entry.compression == ["none", "gzip", "snappy", "lz4", "zstd"][codec]
    assert (entry.is_transactional, entry.producer_id, entry.producer_epoch) == (True, 7, 3)
    assert (entry.base_sequence, entry.last_sequence) == (MOST_INT - 1, 37)
    assert len(records) == entry.num_records == 40
    for index, got in enumerate(records):
        assert isinstance(got, Record)
        assert (got.offset, got.timestamp, got.key) == (index, TIME + index * index, b"%d" % index)
        assert got.value == b"v" * index * 50
        assert got.headers == ((b"n", str(index).encode()), (b"null", None))
    assert [got.sequence for got in records[:4] if isinstance(got, Record)] == [MOST_INT - 1, MOST_INT, 0, 1]


@pytest.mark.parametrize("length", [-1, -2, -(1 << 31)])
def test_any_negative_length_is_null(length: int) -> None:
    null = varint(length)
    (got,) = read(batch(0, [body(varint(0), null, null, varint(1), sized(b"h"), null)]))
    assert (got.key, got.value, got.headers) == (None, None, ((b"h", None),))


@pytest.mark.parametrize(
    "zero", [b"\0", b"\x80\0", b"\x80\x80\0", b"\x80\x80\x80\x80\0", b"\x80\x80\x80\x80\x70"]
)
def test_longer_varints_than_needed(zero: bytes) -> None:
    (got,) = read(batch(3, [body(zero, sized(b"k"), zero, zero)]))
    assert (got.offset, got.key, got.value) == (3, b"k", b"")


def test_longer_varlongs_than_needed() -> None:
    text = b"\0" + b"\x80" * 9 + b"\0" + varint(0) + sized(None) * 2 + varint(0)
    (got,) = read(batch(0, [varint(len(text)) + text]))
    assert got.timestamp == TIME


@pytest.mark.parametrize("attributes", [0x80, 0xFF80, 0x7F00])
def test_reserved_bits_mean_nothing(attributes: int) -> None:
    attributes -= (attributes & 0x8000) << 1
    data = batch(0, [patched(record(), 1, b"\xff")], attributes=attributes)
    (entry, got) = open_segment(data).iter_events()
    assert isinstance(entry, Batch) and isinstance(got, Record)
    assert (entry.compression, entry.timestamp_type, entry.is_control) == ("none", "CreateTime", False)
    assert got.value == b"v"


@pytest.mark.parametrize("delta", [-1, 0, 77, MOST_INT, -(1 << 31)])
def test_any_last_offset_delta(delta: int) -> None:
    (entry, got) = open_segment(batch(10, last_offset_delta=delta)).iter_events()
    assert isinstance(entry, Batch) and isinstance(got, Record)
    assert (entry.base_offset, entry.last_offset, got.offset) == (10, 10 + delta, 10)


def test_offsets_and_times_wrap_as_in_java() -> None:
    first, second = read(
        batch(
            MOST_LONG, [record(-3), record(1, timestamp_delta=MOST_LONG)], base_timestamp=5, base_sequence=0
        )
    )
    assert (first.offset, first.sequence) == (MOST_LONG - 3, MOST_INT - 2)
    assert (second.offset, second.timestamp) == (LEAST_LONG, LEAST_LONG + 4)
    (entry,) = (
        e for e in open_segment(batch(MOST_LONG, last_offset_delta=1)).iter_entries() if isinstance(e, Batch)
    )
    assert entry.last_offset == LEAST_LONG


@pytest.mark.parametrize(
    ("base", "delta", "record_sequence", "last_sequence"),
    [(-1, 3, -1, -1), (-2, 3, -1, 1), (5, 3, 8, 8), (MOST_INT, 1, 0, 0), (MOST_INT, 0, MOST_INT, MOST_INT)],
)
def test_sequences(base: int, delta: int, record_sequence: int, last_sequence: int) -> None:
    data = batch(0, [record(delta)], base_sequence=base, last_offset_delta=delta, producer_id=-1)
    (entry, got) = open_segment(data).iter_events()
    assert isinstance(entry, Batch) and isinstance(got, Record)
    assert (got.sequence, entry.last_sequence) == (record_sequence, last_sequence)


def test_log_append_time_is_the_batch_s_max_timestamp() -> None:
    data = batch(
        0, [record(0, timestamp_delta=5), record(1, timestamp_delta=-9)], attributes=8, max_timestamp=77
    )
    assert [(got.timestamp, got.timestamp_type) for got in read(data)] == [(77, "LogAppendTime")] * 2


def test_a_delete_horizon_is_the_base_timestamp() -> None:
    data = batch(
        0, [record(0, timestamp_delta=-1000)], attributes=0x40, base_timestamp=9000, max_timestamp=8000
    )
    (entry, got) = open_segment(data).iter_events()
    assert isinstance(entry, Batch) and isinstance(got, Record)
    assert (entry.delete_horizon_ms, entry.base_timestamp, got.timestamp) == (9000, 9000, 8000)


@pytest.mark.parametrize("attributes", [0, 1, 2, 3, 4])
def test_an_empty_batch_is_lawful(attributes: int) -> None:
    assert read(batch(4, [], attributes=attributes, last_offset_delta=6)) == []


def test_an_empty_compressed_stream_holds_the_no_records_it_promises() -> None:
    assert read(batch(4, [], attributes=1, payload=gzip.compress(b""))) == []


SOUND = [record(0), record(1)]


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("records", "count", "delivered"),
    [
        (SOUND, 3, 2),
        (SOUND, MOST_INT, 2),
        (SOUND, 1, 1),
        (SOUND, 0, 0),
        (SOUND, -1, 0),
        (SOUND, -(1 << 31), 0),
        ([*SOUND, b"\0"], 2, 2),
        ([*SOUND, b"\0"], 3, 2),  # a length of 0 leaves no room for anything
        ([*SOUND, varint(-5) + b"12345"], 3, 2),
        ([*SOUND, varint(MOST_INT)], 3, 2),
        ([*SOUND, varint(9) + record()[1:]], 3, 2),  # more than its content has, and than is there
        ([*SOUND, varint(6) + record()[1:] + b"rest"], 3, 2),  # less than its content
        ([*SOUND, varint(11) + record()[1:] + b"rest", record(3)], 4, 2),  # more than its content
        ([*SOUND, b"\xff\xff\xff\xff\xff\x01"], 3, 2),  # a sixth byte
        ([*SOUND, b"\x80\x80\x80\x80\x80\x00"], 3, 2),
        ([*SOUND, b"\x80\x80"], 3, 2),  # a varint without its end
        ([*SOUND, body(varint(0), sized(None), varint(500), b"x")], 3, 2),  # a value beyond the record
        ([*SOUND, body(varint(0), sized(None), sized(None), varint(-1))], 3, 2),  # headers
        ([*SOUND, body(varint(0), sized(None), sized(None), varint(MOST_INT))], 3, 2),
        ([*SOUND, body(varint(0), sized(None), sized(None), varint(100_001), b"\0\0")], 3, 2),
        ([*SOUND, body(varint(0), sized(None), sized(None), varint(1), varint(-1), varint(0))], 3, 2),
        ([*SOUND, body(varint(0), sized(None), sized(None))], 3, 2),
        ([*SOUND, varint(30) + b"\0" + b"\x80" * 10 + b"\0" * 19], 3, 2),  # a varlong of 11 bytes
        ([*SOUND, b"\x02\0\0", record(3)], 4, 2),
    ],
)
def test_what_contradicts_itself(records: list[bytes], count: int, delivered: int, compress: bool) -> None:
    payload = b"".join(records)
    if compress:
        payload = gzip.compress(payload)
    data = batch(10, payload=payload, count=count, attributes=int(compress), last_offset_delta=len(records))
    offsets, error = read_damaged(data)
    assert offsets == [10, 11][:delivered]
    assert type(error) is CorruptBatchError
    assert error.detail
    assert "0x" not in error.detail and "reader" not in error.detail


def with_headers(count: int) -> bytes:
    """A sound gzip batch; its second record of three has this many headers, all of them empty."""
    many = body(varint(1), sized(None), sized(None), varint(count), bytes(2 * count))
    payload = gzip.compress(record(0) + many + record(2))
    return batch(0, payload=payload, count=3, attributes=1, last_offset_delta=2)


@pytest.mark.parametrize("count", [999, 1000, 1001, 200_000])
def test_any_lawful_number_of_headers_is_read(count: int) -> None:
    with traced() as memory:
        _, many, _ = read(with_headers(count))
        peak = memory()[1]
    assert many.headers == ((b"", b""),) * count
    assert peak < (4 << 20) + 150 * count


@pytest.mark.parametrize("change", [-1, 1])
def test_many_headers_and_a_length_that_disagrees(change: int) -> None:
    many = body(varint(1), sized(None), sized(None), varint(5000), bytes(2 * 5000 + change))
    data = batch(0, payload=record(0) + many + record(2), count=3, last_offset_delta=2)
    offsets, error = read_damaged(data)
    assert offsets == [0]
    assert type(error) is CorruptBatchError


@pytest.mark.parametrize("count", [MAX_NUM_HEADERS + 1, 5 * MAX_NUM_HEADERS])
def test_more_headers_than_the_limit_cost_neither_memory_nor_time(count: int) -> None:
    data = with_headers(count)
    assert len(data) < 12_000
    with work.at_most(100_000), traced() as memory:
        offsets, error = read_damaged(data)
        peak = memory()[1]
    assert offsets == [0]
    assert type(error) is CorruptBatchError
    assert f"{count} headers are more than the {MAX_NUM_HEADERS} that this reader takes" in error.detail
    assert (
        peak < 60 << 20
    )  # the decompressed record, a few times; as objects its headers would take gigabytes


def test_an_error_does_not_hold_the_bytes_that_are_wrong() -> None:
    text = body(varint(0), sized(None), sized(None), varint(0), bytes(10 << 20))
    data = batch(0, payload=gzip.compress(text), attributes=1)
    with traced() as memory:
        offsets, error = read_damaged(data)
        peak = memory()[1]
    assert (offsets, len(error.detail) < 200) == ([], True)
    assert peak < 50 << 20  # the payload, the record, and what the codec needs


@pytest.mark.parametrize("codec", [5, 6, 7])
@pytest.mark.parametrize("payload", [b"", record()])
def test_unknown_codecs(codec: int, payload: bytes) -> None:
    offsets, error = read_damaged(batch(0, payload=payload, attributes=codec, count=len(payload) and 1))
    assert offsets == []
    assert isinstance(error, DecompressionError)
    assert error.codec == codec
    (entry,) = open_segment(batch(0, attributes=codec), headers_only=True).iter_events()
    assert isinstance(entry, Batch)
    assert (entry.compression, entry.compression_id) == (None, codec)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_payloads_that_do_not_decompress(codec: int) -> None:
    offsets, error = read_damaged(batch(0, payload=b"\x09nothing that a codec knows", attributes=codec))
    assert offsets == []
    assert isinstance(error, DecompressionError)


def test_payloads_beyond_the_bound() -> None:
    data = batch(0, payload=gzip.compress(record(0, None, bytes(100_000))), attributes=1)
    assert len(read(data)) == 1
    _, error = read_damaged(data, max_decompressed=99_999)
    assert isinstance(error, DecompressionError)
    with pytest.raises(OptionError, match="max_decompressed"):
        open_segment(data, max_decompressed=-1)


def test_a_codec_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("kafka_segments.core.codecs.import_module", missing)
    offsets, error = read_damaged(batch(0, payload=b"x", attributes=4))
    assert offsets == []
    assert isinstance(error, MissingCodecError)
    assert "pip install zstandard" in error.detail


def test_raising_delivers_the_sound_records_first() -> None:
    delivered = []
    with (
        open_segment(batch(0, SOUND, count=3)) as segment,
        pytest.raises(CorruptBatchError, match="record 3 of 3"),
    ):
        for event in segment.iter_events():
            delivered.append(event)
    assert len(delivered) == 3


def test_entries_records_and_damage_by_hand() -> None:
    with open_segment(batch(0, SOUND, count=3) + batch(5)) as segment:
        entries = segment.iter_entries()
        wrong = next(entries)
        assert isinstance(wrong, Batch)
        with pytest.raises(CorruptBatchError) as caught:
            list(segment.iter_records(wrong))
        damage = segment.damage_of(wrong, caught.value, 1)
        assert (damage.first_lost_offset, damage.last_lost_offset) == (2, 4)
        following = next(entries)
        assert isinstance(following, Batch)
        assert (following.base_offset, following.previous_offset) == (5, 1)


def test_a_function_is_told_of_damage_and_the_rest_goes_on() -> None:
    heard: list[Damage] = []
    data = patched(batch(0), 65, b"\xff") + batch(1, SOUND, count=3) + batch(5)
    with open_segment(data) as segment:
        events = list(segment.iter_events(on_damage=heard.append))
    assert [type(damage.error).__name__ for damage in heard] == ["ChecksumMismatchError", "CorruptBatchError"]
    assert [e.base_offset for e in events if isinstance(e, Batch)] == [0, 1, 5]
    with open_segment(data) as segment, pytest.raises(OptionError, match="on_damage is 'explode'"):
        list(segment.iter_events(on_damage="explode"))  # type: ignore[arg-type]


def test_unsigned_varints_of_the_builder() -> None:
    assert (varint(0), varint(-1), varint(64), unsigned_varint(300)) == (
        b"\0",
        b"\x01",
        b"\x80\x01",
        b"\xac\x02",
    )
