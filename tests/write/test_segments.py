"""Segments and partitions as files: their indexes, how they roll, and what is left when something goes
wrong.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.python import run_python
from tests.write.builders import recover
from tests.write.cases import TIME, plain_rows, rows_with_gaps, rows_with_headers

import kafka_segments
from kafka_segments.core.io import outputs
from kafka_segments.errors import EncodeError, KafkaFormatError, MissingExtraError, OptionError, OutputError

NAME = "00000000000000000000.log"
RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
PRODUCER: dict[str, Any] = {"producer_epoch": 0, "is_transactional": True}


def write_a_bit_of_everything(writer: kafka_segments.SegmentWriter) -> None:
    """All magics, codecs, transactions that overlap, control batches of KRaft, batches without records."""
    rows = [{"timestamp": TIME + 7 * at, "key": b"k", "value": b"v" * (at % 300)} for at in range(200)]
    writer.write(rows, batch_size=700)
    for producer_id, codec in ((7, "none"), (8, "lz4"), (9, "zstd")):
        writer.write(rows[:40], producer_id=producer_id, **PRODUCER, compression=codec, batch_size=2000)
    writer.write_marker("ABORT", producer_id=8, producer_epoch=0, timestamp=TIME + 5000, coordinator_epoch=2)
    writer.write(rows[40:], producer_id=7, **PRODUCER, batch_size=3000)
    writer.write_marker("COMMIT", producer_id=9, producer_epoch=0, timestamp=TIME + 3)
    writer.write_marker("ABORT", producer_id=7, producer_epoch=1, timestamp=TIME + 9000, coordinator_epoch=2)
    writer.write_marker("ABORT", producer_id=7, producer_epoch=1, timestamp=TIME + 9001, coordinator_epoch=2)
    writer.write(rows, producer_id=9, **PRODUCER)
    writer.write(
        rows,
        timestamp_type="LogAppendTime",
        log_append_time=TIME + 10_000,
        batch_size=900,
        compression="gzip",
    )
    first = writer.next_offset + 3
    options: dict[str, Any] = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 3000}
    writer.write_empty_batch(
        base_offset=first, last_offset=first + 40, max_timestamp=TIME, is_transactional=True, **options
    )
    writer.append(kafka_segments.encode_records(rows_with_gaps(writer.next_offset), batch_size=500))


def in_old_formats(writer: kafka_segments.SegmentWriter) -> None:
    """As a topic grew old: messages, wrappers, batches."""
    for magic in (0, 1):
        for codec in ("none", "gzip", "snappy", "lz4"):
            rows = [{**row, "offset": writer.next_offset + at} for at, row in enumerate(plain_rows(60))]
            writer.write(rows, magic=magic, compression=codec, batch_size=800)
    writer.write(plain_rows(60, writer.next_offset), batch_size=800)


def only_magic_0(writer: kafka_segments.SegmentWriter) -> None:
    """No timestamps at all, so nothing for the time index."""
    writer.write(plain_rows(100), magic=0)


WRITERS = {"everything": write_a_bit_of_everything, "old": in_old_formats, "magic 0": only_magic_0}
INTERVALS = (0, 1000, 4096, 1 << 30)


@pytest.mark.oracle
def test_kafka_makes_the_same_indexes(tmp_path: Path) -> None:
    """A broker that recovers the segment cuts nothing off and writes the same bytes."""
    ours: list[tuple[Path, int]] = []
    for what, fill in WRITERS.items():
        for interval in INTERVALS:
            folder = tmp_path / f"{what} {interval}"
            folder.mkdir()
            with kafka_segments.open_writer(folder / NAME, index_interval_bytes=interval) as writer:
                fill(writer)
            ours.append((folder, interval))
    before = {folder: contents(folder) for folder, _ in ours}
    assert recover(ours) == [0] * len(ours)
    for folder, _ in ours:
        # A broker makes the file of aborted transactions when there is one.
        after = {
            name: data for name, data in contents(folder).items() if data or not name.endswith(".txnindex")
        }
        assert after == before[folder], folder.name
    txn = [len(files[name]) for files in before.values() for name in files if name.endswith(".txnindex")]
    assert txn == [2 * 34] * len(INTERVALS)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".snapshot"}


def test_indexes_of_recorded_segments(tmp_path: Path) -> None:
    """What a broker wrote, appended batch by batch, gets the broker's own indexes, of every interval that it
    had.

    Not where a cleaner has been, and in internal topics, where batches were appended many at a time; nor
    where the broker was started anew in between, which makes it count bytes from 0 again.
    """
    compared = 0
    for path in sorted(RECORDED.glob("kafka-4.3/clean/*/*.log")):
        topic = path.parent.name
        if topic.startswith(("__", "compact")) or topic.endswith("-delete") or is_of_two_lives(path):
            continue
        target = tmp_path / str(compared) / path.name
        target.parent.mkdir()
        with kafka_segments.open_writer(target, index_interval_bytes=512) as writer:
            writer.append(path.read_bytes())
        assert target.read_bytes() == path.read_bytes()
        for suffix in (".index", ".timeindex"):
            assert target.with_suffix(suffix).read_bytes() == path.with_suffix(suffix).read_bytes(), path
        if path.with_suffix(".txnindex").exists():
            aborted = target.with_suffix(".txnindex")
            assert (aborted.read_bytes() if aborted.exists() else b"") == path.with_suffix(
                ".txnindex"
            ).read_bytes()
        compared += 1
    assert compared >= 40


AFTER_RESTART = 1_700_000_200_000
"""The recording's clients give times to their records: from this one on they were sent to the broker's second
life.
"""


def is_of_two_lives(path: Path) -> bool:
    with kafka_segments.open_segment(str(path)) as segment:
        times = [
            entry.max_timestamp for entry in segment.iter_entries() if isinstance(entry, kafka_segments.Batch)
        ]
    return bool(times) and times[-1] >= AFTER_RESTART


def test_a_partition_rolls(tmp_path: Path) -> None:
    """By size; each segment is named after its first batch, and together they hold what one would."""
    rows = rows_with_headers(400)
    with kafka_segments.open_partition_writer(tmp_path / "t-0", segment_bytes=5000, batch_size=900) as writer:
        writer.write(rows[:150])
        writer.write(rows[150:])
    written = writer.close()
    paths = [Path(path) for path in written.paths]
    assert len(paths) > 5
    assert sorted(tmp_path.glob("t-0/*.log")) == paths
    # Each with its indexes, and a snapshot of producers for all.
    assert len(list(tmp_path.glob("t-0/*"))) == 3 * len(paths) + 1
    joined = b"".join(path.read_bytes() for path in paths)
    assert len(joined) == written.num_bytes
    expect = kafka_segments.encode_records(rows[:150], batch_size=900)
    assert joined == expect + kafka_segments.encode_records(rows[150:], batch_size=900)
    assert all(4000 < path.stat().st_size <= 5000 for path in paths[:-1])
    for path in paths:
        with kafka_segments.open_segment(str(path)) as segment:
            first = next(iter(segment.iter_entries()))
        assert int(path.stem) == first.base_offset  # type: ignore[union-attr]
    assert (written.num_records, written.first_offset, written.last_offset) == (400, 0, 399)


def test_a_partition_rolls_where_offsets_would_overflow(tmp_path: Path) -> None:
    """An index has 32 bits for an offset (LogSegment.shouldRoll)."""
    with kafka_segments.open_partition_writer(tmp_path / "t-0") as writer:
        for offset in (5, 5 + 2**31 - 1, 5 + 2**31, 2**40):
            writer.write([{"offset": offset, "value": b"v"}])
    names = [int(Path(path).stem) for path in writer.close().paths]
    assert names == [5, 5 + 2**31, 2**40]


def test_the_name_tells_the_base_offset(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000100.log"
    with pytest.raises(OptionError, match="below"):
        kafka_segments.open_writer(path, base_offset=99)
    with kafka_segments.open_writer(path, base_offset=150, index_interval_bytes=0) as writer:
        writer.write([{"value": b"v"}])
        writer.write([{"value": b"w", "timestamp": 3}])
    assert writer.close().first_offset == 150
    assert path.with_suffix(".index").read_bytes() == bytes([0, 0, 0, 51, 0, 0, 0, 69])
    assert path.with_suffix(".timeindex").read_bytes() == bytes([0] * 7 + [3, 0, 0, 0, 51])
    plain = kafka_segments.write_segment(tmp_path / "00000000000000000300.log", [{"value": b"v"}])
    assert (plain.first_offset, plain.last_offset) == (300, 300)
    other = tmp_path / "00000000000000000200.log"
    with pytest.raises(EncodeError, match="base offset"), kafka_segments.open_writer(other) as writer:
        writer.write([{"offset": 5, "value": b"v"}])


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """Neither the segment nor an index, at the beginning or by the end."""
    for suffix in (".log", ".index", ".timeindex", ".txnindex"):
        there = tmp_path / NAME.replace(".log", suffix)
        there.write_bytes(b"mine")
        with pytest.raises(OptionError, match="exists"):
            kafka_segments.open_writer(tmp_path / NAME)
        there.unlink()
    with pytest.raises(OutputError), kafka_segments.open_writer(tmp_path / NAME) as writer:
        writer.write([{"value": b"v"}])
        (tmp_path / NAME).write_bytes(b"mine")
    assert contents(tmp_path) == {NAME: b"mine"}
    with pytest.raises(OutputError, match="the directory to write it into does not exist"):
        kafka_segments.open_writer(tmp_path / "absent" / NAME)
    with pytest.raises(OptionError, match="exists"):
        kafka_segments.open_partition_writer(tmp_path)


def test_a_name_of_ones_own_and_no_index(tmp_path: Path) -> None:
    written = kafka_segments.write_segment(
        tmp_path / "copy.bin", [{"offset": 77, "value": b"v"}], index=False
    )
    assert [path.name for path in tmp_path.iterdir()] == ["copy.bin"]
    assert (written.first_offset, written.num_records) == (77, 1)


def test_no_records_make_an_empty_segment(tmp_path: Path) -> None:
    written = kafka_segments.write_segment(tmp_path / NAME, [])
    assert contents(tmp_path) == dict.fromkeys(
        (NAME, NAME.replace(".log", ".index"), NAME.replace(".log", ".timeindex")), b""
    )
    assert (written.num_batches, written.first_offset, written.last_offset) == (0, None, None)


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    """One of the caller's own, and one of ours that the caller swallows."""
    with pytest.raises(KeyboardInterrupt), kafka_segments.open_writer(tmp_path / NAME) as writer:
        writer.write(rows_with_headers(100))
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    writer = kafka_segments.open_partition_writer(tmp_path / "t-0", segment_bytes=2000)
    writer.write(rows_with_headers(100), batch_size=500)
    with pytest.raises(EncodeError):
        writer.write([{"offset": 5, "value": b"v"}])
    with pytest.raises(OptionError, match="closed"):
        writer.close()
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def refuse(*_arguments: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("number", range(1, 8))
def test_a_disk_that_fails_leaves_nothing(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever call the system refuses: the disk is full while writing, syncing, linking."""
    calls = 0

    def failing(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return function(*arguments)

        return call

    for name in ("write", "fsync", "link"):
        monkeypatch.setattr(outputs.os, name, failing(getattr(os, name)))
    # A link that fails may be a file system without links; a full one refuses the rename too.
    monkeypatch.setattr(
        outputs.os, "rename", failing(lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    )
    with pytest.raises(OutputError) as caught:
        kafka_segments.write_segment(tmp_path / NAME, rows_with_headers(100), index_interval_bytes=100)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.path
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are renamed there, unless something has come into being meanwhile."""

    def no_links(*_arguments: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(outputs.os, "link", no_links)
    kafka_segments.write_segment(tmp_path / NAME, [{"value": b"v"}])
    assert sorted(contents(tmp_path)) == [
        NAME.replace(".log", suffix) for suffix in (".index", ".log", ".timeindex")
    ]
    other = tmp_path / "00000000000000000009.log"
    with pytest.raises(OutputError), kafka_segments.open_writer(other):
        other.write_bytes(b"mine")
    assert other.read_bytes() == b"mine"
    assert len(contents(tmp_path)) == 4


FOREVER = """
import sys, kafka_segments
with kafka_segments.open_partition_writer(sys.argv[1], segment_bytes=1 << 16) as writer:
    while True:
        writer.write([{"value": bytes(1000)}] * 100)
        print(writer.next_offset, flush=True)
"""


def test_a_killed_process_leaves_no_segment(tmp_path: Path) -> None:
    """Only a hidden directory, which no broker looks into."""
    process = subprocess.Popen(
        [sys.executable, "-c", FOREVER, str(tmp_path / "t-0")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while int(process.stdout.readline()) < 1000:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert [path.name[:5] for path in tmp_path.iterdir()] == [".t-0."]


def test_a_real_full_disk(tmp_path: Path) -> None:
    """A quota on the size of files, as the kernel keeps it."""
    code = (
        "import resource, signal, sys, kafka_segments\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
        "try: kafka_segments.write_segment(sys.argv[1], [{'value': bytes(1000)}] * 1000)\n"
        "except kafka_segments.errors.OutputError as error: print(error.errno)\n"
    )
    # The cache of compiled code is filled before the quota holds.
    kafka_segments.encode_records([{"value": b"v"}])
    done = run_python("-c", code, tmp_path / NAME)
    assert done.stdout.strip() == str(errno.EFBIG)
    assert list(tmp_path.iterdir()) == []


def test_foreign_batches_must_be_sound(tmp_path: Path) -> None:
    good = kafka_segments.encode_records([{"value": b"v"}, {"value": b"w"}])
    for wrong in (good[:-1], good[:-1] + b"x", good + bytes(20), good + good):
        writer = kafka_segments.open_writer(tmp_path / NAME)
        with pytest.raises(KafkaFormatError):
            writer.append(wrong)
    assert list(tmp_path.iterdir()) == []


def test_what_follows_is_counted(tmp_path: Path) -> None:
    """Offsets and sequence numbers go on from call to call, whoever wrote before."""
    producer: dict[str, Any] = {"producer_id": 5, "producer_epoch": 2}
    with kafka_segments.open_writer(tmp_path / NAME, **producer, base_offset=10) as writer:
        writer.write([{"value": b"v"}] * 3)
        writer.append(kafka_segments.encode_records([{"value": b"v"}], base_offset=20))
        writer.write([{"value": b"v"}] * 2, compression="zstd")
        writer.write([{"offset": 40, "value": b"v"}])
        writer.write([{"value": b"v"}], producer_epoch=3)
    with kafka_segments.open_segment(str(tmp_path / NAME)) as segment:
        found = [
            (entry.base_offset, entry.last_offset, entry.producer_epoch, entry.base_sequence)
            for entry in segment.iter_entries()
            if isinstance(entry, kafka_segments.Batch)
        ]
    assert found == [(10, 12, 2, 0), (20, 20, -1, -1), (21, 22, 2, 3), (40, 40, 2, 5), (41, 41, 3, 0)]


def test_without_construct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches need it not; what does, says what to install, and leaves nothing."""
    code = (
        "import sys; sys.modules['construct'] = None\n"
        "import kafka_segments as k\n"
        "k.write_segment(sys.argv[1] + '/a.log', [{'value': b'v'}], index=False)\n"
        "for attempt in (lambda: k.write_segment(sys.argv[1] + '/b.log', []),\n"
        "    lambda: k.encode_control([('SNAPSHOT_FOOTER', {'version': 0})], timestamp=1)):\n"
        "    try: attempt()\n"
        "    except k.errors.MissingExtraError as error: print(error.extra)\n"
    )
    done = run_python("-c", code, tmp_path)
    assert done.stdout.split() == ["construct", "construct"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.log"]
    assert issubclass(MissingExtraError, ImportError)
    shutil.rmtree(tmp_path)
