"""Pieces of files for the Kaitai Web IDE: cut where an entry ends; plain copies of what is compressed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kafka_segments.cli.input_check import check_is_log, refuse_other_file
from kafka_segments.core.formats.entries import Batch, Damage
from kafka_segments.core.formats.index_entries import LEN_OFFSET_ENTRY, LEN_TIME_ENTRY, LEN_TRANSACTION_ENTRY
from kafka_segments.core.formats.schema_files import list_schemas
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import EncodeError
from kafka_segments.log.findings import error_words

__all__ = ["MAX_LEN_PIECE", "SEGMENT_SCHEMA", "WebidePiece", "pieces_of", "schema_by_name"]

SEGMENT_SCHEMA = "kafka_log_segment"
MAX_LEN_PIECE = 1 << 20
"""Bytes of one file: the IDE makes an object of every field, and opens this much in a second or two."""
_LEN_ENTRY = {
    "kafka_offset_index": LEN_OFFSET_ENTRY,
    "kafka_time_index": LEN_TIME_ENTRY,
    "kafka_transaction_index": LEN_TRANSACTION_ENTRY,
}


@dataclass(frozen=True, slots=True)
class WebidePiece:
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


def pieces_of(path: str) -> Iterator[WebidePiece]:
    """Yield the piece of a file; for a segment with compressed entries a plain copy after it.

    Raises:
        OptionError: the file is neither a segment nor one of those that lie beside segments.
        ReadError: it cannot be read.
        MissingExtraError: a segment is compressed, and the extra `arrow` is not installed.
        MissingCodecError: the package of its codec is not installed.
    """
    schema = schema_by_name(os.path.basename(path))
    if schema is not None and schema != SEGMENT_SCHEMA:
        yield _other_piece(path, schema)
        return
    refuse_other_file(path)
    with closing(open_source(path, only_files=True)) as source, open_segment(source) as segment:
        check_is_log(segment)
        piece, is_compressed = _segment_piece(segment, source)
        yield piece
    if is_compressed:
        yield _plain_piece(piece.content)


def schema_by_name(name: str) -> str | None:
    """The schema of the files of a name, or None."""
    for schema in list_schemas():
        if any(fnmatchcase(name, pattern) for pattern in schema.files):
            return schema.name
    return None


def _other_piece(path: str, schema: str) -> WebidePiece:
    with closing(open_source(path, only_files=True)) as source:
        size = source.size
        if size == 0:
            return WebidePiece(schema, b"", ("the file is empty",))
        len_entry = _LEN_ENTRY.get(schema)
        if size > MAX_LEN_PIECE and len_entry is None:
            return WebidePiece(
                schema, b"", (f"{size} bytes exceed the {MAX_LEN_PIECE} that can be exported",)
            )
        end = size
        if size > MAX_LEN_PIECE and len_entry is not None:
            end = MAX_LEN_PIECE - MAX_LEN_PIECE % len_entry
        notes = (f"cut: the first {end} of {size} bytes",) if end < size else ()
        return WebidePiece(schema, bytes(source.read(0, end)), notes)


def _segment_piece(segment: Segment, source: Source) -> tuple[WebidePiece, bool]:
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
    return WebidePiece(SEGMENT_SCHEMA, content, tuple(notes), is_damaged=is_damaged), is_compressed


def _plain_piece(content: bytes) -> WebidePiece:
    """The sound entries of a piece without compression."""
    from kafka_segments.write.convert import plain_copy

    notes = ["the same without compression"]
    copied = bytearray()
    try:
        for data in plain_copy(content, on_damage="skip"):
            if len(copied) + len(data) > MAX_LEN_PIECE and copied:
                notes.append(f"cut after {len(copied)} bytes: the next entry is too large to export")
                break
            copied += data
    except EncodeError as error:
        notes.append(f"cut after {len(copied)} bytes: at byte {error.position}, {error.detail}")
    return WebidePiece(SEGMENT_SCHEMA, bytes(copied), tuple(notes), suffix="-plain")
