"""Outcomes of the files that a verb reads: its exit status, and messages on standard error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from kafka_segments.cli import console
from kafka_segments.cli.input_check import check_is_log, refuse_other_file
from kafka_segments.cli.opened_files import Event, Open, Readable
from kafka_segments.cli.sources import GivenFile
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.batch_records import Rows
from kafka_segments.core.segment.misplaced_batches import MisplacedBatches
from kafka_segments.core.segment.segment import Segment
from kafka_segments.errors import KafkaFormatError, MissingCodecError, OutputError
from kafka_segments.log.given_files import gaps_between

__all__ = ["FileOutcomes"]


class FileOutcomes:
    """Outcomes of the files so far.

    Attributes:
        status: the greatest exit status of theirs.
    """

    def __init__(self) -> None:
        self.status = console.CLEAN
        self._said: set[str] = set()
        self._seen: dict[str, MisplacedBatches] = {}

    def found(self, status: int = console.FINDINGS) -> None:
        """Note a status."""
        self.status = max(self.status, status)

    def damaged(self, damage: Damage) -> None:
        """Note the status of damage; what a codec is missing for is not damaged."""
        is_missing = isinstance(damage.error, MissingCodecError)
        self.found(console.NOT_OPENED if is_missing else console.FINDINGS)

    def refuse(self, error: KafkaFormatError) -> None:
        """Report a file that cannot be read; once for all files of a directory that cannot be listed."""
        if str(error) not in self._said:
            console.say(str(error))
        self._said.add(str(error))
        self.found(console.NOT_OPENED)

    def read(
        self, open_file: Open, file: GivenFile | KafkaFormatError, work: Callable[[Readable], None]
    ) -> None:
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
            with open_file(file) as segment:
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

    def report_gaps(self, places: Places, paths: Sequence[str], touches: Callable[[Damage], bool]) -> None:
        """Report what segments of one partition lack between them, as far as that was asked for."""
        for gap in gaps_between(places, paths, self._seen):
            if touches(gap):
                self.found()
                console.say(str(gap.error))
