"""Batches of found records as segments, copied byte for byte. Needs the extra `construct`.

Strategy: all partitions are written into a hidden directory beside the destination, which gets its name when
everything is on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.formats.file_names import directory_of, parse_directory_name, real_path
from kafka_segments.core.io import outputs
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.write.writer import SegmentWriter, Written, open_partition_writer

__all__ = ["FoundSegments"]


class FoundSegments:
    """Writer of batches into a directory, with a directory for each partition.

    Args:
        directory: new or empty, and not in a source.

    Attributes:
        written: what was written of each partition that is complete, with its paths below the directory.

    Raises:
        OptionError: it is neither new nor empty.
        OutputError: it cannot be made.
    """

    def __init__(self, directory: str) -> None:
        self._directory, self._real = directory, outputs.check_replaceable(directory)
        self._hidden = outputs.hidden_sibling(self._real)
        outputs.make_directory(self._hidden, directory)
        self.written: list[Written] = []
        self._sources: dict[str, str] = {}
        self._complete: set[str] = set()
        self._writer: SegmentWriter | None = None
        self._name, self._last = "", ("", -1)

    def add(self, batch: Batch, read: Callable[[Batch], bytes]) -> None:
        """Copy a batch; once, however often it is added in a row.

        Args:
            batch: of a file; those of a partition come one after the other.
            read: returns its bytes.

        Raises:
            OptionError: another directory or file gave batches of the same partition.
            EncodeError: offsets that are not above those before.
            OutputError: a failed write.
        """
        place = batch.path, batch.position
        if place == self._last:
            return
        self._last = place
        source, name = _partition_of(batch.path)
        known = self._sources.setdefault(name, source)
        if known != source or name in self._complete:
            detail = f"{known} and {source} both have batches of {name}: give one of them"
            raise OptionError(detail, path=batch.path)
        data = read(batch)
        with self._named():
            if name != self._name or self._writer is None:
                self._close_partition()
                self._writer = open_partition_writer(os.path.join(self._hidden, name))
                self._name = name
            self._writer.append(data)

    def finish(self) -> None:
        """Make the directory appear.

        Raises:
            OutputError: a failed write, or the directory exists meanwhile.
        """
        with self._named():
            self._close_partition()
        outputs.publish_directory(self._hidden, self._real, self._directory)

    def discard(self) -> None:
        """Remove what was written, unless it is finished."""
        if self._writer is not None:
            self._writer.abort()
            self._writer = None
        outputs.discard_directory(self._hidden)

    def _close_partition(self) -> None:
        if self._writer is not None:
            written = self._writer.close()
            self.written.append(replace(written, paths=tuple(map(self._path_of, written.paths))))
            self._complete.add(self._name)
            self._writer = None

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the destination in errors."""
        try:
            yield
        except KafkaFormatError as error:
            if error.path is None:
                raise
            raise error.with_context(path=self._path_of(error.path)) from error.__cause__

    def _path_of(self, path: str) -> str:
        """Return the path that a file of the hidden directory gets."""
        inside = path.removeprefix(self._hidden)
        return path if inside == path else os.path.join(self._directory, inside.lstrip("/"))


def _partition_of(path: str) -> tuple[str, str]:
    """Return where a file's partition is, and its directory's name; a file elsewhere is one by itself."""
    directory = directory_of(path)
    name = real_path(directory).rstrip("/").rpartition("/")[2]
    if parse_directory_name(name) is not None:
        return directory, name
    return path, "stdin" if path == "-" else path.rpartition("/")[2].removesuffix(".log") or "found"
