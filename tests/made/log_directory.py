"""A log directory with one partition, as it is to be written for a case."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.made.partitions import Sound
from tests.made.sound_batches import sound_batches

HIGH_WATERMARK = "replication-offset-checkpoint"
RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
CLEANER = "cleaner-offset-checkpoint"
BESIDE = (".index", ".timeindex", ".txnindex", ".snapshot")

SPECIALS: Mapping[str, Callable[[Path], None]] = {
    "FIFO": os.mkfifo,
    "folder": Path.mkdir,
    "dead link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
}
"""What can stand in a segment's place and is no file."""

_PROPERTIES = "version=1\nnode.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAg\n"


@dataclass
class Directory:
    """What a case has on its disk.

    Attributes:
        sound: the partition before anything was done to it.
        files: the partition's files by name, as they are now.
        specials: what stands in a segment's place, by its name, a key of `SPECIALS`; `files` has no bytes.
        noted: what the checkpoints of the log directory say of the partition, by the checkpoint's name.
        is_live: a broker holds the directory.
        is_clean: the broker left `.kafka_cleanshutdown`.
    """

    sound: Sound
    files: dict[str, bytes]
    noted: dict[str, int] = field(default_factory=dict)
    specials: dict[str, str] = field(default_factory=dict)
    is_live: bool = False
    is_clean: bool = False

    @property
    def is_for_dump(self) -> bool:
        """Whether `dump` takes all for files: pipes and devices it reads as they come, a folder as
        a log directory.
        """
        return all("link" in one and "/dev" not in one for one in self.specials.values())

    @property
    def logs(self) -> list[str]:
        """The names of the segments, by offset."""
        return sorted(name for name in self.files if name.endswith(".log"))

    def write(self, root: Path, lock: Path | None) -> Path:
        """Write it below a new folder; returns the partition's directory. A live one needs a lock."""
        shutil.rmtree(root, ignore_errors=True)
        partition = root / self.sound.name
        partition.mkdir(parents=True)
        for name, data in self.files.items():
            if name in self.specials:
                SPECIALS[self.specials[name]](partition / name)
            else:
                (partition / name).write_bytes(data)
        topic, _, number = self.sound.name.rpartition("-")
        for name, offset in self.noted.items():
            (root / name).write_text(f"0\n1\n{topic} {number} {offset}\n")
        (root / "meta.properties").write_text(_PROPERTIES)
        if self.is_clean:
            (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
        if self.is_live and lock is not None:
            os.link(lock, root / ".lock")
        return partition


def base_of(name: str) -> int:
    """The base offset that a file's name says."""
    return int(name.split(".", maxsplit=1)[0])


def end_of(sound: Sound) -> int:
    """The offset behind a sound partition's last."""
    ends = [batch.last_offset + 1 for name in sound.logs for batch in sound_batches(sound.files[name])]
    return max([base_of(sound.logs[-1]), *ends])
