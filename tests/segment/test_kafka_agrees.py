"""Kafka's own classes see the same in every file beside a segment, and give out the same records."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from tests.codegen.vectors import VECTORS
from tests.forms import pick
from tests.recording.sets import RECORDED
from tests.segment.kafka_beside import Recovered, ask, recover, rows
from tests.segment.logs import Log
from tests.segment.test_interleavings import grow

from kafka_segments import Record
from kafka_segments.core.formats.file_names import parse_directory_name
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside import index_files
from kafka_segments.core.segment.beside.index_files import OffsetIndex, TimeIndex
from kafka_segments.errors import DecodeError
from kafka_segments.log.discovery import discover
from kafka_segments.log.open_partition import open_partition
from kafka_segments.log.partition import Partition

pytestmark = pytest.mark.oracle

READERS = {
    ".index": index_files.read_offset_index,
    ".timeindex": index_files.read_time_index,
    ".txnindex": index_files.read_transaction_index,
    ".snapshot": index_files.read_producer_snapshot,
    "leader-epoch-checkpoint": index_files.read_leader_epochs,
    "partition.metadata": index_files.read_partition_metadata,
}
# How a vector's schema is called as a file.
NAMES = {
    "kafka_offset_index": f"{7:020d}.index",
    "kafka_time_index": f"{7:020d}.timeindex",
    "kafka_transaction_index": f"{7:020d}.txnindex",
    "kafka_producer_snapshot": f"{7:020d}.snapshot",
    "kafka_leader_epoch_checkpoint": "leader-epoch-checkpoint",
    "kafka_partition_metadata": "partition.metadata",
}
# Where we are stricter or more lenient, and why.
OTHERWISE = {
    "kafka_transaction_index/cut_off": "Kafka passes over what is behind the last whole entry",
    "kafka_time_index/preallocated": "Kafka takes the zeros for entries, finds them too early, and rebuilds",
    "kafka_offset_index/preallocated": "Kafka takes the zeros for entries of the base offset",
}


def own_words(path: Path) -> str:
    """What we read of a file, in the words of Beside.java."""
    name = path.name if path.name in READERS else path.suffix
    try:
        found = READERS[name](path)
    except DecodeError as error:
        return f"error {type(error).__name__}"
    if isinstance(found, OffsetIndex):
        return ",".join(f"{offset} {at}" for offset, at in zip(found.offsets, found.positions, strict=True))
    if isinstance(found, TimeIndex):
        pairs = zip(found.timestamps, found.offsets, strict=True)
        return ",".join(f"{time} {offset}" for time, offset in pairs)
    if isinstance(found, index_files.PartitionMetadata):
        return f"{found.version} {found.topic_id}"
    fields = [[getattr(one, name) for name in type(one).__slots__] for one in found]
    return ",".join(" ".join(map(str, values)) for values in fields)


def test_every_recorded_file_is_read_alike(tmp_path: Path) -> None:
    files = sorted(path for path in RECORDED.rglob("*") if path.name in READERS or path.suffix in READERS)
    assert len(files) > 800
    copies = []
    for number, file in enumerate(files):
        copies.append(tmp_path / str(number) / file.name)
        copies[-1].parent.mkdir()
        shutil.copyfile(file, copies[-1])
    theirs = ask(copies)
    padded = 0
    for file, copy, answer in zip(files, copies, theirs, strict=True):
        ours = own_words(copy)
        if "/running/" in str(file) or "/killed/" in str(file) or file.stat().st_size in (8192, 8184):
            # Zeros that a broker had no time to cut off are entries for Kafka, or an error.
            padded += 1
            assert answer.startswith((ours, "error CorruptIndexException")), file
        else:
            assert ours == answer, file
    assert 10 < padded < 60


def test_vectors_are_refused_alike(tmp_path: Path) -> None:
    copies, names = [], []
    for schema, name in NAMES.items():
        for vector in sorted((VECTORS / schema).glob("*.bin")):
            copies.append(tmp_path / schema / vector.stem / name)
            copies[-1].parent.mkdir(parents=True)
            shutil.copyfile(vector, copies[-1])
            names.append(f"{schema}/{vector.stem}")
    found = {}
    for copy, name, answer in zip(copies, names, ask(copies), strict=True):
        ours = own_words(copy)
        is_same = ours == answer or (ours.startswith("error ") and answer.startswith("error "))
        if not is_same:
            found[name] = (ours, answer)
    assert found.keys() == OTHERWISE.keys(), found


def partitions() -> list[Path]:
    """Every recorded partition of the formats that have transactions, and some of the others."""
    folders = {path.parent for path in RECORDED.rglob("*.log")}
    named = [folder for folder in folders if parse_directory_name(folder.name)]
    return sorted(folder for folder in named if any(file.stat().st_size for file in folder.glob("*.log")))


def given(partition: Partition, start: int) -> list[list[int]]:
    """Offsets of committed records, by both ways of reading."""
    batches = partition.read_table(["offset"], (start, None), "skip", isolation="read_committed")
    events = partition.iter_events(isolation="read_committed", on_damage="skip")
    return [batches["offset"].to_pylist(), [event.offset for event in events if isinstance(event, Record)]]


def same(folder: Path, kafka: Recovered | str, outcomes_from: str) -> int:
    """Compare one partition; returns how many transactions were aborted."""
    assert isinstance(kafka, Recovered), (folder, kafka)
    with open_partition(folder, outcomes_from=outcomes_from) as ours:  # type: ignore[arg-type]
        aborted = ours.aborted_transactions()
        fields = [(a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset) for a in aborted]
        assert fields == kafka.aborted, folder
        still_open = sorted((o.producer_id, o.first_offset) for o in ours.open_transactions())
        assert still_open == sorted(kafka.open), folder
        assert ours.last_stable_offset == kafka.last_stable_offset, folder
        start = ours.log_start_offset or 0
        expected = [offset for offset in kafka.committed if offset >= start]
        for offsets in given(ours, start):
            assert offsets == expected, folder
        assert ours.check_indexes() == []
        assert ours.doubtful_transactions() == ()
        return len(aborted)


def test_every_recorded_partition_gives_what_kafka_gives(tmp_path: Path) -> None:
    folders = partitions()
    num_aborted = 0
    for folder, kafka in zip(folders, recover(folders, tmp_path), strict=True):
        num_aborted += same(folder, kafka, "records")
        same(folder, kafka, "indexes")
    print(f"{len(folders)} partitions, {num_aborted} aborted transactions")
    assert len(folders) > 120 and num_aborted >= 16


def test_the_indexes_of_transactional_partitions_are_what_the_records_say() -> None:
    clean = RECORDED / "kafka-4.3/clean"
    with_index = [
        entry for entry in discover(Places(), [str(clean)]) if list(Path(entry.path).glob("*.txnindex"))
    ]
    assert len(with_index) == 3
    for entry in with_index:
        with open_partition(entry.path) as partition:
            listed = [
                (one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset)
                for file in partition.segments
                if (path := Path(file.path).with_suffix(".txnindex")).exists()
                for one in index_files.read_transaction_index(path)
            ]
            aborted = partition.aborted_transactions()
            assert listed == [
                (one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset)
                for one in aborted
            ]


@pytest.mark.long
def test_invented_partitions_give_what_kafka_gives(tmp_path: Path) -> None:
    folders = []
    num_folders = pick(60, 600)
    for seed in range(num_folders):
        log = Log()
        grow(log, random.Random(seed), 40)
        folders.append(log.write(tmp_path / "ours" / str(seed)))
    answers = recover(folders, tmp_path / "theirs")
    pairs = zip(folders, answers, strict=True)
    num_aborted = sum(same(folder, kafka, "records") for folder, kafka in pairs)
    print(f"{num_folders} partitions, {num_aborted} aborted transactions")
    assert num_aborted > 2 * num_folders


def test_kafka_reads_what_rows_parses() -> None:
    assert rows("1 2,3 4") == [(1, 2), (3, 4)] and rows("") == []
