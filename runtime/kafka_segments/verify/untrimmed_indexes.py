"""Check of time indexes beside the mark of a clean shutdown: none may end in zeros.

Strategy: a broker that runs has its newest index files at full size, filled up with zeros, and truncates
them when it stops. After a clean shutdown it trusts what it finds. Zeros that came there otherwise, as by a
copy of a running broker's files, are its last entry then: it takes 0 for the segment's greatest timestamp,
and deletes the segment for its age (LogSegment.largestRecordTimestamp, UnifiedLog).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.formats.file_names import above
from kafka_segments.io.filesystems import Places
from kafka_segments.log.log_files import LogFile
from kafka_segments.segment.index_files import MAX_LEN_INDEX, read_time_index
from kafka_segments.verify.sink import CheckSink

__all__ = ["check_untrimmed"]

_CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def check_untrimmed(places: Places, directory: str, files: Iterable[LogFile], sink: CheckSink) -> None:
    """Check the time indexes of a partition, if its log directory was shut down cleanly.

    Args:
        places: opens files.
        directory: of the partition.
        files: its segments.
        sink: collects the findings.

    Raises:
        ReadError: the log directory cannot be read.
    """
    root = above(directory).rstrip("/")
    if not sink.wants("time-index") or places.entry(f"{root}/{_CLEAN_SHUTDOWN}") is None:
        return
    for file in files:
        num_padding = _num_padding(file)
        if num_padding:
            detail = f"{num_padding} entries of zeros at the end, after a clean shutdown: a broker takes 0 "
            detail += "for the greatest timestamp, and retention deletes the segment"
            sink.add("time-index", detail, path=file.path_beside("timeindex"))


def _num_padding(file: LogFile) -> int:
    """Return how many entries of zeros end a time index; 0 for one that cannot be read."""
    beside = file.segment.beside.get("timeindex")
    if beside is None or beside.size > MAX_LEN_INDEX:
        return 0
    try:
        source = file.open_beside("timeindex")
        return 0 if source is None else read_time_index(source, file.segment.base_offset).num_padding
    except KafkaFormatError as error:
        raise_unless_file_at_fault(error)
        return 0  # the check of the segment reports it
