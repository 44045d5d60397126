"""Compression by codec: bytes of all payloads, and the ratio of a sample that is decompressed.

A header does not say how many bytes a payload decompresses to. So payloads of batches chosen at random are
decompressed and measured; their content is not looked at. The choice depends on the input alone, so that two
reports of the same files are the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from kafka_segments.core import formats
from kafka_segments.core.codecs import CODEC_NAMES, DEFAULT_MAX_DECOMPRESSED, decompress
from kafka_segments.errors import DecodeError, ReadError
from kafka_segments.log.model import StoredSegment
from kafka_segments.log.opening import open_stored
from kafka_segments.log.segment_figures import codec_name
from kafka_segments.report.header_columns import HeaderColumns

if TYPE_CHECKING:
    from kafka_segments.core.io.filesystems import Places

__all__ = ["CodecTotals", "PayloadSamples"]

_NUM_SAMPLED = 24  # batches of each codec in a partition
_MAX_LEN_SAMPLED = 8 << 20  # bytes of a payload
_SEED = 19

_Sample = tuple[int, int, int, int, int]  # segment, position, bytes, magic, codec


@dataclass(slots=True)
class CodecTotals:
    """Batches of one codec.

    Attributes:
        num_batches: record batches, or messages and wrappers of the old formats.
        num_records: data records by the headers.
        num_bytes: bytes of the batches.
        num_payload_bytes: of these, what the codec has compressed.
        num_sampled: payloads that were decompressed.
        sampled_bytes: their compressed bytes.
        sampled_decompressed: and decompressed.
    """

    num_batches: int = 0
    num_records: int = 0
    num_bytes: int = 0
    num_payload_bytes: int = 0
    num_sampled: int = 0
    sampled_bytes: int = 0
    sampled_decompressed: int = 0

    def add(self, other: CodecTotals) -> None:
        """Add the totals of other batches of the codec."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def ratio(self) -> float | None:
        """Decompressed bytes for each compressed one, by the sample; None without one."""
        return self.sampled_decompressed / self.sampled_bytes if self.sampled_bytes else None


class PayloadSamples:
    """Totals by codec, and a random choice of compressed payloads."""

    def __init__(self) -> None:
        self.totals: dict[int, CodecTotals] = {}
        self._chosen: dict[int, list[tuple[float, int, _Sample]]] = {}
        self._random = np.random.default_rng(_SEED)
        self._number = count()

    def add(self, columns: HeaderColumns, at: int) -> None:
        """Add the next headers; `at` is the number of their segment."""
        lengths = columns.end_payload - columns.payload
        for codec in np.unique(columns.codec).tolist():
            own = columns.codec == codec
            total = CodecTotals(int(own.sum()))
            total.num_records = int(columns.num_records[own].sum())
            total.num_bytes = int(columns.size[own].sum())
            total.num_payload_bytes = int(lengths[own].sum())
            self.totals.setdefault(codec, CodecTotals()).add(total)
            if 0 < codec <= len(CODEC_NAMES):
                rows = np.flatnonzero(own & (lengths > 0) & (lengths <= _MAX_LEN_SAMPLED))
                self._choose(columns, at, codec, rows)

    def _choose(self, columns: HeaderColumns, at: int, codec: int, rows: np.ndarray) -> None:
        """Keep the payloads with the greatest random numbers, as many as are sampled."""
        weights = self._random.random(len(rows))
        kept = self._chosen.setdefault(codec, [])
        for place in np.argsort(weights)[-_NUM_SAMPLED:].tolist():
            row = int(rows[place])
            start, end = int(columns.payload[row]), int(columns.end_payload[row])
            sample = at, start, end - start, int(columns.magic[row]), codec
            entry = float(weights[place]), next(self._number), sample
            (heapq.heappush if len(kept) < _NUM_SAMPLED else heapq.heappushpop)(kept, entry)

    def measure(self, places: Places, segments: list[StoredSegment]) -> list[tuple[StoredSegment, int, str]]:
        """Decompress the sample; return segment, position and error of each payload that does not.

        Raises:
            MissingCodecError: a codec's package is not installed.
            StoreError: a store refused or failed.
        """
        wrong = []
        chosen = sorted(sample for entries in self._chosen.values() for _weight, _number, sample in entries)
        for segment, samples in _by_segment(chosen, segments):
            try:
                source = open_stored(places, segment)
            except ReadError:  # it was there before: removed meanwhile, and not part of the sample
                continue
            with closing(source):
                for _at, position, size, magic, codec in samples:
                    try:
                        data = _compressed(source.read(position, size), magic)
                        name, most = codec_name(codec), DEFAULT_MAX_DECOMPRESSED
                        length = len(decompress(name, data, max_size=most, magic=magic))
                    except (DecodeError, ReadError) as error:
                        wrong.append((segment, position, str(error.detail)))
                        continue
                    total = self.totals[codec]
                    total.num_sampled += 1
                    total.sampled_bytes += len(data)
                    total.sampled_decompressed += length
        return wrong


def _compressed(payload: bytes | memoryview, magic: int) -> bytes | memoryview:
    """Return what the codec has made: of a wrapper of magic 0 or 1, its value."""
    if magic >= 2:
        return payload
    return formats.read_message(payload, 0).value or b""


def _by_segment(
    chosen: Iterable[_Sample], segments: list[StoredSegment]
) -> Iterable[tuple[StoredSegment, list[_Sample]]]:
    grouped: dict[int, list[_Sample]] = {}
    for sample in chosen:
        grouped.setdefault(sample[0], []).append(sample)
    return [(segments[at], samples) for at, samples in grouped.items()]
