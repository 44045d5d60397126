"""The files beside a segment as plain values: what is read, what is refused where, how long it takes."""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import crc32c
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests import work
from tests.python import traced

from kafka_segments.core.segment.beside import index_files
from kafka_segments.core.segment.beside.index_files import (
    AbortedTxn,
    LeaderEpoch,
    PartitionMetadata,
    ProducerEntry,
)
from kafka_segments.errors import (
    ChecksumMismatchError,
    CorruptIndexError,
    DecodeError,
    KafkaFormatError,
    ReadError,
    TruncatedError,
)
from kafka_segments_generated.columns import kafka_offset_index, kafka_time_index, kafka_transaction_index

READERS: list[Callable[[bytes], Any]] = [
    index_files.read_offset_index,
    index_files.read_time_index,
    index_files.read_transaction_index,
    index_files.read_producer_snapshot,
    index_files.read_leader_epochs,
    index_files.read_partition_metadata,
]
NAME = "00000000000000000100"
OFFSETS = struct.pack(">iiii", 5, 4096, 9, 9000)
TIMES = struct.pack(">qiqi", 1000, 5, 2000, 9)
ABORTED = struct.pack(">hqqqq", 0, 7, 100, 105, 103)


def snapshot(*entries: tuple[int, ...], version: int = 1, count: int | None = None) -> bytes:
    """A snapshot with a right checksum."""
    body = struct.pack(">i", len(entries) if count is None else count)
    body += b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries)
    return struct.pack(">hI", version, crc32c.crc32c(body)) + body


def named(folder: Path, suffix: str, data: bytes) -> Path:
    path = folder / f"{NAME}.{suffix}"
    path.write_bytes(data)
    return path


def test_an_offset_index_is_absolute(tmp_path: Path) -> None:
    index = index_files.read_offset_index(named(tmp_path, "index", OFFSETS))
    assert (index.base_offset, index.offsets, index.positions) == (100, (105, 109), (4096, 9000))
    assert [index.lookup(at) for at in (0, 104, 105, 108, 109, 1 << 62)] == [
        (100, 0),
        (100, 0),
        (105, 4096),
        (105, 4096),
        (109, 9000),
        (109, 9000),
    ]
    assert pickle.loads(pickle.dumps(index)) == index


def test_a_time_index_is_absolute(tmp_path: Path) -> None:
    index = index_files.read_time_index(named(tmp_path, "timeindex", TIMES))
    assert (index.timestamps, index.offsets) == ((1000, 2000), (105, 109))
    assert [index.lookup(at) for at in (-5, 999, 1000, 1999, 2000)] == [
        (-1, 100),
        (-1, 100),
        (1000, 105),
        (1000, 105),
        (2000, 109),
    ]


def test_the_base_offset_can_be_given_and_is_0_without_a_name() -> None:
    assert index_files.read_offset_index(OFFSETS).offsets == (5, 9)
    assert index_files.read_offset_index(io.BytesIO(OFFSETS), 1 << 40).offsets == (
        (1 << 40) + 5,
        (1 << 40) + 9,
    )


@pytest.mark.parametrize("num_zeros", [1, 2, 1000])
def test_zeros_behind_the_entries_are_room_for_more(num_zeros: int) -> None:
    index = index_files.read_offset_index(OFFSETS + bytes(8 * num_zeros))
    assert (index.offsets, index.num_padding) == ((5, 9), num_zeros)
    times = index_files.read_time_index(TIMES + bytes(12 * num_zeros))
    assert (times.offsets, times.num_padding) == ((5, 9), num_zeros)


def test_an_entry_that_ends_in_zeros_is_one() -> None:
    index = index_files.read_offset_index(struct.pack(">iiii", 1, 8, 2, 1 << 24) + bytes(16))
    assert (index.positions, index.num_padding) == ((8, 1 << 24), 2)


