"""Log directories that grow, roll, and are cut back, with the checkpoints that a broker keeps beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.made import build

ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"


def segment_path(directory: Path, base_offset: int) -> Path:
    """The file of a segment."""
    return directory / f"{base_offset:020}.log"


def append(directory: Path, *entries: bytes, base_offset: int | None = None) -> Path:
    """Write entries to the end of the newest segment, or of a new one; returns the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    segments = sorted(directory.glob("*.log"))
    path = segments[-1] if base_offset is None and segments else segment_path(directory, base_offset or 0)
    with path.open("ab") as file:
        file.write(b"".join(entries))
    return directory


def data(base_offset: int, *values: bytes, **fields: Any) -> bytes:
    """A batch of one record a value, with consecutive offsets."""
    records = [build.record(delta, b"k", value) for delta, value in enumerate(values)]
    return build.batch(base_offset, records, **fields)


def run_of(first: int, end: int, value: bytes = b"v", **fields: Any) -> list[bytes]:
    """Batches of three records each with the offsets `[first, end)`."""
    return [
        data(at, *(value + b"%d" % offset for offset in range(at, min(at + 3, end))), **fields)
        for at in range(first, end, 3)
    ]


def transactional(base_offset: int, producer_id: int, *values: bytes) -> bytes:
    """A batch of an open transaction."""
    return data(base_offset, *values, attributes=0x10, producer_id=producer_id, producer_epoch=0)


def marker(offset: int, producer_id: int, kind: bytes) -> bytes:
    """A batch that ends a producer's transaction: `ABORT` or `COMMIT`."""
    value = b"\0\0" + b"\0\0\0\0"
    records = [build.record(0, kind, value)]
    return build.batch(offset, records, attributes=0x30, producer_id=producer_id, producer_epoch=0)


def leader_epochs(directory: Path, *pairs: tuple[int, int]) -> None:
    """Write the lineage of a partition: epochs with their first offsets."""
    lines = "".join(f"{epoch} {start}\n" for epoch, start in pairs)
    (directory / "leader-epoch-checkpoint").write_text(f"0\n{len(pairs)}\n{lines}")


def topic_id(directory: Path, text: str) -> None:
    """Write the id of a partition's topic."""
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {text}\n")


def log_start(logs: Path, topic: str, partition: int, offset: int) -> None:
    """Write the log start offset of one partition."""
    (logs / "log-start-offset-checkpoint").write_text(f"0\n1\n{topic} {partition} {offset}\n")
