"""Opened files at either isolation level, and the fastest decoder of records, for verbs that print them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Protocol

from kafka_segments.cli import console
from kafka_segments.cli.sources import GivenFile
from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.formats.file_names import is_address
from kafka_segments.core.formats.on_damage import OnDamage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.batch_records import Rows
from kafka_segments.core.segment.segment import Segment, fast_rows, open_segment
from kafka_segments.errors import MissingExtraError
from kafka_segments.log.isolation_view import IsolatedSegment
from kafka_segments.log.open_partition import open_partition_of
from kafka_segments.log.opening import open_segment_of
from kafka_segments.log.partition import Partition

__all__ = ["CommittedFiles", "Event", "Open", "Readable", "fast_rows_if_there", "file_opener"]

Event = Batch | Record | Damage | Padding


class Readable(Protocol):
    """A segment, or an isolated view of one."""

    @property
    def path(self) -> str: ...

    def iter_events(
        self,
        *,
        on_damage: OnDamage = "raise",
        wanted: Callable[[Batch], bool] | None = None,
        rows: Rows | None = None,
    ) -> Iterator[Event]: ...


Open = Callable[[GivenFile], AbstractContextManager[Readable]]


class CommittedFiles:
    """Opener of files at `read_committed`; consecutive files of a partition share its transactions."""

    def __init__(self, places: Places, options: dict[str, bool]) -> None:
        self._places, self._options = places, options
        self._partition: Partition | None = None

    def __enter__(self) -> CommittedFiles:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._partition is not None:
            self._partition.close()

    def open(self, file: GivenFile) -> AbstractContextManager[IsolatedSegment]:
        """Open a file; those of a partition's directory are refused in any case if they are not files."""
        path = file.path
        if self._partition is None or not self._partition.holds(path):
            if self._partition is not None:
                self._partition.close()
            self._partition = open_partition_of(self._places, path, **self._options)
            if not self._partition.is_whole:
                console.say(
                    f"{path}: not a live segment in a partition's directory, so transactions are judged by "
                    "this file alone; nothing is printed of one that ends elsewhere"
                )
        return self._partition.open_isolated(path)


@contextmanager
def file_opener(
    places: Places, isolation: str, options: dict[str, bool], *, is_experimental: bool = False
) -> Iterator[Open]:
    """Yield what opens files at an isolation level."""
    if isolation == "read_committed":
        with CommittedFiles(places, options) as committed:
            yield committed.open
    else:
        yield partial(_open_given, places, options, is_experimental)


def _open_given(places: Places, options: dict[str, bool], is_experimental: bool, file: GivenFile) -> Segment:
    """Open a file; what was found in a directory and is no regular file is refused."""
    if file.segment is not None and not is_experimental:
        return open_segment_of(places, file.segment, **options)
    source = places.open(file.path) if is_address(file.path) else file.path
    return open_segment(source, closes_source=True, **options, experimental_magic3=is_experimental)


def fast_rows_if_there() -> Rows | None:
    """Return the compiled decoder of records; say on standard error what is missing if it is unavailable."""
    try:
        return fast_rows()
    except MissingExtraError as error:
        console.say(f"records are decoded one by one, which is slow: {error.detail}")
        return None
