"""Output of `find`: lines, an Arrow stream, a Parquet file, or segments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from kafka_segments.cli import console, jsonl, text
from kafka_segments.cli.output import Line, print_lines
from kafka_segments.cli.text import counted
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.errors import OptionError
from kafka_segments.errors.escaping import escape
from kafka_segments.search.found import Finds, FoundRecord, RawPlace, SearchCounts, UndecidedPlace

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FindOutput", "output_of", "undecided_words"]

Read = Callable[[Batch], bytes]


class FindOutput(Protocol):
    """Receiver of what a search finds."""

    def add(self, found: Finds, read: Read) -> None:
        """Take something that was found; `read` returns the bytes of its batch."""
        ...

    def finish(self, counts: SearchCounts) -> None:
        """Complete the output."""
        ...

    def close(self) -> None:
        """Leave nothing that looks complete."""
        ...


def output_of(form: str, *, directory: str | None, is_count: bool) -> FindOutput:
    """Return the output for a format.

    Args:
        form: `text`, `jsonl`, `arrow` or `parquet`.
        directory: where segments are written, instead of records to standard output.
        is_count: print counts alone.

    Raises:
        OptionError: options that exclude each other, or binary output on a terminal.
        MissingExtraError: a package that the format needs is not installed.
    """
    if form in ("arrow", "parquet"):
        if directory is not None or is_count:
            raise OptionError(f"--format {form} writes records: use it without --count and --to-segment")
        if console.is_terminal(sys.stdout):
            raise OptionError(
                f"--format {form} cannot be written to a terminal: redirect it to a file, as "
                f"in > found.{form}"
            )
        return _Tables(form)
    if directory is not None:
        return _Segments(form, directory)
    return _Lines(form, is_count=is_count)


def undecided_words(found: UndecidedPlace) -> str:
    """Return what could not be judged, and where."""
    place = f"{found.path}, position {found.position}"
    return f"{place}{'' if found.offset is None else f', offset {found.offset}'}: {found.detail}"


class _Lines:
    """A line for each record, and for what else was found."""

    def __init__(self, form: str, *, is_count: bool) -> None:
        self._form, self._is_text, self._is_count = form, form == "text", is_count
        self._is_coloured = self._is_text and console.is_coloured(sys.stdout)

    def add(self, found: Finds, read: Read) -> None:  # noqa: ARG002
        if not self._is_count:
            console.write(self._text(found) if self._is_text else _json(found))

    def _text(self, found: Finds) -> bytes:
        if isinstance(found, Damage):
            return _encoded(found.path) + b": " + text.line(found, is_coloured=self._is_coloured)
        if isinstance(found, FoundRecord):
            place = f"{found.batch.path}: batch at {found.batch.position}: "
            return _encoded(place) + text.line(found.record).lstrip()
        if isinstance(found, RawPlace):
            words = f"in damaged bytes at {found.position} to {found.end_position}: {found.words}"
            return _encoded(f"{found.path}: {words}") + b"\n"
        return _encoded(undecided_words(found)) + b"\n"

    def finish(self, counts: SearchCounts) -> None:
        raw = counts.num_raw_places
        words = f"{counted(counts.num_records, 'record')} in {counted(counts.num_files, 'file')}"
        words += f", and {counted(raw, 'place')} in damaged bytes" if raw else ""
        words += f"; checksums of {counts.num_verified} of {counts.num_batches} batches were verified"
        print_lines([Line(_summary(counts), words if self._is_count else None)], self._form)

    def close(self) -> None:
        """Nothing: lines are complete as they are."""


def _summary(counts: SearchCounts) -> dict[str, Any]:
    return {"type": "summary"} | asdict(counts)


def _encoded(words: str) -> bytes:
    return escape(words).encode("utf-8", "backslashreplace")


def _json(found: Finds) -> bytes:
    if isinstance(found, FoundRecord):
        return jsonl.line(found.record, found.batch.path)
    if isinstance(found, Damage):
        return jsonl.line(found, found.path)
    kind = "raw" if isinstance(found, RawPlace) else "undecided"
    return jsonl.encode({"type": kind} | asdict(found))


class _Tables:
    """Records as an Arrow stream or a Parquet file on standard output."""

    def __init__(self, form: str) -> None:
        import kafka_segments.core.segment.columnar  # noqa: F401  an error of ours without the extra `arrow`
        from kafka_segments.search.found_table import FoundTable, open_table_writer

        self._table = FoundTable()
        with console.writing() as stdout:
            self._stdout: BinaryIO = stdout
            self._writer: Any = open_table_writer(stdout, form)

    def add(self, found: Finds, read: Read) -> None:  # noqa: ARG002
        if isinstance(found, FoundRecord):
            for batch in self._table.add(found):
                self._write(batch)

    def _write(self, batch: pa.RecordBatch) -> None:
        with console.writing():
            self._writer.write_batch(batch)

    def finish(self, counts: SearchCounts) -> None:  # noqa: ARG002
        for batch in self._table.flush():
            self._write(batch)
        with console.writing():
            self._writer.close()
            self._stdout.flush()

    def close(self) -> None:
        """Leave out the end, without which readers refuse a Parquet file."""


class _Segments:
    """Batches of the found records as segments; a line for each partition that was written."""

    def __init__(self, form: str, directory: str) -> None:
        from kafka_segments.search.found_segments import FoundSegments

        self._segments = FoundSegments(directory)
        self._form = form

    def add(self, found: Finds, read: Read) -> None:
        if isinstance(found, FoundRecord):
            self._segments.add(found.batch, read)

    def finish(self, counts: SearchCounts) -> None:
        self._segments.finish()
        for one in self._segments.written:
            words = f"{counted(one.num_batches, 'batch', 'batches')}, "
            words += f"offsets {one.first_offset} to {one.last_offset}: {', '.join(one.paths)}"
            print_lines([Line({"type": "written"} | asdict(one), _encoded(words) + b"\n")], self._form)
        print_lines([Line(_summary(counts))], self._form)

    def close(self) -> None:
        self._segments.discard()
