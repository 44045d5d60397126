"""Partitions that kafka-segments wrote, with the records that went in as the expectation.

Strategy: nothing of ours reads here. What is expected is noted by hand while it is handed to the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.broker.partitions import Partition, Row, recorded

import kafka_segments as ks
from kafka_segments.write.convert import Retention
from kafka_segments_generated.construct.kafka_leader_epoch_checkpoint import KafkaLeaderEpochCheckpoint

T0 = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# What a topic is configured to, and a writer told: frequent index entries, so that there are some.
INTERVAL = 512
CONFIG = {"index.interval.bytes": str(INTERVAL), "max.message.bytes": "4194304"}
COMMIT, ABORT = "COMMIT", "ABORT"


def rows(count: int, offset: int = 0, *, headers: bool = True) -> list[Row]:
    """Records of many shapes: null and empty keys, tombstones, headers, times that go back now and then."""
    shapes = [
        (b"key-%d" % offset, b"", ()),
        (None, b"no key", ((b"trace", b"t"), (b"trace", b""), (b"n", None))),
        (b"", None, ((b"", b"\x00\xff"),)),
        (b"tombstone", None, ()),
        (b"big", b"lorem ipsum %d " % offset * 40, (("gr\u00fc\u00df".encode(), b"x" * 200),)),
    ]
    found = []
    for index in range(count):
        key, value, pairs = shapes[index] if index < len(shapes) else (b"k%d" % index, value_of(index), ())
        timestamp = T0 + (offset + index) * 10 - (25 if index % 7 == 3 else 0)
        found.append(Row(offset + index, timestamp, "CreateTime", key, value, pairs if headers else ()))
    return found


def value_of(index: int) -> bytes:
    """A value as a service would write it."""
    return b'{"order":%d,"city":"Lisbon","items":[%s]}' % (index, b"1," * (index % 30))


class Script:
    """A writer of a partition, and what is to be read of what it wrote."""

    def __init__(self, topic: str, folder: Path, first_offset: int = 0) -> None:
        self.topic = topic
        self.folder = folder
        self.first_offset = first_offset
        self.rows: list[Row] = []
        self.markers: dict[int, int] = {}
        self.aborted: set[int] = set()
        self.open: dict[int, list[int]] = {}
        self.writer: Any = None

    def records(self, given: Iterable[Row], **options: Any) -> None:
        """Write records; those of a transaction wait for its end."""
        noted = list(given)
        self.writer.write([as_dict(row) for row in noted], **options)
        self.rows += noted
        if options.get("is_transactional"):
            self.open.setdefault(options["producer_id"], []).extend(row.offset for row in noted)

    def marker(self, kind: str, producer_id: int, timestamp: int, **options: Any) -> None:
        """End a transaction."""
        self.markers[self.next_offset] = timestamp
        ended = self.open.pop(producer_id, [])
        if kind == ABORT:
            self.aborted.update(ended)
        self.writer.write_marker(kind, producer_id=producer_id, timestamp=timestamp, **options)

    @property
    def next_offset(self) -> int:
        """Offset that comes next."""
        offset: int = self.writer.next_offset
        return offset

    def finished(self, end_offset: int) -> Partition:
        """The partition, once its files are there; with the epoch of the leader that wrote it, as it were."""
        epoch = {"epoch_text": b"0", "start_offset_text": b"%d" % self.first_offset}
        epochs = {"version_text": b"0", "num_entries_text": b"1", "entries": [epoch]}
        path, content = self.folder / "leader-epoch-checkpoint", KafkaLeaderEpochCheckpoint.build(epochs)
        assert not path.exists() or path.read_bytes() == content
        path.write_bytes(content)
        opened = [offset for offsets in self.open.values() for offset in offsets]
        return Partition(
            topic=self.topic,
            folder=self.folder,
            rows=tuple(self.rows),
            end_offset=end_offset,
            first_offset=self.first_offset,
            markers=self.markers,
            aborted=frozenset(self.aborted),
            last_stable_offset=min(opened, default=None),
            config=CONFIG,
        )


def as_dict(row: Row) -> dict[str, Any]:
    """A row as the writer takes it; its offset is the writer's affair."""
    headers = [{"key": key, "value": value} for key, value in row.headers]
    return {"timestamp": row.timestamp, "key": row.key, "value": row.value, "headers": headers}


@contextmanager
def writing(script: Script, **options: Any) -> Iterator[Script]:
    """Write a partition's directory."""
    given = {"index_interval_bytes": INTERVAL, "partition_leader_epoch": 0} | options
    with ks.open_partition_writer(script.folder, base_offset=script.first_offset, **given) as writer:
        script.writer = writer
        yield script


