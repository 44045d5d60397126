"""Quarantine: copies of the bytes that could not be decoded, in files of their own.

What a disk does not give back is filled with zeros, so that positions stay.
"""

from __future__ import annotations

import os
import uuid
from contextlib import closing

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.errors import KafkaFormatError, OutputError, raise_unless_file_at_fault
from kafka_segments.ingest.runs.run_log import STATE_DIRECTORY
from kafka_segments.ingest.runs.run_state import DamagedBytes
from kafka_segments.ingest.runs.table_files import TableFiles, TableOutput
from kafka_segments.log.findings import Finding, Kind
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored

__all__ = ["keep_bytes"]

_STEP = 1 << 20


_TOPIC_BYTES = 150
"""Of a topic's name in a file's, which has 255 with the numbers."""


def keep_bytes(
    finding: Finding, segment: StoredSegment, root: str, places: Places, *, files: TableFiles
) -> DamagedBytes | None:
    """Copy the bytes of damage to a file.

    Args:
        finding: of damage.
        segment: that it is in.
        root: where the path of the file begins.
        places: filesystems by path.
        files: where the root is.

    Returns:
        The file; None for damage without bytes, or of another segment.

    Raises:
        OutputError: it cannot be written.
        StoreError: a store refused or failed.
    """
    damage = finding.damage
    if finding.kind is not Kind.DAMAGE or damage is None or damage.end_position <= damage.position:
        return None
    if damage.path != segment.file.path:
        return None
    path = f"{STATE_DIRECTORY}/quarantine/{_name_of(finding, segment)}"
    try:
        source = open_stored(places, segment)
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return None
    with closing(source):
        span = damage.position, min(damage.end_position, source.size)
        _copy(source, span, files.output(f"{root}/{path}"))
    return DamagedBytes(
        path,
        finding.topic,
        finding.partition,
        damage.path,
        damage.position,
        damage.end_position,
        f"{type(damage.error).__name__}: {damage.error.detail}",
        damage.first_lost_offset,
        damage.last_lost_offset,
    )


def _name_of(finding: Finding, segment: StoredSegment) -> str:
    """A new name; it has the beginning of the topic's."""
    topic = os.fsdecode(os.fsencode(finding.topic)[:_TOPIC_BYTES])
    position, random = finding.position or 0, uuid.uuid4().hex
    return f"{topic}-{finding.partition}-{segment.base_offset:020}-{position}-{random}.bin"


def _copy(source: Source, span: tuple[int, int], output: TableOutput) -> None:
    try:
        for position in range(*span, _STEP):
            size = min(_STEP, span[1] - position)
            try:
                output.write(bytes(source.read(position, size)))
            except OutputError:
                raise
            except KafkaFormatError as error:
                raise_unless_file_at_fault(error)
                output.write(bytes(size))
        output.finish()
    except BaseException:
        output.discard()
        raise
