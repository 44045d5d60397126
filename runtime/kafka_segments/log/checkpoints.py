"""Checkpoint files at the top of a log directory, and whether a broker has the directory open.

Strategy: each log directory's files are read once. Checkpoints lag: the high watermark by
`replica.high.watermark.checkpoint.interval.ms` (5 s), the log start offset by a minute. A file that cannot be
read is reported and skipped, as a broker does (LogManager.loadLogs).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import closing

from kafka_segments.core import formats
from kafka_segments.core.formats.file_names import (
    LEFT_ALONE,
    above,
    is_address,
    parse_directory_name,
    real_path,
)
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.local_files import is_locked
from kafka_segments.core.io.loggers import get_logger
from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.log.partition_dirs import Directory

__all__ = ["CLEAN_SHUTDOWN", "ROOT_FILES", "Checkpoints", "gone_partitions"]

_log = get_logger(__name__)

LOG_START = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
RECOVERY_POINT = "recovery-point-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"
CHECKPOINTS = (LOG_START, HIGH_WATERMARK, RECOVERY_POINT, CLEANED)
META_PROPERTIES = "meta.properties"
ROOT_FILES = (LOG_START, RECOVERY_POINT, META_PROPERTIES)
"""Files that identify the top of a log directory."""
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_LOCK = ".lock"

Offsets = Mapping[tuple[str, int], int]


def gone_partitions(names: Collection[str], noted: Mapping[str, Offsets]) -> list[str]:
    """Return the partitions that a broker noted when it stopped, and whose directories are gone since then.

    Args:
        names: of what is in a log directory.
        noted: its checkpoints, by name.
    """
    if CLEAN_SHUTDOWN not in names:
        return []
    both = noted.get(HIGH_WATERMARK, {}).keys() & noted.get(RECOVERY_POINT, {}).keys()
    # Checkpoints have the partition of a -future directory, too.
    there = {one.rpartition(".")[0] for one in names if one.endswith(LEFT_ALONE)} | {*names}
    listed = sorted(f"{topic}-{partition}" for topic, partition in both)
    return [one for one in listed if one not in there and parse_directory_name(one) is not None]


class Checkpoints:
    """The checkpoints of log directories, each read once.

    Args:
        places: where they are.
        logs_unused: log those that cannot be used; `unused` returns them, too.
    """

    def __init__(self, places: Places, *, logs_unused: bool = True) -> None:
        self._places, self.logs_unused = places, logs_unused
        self._errors: dict[str, KafkaFormatError] = {}
        self._offsets: dict[str, Offsets | None] = {}
        self._roots: dict[str, list[str]] = {}  # by directory: resolving links is slow
        self._is_live: dict[str, bool] = {}
        self._was_shut_down: dict[str, bool] = {}
        self._lock = threading.Lock()

    def log_start_offset(self, directory: Directory) -> int | None:
        """Return the offset below which records are deleted; None if there is no checkpoint of it."""
        return self._noted(directory, LOG_START)

    def high_watermark(self, directory: Directory) -> int | None:
        """Return the last checkpoint of the high watermark; None if there is none."""
        return self._noted(directory, HIGH_WATERMARK)

    def recovery_point(self, directory: Directory) -> int | None:
        """Return the offset below which everything was flushed to disk; None if there is no checkpoint."""
        return self._noted(directory, RECOVERY_POINT)

    def cleaned_up_to(self, directory: Directory) -> int | None:
        """Return the offset up to which the log cleaner has cleaned; None if there is no checkpoint of it.

        A follower may have fetched cleaned records, for which there is no checkpoint.
        """
        return self._noted(directory, CLEANED)

    def never_cleaned(self, directory: Directory) -> bool:
        """Return whether there is a checkpoint of the cleaner that does not name the partition."""
        offsets = self._offsets_in(directory, CLEANED)
        return offsets is not None and (directory.name.topic, directory.name.partition) not in offsets

    def was_shut_down(self, directory: Directory) -> bool:
        """Return whether the broker ended in order: then recovery points are the ends of the logs."""
        for root in self._roots_of(directory):
            if root not in self._was_shut_down:
                mark = _join(root, CLEAN_SHUTDOWN)
                self._was_shut_down[root] = not is_address(root) and self._places.entry(mark) is not None
        return any(self._was_shut_down[root] for root in self._roots_of(directory))

    def is_live(self, directory: Directory) -> bool:
        """Return whether a broker has the log directory open at this moment; see `is_locked`."""
        for root in self._roots_of(directory):
            if root not in self._is_live:
                self._is_live[root] = not is_address(root) and is_locked(_join(root, _LOCK))
            if self._is_live[root]:
                return True
        return False

    def gone_from(self, root: str) -> list[str]:
        """Return the paths of partitions that are gone from a log directory; see `gone_partitions`."""
        names = [entry.name for entry in self._places.entries(root)]
        noted = {name: self._read(_join(root, name)) or {} for name in (HIGH_WATERMARK, RECOVERY_POINT)}
        return [_join(root, one) for one in gone_partitions(names, noted)]

    def unused(self, directory: Directory) -> list[KafkaFormatError]:
        """Return the errors of checkpoints that could not be read."""
        roots = self._roots_of(directory)
        return [error for path, error in self._errors.items() if above(path) in roots]

    def _noted(self, directory: Directory, file: str) -> int | None:
        return (self._offsets_in(directory, file) or {}).get((directory.name.topic, directory.name.partition))

    def _offsets_in(self, directory: Directory, file: str) -> Offsets | None:
        """Return a checkpoint beside a partition, of two (see `_roots_of`) the one that names it."""
        found: Offsets | None = None
        for root in self._roots_of(directory):
            is_listed = directory.beside is not None and root == above(directory.path)
            if is_listed and directory.beside is not None and file not in directory.beside:
                continue
            offsets = self._read(_join(root, file))
            if offsets is not None and (directory.name.topic, directory.name.partition) in offsets:
                return offsets
            found = offsets if found is None else found
        return found

    def _roots_of(self, directory: Directory) -> list[str]:
        """Return the parent directory, as given and with links resolved."""
        path = directory.path or "."
        if path not in self._roots:
            self._roots[path] = list(dict.fromkeys((above(path), above(real_path(path)))))
        return self._roots[path]

    def _read(self, path: str) -> Offsets | None:
        with self._lock:  # threads share the parent of several directories
            if path not in self._offsets:
                self._offsets[path] = self._read_anew(path)
            return self._offsets[path]

    def _read_anew(self, path: str) -> Offsets | None:
        try:
            if self._places.entry(path) is None:
                return None
            with closing(self._places.open(path)) as source:
                size = min(source.size, formats.MAX_LEN_OFFSET_CHECKPOINT + 1)  # one more, to be rejected
                return formats.read_offset_checkpoint(source.read(0, size))
        except KafkaFormatError as found:
            error = found.with_context(path=path)
            raise_unless_file_at_fault(error)
            if self.logs_unused:
                _log.warning("%s; it was not used%s", error, _CONSEQUENCES.get(_name(path), ""))
            self._errors[path] = error
            return None


_CONSEQUENCES = {LOG_START: ": deleted records may be read"}


def _join(root: str, name: str) -> str:
    return f"{root.rstrip('/')}/{name}"


def _name(path: str) -> str:
    return path.rpartition("/")[2]
