"""Records of compressed batches, decompressed one behind the other into memory that is used again.

Strategy: the direct way (`compression.direct`) first, which takes what is ordinary and fits; else the codec's
own module, whose result is a bytes object of its own. That one also says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_segments.columnar.arena import Scratch
from kafka_segments.compression import CODEC_NAMES, decompress
from kafka_segments.compression.direct import Direct, direct_codec
from kafka_segments.errors import DecompressionError

__all__ = ["PlainRecords"]

_LEN_BUFFER = 4 << 20
_LARGEST_BUFFER = 64 << 20  # larger results come and go as objects of their own
_LEN_TOGETHER = 1 << 20  # decompressed bytes that are worth a call of the decoder


class PlainRecords:
    """A buffer that some payloads at a time are decompressed into.

    Args:
        max_decompressed: bytes that one payload may decompress to.

    Attributes:
        data: address and size of the bytes that the last `fill` decompressed to.
    """

    def __init__(self, max_decompressed: int) -> None:
        self._max_decompressed = max_decompressed
        self._scratch: Scratch | None = None
        self._alone = b""
        self.data = (0, 0)

    def fill(
        self, window: memoryview, address: int, codecs: Sequence[int], places: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Decompress payloads, one at least unless there are none.

        Args:
            window: the bytes that hold the payloads.
            address: where they are in memory.
            codecs: of each payload, Kafka's number.
            places: of each payload, where it begins and ends in `window`.

        Returns:
            Where the first of the payloads begin and end in `data`, for as many as were done.

        Raises:
            DecompressionError: of the first payload: an unknown codec, wrong bytes, or too many.
            MissingCodecError: the codec's package is not installed.
        """
        scratch = self._scratch = self._scratch or Scratch(_LEN_BUFFER)
        done: list[tuple[int, int]] = []
        used, codec, direct = 0, 0, None
        for at, (start, end) in enumerate(places):
            if codecs[at] != codec:
                codec = codecs[at]
                direct = _direct(codec)
            target = scratch.view[used : used + self._max_decompressed]
            size = direct and direct(window[start:end], address + start, target, scratch.address + used)
            if size is None:
                return done or self._fill_alone(codec, window[start:end])
            done.append((used, used + size))
            used += size
            self.data = scratch.address, used
            if used >= _LEN_TOGETHER:
                break
        return done

    def _fill_alone(self, codec: int, payload: memoryview) -> list[tuple[int, int]]:
        self._alone = decompress(_name(codec), payload, max_size=self._max_decompressed)
        size = len(self._alone)
        if _LEN_BUFFER < size <= _LARGEST_BUFFER // 2:
            self._scratch = Scratch(1 << (2 * size).bit_length())  # the next one is likely to be as large
        self.data = pa.py_buffer(self._alone).address, size
        return [(0, size)]


def _direct(codec: int) -> Direct | None:
    return direct_codec(_name(codec)) if 1 <= codec <= len(CODEC_NAMES) else None


def _name(codec: int) -> str:
    if not 1 <= codec <= len(CODEC_NAMES):
        raise DecompressionError(f"unknown compression codec {codec}; Kafka has 0 to 4", codec=codec)
    return CODEC_NAMES[codec - 1]
