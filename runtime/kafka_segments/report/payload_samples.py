"""Compression by codec: bytes of all payloads, and the ratio of a sample that is decompressed.

A header does not say how many bytes a payload decompresses to. So payloads of batches chosen at random are
decompressed and measured while the segment is read; their content is not looked at. The choice depends on the
entries alone, so that two reports of the same files are the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kafka_segments.core import formats
from kafka_segments.core.codecs import CODEC_NAMES, DEFAULT_MAX_DECOMPRESSED, decompress
from kafka_segments.errors import DecodeError, ReadError
from kafka_segments.log.segment_figures import codec_name
from kafka_segments.report.entry_figures import EntryFigures

__all__ = ["CodecTotals", "PayloadSamples"]

_NUM_SAMPLED = 24  # batches of each codec in a partition
_MAX_LEN_SAMPLED = 8 << 20  # bytes of a payload
_SEED = 19

_Sample = tuple[float, int, int, int, int, str]
"""Weight, number of the segment, position, compressed and decompressed bytes, error or an empty text."""


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
    """Totals by codec, and a random choice of compressed payloads.

    Attributes:
        totals: by number of the codec; those of the sample are known at the end.
    """

    def __init__(self) -> None:
        self.totals: dict[int, CodecTotals] = {}
        self._chosen: dict[int, list[_Sample]] = {}
        self._random: dict[int, np.random.Generator] = {}

    def add(self, figures: EntryFigures, at: int, payload: Callable[[int], bytes | memoryview]) -> None:
        """Add the next entries.

        Args:
            figures: of them.
            at: number of their segment.
            payload: reads the payload in a row.

        Raises:
            MissingCodecError: a codec's package is not installed.
            StoreError: a store refused or failed.
        """
        codecs, is_old = figures.entries.column("codec"), figures.entries.column("magic") < 2
        lengths = figures.size - np.where(is_old, formats.LEN_LOG_OVERHEAD, formats.LEN_HEAD)
        for codec in np.unique(codecs).tolist():
            own = codecs == codec
            sums = (int(one[own].sum()) for one in (figures.num_records, figures.size, lengths))
            self.totals.setdefault(codec, CodecTotals()).add(CodecTotals(int(own.sum()), *sums))
            if 0 < codec <= len(CODEC_NAMES):
                rows = np.flatnonzero(own & (lengths > 0) & (lengths <= _MAX_LEN_SAMPLED))
                for weight, row in self._drawn(codec, rows):
                    position = figures.entries.value(row, "end_position") - int(lengths[row])
                    found = _measured(payload, row, figures.entries.value(row, "magic"), codec)
                    kept, sample = self._chosen[codec], (weight, at, position, *found)
                    (heapq.heappush if len(kept) < _NUM_SAMPLED else heapq.heapreplace)(kept, sample)

    def _drawn(self, codec: int, rows: np.ndarray) -> Iterator[tuple[float, int]]:
        """Yield those of the next rows whose random numbers are among the greatest so far, with these."""
        # A generator for each codec: what is chosen does not depend on how entries come in tables.
        weights = self._random.setdefault(codec, np.random.default_rng(_SEED)).random(len(rows))
        kept = self._chosen.setdefault(codec, [])
        for place in np.argsort(weights)[-_NUM_SAMPLED:].tolist():
            weight = float(weights[place])
            if len(kept) < _NUM_SAMPLED or weight > kept[0][0]:
                yield weight, int(rows[place])

    def end(self) -> list[tuple[int, int, str]]:
        """Add up the sample; return number of the segment, position and error of what does not decompress."""
        wrong = []
        for codec, samples in self._chosen.items():
            for _weight, at, position, length, decompressed, error in samples:
                if error:
                    wrong.append((at, position, error))
                else:
                    self.totals[codec].add(CodecTotals(0, 0, 0, 0, 1, length, decompressed))
        return sorted(wrong)


def _measured(
    payload: Callable[[int], bytes | memoryview], row: int, magic: int, codec: int
) -> tuple[int, int, str]:
    """Return the compressed and the decompressed bytes of a payload, and what is wrong with it."""
    try:
        data = payload(row)
        if magic < 2:  # the codec has made the value of a wrapper
            data = formats.read_message(data, 0).value or b""
        whole = decompress(codec_name(codec), data, max_size=DEFAULT_MAX_DECOMPRESSED, magic=magic)
    except (DecodeError, ReadError) as error:
        return 0, 0, str(error.detail)
    return len(data), len(whole), ""
