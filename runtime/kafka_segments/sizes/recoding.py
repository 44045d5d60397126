"""Entries in another format, with another codec, level or size of batches, and the times that this takes.

Strategy: a piece of a segment is read once, and encoded by a `Recoder` for each form. Batches that stay as
they are keep the fields of their headers, so a segment without compression comes out of magic 2 as it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kafka_segments.core.codecs import check_level, compress
from kafka_segments.core.formats import MAGICS
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.sizes.entry_pieces import EntryPiece
from kafka_segments.write.api import new_encoding
from kafka_segments.write.batch_options import BatchOptions
from kafka_segments.write.encoder import EncodedBatches
from kafka_segments.write.encoding import EncodingStart
from kafka_segments.write.given_batches import GivenBatch
from kafka_segments.write.inputs import Incoming

__all__ = ["Form", "Recoder", "is_possible"]

_LEN_DECODED = 1 << 20  # at once: setting up a reader takes as long as reading some KiB
_MAX_DECODED = 64 << 20  # the rate does not change after that


class Form(NamedTuple):
    """Form in which records are stored.

    Attributes:
        magic: of the message format.
        compression: "none" or the name of a codec.
        level: of compression; None is Kafka's default.
        batch_size: bytes of a batch at most, as in `BatchOptions`; None keeps the batches as they are.
    """

    magic: int
    compression: str = "none"
    level: int | None = None
    batch_size: int | None = None

    @property
    def used_level(self) -> int | None:
        """The level that is passed to the codec; None without levels, and for gzip's default."""
        if self.compression in {"none", "snappy"} or (self.compression == "gzip" and self.level is None):
            return None
        return check_level(self.compression, self.level)


def is_possible(form: Form) -> bool:
    """Return whether Kafka has a form; zstd came with magic 2 (KIP-110)."""
    return form.magic >= 2 or form.compression != "zstd"


