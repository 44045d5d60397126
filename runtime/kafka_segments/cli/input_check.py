"""Check that a file given to a command is a log; otherwise say what reads it, by its name or first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Callable
from contextlib import closing, suppress

import lz4.frame
import zstandard

from kafka_segments.core import formats
from kafka_segments.core.formats.entries import Batch, Damage, Padding
from kafka_segments.core.formats.file_names import SEGMENT_NAME, TIERED_NAME, is_address, parse_directory_name
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.core.segment.scan.entry_scan import first_offset_in_name
from kafka_segments.core.segment.segment import Segment, open_segment
from kafka_segments.errors import LengthMismatchError, OptionError, TruncatedError, UnsupportedMagicError
from kafka_segments.log.model import StoredFile, StoredSegment

__all__ = ["check_is_log", "checked_file", "is_single_file", "refuse_other_file"]

_READERS = "kafka_segments.core.segment.beside.index_files"
_MAX_LEN_HEAD = tarfile.BLOCKSIZE
_PIPED = "FILE | kafka-segments dump -"
# Names of other files beside segments, what they are, and what reads them.
_BY_NAME = (
    (r"[0-9]{20}\.index", "an offset index", f"{_READERS}.read_offset_index"),
    (r"[0-9]{20}\.timeindex", "a time index", f"{_READERS}.read_time_index"),
    (r"[0-9]{20}\.txnindex", "a transaction index", f"{_READERS}.read_transaction_index"),
    (r"[0-9]{20}\.snapshot", "a snapshot of producers", f"{_READERS}.read_producer_snapshot"),
    (r"partition\.metadata", "the topic's id", f"{_READERS}.read_partition_metadata"),
    ("leader-epoch-checkpoint", "a checkpoint of leader epochs", f"{_READERS}.read_leader_epochs"),
    ("(?s:.*)-offset-checkpoint", "a checkpoint of offsets, as text", "any editor"),
    (r"meta\.properties", "the broker's properties, as text", "any editor"),
    (r"\.lock", "a broker's lock file", None),
    (r"\.kafka_cleanshutdown", "the marker file of a clean shutdown", None),
)


def _read_gzip(head: bytes) -> None:
    with suppress(EOFError):
        gzip.GzipFile(fileobj=io.BytesIO(head)).peek(1)


# Functions that read the beginning of a file, and raise one of `_REFUSALS` if it has another format.
_BY_HEAD: tuple[tuple[Callable[[bytes], object], str, str], ...] = (
    (_read_gzip, "compressed by gzip", f"gzip -dc {_PIPED}"),
    (zstandard.get_frame_parameters, "compressed by zstd", f"zstd -dc {_PIPED}"),
    (lz4.frame.get_frame_info, "compressed by lz4", f"lz4 -dc {_PIPED}"),
    (
        lambda head: lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(head),
        "compressed by xz",
        f"xz -dc {_PIPED}",
    ),
    (lambda head: bz2.BZ2Decompressor().decompress(head), "compressed by bzip2", f"bzip2 -dc {_PIPED}"),
    (lambda head: tarfile.TarInfo.frombuf(head, "utf-8", "strict"), "a tar archive", "tar -xf FILE"),
)
_REFUSALS = (zlib.error, zstandard.ZstdError, lzma.LZMAError, RuntimeError, OSError, tarfile.TarError)


def refuse_other_file(path: str) -> None:
    """Raise `OptionError` for a file that is not a log by its name or first bytes.

    A file with a segment's name is never refused: it may be a damaged segment.
    """
    name = os.path.basename(path)
    if path == "-" or SEGMENT_NAME.fullmatch(name) or not os.path.isfile(path):
        return
    for pattern, kind, reader in _BY_NAME:
        if re.fullmatch(pattern, name):
            what_reads = f"; read it with {reader}" if reader else ""
            raise OptionError(f"this is {kind}, not a log{what_reads}", path=path)
    head = _head(path)
    for read, what, command in _BY_HEAD:
        if len(head) > formats.LEN_PREFIX and _has_format(read, head):
            raise OptionError(f"this file is {what}, not a log; to read a log in it: {command}", path=path)


def _has_format(read: Callable[[bytes], object], head: bytes) -> bool:
    try:
        read(head)
    except _REFUSALS:
        return False
    return True


def _head(path: str) -> bytes:
    with closing(open_source(path, only_files=True)) as source:
        return bytes(source.read(0, min(_MAX_LEN_HEAD, source.size)))


def _may_be_entry(damage: Damage, path: str) -> bool:
    """Return whether damaged bytes have a magic of Kafka."""
    error = damage.error
    if isinstance(error, TruncatedError):
        is_short = (error.available or 0) < formats.LEN_PREFIX
        return not is_short and (not os.path.isfile(path) or formats.read_prefix(_head(path)).is_known)
    return not isinstance(error, LengthMismatchError | UnsupportedMagicError)


def check_is_log(segment: Segment) -> None:
    """Raise `OptionError` for a file without a segment's name if nothing in it looks like an entry.

    An entry has a plausible length and magic, whatever its checksum.
    """
    if SEGMENT_NAME.fullmatch(os.path.basename(segment.path)) or not segment.size:
        return
    for event in segment.iter_events(on_damage="skip", wanted=lambda _batch: False):
        if isinstance(event, Batch | Padding):
            return
        if isinstance(event, Damage) and _may_be_entry(event, segment.path):
            return
    raise OptionError(
        "this is not a log of Kafka: nothing in it looks like a batch. To read a damaged log anyway, give it "
        "a segment's name, 20 digits and .log",
        path=segment.path,
    )


def is_single_file(path: str) -> bool:
    """Return whether a path is a file of this machine outside a partition's directory."""
    if is_address(path) or not os.path.isfile(path):
        return False
    directory, name = os.path.split(os.path.abspath(path))
    return (
        TIERED_NAME.fullmatch(name) is not None or parse_directory_name(os.path.basename(directory)) is None
    )


def checked_file(path: str, source: Source | None = None) -> StoredSegment:
    """Return what a listing would have of a file that was given by its own name.

    Args:
        path: of the file.
        source: its content, if it is open already.

    Raises:
        OptionError: it is not a segment.
        ReadError: it cannot be opened.
    """
    refuse_other_file(path)
    with open_segment(path if source is None else source, only_files=True) as segment:
        check_is_log(segment)
        size = segment.size
    return StoredSegment(StoredFile(path, size, ""), first_offset_in_name(path) or 0, is_newest=True)
