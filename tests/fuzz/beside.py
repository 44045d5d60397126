"""The files beside a segment, and whole partitions with something wrong in one of their files."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import crc32c
from tests.fuzz import inputs, seeds
from tests.fuzz.anatomy import dissect
from tests.made.edits import edited
from tests.made.recorded import VECTORS
from tests.numbered import MEMORY
from tests.query.logs import PLACES, log_of

from kafka_segments import Damage, Record, open_segment
from kafka_segments.core import formats
from kafka_segments.core.segment.beside import index_files
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.open_partition import open_partition
from kafka_segments.query.committed import read_committed
from kafka_segments_generated import columns

PARTITIONS = ("transactions-0", "transactions-1", "open-transaction-0")
LARGEST = 20_000


def readers() -> dict[str, Callable[[Any], Any]]:
    """The public readers of `indexes`, by the schema that each goes by."""
    stems = sorted(seeds.vectors())
    found = {}
    for name in index_files.__all__:
        if name.startswith("read_"):
            words = name.removeprefix("read_").rstrip("s").split("_")
            stem = next(stem for stem in stems if all(word in stem for word in words))
            found[stem] = getattr(index_files, name)
    return found


def resealed(data: bytes) -> bytes:
    """A snapshot of producers with the right checksum, if it can be read so far."""
    try:
        snapshot = formats.read_producer_snapshot(data)
    except KafkaFormatError:
        return data
    at = data.find(snapshot.crc.to_bytes(4, "big"))
    value = crc32c.crc32c(snapshot.crc_region).to_bytes(4, "big")
    return data[:at] + value + data[at + 4 :]


@cache
def len_entry(stem: str) -> int:
    """Bytes that all entries of a file have; 1 if that differs."""
    if find_spec(f"{columns.__name__}.{stem}") is None:
        return 1
    return int(getattr(import_module(f"{columns.__name__}.{stem}"), "LEN_ENTRY", 1))


@cache
def partitions() -> tuple[dict[str, bytes], ...]:
    """Recorded partitions with transactions: the names of their files, and the bytes."""
    folders = [VECTORS / "recorded" / "kafka-4.3" / "clean" / name for name in PARTITIONS]
    found = [{file.name: file.read_bytes() for file in sorted(folder.iterdir())} for folder in folders]
    return tuple({name: data for name, data in files.items() if len(data) < LARGEST} for files in found)


@cache
def _entries(data: bytes) -> tuple[bytes, ...]:
    with open_segment(data) as segment:
        entries = segment.iter_entries(on_damage="skip")
        return tuple(data[each.position : each.end_position] for each in entries)


def _damaged(dice: Random, name: str, data: bytes) -> bytes:
    """A file of a partition with something wrong in it; entries often under a right checksum."""
    if not name.endswith(".log") or not data or dice.randrange(4) == 0:
        changed = edited(dice, data)
        return resealed(changed) if name.endswith(".snapshot") and dice.randrange(2) else changed
    entries = list(_entries(data))
    if not entries:
        return data
    at = dice.randrange(len(entries))
    anatomy = dissect(entries[at])
    kind = dice.randrange(4)
    if kind == 0:
        del entries[at]
    elif kind == 1:
        entries[at:at] = [entries[dice.randrange(len(entries))]]
    elif anatomy is not None:
        entries[at] = inputs.sealed(dice, anatomy, edited(dice, anatomy.data, anatomy.fields))[0]
    return b"".join(entries)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None)) / "topic-0"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    return folder


def partition(dice: Random) -> tuple[str, None]:
    """`open_partition`: what is committed is part of all, by rows and by columns."""
    files = dict(partitions()[dice.randrange(len(partitions()))])
    names = sorted(name for name in files if name.endswith((".log", ".txnindex", ".snapshot")))
    for _ in range(1 + dice.randrange(2)):
        name = names[dice.randrange(len(names))]
        files[name] = _damaged(dice, name, files[name])
    folder = _folder()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    way: Any = dice.choice(("records", "indexes"))
    with open_partition(folder, outcomes_from=way) as opened:
        seen = [event for event in opened.iter_events(on_damage="skip") if isinstance(event, Record)]
        committed, damage = [], []
        for event in opened.iter_events(isolation="read_committed", on_damage="skip"):
            if isinstance(event, Record):
                committed.append(event)
            elif isinstance(event, Damage):
                damage.append(event)
        table = opened.read_table(isolation="read_committed", on_damage="skip")
        assert table.equals(opened.read_table(isolation="read_committed", on_damage="skip", threads=3))
        opened.check_indexes()
    logs = sorted(folder.glob("*.log"))
    if len(logs) > 2 and dice.randrange(2):
        logs[dice.randrange(1, len(logs) - 1)].unlink()
    judged = read_committed(log_of(folder), PLACES, 1 << 30, [])
    assert 0 <= judged.last_stable_offset <= judged.end_offset
    everything = {(record.offset, record.position) for record in seen}
    assert all((record.offset, record.position) in everything for record in committed)
    data = [record.offset for record in committed if record.control is None]
    assert table["offset"].to_pylist() == data
    return type(damage[0].error).__name__ if damage else "sound", None