def codec(name: str, folder: Path) -> Partition:
    """All shapes of records under one codec, in batches of 4 KiB."""
    script = Script(f"written-{name}", folder)
    with writing(script, compression=name, batch_size=4096):
        script.records(rows(300))
        script.records(rows(1, 300))
    return script.finished(301)


def rolled(folder: Path) -> Partition:
    """Several segments, the first of which does not begin at 0; every codec."""
    script = Script("written-rolled", folder, first_offset=1000)
    with writing(script, segment_bytes=16384, batch_size=2048):
        for number in range(25):
            script.records(rows(40, script.next_offset), compression=CODECS[number % len(CODECS)])
    return script.finished(2000)


def transactions(folder: Path) -> Partition:
    """Two transactional producers interleaved, and records of none; one transaction stays open."""
    script = Script("written-transactions", folder)
    with writing(script, segment_bytes=8192):
        for turn in range(12):
            for producer_id in (11, 12):
                codec_name = CODECS[(turn + producer_id) % len(CODECS)]
                of_producer = {"producer_id": producer_id, "producer_epoch": 0, "is_transactional": True}
                script.records(rows(6, script.next_offset), compression=codec_name, **of_producer)
            script.records(rows(2, script.next_offset))
            if turn % 2:
                script.marker(ABORT if turn % 4 == 1 else COMMIT, 11, T0 + turn * 1000, producer_epoch=0)
            if turn % 3 == 2:
                script.marker(COMMIT if turn % 2 else ABORT, 12, T0 + turn * 1000, producer_epoch=0)
        script.records(rows(3, script.next_offset), producer_id=13, producer_epoch=2, is_transactional=True)
        script.records(rows(2, script.next_offset))
        end_offset = script.next_offset
    return script.finished(end_offset)


def append_time(folder: Path) -> Partition:
    """LogAppendTime: one time for each batch, whatever the records say."""
    script = Script("written-append-time", folder)
    with writing(script):
        for number in range(6):
            appended = T0 + number * 1000
            given = rows(50, script.next_offset)
            of_broker = {"timestamp_type": "LogAppendTime", "log_append_time": appended}
            script.records(given, compression=CODECS[number % len(CODECS)], **of_broker)
            stamped = [row._replace(timestamp=appended, timestamp_type="LogAppendTime") for row in given]
            script.rows[-len(given) :] = stamped
    return script.finished(300)


def idempotent(folder: Path) -> Partition:
    """One producer whose sequence wraps, and another that comes back with a new epoch."""
    script = Script("written-idempotent", folder)
    with writing(script, batch_size=1024):
        script.records(rows(60), producer_id=21, producer_epoch=0, base_sequence=2**31 - 20)
        script.records(rows(60, 60), producer_id=22, producer_epoch=0)
        script.records(rows(60, 120), producer_id=22, producer_epoch=1, base_sequence=0)
    return script.finished(180)


def compacted(folder: Path) -> Partition:
    """As the cleaner leaves a log: gaps, an empty batch, a delete horizon."""
    script = Script("written-compacted", folder)
    kept = [row for row in rows(40) if row.offset % 3 == 1]
    with writing(script):
        options = {"partition_leader_epoch": 0}
        script.writer.append(encoded(kept[:6], 0, 19, delete_horizon_ms=T0 + 5000, **options))
        script.writer.append(
            ks.encode_empty_batch(
                base_offset=20, last_offset=24, producer_id=31, producer_epoch=0, base_sequence=4, **options
            )
        )
        script.writer.append(
            encoded([row for row in kept if row.offset >= 25], 25, 39, compression="zstd", **options)
        )
    script.rows = [*kept[:6], *(row for row in kept if row.offset >= 25)]
    return script.finished(40)


