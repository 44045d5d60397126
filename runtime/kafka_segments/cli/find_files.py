"""Search of files for `find`, in this process or in several: results come in the order of the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain

from kafka_segments.cli.input_check import check_is_log, refuse_other_file
from kafka_segments.cli.opened_files import fast_rows_if_there
from kafka_segments.cli.sources import GivenFile
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.jobs import in_processes
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.records.batch_records import ManyRows
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.errors import KafkaFormatError, ReadError
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.found import Finds, FoundRecord, SearchCounts
from kafka_segments.search.pruning import position_to_begin
from kafka_segments.search.segment_search import Checked, SegmentSearch
from kafka_segments.search.time_bound import TimeBound

__all__ = ["FileEvent", "FileTask", "UnusedIndex", "searches"]

_MAX_BYTES, _MAX_EVENTS = 256 << 10, 1000  # of one message


@dataclass(frozen=True, slots=True)
class UnusedIndex:
    """An index that is wrong, with the reason."""

    error: KafkaFormatError


FileEvent = Finds | UnusedIndex | KafkaFormatError | SearchCounts
"""What is found; an index that is wrong; why the file cannot be searched; at the end, counts."""


class FileTask:
    """Search of one file after the other, in one process.

    Args:
        places: opens files.
        conditions: what is looked for.
        checked: of which batches checksums are verified.
    """

    def __init__(self, places: Places, conditions: Conditions, checked: Checked) -> None:
        self._places, self._conditions = places, conditions
        self._checked: Checked = checked
        self._rows, self._bound = ManyRows(fast_rows_if_there), TimeBound()

    def __reduce__(self) -> tuple[type[FileTask], tuple[Places, Conditions, Checked]]:
        return FileTask, (self._places, self._conditions, self._checked)

    def events(self, file: GivenFile) -> Iterator[FileEvent]:
        """Yield what is found in a file."""
        try:
            if file.segment is None:
                refuse_other_file(file.path)
            with closing(file.open(self._places)) as source, self._bound.ticking():
                with open_segment(source) as segment:
                    if file.segment is None:
                        check_is_log(segment)
                yield from self._search(file, source)
        except KafkaFormatError as error:
            yield error.with_context(path=error.path or file.path)

    def pieces(self, file: GivenFile) -> Iterator[list[FileEvent]]:
        """Yield the same as lists that are not long, nor large."""
        kept, num_bytes = list[FileEvent](), 0
        for event in self.events(file):
            kept.append(event)
            if isinstance(event, FoundRecord):
                num_bytes += len(event.record.key or b"") + len(event.record.value or b"")
            if num_bytes >= _MAX_BYTES or len(kept) >= _MAX_EVENTS:
                yield kept
                kept, num_bytes = [], 0
        yield kept

    def _search(self, file: GivenFile, source: Source) -> Iterator[FileEvent]:
        unused: list[KafkaFormatError] = []
        position: int | None = 0
        if file.segment is not None:
            position = position_to_begin(self._places, file.segment, source, self._conditions, unused)
        yield from map(UnusedIndex, unused)
        search = SegmentSearch(
            source, self._conditions, checked=self._checked, rows=self._rows, bound=self._bound
        )
        yield from search.events(source.size if position is None else position)
        yield search.counts


@contextmanager
def searches(
    task: FileTask, files: Sequence[GivenFile], jobs: int
) -> Iterator[Iterator[Iterator[FileEvent]]]:
    """Provide what is found in each of the files, in their order.

    Args:
        task: searches.
        files: to be searched.
        jobs: processes; 1 searches in this one.
    """
    if jobs <= 1:
        yield (task.events(file) for file in files)
        return
    killed = ReadError("the process that searched this file ended early; search it again")
    with in_processes(task.pieces, files, jobs, killed) as found:
        yield (_joined(pieces, file.path) for file, pieces in zip(files, found, strict=True))


def _joined(pieces: Iterator[list[FileEvent]], path: str) -> Iterator[FileEvent]:
    try:
        yield from chain.from_iterable(pieces)
    except ReadError as error:
        yield error.with_context(path=path)
