"""The files of a partition beside its segments: leader epochs, and the topic's id."""

from __future__ import annotations

import os
from contextlib import closing

from kafka_segments.core.formats.building import build_leader_epochs, build_partition_metadata
from kafka_segments.core.io.outputs import OutputFile

__all__ = ["write_beside", "write_partition_files"]

_LEADER_EPOCHS = "leader-epoch-checkpoint"
_METADATA = "partition.metadata"


def write_partition_files(
    directory: str, *, leader_epoch: int, start_offset: int, topic_id: str | None
) -> None:
    """Write `leader-epoch-checkpoint` and `partition.metadata` into a directory.

    Args:
        directory: of the partition.
        leader_epoch: of all batches.
        start_offset: of the first batch.
        topic_id: 22 characters of base64url; None for no `partition.metadata`, as before Kafka 2.8.

    Raises:
        OutputError: a failed write.
        MissingExtraError: the extra `construct` is not installed.
    """
    contents = {_LEADER_EPOCHS: build_leader_epochs([(leader_epoch, start_offset)])}
    if topic_id is not None:
        contents[_METADATA] = build_partition_metadata(topic_id)
    for name, content in contents.items():
        write_beside(directory, directory, name, content)


def write_beside(directory: str, named: str, name: str, content: bytes, *, syncs: bool = True) -> None:
    """Write a file beside others, and fsync it; `named` is the directory for errors.

    Raises:
        OutputError: the disk is full, or fails.
    """
    with closing(OutputFile(os.path.join(directory, name), os.path.join(named, name))) as file:
        file.write(content)
        if syncs:
            file.finish()
