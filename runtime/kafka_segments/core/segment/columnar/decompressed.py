"""Decompression of batches' records into one reused buffer.

Strategy: ordinary payloads are decompressed many with a call (`codec_loops`), and that call decodes them too
where it can (`fused_expansion`). Others go through the codec's own module, whose result is a bytes object,
and whose errors describe what is wrong.
"""

from __future__ import annotations

from typing import Any

from kafka_segments.core.codecs import CODEC_NAMES, decompress
from kafka_segments.core.codecs.bounds import ALWAYS_ALLOWED, content_bound
from kafka_segments.core.native.arena import Scratch
from kafka_segments.core.segment.columnar.codec_loops import Loop, new_loop
from kafka_segments.core.segment.columnar.decoding import RecordDecoder
from kafka_segments.core.segment.columnar.fused_expansion import FusedExpansion
from kafka_segments.errors import DecompressionError

__all__ = ["PlainRecords"]

_LEN_BUFFER = 4 << 20
_LARGEST_BUFFER = ALWAYS_ALLOWED  # larger results are judged by the size of their payload; they come alone
_LEN_TOGETHER = 1 << 19  # decompressed bytes that are worth a call of the decoder


class PlainRecords:
    """Buffer for the content of a few payloads at a time.

    Args:
        max_decompressed: bytes that one payload may decompress to.
        keeps: whether contents stay as they are while they are referenced.

    Attributes:
        view: the content of the last `fill`; valid until the next one, unless `keeps` is set.
    """

    def __init__(self, max_decompressed: int, *, keeps: bool = False) -> None:
        self._max_decompressed = max_decompressed
        self._keeps, self._used, self._has_filled = keeps, 0, False
        self._scratch: Scratch | None = None
        self._loops: dict[tuple[str, bool], Loop | None] = {}
        self._fused: dict[tuple[str, RecordDecoder], FusedExpansion] = {}
        self.view = memoryview(b"")

    def fill(self, window: memoryview, codec: int, places: Any, magic: int = 2) -> int:
        """Decompress payloads, one at least.

        Args:
            window: the bytes that hold the payloads.
            codec: of the payloads, Kafka's number.
            places: an int64 array with two columns: where each payload begins and ends in `window`. For those
                that are done, it becomes where they are in `view`.
            magic: of the batches or messages, as for `codecs.decompress`.

        Returns:
            How many payloads were done.

        Raises:
            DecompressionError: of the first payload: an unknown codec, wrong bytes, or too many.
            MissingCodecError: the codec's package is not installed.
        """
        name = _name(codec)
        loop = self._loop(name, magic)
        while loop is not None:
            target = self._target()
            num_done, size = loop.expand(window, places, target, _LEN_TOGETHER)
            if num_done:
                self.view = target[:size]
                self.keep(size)
                return num_done
            if self._used == 0:
                break
            self._scratch, self._used, self._has_filled = None, 0, True  # too large for the rest, or for all
        start, end = places[0].tolist()
        self._fill_alone(name, window[start:end], magic)
        places[0] = 0, len(self.view)
        return 1

    def fused(
        self, decoder: RecordDecoder, window: memoryview, codec: int, places: Any, spans: Any
    ) -> FusedExpansion | None:
        """Return a loop that decompresses ordinary payloads into `view`, and decodes their records.

        Args:
            decoder: of the records.
            window: the bytes that hold the payloads.
            codec: of the payloads, Kafka's number.
            places: of the payloads, as for `fill`.
            spans: of the decoder, see `FusedExpansion.prepare`.

        Returns:
            None if the codec has no such loop.

        Raises:
            DecompressionError: an unknown codec.
        """
        name = _name(codec)
        loop = self._loop(name, 2)
        if loop is None:
            return None
        key = name, decoder
        if key not in self._fused:
            self._fused[key] = FusedExpansion(loop, decoder, keeps=self._keeps)
        self.view = self._target()
        self._fused[key].prepare(window, places, spans, self.view, enough=_LEN_TOGETHER)
        return self._fused[key]

    def keep(self, size: int) -> None:
        """Leave the first bytes of `view` as they are if contents are kept; call it when `fused` has run."""
        self._used += size if self._keeps else 0

    def _target(self) -> memoryview:
        """Memory for contents."""
        scratch = self._scratch = self._scratch or Scratch(_LEN_BUFFER, is_filled=self._has_filled)
        most = min(self._max_decompressed, _LARGEST_BUFFER)
        return scratch.view[self._used : min(len(scratch.view), self._used + most)]

    def _loop(self, name: str, magic: int) -> Loop | None:
        key = name, magic == 0
        if key not in self._loops:
            self._loops[key] = new_loop(name, magic)
        return self._loops[key]

    def _fill_alone(self, name: str, payload: memoryview, magic: int) -> None:
        max_size = content_bound(len(payload), self._max_decompressed)
        self.view = memoryview(decompress(name, payload, max_size=max_size, magic=magic))
        size = len(self.view)
        if _LEN_BUFFER < size <= _LARGEST_BUFFER // 2:
            # The next one is likely to be as large.
            self._scratch, self._used = Scratch(1 << (2 * size).bit_length()), 0


def _name(codec: int) -> str:
    if not 1 <= codec <= len(CODEC_NAMES):
        raise DecompressionError(f"unknown compression codec {codec}; Kafka has 0 to 4", codec=codec)
    return CODEC_NAMES[codec - 1]