def test_zeros_alone_are_an_entry_of_1970_only_where_there_is_no_room_for_more() -> None:
    assert index_files.read_time_index(bytes(12)).timestamps == (0,)
    assert index_files.read_time_index(bytes(24)).timestamps == ()
    assert index_files.read_offset_index(bytes(8)).offsets == ()


@pytest.mark.parametrize("read", [index_files.read_offset_index, index_files.read_time_index])
def test_a_size_that_is_no_multiple_is_refused_where_it_begins(read: Callable[[bytes], Any]) -> None:
    data = OFFSETS if read is index_files.read_offset_index else TIMES
    with pytest.raises(CorruptIndexError, match="not a multiple") as raised:
        read(data + b"\0\0\0")
    assert raised.value.position == len(data)


def test_what_kafkas_sanity_checks_refuse(tmp_path: Path) -> None:
    below = named(tmp_path, "index", struct.pack(">iiii", 5, 4096, -1, 9000))
    with pytest.raises(CorruptIndexError, match=r"last offset is 99, .* base offset 100") as raised:
        index_files.read_offset_index(below)
    assert (raised.value.position, raised.value.path) == (8, str(below))
    with pytest.raises(CorruptIndexError, match=r"last timestamp is 5, .* first, 10"):
        index_files.read_time_index(struct.pack(">qiqi", 10, 1, 5, 2))
    with pytest.raises(CorruptIndexError, match="last offset is -2"):
        index_files.read_time_index(struct.pack(">qi", 10, -2))
    with pytest.raises(CorruptIndexError, match="last offset is 99"):
        index_files.read_transaction_index(
            named(tmp_path, "txnindex", struct.pack(">hqqqq", 0, 7, 90, 99, 99))
        )


def test_a_transaction_index() -> None:
    assert index_files.read_transaction_index(ABORTED) == (AbortedTxn(7, 100, 105, 103),)
    assert index_files.read_transaction_index(b"") == ()


def test_a_transaction_index_that_is_cut_off_or_of_another_version() -> None:
    with pytest.raises(TruncatedError, match="10 of 34 bytes") as raised:
        index_files.read_transaction_index(ABORTED + ABORTED[:10])
    assert (raised.value.position, raised.value.needed, raised.value.available) == (34, 34, 10)
    with pytest.raises(CorruptIndexError, match="version 1; only 0") as refused:
        index_files.read_transaction_index(ABORTED + b"\0\1" + ABORTED[2:])
    assert refused.value.position == 34


def test_a_snapshot() -> None:
    entry = (7, 1, 9, 105, 2, 1000, 3, -1)
    assert index_files.read_producer_snapshot(snapshot(entry)) == (ProducerEntry(*entry),)
    assert index_files.read_producer_snapshot(snapshot()) == ()


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (snapshot()[:-1] + b"\1", CorruptIndexError),
        (snapshot((7, 1, 9, 105, 2, 1000, 3, -1))[:-1] + b"\0", ChecksumMismatchError),
        (snapshot() + b"more", ChecksumMismatchError),
        (snapshot(version=0), CorruptIndexError),
        (snapshot(version=2), CorruptIndexError),
        (snapshot(count=-1), CorruptIndexError),
        (snapshot(count=1 << 30), CorruptIndexError),
        (b"", CorruptIndexError),
    ],
)
def test_a_snapshot_that_is_refused(data: bytes, error: type[DecodeError]) -> None:
    with pytest.raises(error):
        index_files.read_producer_snapshot(data)


