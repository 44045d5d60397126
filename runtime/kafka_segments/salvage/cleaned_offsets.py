"""Offsets that the log cleaner may have removed, by its checkpoint and by its traces in the files.

The cleaner goes through a log from its beginning, by whole segments: see `segment.cleaner_traces`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kafka_segments.errors import KafkaFormatError, raise_unless_file_at_fault
from kafka_segments.formats.file_names import NO_END
from kafka_segments.salvage.source_files import SourceFile, SourceFiles
from kafka_segments.segment.contents import is_cleaned
from kafka_segments.segment.header_summaries import HeaderSummary, iter_header_summaries

__all__ = ["CleanedOffsets"]

_FIRST_MAGIC_OF_BATCHES = 2


@dataclass
class CleanedOffsets:
    """Progress of the cleaner.

    Args:
        files: surveyed.
        noted: the offset in cleaner-offset-checkpoint; None if there is none.
    """

    files: SourceFiles
    noted: int | None

    @cached_property
    def end(self) -> int:
        """The offset from which on the cleaner has removed none.

        Without its checkpoint that is after all offsets if there is any trace: it may leave none in a
        segment. Files of old messages are read for it, so ask where offsets are missing only.
        """
        end = 0 if self.noted is None else self.noted
        for file in sorted(self.files, key=self._end_of, reverse=True):
            if self._end_of(file) <= end:
                break
            if file.last_offset is not None and file.last_offset < end:
                continue  # by another name: that the cleaner has been there is noted
            if not file.whole_reason and (file.shows_cleaner or self._has_cleaned_messages(file)):
                return self._end_of(file)
        return end

    def _end_of(self, file: SourceFile) -> int:
        end = file.segment.end_offset
        return NO_END if self.noted is None or end is None else end

    def _has_cleaned_messages(self, file: SourceFile) -> bool:
        """Return whether messages of the old formats lack some between or inside of them."""
        try:
            source = self.files.source(file.number)
            first = next(iter(iter_header_summaries(source)), None)
            is_old = isinstance(first, HeaderSummary) and first.magic < _FIRST_MAGIC_OF_BATCHES
            return is_old and is_cleaned(source)
        except KafkaFormatError as error:
            raise_unless_file_at_fault(error)
            return False
