"""Partitions for the tests of salvage: small, and damaged by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.made.partitions import RECORDED
from tests.made.sound_batches import Found, sound_batches

import kafka_segments as ks

T0 = 1_700_000_000_000
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def partition(folder: Path, *batches: tuple[int, str], epoch: int = 0, epochs: str | None = None) -> Path:
    """A partition with batches, each of so many records with this text, from offset 0 on.

    Args:
        folder: a broker's log directory; the partition is `t-0` there.
        batches: number of records and text of each.
        epoch: leader epoch of all batches.
        epochs: lines of `leader-epoch-checkpoint`; None is one epoch, empty for no such file.
    """
    directory = folder / "t-0"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with ks.open_partition_writer(directory, partition_leader_epoch=epoch) as writer:
        for count, text in batches:
            writer.write([{"timestamp": T0, "value": text.encode()} for _ in range(count)])
    lines = f"{epoch} 0\n" if epochs is None else epochs
    if lines:
        (directory / "leader-epoch-checkpoint").write_text(f"0\n{lines.count(chr(10))}\n{lines}")
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    return directory


def copy_of(name: str, folder: Path) -> Path:
    """A copy of a recorded partition of Kafka 4.3, such as `clean/multi-0`."""
    target = folder / Path(name).name
    shutil.copytree(RECORDED / name, target, copy_function=shutil.copyfile)
    return target


def batches_of(directory: Path, base: int = 0) -> list[Found]:
    """The sound batches of a segment."""
    return sound_batches(segment(directory, base).read_bytes())


def segment(directory: Path, base: int = 0) -> Path:
    """A segment's file."""
    return directory / f"{base:020d}.log"


def edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the bytes of a file."""
    path.write_bytes(change(path.read_bytes()))


def hurt(directory: Path, number: int, base: int = 0) -> Found:
    """Flip a bit in the records of a batch; return the batch as it was."""
    batch = batches_of(directory, base)[number]

    def flip(data: bytes) -> bytes:
        at = batch.end - 3
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    edit(segment(directory, base), flip)
    return batch


def set_epoch(directory: Path, number: int, epoch: int) -> None:
    """Change the leader epoch of a batch, which no checksum covers."""
    at = batches_of(directory)[number].position + 12
    edit(segment(directory), lambda data: data[:at] + epoch.to_bytes(4, "big") + data[at + 4 :])