def data_frame(folder: Path) -> Partition:
    """Rows of a DataFrame by `df.write`, of two tasks, and rows of LogAppendTime among them."""
    from tests.spark import written_frames  # imports pyspark, which only this partition needs

    script = Script("written-data-frame", folder)
    given = rows(500)
    for at in range(200, 240):
        given[at] = given[at]._replace(timestamp=T0 + 5000, timestamp_type="LogAppendTime")
    kinds = {"CreateTime": 0, "LogAppendTime": 1}
    batches = [
        written_frames.batch(
            [
                {
                    "topic": script.topic,
                    "partition": 0,
                    "offset": row.offset,
                    "key": row.key,
                    "value": row.value,
                    "timestamp": row.timestamp * 1000,
                    "timestampType": kinds[row.timestamp_type],
                    "headers": [{"key": key.decode(), "value": value} for key, value in row.headers],
                }
                for row in given[at : at + 100]
            ]
        )
        for at in range(0, len(given), 100)
    ]
    options = {
        "compression": "zstd",
        "segmentBytes": "8k",
        "batchSize": "2k",
        "indexIntervalBytes": str(INTERVAL),
    }
    made = folder.parent / f"{folder.name}.made"
    written_frames.write(made, batches[3:], batches[:3], topicId="fwkWwJEoQPCcRdzgt2QjPQ", **options)
    (made / f"{script.topic}-0").rename(folder)
    script.rows = given
    return script.finished(len(given))


def encoded(given: Sequence[Row], base_offset: int, last_offset: int, **options: Any) -> bytes:
    """One batch with gaps."""
    dicts = [as_dict(row) | {"offset": row.offset} for row in given]
    batch: bytes = ks.encode_batch(dicts, base_offset=base_offset, last_offset=last_offset, **options)
    return batch


def legacy(magic: int, codec_name: str, folder: Path) -> Partition:
    """Messages of an old magic: a broker of 4.3.1 takes no such thing any more, but serves what it has."""
    script = Script(f"written-v{magic}-{codec_name}", folder)
    stamped = [
        row if magic else row._replace(timestamp=-1, timestamp_type="NoTimestampType")
        for row in rows(80, headers=False)
    ]
    with writing(script, magic=magic, compression=codec_name, batch_size=1024, partition_leader_epoch=-1):
        script.records(stamped)
    return script.finished(80)


def up_converted(topic: str, folder: Path) -> Partition:
    """A log of magic 0 or 1 in magic 2; what is in it, Kafka's own reading says."""
    old = recorded(topic, "kafka-2.8/clean")
    script = Script(f"written-up-{topic}", folder, first_offset=old.rows[0].offset)
    with writing(script):
        for path in sorted(old.folder.glob("*.log")):
            for entries in ks.up_convert(path, batch_size=1024, partition_leader_epoch=0):
                script.writer.append(entries)
        end_offset = script.next_offset
    script.rows = [
        row._replace(timestamp_type="CreateTime") if row.timestamp_type == "NoTimestampType" else row
        for row in old.rows
    ]
    return script.finished(end_offset)


def cleaned(topic: str, folder: Path) -> Partition:
    """A recorded log without every other record, as the log cleaner leaves it; empty batches stay."""
    old = recorded(topic)
    script = Script(f"written-cleaned-{topic}", folder)
    with writing(script):
        for path in sorted(old.folder.glob("*.log")):
            conversion = ks.filter_batches(
                path,
                lambda record: record.control is not None or record.offset % 2 == 0,
                delete_horizon_ms=T0 + 100_000,
                retention=lambda _batch: Retention.RETAIN_EMPTY,
            )
            for entries in conversion:
                script.writer.append(entries)
        end_offset = script.next_offset
    script.rows = [row for row in old.rows if row.offset % 2 == 0]
    script.markers, script.aborted = dict(old.markers), set(old.aborted)
    return script.finished(end_offset)


MAKERS: dict[str, Callable[[Path], Partition]] = {
    **{f"written-{name}": (lambda folder, name=name: codec(name, folder)) for name in CODECS},
    "written-rolled": rolled,
    "written-transactions": transactions,
    "written-append-time": append_time,
    "written-idempotent": idempotent,
    "written-compacted": compacted,
    "written-data-frame": data_frame,
    "written-v0-none": lambda folder: legacy(0, "none", folder),
    "written-v0-gzip": lambda folder: legacy(0, "gzip", folder),
    "written-v1-none": lambda folder: legacy(1, "none", folder),
    "written-v1-lz4": lambda folder: legacy(1, "lz4", folder),
    "written-up-v0-gzip": lambda folder: up_converted("v0-gzip", folder),
    "written-up-v1-compact-lz4": lambda folder: up_converted("v1-compact-lz4", folder),
    "written-up-mixed": lambda folder: up_converted("mixed", folder),
    "written-cleaned-multi": lambda folder: cleaned("multi", folder),
    "written-cleaned-transactions": lambda folder: cleaned("transactions", folder),
}


def make(work: Path) -> list[Partition]:
    """All of them, each in a folder of its own."""
    work.mkdir()
    return [maker(work / topic) for topic, maker in MAKERS.items()]
