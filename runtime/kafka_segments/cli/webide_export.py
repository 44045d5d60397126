"""Export for the Kaitai Web IDE: the schemas, and a user's own files in sizes and under names that suit it.

Strategy: a file is cut where an entry ends, and what is compressed gets a plain copy beside it. The names do
not collide in the IDE's one folder. The files beside a segment come with it, and the instructions list all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kafka_segments.cli import console
from kafka_segments.cli.exported_files import INSTRUCTIONS, read_webide_files, write_export
from kafka_segments.cli.input_check import check_is_log, refuse_other_file
from kafka_segments.cli.sources import files_of
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.formats.file_names import SEGMENT_NAME, is_address, parse_directory_name
from kafka_segments.core.formats.index_entries import LEN_OFFSET_ENTRY, LEN_TIME_ENTRY, LEN_TRANSACTION_ENTRY
from kafka_segments.core.formats.schema_files import list_schemas
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import EncodeError, OptionError
from kafka_segments.errors.escaping import shown
from kafka_segments.log.findings import error_words
from kafka_segments.log.log_dir import refuse_below_sources

__all__ = ["export_for_webide"]

MAX_LEN_ALL = 64 << 20
"""Bytes of all exported files together."""
_SEGMENT_SCHEMA = "kafka_log_segment"
MAX_LEN_PIECE = 1 << 20
"""Bytes of one file: the IDE makes an object of every field, and opens this much in a second or two."""
_LEN_ENTRY = {
    "kafka_offset_index": LEN_OFFSET_ENTRY,
    "kafka_time_index": LEN_TIME_ENTRY,
    "kafka_transaction_index": LEN_TRANSACTION_ENTRY,
}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]")
_MAX_DIRECTORY = 200  # characters: a topic's name may have 249, and a file's name 255
_BESIDE_SEGMENT = ("index", "timeindex", "txnindex", "snapshot")
_IN_PARTITION = ("leader-epoch-checkpoint", "partition.metadata")
_IN_LOG_DIRECTORY = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
_NEXT_HEADING = "## Upload in this order"


@dataclass(frozen=True, slots=True)
class _Piece:
    """What the IDE gets of a file.

    Attributes:
        schema: the name of the one to open it with.
        content: empty if nothing of the file can be opened.
        notes: what was cut or left out, and damage, in words.
        suffix: to be added to the file's name.
        is_damaged: whether damage was found in it.
    """

    schema: str
    content: bytes
    notes: tuple[str, ...] = ()
    suffix: str = ""
    is_damaged: bool = False


def export_for_webide(directory: str, given: Sequence[str]) -> int:
    """Write the folder, list on standard output what is in it of the given files, and return the exit status.

    Args:
        directory: a new directory, or an empty one.
        given: paths of files, patterns, directories with segments.

    Raises:
        OptionError: a file that is not Kafka's, an address, or a directory that is not empty or in a source.
        ReadError: a file cannot be read.
        MissingExtraError: a segment is compressed, and the extra `construct` is not installed.
        OutputError: the directory cannot be written.
    """
    refuse_below_sources(given, os.path.realpath(directory), directory)
    files = read_webide_files()
    rows = []
    status = console.CLEAN
    len_left = MAX_LEN_ALL
    for path in _with_files_beside(_paths(given)):
        for piece in _pieces_of(path):
            name = None
            if piece.content:
                name = _free_name(_name(path, piece), files)
                files[name] = piece.content
                len_left -= len(piece.content)
            rows.append((name, path, piece))
            status = console.FINDINGS if piece.is_damaged else status
        if len_left < 0:
            raise OptionError(
                f"with this file the total exceeds {MAX_LEN_ALL} bytes: give fewer files", path=path
            )
    files[INSTRUCTIONS] = _instructions(files[INSTRUCTIONS].decode(), rows).encode()
    write_export(directory, files)
    console.print_all(_lines(rows))
    return status


def _paths(given: Sequence[str]) -> Iterator[str]:
    """The files to export; directories stand for their segments."""
    for one in given:
        if one == "-" or is_address(one):
            raise OptionError("only files on this machine can be exported: copy it here first", path=one)
    for file in files_of(Places(), given):
        if isinstance(file, Exception):
            raise file
        yield file.path


def _with_files_beside(paths: Iterable[str]) -> Iterator[str]:
    """Each file once and, after a segment, those that are beside it."""
    seen = set()
    for path in paths:
        for one in (path, *_beside(path)):
            if os.path.realpath(one) not in seen:
                seen.add(os.path.realpath(one))
                yield one


def _beside(path: str) -> list[str]:
    """The files beside a segment: its indexes, and what its partition and log directory have once."""
    folder, name = os.path.split(path)
    match = SEGMENT_NAME.fullmatch(name)
    if match is None:
        return []
    names = (*(f"{match[1]}.{suffix}" for suffix in _BESIDE_SEGMENT), *_IN_PARTITION)
    beside = [os.path.join(folder, one) for one in names]
    if parse_directory_name(os.path.basename(os.path.abspath(folder))) is not None:
        beside += [os.path.join(folder, os.pardir, one) for one in _IN_LOG_DIRECTORY]
    return [os.path.normpath(one) for one in beside if os.path.isfile(one)]


def _name(path: str, piece: _Piece) -> str:
    """The name of a piece: directory, file, and what is particular about it."""
    folder, name = os.path.split(os.path.abspath(path))
    stem, dot, suffix = name.rpartition(".")
    if piece.suffix:
        name = f"{stem}{piece.suffix}{dot}{suffix}" if stem else f"{name}{piece.suffix}"
    if piece.schema == _SEGMENT_SCHEMA and _schema_by_name(name) is None:
        name += ".log"
    name = f"{os.path.basename(folder)[-_MAX_DIRECTORY:]}-{name}"
    return _NOT_IN_NAMES.sub("_", name)


def _free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or with a number where it is taken; the IDE replaces files of the same name."""
    stem, dot, suffix = name.rpartition(".")
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{stem}-{number}{dot}{suffix}"
    return free


