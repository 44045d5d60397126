"""A real broker takes segments as its own, and consumers read from it exactly what is in them.

Topics with other names than `written-` hold what a broker of the same release wrote: where these fail, the
harness is at fault.
"""

from __future__ import annotations

import pytest
from tests.broker import harness, written
from tests.broker.by_hand import ByHand
from tests.broker.harness import ISOLATIONS, Observed
from tests.broker.partitions import Partition, recorded, segment_files, without_index

pytestmark = pytest.mark.broker

RECORDED = ("codec-zstd", "transactions", "open-transaction", "multi")
# Put in by the commands of docs/cookbook/broker.md.
BY_HAND = "orders"
# A control: of this one the log must speak.
WITHOUT_INDEX = "codec-none-without-index"


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """One run of the broker with all partitions."""
    work = tmp_path_factory.mktemp("broker")
    partitions = written.make(work / "written") + [recorded(name) for name in RECORDED]
    partitions.append(without_index(recorded("codec-none"), work / "without-index"))
    (work / "by-hand").mkdir()
    return harness.run(partitions, ByHand(work / "by-hand"), work)


@pytest.fixture(params=[*written.MAKERS, *RECORDED, BY_HAND, WITHOUT_INDEX])
def partition(request: pytest.FixtureRequest, everything: Observed) -> Partition:
    """Each of the partitions."""
    return next(one for one in everything.partitions if one.topic == request.param)


@pytest.fixture(params=ISOLATIONS)
def isolation(request: pytest.FixtureRequest) -> str:
    """Each isolation level."""
    level: str = request.param
    return level


def test_the_broker_takes_the_files_as_they_are(everything: Observed, partition: Partition) -> None:
    lines = harness.distrust(everything.log, partition.topic)
    if partition.topic == WITHOUT_INDEX:
        assert "Could not find offset index" in "\n".join(lines)
    else:
        assert lines == []


def test_the_broker_warns_of_nothing_else(everything: Observed) -> None:
    assert [line for line in harness.warnings(everything.log) if WITHOUT_INDEX not in line] == []


def test_the_files_are_the_same_afterwards(everything: Observed, partition: Partition) -> None:
    put_in = {path.name: path.read_bytes() for path in segment_files(partition.folder)}
    assert (everything.files[partition.topic] == put_in) == (partition.topic != WITHOUT_INDEX)


def test_java_reads_what_is_there(everything: Observed, partition: Partition, isolation: str) -> None:
    assert harness.rows_by_java(everything, isolation, partition.topic) == partition.rows_of(isolation)
    (bounds,) = harness.read_by_java(everything, "bounds", isolation, partition.topic)
    expected = (partition.first_offset, partition.end_of(isolation))
    assert (bounds["first_offset"], bounds["end_offset"]) == expected


def test_librdkafka_reads_what_is_there(everything: Observed, partition: Partition, isolation: str) -> None:
    rows = [harness.as_librdkafka_has_it(row) for row in partition.rows_of(isolation)]
    assert everything.librdkafka[isolation][partition.topic] == rows


def test_offsets_and_times_are_found(everything: Observed, partition: Partition, isolation: str) -> None:
    rows = partition.rows_of(isolation)
    sought = harness.read_by_java(everything, "sought", isolation, partition.topic)
    assert len(sought) == len(rows) == 0 or len(sought) > 1
    for line in sought:
        assert harness.row_of(line) == next(row for row in rows if row.offset >= line["sought"])
    times = harness.read_by_java(everything, "time", isolation, partition.topic)
    assert bool(times) == any(row.timestamp >= 0 for row in rows)
    for line in times:
        assert (line["offset"], line["timestamp"]) == partition.offset_at(line["asked"], isolation)


def test_dump_log_segments_finds_no_fault(everything: Observed) -> None:
    num_files = sum(
        bool(content) and not name.endswith(".log")
        for files in everything.files.values()
        for name, content in files.items()
    )
    sanity, verified = (everything.dump[option] for option in ("--index-sanity-check", "--verify-index-only"))
    num_transactions = sanity.count(".txnindex")
    assert sanity.count("passed sanity check.") == num_files - num_transactions
    assert verified.count("Dumping ") == num_files
    for said in (sanity, verified):
        assert said.endswith("status 0")
        assert [line for line in said.splitlines() if not line.startswith(DUMPED) and line] == []


DUMPED = ("Dumping ", "/", "version: 0 producerId: ", "status 0")


def test_recovery_after_a_crash_finds_every_batch(everything: Observed, partition: Partition) -> None:
    lines = harness.distrust(everything.recovery_log, partition.topic)
    assert "Recovering unflushed segment" in "\n".join(lines)
    before, after = everything.files[partition.topic], everything.recovered[partition.topic]
    assert {name: after[name] for name in after if name.endswith(".log")} == {
        name: before[name] for name in before if name.endswith(".log")
    }
    if partition.topic in written.MAKERS:
        # The broker made the index files anew from the segments, and looked who the producers were. It writes
        # them in the order of a Java HashMap, in which the few that are there come by their ids.
        assert after == before
        assert everything.snapshots[partition.topic] == harness.snapshot_of(partition.folder)


def test_the_broker_warns_of_nothing_in_recovery(everything: Observed) -> None:
    assert harness.warnings(everything.recovery_log) == []
