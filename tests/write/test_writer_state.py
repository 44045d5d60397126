"""What a writer remembers from call to call: offsets, sequence numbers, producers and their transactions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c
from tests import work

import kafka_segments
from kafka_segments.core.segment.beside.index_files import (
    read_producer_snapshot,
    read_transaction_index,
)
from kafka_segments.core.segment.transactions.log_state import LogState
from kafka_segments.core.segment.transactions.markers import MarkerValue
from kafka_segments.core.segment.transactions.state import DataBatch
from kafka_segments.errors import EncodeError

NAME = "00000000000000000000.log"
ROW = {"value": b"v"}
PRODUCER: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0}
IN_TRANSACTION: dict[str, Any] = {**PRODUCER, "is_transactional": True}
ABORT = ("ABORT", {"coordinator_epoch": 0})


@pytest.mark.parametrize("base_offset", [0, 2, 4])
@pytest.mark.parametrize(
    "options", [{}, {"compression": "gzip"}, {"magic": 1}, {"magic": 0, "compression": "lz4"}]
)
def test_counted_offsets_do_not_go_back(base_offset: int, options: dict[str, Any], tmp_path: Path) -> None:
    """As those that are given do not."""
    for opened in (kafka_segments.open_writer, kafka_segments.open_partition_writer):
        writer = opened(tmp_path / NAME, index_interval_bytes=0)
        writer.write([ROW] * 5, batch_size=1)
        with pytest.raises(EncodeError, match="offset 4") as caught:
            writer.write([ROW] * 2, base_offset=base_offset, **options)
        assert (caught.value.rule, caught.value.offset) == ("offset_order", base_offset)
    assert list(tmp_path.iterdir()) == []


def test_counted_offsets_may_leave_some_out(tmp_path: Path) -> None:
    with kafka_segments.open_writer(tmp_path / NAME) as writer:
        writer.write([ROW] * 5)
        writer.write([ROW], base_offset=5)
        writer.write([ROW], base_offset=9)
        writer.write([ROW])
    assert writer.close().last_offset == 10


def test_a_marker_stands_where_its_batch_begins(tmp_path: Path) -> None:
    """ProducerAppendInfo.append takes the first record of a control batch, and the batch's first offset."""
    folder = tmp_path / "t-0"
    with kafka_segments.open_partition_writer(folder) as writer:
        writer.write([ROW], **IN_TRANSACTION)
        writer.write_control([ABORT, ABORT], timestamp=5, **IN_TRANSACTION)
    (aborted,) = read_transaction_index(str(folder / NAME.replace(".log", ".txnindex")))
    assert (aborted.first_offset, aborted.last_offset, aborted.last_stable_offset) == (0, 1, 2)
    with kafka_segments.open_partition(str(folder)) as partition:
        assert list(partition.check_indexes()) == []
        assert [txn.last_offset for txn in partition.aborted_transactions()] == [1]


def test_without_a_producer_nothing_is_ended(tmp_path: Path) -> None:
    """A control batch that somebody else wrote, without a producer's id: Kafka passes over it."""
    data = bytearray(kafka_segments.encode_control([ABORT], timestamp=5, **IN_TRANSACTION))
    position = data.index((1).to_bytes(8, "big"), 40)
    data[position : position + 8] = b"\xff" * 8
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    with kafka_segments.open_partition_writer(tmp_path / "t-0") as writer:
        writer.append(bytes(data))
    with kafka_segments.open_segment(bytes(data)) as segment:
        (batch,) = (event for event in segment.iter_entries() if isinstance(event, kafka_segments.Batch))
    assert (batch.producer_id, batch.is_control) == (-1, True)
    (snapshot,) = (tmp_path / "t-0").glob("*.snapshot")
    assert list(read_producer_snapshot(str(snapshot))) == []


def sequences(path: Path) -> list[tuple[int, int, int]]:
    with kafka_segments.open_segment(str(path)) as segment:
        return [
            (batch.producer_id, batch.base_sequence, batch.last_sequence)
            for batch in segment.iter_entries()
            if isinstance(batch, kafka_segments.Batch)
        ]


def test_a_writers_sequence_is_where_producers_begin(tmp_path: Path) -> None:
    with kafka_segments.open_writer(tmp_path / NAME, **PRODUCER, base_sequence=5) as writer:
        writer.write([ROW] * 2)
        writer.write([ROW] * 3)
        writer.write([ROW], producer_id=2)
        writer.write([ROW], producer_epoch=1)
        writer.write([ROW], producer_epoch=1, base_sequence=None)
    assert sequences(tmp_path / NAME) == [(1, 5, 6), (1, 7, 9), (2, 5, 5), (1, 0, 0), (1, 1, 1)]


def test_sequences_go_round(tmp_path: Path) -> None:
    for number, options in enumerate(({}, {"compression": "gzip"})):
        path = tmp_path / f"{number}.log"
        with kafka_segments.open_writer(path, **PRODUCER, **options, batch_size=1) as writer:  # type: ignore[arg-type]
            writer.write([ROW] * 3, base_sequence=2**31 - 2)
            writer.write([ROW])
        most = 2**31 - 1
        assert [first for _, first, _ in sequences(path)] == [most - 1, most, 0, 1]


@pytest.mark.parametrize("is_first", [True, False])
def test_many_open_transactions_end_in_time(is_first: bool) -> None:
    """Whichever comes first: the oldest is always at hand."""

    def prepare(number: int) -> Callable[[], None]:
        state, marker = LogState(), MarkerValue(is_abort=True, coordinator_epoch=0)
        for each in range(number):
            state.append(DataBatch(each, 0, each, each, 0, 0))

        def end_all() -> None:
            producers = range(number) if is_first else range(number - 1, -1, -1)
            ended = [state.end((each, 0), number + at, 1, marker) for at, each in enumerate(producers)]
            stable = [txn.last_stable_offset for txn in ended if txn is not None]
            assert stable == [at + 1 if is_first else 0 for at in range(number - 1)] + [2 * number]

        return end_all

    work.check_linear(prepare, 5000)
