"""Lines of DumpLogSegments for a log: `.log` and `.checkpoint` (KRaft).

Strategy: stretches of sound batches of magic 2 are printed column by column (`segment.columnar.dump_text`).
Where these end, entries are printed one by one, exactly as the tool does it, until a stretch may begin again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from kafka_segments.cli import console
from kafka_segments.cli.like_kafka.entry_lines import Contents, OffsetGaps, entry_pieces, record_pieces
from kafka_segments.cli.like_kafka.tool_options import HIGHEST_INT, ToolDecoder
from kafka_segments.cli.like_kafka.tool_output import ToolOutput
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.core.segment.lenient_entries import EntryReader
from kafka_segments.errors import KafkaFormatError, MissingExtraError, OptionError

__all__ = ["dump_log"]

_LEN_SLOW = 1 << 19  # bytes to be read entry by entry before another attempt to do it in columns


@dataclass(frozen=True, slots=True)
class _Wanted:
    is_deep: bool
    contents: Contents
    max_bytes: int


def dump_log(
    path: str, output: ToolOutput, *, is_deep: bool, contents: Contents, max_bytes: int
) -> dict[int, int]:
    """Print a log.

    Args:
        path: the file.
        output: where to.
        is_deep: print records, too.
        contents: what of them.
        max_bytes: how much of the file is read.

    Returns:
        Offsets that do not follow the offset before them, which is the key.

    Raises:
        OptionError: a negative `max_bytes`, or a file that is too large.
        KafkaFormatError: where the tool ends with an exception; all before that was printed.
    """
    with closing(open_source(path, only_files=True)) as source:
        log = _Log(EntryReader(source), output, _Wanted(is_deep, contents, max_bytes))
        log.dump()
    return log.gaps.found


class _Log:
    """One log that is being printed."""

    def __init__(self, reader: EntryReader, output: ToolOutput, wanted: _Wanted) -> None:
        if wanted.max_bytes < 0:
            raise OptionError(f"--max-bytes is {wanted.max_bytes}; give a number of bytes")
        self.gaps = OffsetGaps()
        self._reader, self._output, self._wanted = reader, output, wanted
        self._source: Source = reader.source
        self._has_columns = True
        self._end = min(self._source.size, wanted.max_bytes)

    def dump(self) -> None:
        """Print all entries, and how many bytes follow the last one."""
        position, slow_until = 0, 0
        while position < self._end:
            is_worth_it = self._end - position >= _LEN_SLOW  # loading the packages takes time, too
            if is_worth_it and position >= slow_until and self._is_in_columns:
                position = self._dump_columns(position)
                slow_until = position + _LEN_SLOW
            end = self._one_entry(position, self._output.write, self.gaps.note)
            if end is None:
                break
            position = end
        if position < self._end and self._wanted.max_bytes == HIGHEST_INT:
            name = os.path.basename(self._source.name)
            self._output.line(f"Found {self._end - position} invalid bytes at the end of {name}")

    @property
    def _is_in_columns(self) -> bool:
        """Whether the rest may be printed in columns: all of the file is wanted, as text."""
        is_whole = self._has_columns and self._end == self._source.size
        is_text = self._wanted.contents.parse is None
        return is_whole and is_text and set(self._wanted.contents.decoders) == {ToolDecoder.STRING}

    def _dump_columns(self, position: int) -> int:
        """Print sound batches from a position on; return where they end, or the same without the packages."""
        try:
            from kafka_segments.core.segment.columnar.dump_text import DumpedColumns, SoundText
        except MissingExtraError as error:
            self._has_columns = False
            console.say(f"{self._source.name}: records are printed one by one, which is slow: {error.detail}")
            return position
        contents = self._wanted.contents
        columns = DumpedColumns(
            has_records=self._wanted.is_deep,
            has_metadata=contents.has_metadata,
            has_contents=contents.has_contents,
        )
        text = SoundText(self._source, position, columns, self._entry_text, self.gaps.last)
        for piece in text.pieces():
            self._output.write_large(piece)
        self.gaps.note_all(text.gaps, text.last_offset)
        return text.position

    def _entry_text(self, position: int) -> tuple[bytes, list[int]] | None:
        """The text of an entry that columns leave out, and its offsets; None where it is damaged.

        Columns end before such an entry, and it is printed by itself, up to its damage.
        """
        pieces, offsets = bytearray(), list[int]()
        try:
            self._one_entry(position, pieces.extend, offsets.append)
        except KafkaFormatError:
            return None
        return bytes(pieces), offsets

    def _one_entry(
        self, position: int, write: Callable[[bytes], None], note: Callable[[int], None]
    ) -> int | None:
        """Print an entry and note its offsets; return where it ends, None if it is cut off."""
        frame = self._reader.frame(position, self._end)
        if frame is None:
            return None
        header = None
        for piece in entry_pieces(self._reader, frame):
            if isinstance(piece, Batch):
                header = piece
            else:
                write(piece)
        if self._wanted.is_deep and header is not None:
            for words in record_pieces(self._reader, header, self._wanted.contents, note):
                write(words)
        return frame.end_position