def _instructions(text: str, rows: Sequence[tuple[str | None, str, _Piece]]) -> str:
    """The instructions, with a table of the user's files in them."""
    if not rows:
        return text
    lines = ["## Your files", "", "| file | bytes | of | schema | notes |", "|---|---|---|---|---|"]
    for name, path, piece in rows:
        cells = (
            f"`{name}`" if name else "left out",
            str(len(piece.content)),
            _cell(path),
            f"`{piece.schema}`",
            "<br>".join(map(_cell, piece.notes)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    before, heading, after = text.partition(_NEXT_HEADING)
    return "\n".join([before + lines[0], *lines[1:], "", heading + after])


def _cell(text: str) -> str:
    """Text of a table's cell: its own characters of Markdown and HTML mean nothing there."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>&~-])", r"\\\1", shown(text))


def _lines(rows: Sequence[tuple[str | None, str, _Piece]]) -> Iterator[bytes]:
    for name, path, piece in rows:
        notes = "".join(f"; {note}" for note in piece.notes)
        line = f"{name or 'left out'}: {len(piece.content)} bytes of {path}{notes}"
        yield f"{shown(line)}\n".encode()


def _pieces_of(path: str) -> Iterator[_Piece]:
    """Yield the piece of a file; for a segment with compressed entries a plain copy after it.

    Raises:
        OptionError: the file is neither a segment nor one of those that lie beside segments.
        ReadError: it cannot be read.
        MissingExtraError: a segment is compressed, and the extra `construct` is not installed.
        MissingCodecError: the package of its codec is not installed.
    """
    schema = _schema_by_name(os.path.basename(path))
    if schema is not None and schema != _SEGMENT_SCHEMA:
        yield _other_piece(path, schema)
        return
    refuse_other_file(path)
    with closing(open_source(path, only_files=True)) as source, open_segment(source) as segment:
        check_is_log(segment)
        piece, is_compressed = _segment_piece(segment, source)
        yield piece
    if is_compressed:
        yield _plain_piece(piece.content)


def _schema_by_name(name: str) -> str | None:
    """The schema of the files of a name, or None."""
    for schema in list_schemas():
        if any(fnmatchcase(name, pattern) for pattern in schema.files):
            return schema.name
    return None


def _other_piece(path: str, schema: str) -> _Piece:
    with closing(open_source(path, only_files=True)) as source:
        size = source.size
        if size == 0:
            return _Piece(schema, b"", ("the file is empty",))
        len_entry = _LEN_ENTRY.get(schema)
        if size > MAX_LEN_PIECE and len_entry is None:
            return _Piece(schema, b"", (f"{size} bytes exceed the {MAX_LEN_PIECE} that can be exported",))
        end = size
        if size > MAX_LEN_PIECE and len_entry is not None:
            end = MAX_LEN_PIECE - MAX_LEN_PIECE % len_entry
        notes = (f"cut: the first {end} of {size} bytes",) if end < size else ()
        return _Piece(schema, bytes(source.read(0, end)), notes)


def _segment_piece(segment: Segment, source: Source) -> tuple[_Piece, bool]:
    """The piece of a segment, and whether an entry in it is compressed."""
    end, last_offset, is_compressed = 0, None, False
    notes: list[str] = []
    is_damaged = False
    for entry in segment.iter_entries(on_damage="skip"):
        if isinstance(entry, Damage):
            is_damaged = True
            place = f"{entry.position} to {entry.end_position}"
            notes.append(f"damage in bytes {place}: {error_words(entry.error)}")
        if entry.end_position > MAX_LEN_PIECE:
            if not isinstance(entry, Batch) or end == 0:
                end = MAX_LEN_PIECE
                notes.append(f"cut inside bytes {entry.position} to {entry.end_position}")
            break
        end = entry.end_position
        if isinstance(entry, Batch):
            last_offset = entry.last_offset
            is_compressed = is_compressed or entry.compression != "none"
    if segment.size == 0:
        notes.append("the file is empty")
    if end < segment.size:
        upto = "" if last_offset is None else f", up to offset {last_offset}"
        notes.append(f"cut: the first {end} of {segment.size} bytes{upto}")
    content = bytes(source.read(0, end))
    return _Piece(_SEGMENT_SCHEMA, content, tuple(notes), is_damaged=is_damaged), is_compressed


def _plain_piece(content: bytes) -> _Piece:
    """The sound entries of a piece without compression."""
    from kafka_segments.write.recompression import recompress

    notes = ["the same without compression"]
    copied = bytearray()
    try:
        for data in recompress(content, "none", on_damage="skip"):
            if len(copied) + len(data) > MAX_LEN_PIECE and copied:
                notes.append(f"cut after {len(copied)} bytes: the next entry is too large to export")
                break
            copied += data
    except EncodeError as error:
        notes.append(f"cut after {len(copied)} bytes: at byte {error.position}, {error.detail}")
    return _Piece(_SEGMENT_SCHEMA, bytes(copied), tuple(notes), suffix="-plain")
