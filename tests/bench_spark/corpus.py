"""What is measured: topics of four partitions, written by our own writer, the same bytes every time.

| topic | records | codec | segments |
|---|---|---|---|
| plain, lz4 | 20 M, or 1 M of a quick run; 16-byte keys, JSON values of 150 bytes | none, lz4 | of 1 GiB |
| tasks | one record in each of 60 segments | none | |
| segments | one record in each of 10,000 segments, in 100 partitions | none | |
| tiny | 33 in each segment of 6 KB, five of these in each of 2,000 partitions (200) | none | 6 KB |
| year | the same, a segment for four hours of a year (of 36 days), in 4 partitions | none | 6 KB |

In parentheses is what a quick run has.

They lie as a broker's log directories would: `build/bench-spark/<size>/<topic>/<topic>-<partition>`.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import kafka_segments as ks
from kafka_segments_generated.construct.kafka_leader_epoch_checkpoint import KafkaLeaderEpochCheckpoint

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "bench-spark"
T0 = 1_700_000_000_000
NUM_PARTITIONS = 4
LEN_VALUE = 150
NUM_VALUES = 200_000
# Topic to codec.
CODECS = {"plain": "none", "lz4": "lz4"}
FULL_SIZE = 10_000_000  # records of the large topics, from which on the small ones are whole, too
NUM_TASKS = 60
NUM_SEGMENTS, SEGMENTS_A_PARTITION = 10_000, 100
TINY_BYTES, RECORDS_A_TINY = 6144, 33
TINY_A_PARTITION = 5
HOURS_A_TINY, DAYS = 4, 365
CITIES = ("Lisbon", "Osaka", "Nairobi", "Lima", "Oslo", "Pune", "Quito", "Turin")


@dataclass(frozen=True)
class Corpus:
    """A topic on the disk; `path` holds its partitions' directories."""

    topic: str
    path: Path
    num_records: int
    num_partitions: int

    @property
    def a_partition(self) -> int:
        """Records of each partition."""
        return self.num_records // self.num_partitions


def value(rng: random.Random, index: int) -> bytes:
    """An order of exactly `LEN_VALUE` bytes."""
    order = {
        "order_id": f"o-{index:010d}",
        "customer": rng.randrange(1 << 20),
        "city": rng.choice(CITIES),
        "amount": round(rng.random() * 500, 2),
        "note": "",
    }
    short = json.dumps(order).encode()
    return short[:-2] + rng.randbytes(LEN_VALUE).hex().encode()[: LEN_VALUE - len(short)] + short[-2:]


def record_batch(num_records: int) -> pa.RecordBatch:
    """Keys and values of so many records."""
    rng = random.Random(7)
    keys = [b"key-%012d" % index for index in range(num_records)]
    values = [value(rng, index) for index in range(num_records)]
    return pa.record_batch({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})


def timed(batch: pa.RecordBatch, first_offset: int) -> pa.RecordBatch:
    """Records with timestamps, a millisecond apart."""
    times = pa.array(range(T0 + first_offset, T0 + first_offset + batch.num_rows), pa.int64())
    return batch.append_column("timestamp", times)