class Recoder:
    """Encoder of pieces of segments in one form; for one thread at a time.

    Args:
        form: the form.
        is_whole: whether all pieces of a file come, in order. Batches of a given size then go on from one to
            the next, and `finish` ends them; else the last one of a piece is not counted.

    Attributes:
        form: the form.
        num_source: bytes of the entries that were counted, before they were encoded.
        num_bytes: bytes of these in the form.
        num_batches: number of these.
        num_records: records in them.

    Raises:
        OptionError: a form that Kafka does not have.
        MissingCodecError: while encoding: the codec's package is not installed.
    """

    def __init__(self, form: Form, *, is_whole: bool) -> None:
        size: dict[str, Any] = {} if form.batch_size is None else {"batch_size": form.batch_size}
        self.form = form
        self._options = BatchOptions(
            magic=form.magic,
            compression=form.compression,
            compression_level=form.level,
            max_message_bytes=None,
            experimental_magic3=form.magic not in MAGICS,
            **size,
        )
        self._continues = is_whole and form.batch_size is not None
        self._is_cut = not is_whole and form.batch_size is not None
        self._encoding = new_encoding(self._options, _new_start())
        self._last_offset = -1
        self.num_source = 0.0
        self.num_bytes = self.num_batches = self.num_records = 0
        self._encode_ns = self._num_encoded = self._decode_ns = self._num_decoded = self._len_decoded = 0
        self._waiting, self._num_waiting = bytearray(), 0
        if self._options.is_compressed:  # the codec is loaded now, and not while time is taken
            compress(form.compression, b"", level=form.level, magic=form.magic)

    def measure(self, piece: EntryPiece, *, is_large: bool = False) -> tuple[float, int]:
        """Encode and decode a piece, and count.

        Args:
            piece: the entries.
            is_large: whether to give back the memory that this takes; an encoder keeps it otherwise.

        Returns:
            What this adds to `num_source` and `num_bytes`.
        """
        before = self.num_source, self.num_bytes
        found = self._timed(self.encode(piece))
        if is_large and not self._continues:
            self._encoding = new_encoding(self._options, _new_start())
        self._num_encoded += piece.num_bytes
        self._decode(found, piece.num_bytes)
        self._count(found, piece)
        return self.num_source - before[0], self.num_bytes - before[1]

    def finish(self) -> None:
        """Encode what is left of batches of a given size."""
        found = self._timed(self._encoding.restart(_new_start()))
        self._decode(found, 0)
        self._count(found, None)
        self._last_offset = -1

    def encode(self, piece: EntryPiece) -> Iterator[EncodedBatches]:
        """Encode the data records of a piece."""
        offsets = piece.records.columns.get("offset", ())
        if len(offsets) and offsets[0].as_py() <= self._last_offset:
            yield from self._encoding.restart(_new_start())
        records, batches = piece.records, piece.batches
        if self.form.magic < 2:
            kept = {name: column for name, column in records.columns.items() if name != "headers"}
            records = Incoming(records.num_rows, kept)
            batches = tuple(GivenBatch(batch.end_row) for batch in batches)
        if self.form.batch_size is None:
            yield from self._encoding.feed_batches(records, batches)
        else:
            yield from self._encoding.feed(records)
        if not self._continues:
            yield from self._encoding.restart(_new_start())
        elif len(offsets):
            self._last_offset = offsets[-1].as_py()

    def seconds(self, num_source: float) -> tuple[float, float]:
        """Return the CPU times to encode entries of so many bytes, and to verify and read the result."""
        encode = self._encode_ns / max(self._num_encoded, 1)
        decode = self._decode_ns / max(self._num_decoded, 1)
        return encode * num_source / 1e9, decode * num_source / 1e9

    def _timed(self, encode: Iterator[EncodedBatches]) -> list[EncodedBatches]:
        started = time.thread_time_ns()
        found = list(encode)
        self._encode_ns += time.thread_time_ns() - started
        return found

    def _count(self, found: Sequence[EncodedBatches], piece: EntryPiece | None) -> None:
        sizes = np.concatenate([np.zeros(0, np.int64), *(one.sizes for one in found)])
        counts = np.concatenate([np.zeros(0, np.int64), *(one.counts for one in found)])
        share = 1.0
        if self._is_cut and len(sizes) > 1:
            share = 1.0 - int(counts[-1]) / int(counts.sum())
            sizes, counts = sizes[:-1], counts[:-1]
        self.num_bytes += int(sizes.sum())
        self.num_batches += len(sizes)
        self.num_records += int(counts.sum())
        if piece is not None:
            # Batches without data records are as they were, and have no part in what is cut.
            copied = piece.sizes[piece.num_records == 0]
            self.num_source += share * (piece.num_bytes - int(copied.sum())) + int(copied.sum())
            if self.form.magic >= 2:
                self.num_bytes += int(copied.sum())
                self.num_batches += len(copied)

    def _decode(self, found: Sequence[EncodedBatches], num_source: int) -> None:
        if self._len_decoded >= _MAX_DECODED:
            return
        for one in found:
            self._waiting += one.data
        self._num_waiting += num_source
        if len(self._waiting) >= _LEN_DECODED:
            self.decode_waiting()

    def decode_waiting(self) -> None:
        """Decode what was encoded and waits for more."""
        if not self._len_decoded:  # machine code is loaded
            self._time_to_decode()
        self._decode_ns += self._time_to_decode()
        self._len_decoded += len(self._waiting)
        self._num_decoded += self._num_waiting
        self._waiting, self._num_waiting = bytearray(), 0

    def _time_to_decode(self) -> int:
        started = time.thread_time_ns()
        with open_segment(self._waiting, experimental_magic3=self._options.is_experimental) as segment:
            for _batch in segment.read_batches():
                pass
        return time.thread_time_ns() - started


def _new_start() -> EncodingStart:
    return EncodingStart(0, -1, -1)
