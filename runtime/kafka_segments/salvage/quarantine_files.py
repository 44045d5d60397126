"""The quarantine: of each source file the bytes that are not part of the result, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable

from kafka_segments.core.io.outputs import OutputFile, make_directories
from kafka_segments.salvage.ledger import Status
from kafka_segments.salvage.manifest import quarantine_name
from kafka_segments.salvage.partition_plan import PartitionPlan

__all__ = ["write_quarantine"]


def write_quarantine(
    plan: PartitionPlan, progress: Callable[[int], None], directory: str, named: str
) -> None:
    """Write the quarantine of a partition; the manifest says which bytes are where.

    Args:
        plan: what became of its files.
        progress: is called with the number of bytes written.
        directory: of the partition in the quarantine; it is made if it is needed.
        named: its path when it is published, for errors.

    Raises:
        OutputError: the disk is full, or fails.
        ReadError: what could be read before cannot be read any more.
    """
    for file in plan.files:
        output: OutputFile | None = None
        try:
            for fate in plan.ledger.fates(file.number):
                if fate.status != Status.QUARANTINED:
                    continue
                if output is None:
                    make_directories(directory)
                    name = quarantine_name(file)
                    output = OutputFile(os.path.join(directory, name), os.path.join(named, name))
                source = plan.files.source(file.number)
                for done in output.copy_from(source, fate.position, fate.end_position - fate.position):
                    progress(done)
        finally:
            if output is not None:
                output.close()
