"""Log directories of a report: whose they are, how much is on disk, when it was written."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from kafka_segments.core.formats import read_meta_properties
from kafka_segments.core.formats.file_names import above, directory_of
from kafka_segments.errors import DecodeError, ReadError
from kafka_segments.log.checkpoints import META_PROPERTIES
from kafka_segments.log.model import PartitionLog, StoredFile
from kafka_segments.log.opening import read_file
from kafka_segments.report.words import bytes_words, plural, time_words

if TYPE_CHECKING:
    from kafka_segments.core.io.filesystems import Places

__all__ = ["disk_words", "files_of_log", "log_dirs_of"]


def log_dirs_of(places: Places, logs: Iterable[PartitionLog]) -> list[tuple[str, str, str]]:
    """Return the directories that logs are in: path, whose it is by `meta.properties`, what is on disk."""
    found: dict[str, tuple[set[str], dict[str, StoredFile]]] = {}
    for log in logs:
        for file in files_of_log(log):
            folder = directory_of(file.path)
            folders, files = found.setdefault(above(folder), (set(), {}))
            folders.add(folder)
            files[file.path] = file
    return [
        (path, _owner(places, path), f"{plural(len(folders), 'partition')}, {disk_words(files.values())}")
        for path, (folders, files) in sorted(found.items())
    ]


def files_of_log(log: PartitionLog) -> list[StoredFile]:
    """Return the files of all copies of a log: segments, and what is beside them."""
    segments = [segment for piece in log.pieces for segment in (piece.segment, *piece.others)]
    files = (file for one in segments for file in (one.file, *one.beside.values()))
    return list({file.path: file for file in files}.values())


def disk_words(files: Collection[StoredFile]) -> str:
    """Return how many files there are, their bytes, and when they were last written."""
    times = [one.modified_ns // 1_000_000_000 * 1000 for one in files if one.modified_ns]
    size = f"{bytes_words(sum(one.size for one in files))} in {plural(len(files), 'file')}"
    if not times:
        return size
    first, last = min(times), max(times)
    return f"{size}, last written {f'from {time_words(first)} to ' * (first < last)}{time_words(last)} UTC"


def _owner(places: Places, path: str) -> str:
    try:
        entry = places.entry(f"{path.rstrip('/')}/{META_PROPERTIES}")
        if entry is None or entry.is_directory:
            return f"no {META_PROPERTIES}: the broker is not known"
        meta = read_meta_properties(read_file(places, entry.path))
    except (DecodeError, ReadError) as error:
        return f"{META_PROPERTIES} cannot be read: {error.detail}"
    number = "node.id" if meta.version else "broker.id"
    pairs = ((number, meta.node_id), ("cluster.id", meta.cluster_id), ("directory.id", meta.directory_id))
    return ", ".join(f"{name} {'not set' if value is None else value}" for name, value in pairs)
