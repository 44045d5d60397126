"""Search of files for `find`: in this process, or in several, whose results come in the order of the files.

Strategy: each process takes every n-th file, and sends what it finds through a pipe. A pipe that is full
stops its process until its turn has come, so that results never pile up.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from kafka_segments.cli import console
from kafka_segments.cli.input_check import check_is_log, refuse_other_file
from kafka_segments.cli.opened_files import fast_rows_if_there
from kafka_segments.cli.sources import GivenFile
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source
from kafka_segments.core.segment.batch_records import ManyRows
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
    jobs = min(jobs, len(files))
    if jobs <= 1:
        yield (task.events(file) for file in files)
        return
    context = multiprocessing.get_context("spawn")
    workers, receivers = [], []
    try:
        for number in range(jobs):
            receiver, sender = context.Pipe(duplex=False)
            worker = context.Process(target=_work, args=(task, files[number::jobs], sender), daemon=True)
            worker.start()
            sender.close()
            workers.append(worker)
            receivers.append(receiver)
        yield (_received(receivers[number % jobs], file.path) for number, file in enumerate(files))
    finally:
        for worker, receiver in zip(workers, receivers, strict=False):
            receiver.close()
            worker.terminate()
            worker.join()


def _received(receiver: Connection, path: str) -> Iterator[FileEvent]:
    while True:
        try:
            events, is_last = receiver.recv()
        except EOFError:
            yield ReadError("the process that searched this file ended early; search it again", path=path)
            return
        yield from events
        if is_last:
            return


def _work(task: FileTask, files: Sequence[GivenFile], sender: Connection) -> None:
    """Search files and send what is found; the first process ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for file in files:
            kept, num_bytes = list[FileEvent](), 0
            for event in task.events(file):
                kept.append(event)
                if isinstance(event, FoundRecord):
                    num_bytes += len(event.record.key or b"") + len(event.record.value or b"")
                if num_bytes >= _MAX_BYTES or len(kept) >= _MAX_EVENTS:
                    sender.send((kept, False))
                    kept, num_bytes = [], 0
            sender.send((kept, True))
    except BrokenPipeError:  # enough was found
        console.silence_stdout()