@pytest.mark.parametrize(
    ("text", "epochs"),
    [
        (b"", []),
        (b"0\n", []),
        (b"0\n0\n", []),
        (b"0\n2\n0 0\n3 200\n", [(0, 0), (3, 200)]),
        (b"0\n1\n0 0", [(0, 0)]),
        (b"0\r\n1\r\n0  5 \r\n", [(0, 5)]),
        (b"+0\n1\n-1 -5\n", [(-1, -5)]),
    ],
)
def test_leader_epochs(text: bytes, epochs: list[tuple[int, int]]) -> None:
    assert index_files.read_leader_epochs(text) == tuple(LeaderEpoch(*epoch) for epoch in epochs)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"1\n0\n", "with version 1; only 0"),
        (b"0\n2\n0 0\n", "1 leader epochs, but 2 are announced"),
        (b"0\n1\n0\n", "not a checkpoint of leader epochs"),
        (b"0\n1\n0 1_0\n", "not a 64-bit integer"),
        (b"0\n1\n2147483648 0\n", "not a 32-bit integer"),
        (b"0\n1\n0 9223372036854775808\n", "not a 64-bit integer"),
        (b"zero\n", "not a 32-bit integer"),
        (b"\xff\n", "not a 32-bit integer"),
    ],
)
def test_leader_epochs_that_are_refused(text: bytes, why: str) -> None:
    with pytest.raises(CorruptIndexError, match=why):
        index_files.read_leader_epochs(text)


def test_the_metadata_of_a_partition() -> None:
    text = b"version: 0\ntopic_id: 70H-x9TwTvGO9F0lqir87w"
    assert index_files.read_partition_metadata(text) == PartitionMetadata(0, "70H-x9TwTvGO9F0lqir87w")
    assert index_files.read_partition_metadata(text + b"\n").topic_id == "70H-x9TwTvGO9F0lqir87w"
    assert index_files.read_partition_metadata(text.replace(b"0", b"7", 1)).version == 7, (
        "Kafka reads later ones"
    )


@pytest.mark.parametrize(
    "text",
    [
        b"version: -1\ntopic_id: 70H-x9TwTvGO9F0lqir87w",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"version: 0\ntopic_id: 70H-x9TwTvGO9F0lqir8",
        b"version: 0\ntopic_id: 70H+x9TwTvGO9F0lqir87w",
        b"version: 0\ntopic_id: \xff",
        b"version: 0",
    ],
)
def test_metadata_that_is_refused(text: bytes) -> None:
    with pytest.raises(CorruptIndexError):
        index_files.read_partition_metadata(text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for read in READERS:
        with pytest.raises(ReadError):
            read(tmp_path / "missing")  # type: ignore[arg-type]


@given(data=st.binary(max_size=200) | st.sampled_from([OFFSETS, TIMES, ABORTED, snapshot()]))
@example(data=b"0\n1\n\n")
@example(data=b"\x00\x01" + b"\xff" * 8)
def test_any_bytes_decode_or_raise_our_errors(data: bytes) -> None:
    for read in READERS:
        try:
            found = read(data)
        except KafkaFormatError as error:
            assert error.path and str(error)
        else:
            assert isinstance(hash(found), int)


def test_a_large_index_takes_no_time_and_a_bounded_memory() -> None:
    count = (10 << 20) // 8
    data = kafka_offset_index.write_columns(range(1, count + 1), range(100, count + 100))
    with work.at_most(2 * count):
        index = index_files.read_offset_index(data)
    assert len(index.offsets) == count and index.lookup(count)[1] == count + 99
    work.check_linear(lambda num: partial(index_files.read_offset_index, data[: 8 * num]), 20_000)
    data = data[: 1 << 20]
    with traced() as memory:
        index_files.read_offset_index(data)
        peak = memory()[1]
    assert peak < 14 * len(data)


def test_more_than_the_bound_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_LEN_INDEX", "MAX_LEN_SNAPSHOT", "MAX_LEN_CHECKPOINT"):
        monkeypatch.setattr(index_files, name, 20)
    for read in READERS:
        with pytest.raises(CorruptIndexError, match="21 bytes, more"):
            read(bytes(21))


def test_what_is_written_is_read() -> None:
    assert kafka_offset_index.write_columns([5, 9], [4096, 9000]) == OFFSETS
    assert kafka_time_index.write_columns([1000, 2000], [5, 9]) == TIMES
    assert kafka_transaction_index.write_columns([0], [7], [100], [105], [103]) == ABORTED
    with pytest.raises(struct.error):
        kafka_offset_index.write_columns([1 << 31], [0])