def topics(num_records: int) -> dict[str, Corpus]:
    """The topics, whether they are there or not."""
    folder = FOLDER / str(num_records)
    corpora = {}
    for topic in CODECS:
        corpora[topic] = Corpus(topic, folder / topic, num_records, NUM_PARTITIONS)
    corpora["tasks"] = Corpus("tasks", folder / "tasks", NUM_TASKS, 1)
    num_partitions = NUM_SEGMENTS // SEGMENTS_A_PARTITION
    corpora["segments"] = Corpus("segments", folder / "segments", NUM_SEGMENTS, num_partitions)
    part = 1 if num_records >= FULL_SIZE else 10
    num_partitions = NUM_SEGMENTS // TINY_A_PARTITION // part
    num_tiny = num_partitions * TINY_A_PARTITION * RECORDS_A_TINY
    corpora["tiny"] = Corpus("tiny", folder / "tiny", num_tiny, num_partitions)
    num_hourly = NUM_PARTITIONS * (DAYS // part * 24 // HOURS_A_TINY) * RECORDS_A_TINY
    corpora["year"] = Corpus("year", folder / "year", num_hourly, NUM_PARTITIONS)
    return corpora


def made(corpus: Corpus) -> Corpus:
    """The topic itself, written if it is not there: under another name, lest half a one is taken for it."""
    if corpus.path.exists():
        return corpus
    scratch = corpus.path.with_name(f".{corpus.topic}")
    shutil.rmtree(scratch, ignore_errors=True)
    for partition in range(corpus.num_partitions):
        directory = scratch / f"{corpus.topic}-{partition}"
        if corpus.topic in CODECS:
            _write_large(corpus, directory)
        elif corpus.topic in ("tiny", "year") and partition:
            shutil.copytree(scratch / f"{corpus.topic}-0", directory)  # the same bytes: no name is in them
        elif corpus.topic in ("tiny", "year"):
            _write_tiny(corpus, directory)
        else:
            _write_small(corpus, directory)
    scratch.rename(corpus.path)
    return corpus


def _write_large(corpus: Corpus, directory: Path) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    records = record_batch(min(NUM_VALUES, corpus.a_partition))
    with ks.open_partition_writer(
        directory, compression=CODECS[corpus.topic], partition_leader_epoch=0, batch_size=16384
    ) as writer:
        for first_offset in range(0, corpus.a_partition, records.num_rows):
            some = records.slice(0, min(records.num_rows, corpus.a_partition - first_offset))
            writer.write(timed(some, first_offset))
    _write_epoch(directory)


def _write_tiny(corpus: Corpus, directory: Path) -> None:
    """Segments of 6 KB with their indexes, each of the same time."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    keys = [b"key-%012d" % index for index in range(corpus.a_partition)]
    rng = random.Random(7)
    values = [rng.randbytes(LEN_VALUE - 10) for _ in keys]
    step = HOURS_A_TINY * 3_600_000 / RECORDS_A_TINY
    times = [T0 + int(index * step) for index in range(corpus.a_partition)]
    arrays = {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())}
    with ks.open_partition_writer(
        directory, segment_bytes=TINY_BYTES, batch_size=1024, partition_leader_epoch=0
    ) as writer:
        for first in range(0, corpus.a_partition, RECORDS_A_TINY):
            rows = pa.record_batch(arrays).slice(first, RECORDS_A_TINY)
            some = pa.array(times[first : first + rows.num_rows], pa.int64())
            writer.write(rows.append_column("timestamp", some))
    _write_epoch(directory)


def _write_small(corpus: Corpus, directory: Path) -> None:
    """One record a segment. 10,000 writers of our own would sync 30,000 files to the disk: minutes."""
    directory.mkdir(parents=True)
    for offset, encoded in enumerate(_single_batches(corpus.a_partition)):
        (directory / f"{offset:020}.log").write_bytes(encoded)
        for suffix in (".index", ".timeindex"):
            (directory / f"{offset:020}{suffix}").touch()
    _write_epoch(directory)


def _single_batches(count: int) -> Iterator[bytes]:
    for offset in range(count):
        row = {"key": b"k", "value": b"v", "timestamp": T0 + offset}
        yield ks.encode_batch([row], base_offset=offset, partition_leader_epoch=0)


def _write_epoch(directory: Path) -> None:
    """The epoch of the leader that wrote it, as it were: a broker wants one."""
    epochs = {"version_text": b"0", "num_entries_text": b"1"}
    entries = {"entries": [{"epoch_text": b"0", "start_offset_text": b"0"}]}
    (directory / "leader-epoch-checkpoint").write_bytes(KafkaLeaderEpochCheckpoint.build(epochs | entries))
