"""Export for the Kaitai Web IDE: the schemas, and a user's own files in sizes and under names that suit it.

Strategy: `webide_pieces` makes pieces of files; here are their names, which do not collide in the IDE's
one folder, the files beside a segment, and the instructions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from kafka_segments.cli import console
from kafka_segments.cli.export_directory import write_export
from kafka_segments.cli.sources import files_of
from kafka_segments.cli.webide_files import INSTRUCTIONS, read_webide_files
from kafka_segments.cli.webide_pieces import SEGMENT_SCHEMA, WebidePiece, pieces_of, schema_by_name
from kafka_segments.core.formats.file_names import SEGMENT_NAME, is_address, parse_directory_name
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import OptionError
from kafka_segments.errors.escaping import shown
from kafka_segments.log.log_dir import refuse_below_sources

__all__ = ["export_for_webide"]

MAX_LEN_ALL = 64 << 20
"""Bytes of all exported files together."""
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


def export_for_webide(directory: str, given: Sequence[str]) -> int:
    """Write the folder, list on standard output what is in it of the given files, and return the exit status.

    Args:
        directory: a new directory, or an empty one.
        given: paths of files, patterns, directories with segments.

    Raises:
        OptionError: a file that is not Kafka's, an address, or a directory that is not empty or in a source.
        ReadError: a file cannot be read.
        MissingExtraError: a segment is compressed, and the extra `arrow` is not installed.
        OutputError: the directory cannot be written.
    """
    refuse_below_sources(given, os.path.realpath(directory), directory)
    files = read_webide_files()
    rows = []
    status = console.CLEAN
    len_left = MAX_LEN_ALL
    for path in _with_files_beside(_paths(given)):
        for piece in pieces_of(path):
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


def _name(path: str, piece: WebidePiece) -> str:
    """The name of a piece: directory, file, and what is particular about it."""
    folder, name = os.path.split(os.path.abspath(path))
    stem, dot, suffix = name.rpartition(".")
    if piece.suffix:
        name = f"{stem}{piece.suffix}{dot}{suffix}" if stem else f"{name}{piece.suffix}"
    if piece.schema == SEGMENT_SCHEMA and schema_by_name(name) is None:
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


def _instructions(text: str, rows: Sequence[tuple[str | None, str, WebidePiece]]) -> str:
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


def _lines(rows: Sequence[tuple[str | None, str, WebidePiece]]) -> Iterator[bytes]:
    for name, path, piece in rows:
        notes = "".join(f"; {note}" for note in piece.notes)
        line = f"{name or 'left out'}: {len(piece.content)} bytes of {path}{notes}"
        yield f"{shown(line)}\n".encode()
