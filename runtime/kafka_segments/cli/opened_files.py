"""Files that a verb reads: opened at either isolation level, what is wrong with them, and the exit status."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from kafka_segments.cli import console
from kafka_segments.cli.input_check import check_is_log, refuse_other_file
from kafka_segments.cli.sources import GivenFile, files_of
from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.formats.file_names import directory_of, is_address
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.records.batch_records import Rows
from kafka_segments.core.segment.scan.misplaced_batches import MisplacedBatches
from kafka_segments.core.segment.segment import Segment, fast_rows, open_segment
from kafka_segments.errors import KafkaFormatError, MissingCodecError, MissingExtraError, OutputError
from kafka_segments.log.isolation_view import IsolatedSegment
from kafka_segments.log.model import PartitionCopy, PartitionLog
from kafka_segments.log.open_partition import gaps_between, log_in, open_partition_of
from kafka_segments.log.partition import Partition
from kafka_segments.log.replicas import resolve
from kafka_segments.log.segment_extents import open_examined

__all__ = ["Event", "GivenFiles", "Readable", "fast_rows_if_there"]

Event = Batch | Record | Damage | Padding


Readable = Segment | IsolatedSegment
"""A segment, or what a consumer of committed records receives of one."""


class GivenFiles:
    """Files that a verb reads one after the other.

    Attributes:
        places: opens them.
        found: in their order; or what is wrong with a path that was given.
        status: the greatest exit status of what was read so far.

    Args:
        places: opens them.
        given: paths, addresses and patterns.
        isolation: `read_committed` or `read_uncommitted`.
        is_experimental: of batches of magic 3, too.
        options: see `open_segment_of`.
    """

    def __init__(
        self,
        places: Places,
        given: Sequence[str],
        isolation: str,
        *,
        is_experimental: bool = False,
        **options: bool,
    ) -> None:
        self.places = places
        self._isolation, self._is_experimental, self._options = isolation, is_experimental, options
        self._copies: list[PartitionCopy] = []
        self.found = list(files_of(places, given, self._copies))
        self._logs: dict[str, PartitionLog] = {}
        self._partition: Partition | None = None
        self.status = console.CLEAN
        self._said: set[str] = set()
        self._seen: dict[str, MisplacedBatches] = {}

    def close(self) -> None:
        """Close the partition that is open for its transactions."""
        if self._partition is not None:
            self._partition.close()

    def there(self) -> list[GivenFile]:
        """Return those that were found."""
        return [one for one in self.found if isinstance(one, GivenFile)]

    def failed(self) -> list[KafkaFormatError]:
        """Return what is wrong with paths."""
        return [one for one in self.found if isinstance(one, KafkaFormatError)]

    def log_in(self, directory: str) -> PartitionLog:
        """Return the log of the segments in a directory, which is listed once; errors as for `log_in`."""
        if directory not in self._logs:
            own = [copy for copy in self._copies if directory in map(directory_of, _paths_of(copy))]
            logs = resolve(self.places, own)
            # Who has listed the directory has named what is skipped there.
            self._logs[directory] = logs[0] if len(logs) == 1 else log_in(self.places, directory, [])
        return self._logs[directory]

    def note(self, status: int = console.FINDINGS) -> None:
        """Note a status."""
        self.status = max(self.status, status)

    def damaged(self, damage: Damage) -> None:
        """Note the status of damage; what a codec is missing for is not damaged."""
        is_missing = isinstance(damage.error, MissingCodecError)
        self.note(console.NOT_OPENED if is_missing else console.FINDINGS)

    def refuse(self, error: KafkaFormatError) -> None:
        """Report a file that cannot be read; once for all files of a directory that cannot be listed."""
        if str(error) not in self._said:
            console.say(str(error))
        self._said.add(str(error))
        self.note(console.NOT_OPENED)

    def open_committed(self, file: GivenFile) -> AbstractContextManager[IsolatedSegment]:
        """Open a file at `read_committed`; consecutive files of a partition share its transactions."""
        path = file.path
        if self._partition is None or not self._partition.holds(path):
            self.close()
            self._partition = open_partition_of(self.places, path, self.log_in, **self._options)
            if not self._partition.is_whole:
                console.say(
                    f"{path}: not a live segment in a partition's directory, so transactions are judged by "
                    "this file alone; nothing is printed of one that ends elsewhere"
                )
        return self._partition.open_isolated(path)

    def _open(self, file: GivenFile) -> AbstractContextManager[Readable]:
        """Open a file; what was found in a directory and is no regular file is refused."""
        if self._isolation == "read_committed":
            return self.open_committed(file)
        if file.segment is not None and not self._is_experimental:
            return open_examined(self.places, file.segment, **self._options)
        source = self.places.open(file.path) if is_address(file.path) else file.path
        is_experimental = self._is_experimental
        return open_segment(source, closes_source=True, **self._options, experimental_magic3=is_experimental)

    def read(self, file: GivenFile | KafkaFormatError, work: Callable[[Readable], None]) -> None:
        """Open a file and do some work with it; what is wrong with the file is reported.

        One that was given by its own name has to be a log.

        Raises:
            OutputError: the work's output cannot be written.
        """
        if isinstance(file, KafkaFormatError):
            self.refuse(file)
            return
        try:
            if file.segment is None:
                refuse_other_file(file.path)
            with self._open(file) as segment:
                if isinstance(segment, Segment) and file.segment is None:
                    check_is_log(segment)
                work(segment)
        except OutputError:
            raise
        except KafkaFormatError as error:
            self.refuse(error.with_context(path=error.path or file.path))

    def events(
        self, segment: Readable, wanted: Callable[[Batch], bool] | None, rows: Rows | None
    ) -> Iterator[Event]:
        """Yield the events of a file, also its batches whose offsets are those of another one."""
        misplaced = MisplacedBatches()
        if isinstance(segment, Segment):  # an isolated view reports misplaced batches itself
            self._seen[os.path.normpath(segment.path)] = misplaced
        return misplaced.watch(segment.iter_events(on_damage="skip", wanted=wanted, rows=rows))

    def report_gaps(self, touches: Callable[[Damage], bool]) -> None:
        """Report what segments of one partition lack between them, as far as that was asked for."""
        paths = [file.path for file in self.there()]
        for gap in gaps_between(self.places, paths, self._seen, self.log_in):
            if touches(gap):
                self.note()
                console.say(str(gap.error))


def _paths_of(copy: PartitionCopy) -> Iterator[str]:
    return (segment.path for segment in copy.segments)


def fast_rows_if_there() -> Rows | None:
    """Return the compiled decoder of records; say on standard error what is missing if it is unavailable."""
    try:
        return fast_rows()
    except MissingExtraError as error:
        console.say(f"records are decoded one by one, which is slow: {error.detail}")
        return None
