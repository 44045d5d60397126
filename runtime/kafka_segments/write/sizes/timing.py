"""Times of decoding entries in each form."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

from kafka_segments.core.formats import MAGICS
from kafka_segments.write.sizes.forms import Form
from kafka_segments.write.sizes.recoding import EncodedForm, time_to_decode

__all__ = ["DecodeTimes"]

_LEN_AT_ONCE = 1 << 20  # setting up a reader takes as long as reading some KiB
_MAX_DECODED = 64 << 20  # in each form; the rate does not change after that


@dataclass(slots=True)
class _Waiting:
    """Entries to be decoded, and what was found so far."""

    pieces: list[bytes] = field(default_factory=list)
    num_bytes: int = 0
    num_source_bytes: int = 0
    num_decoded: int = 0
    num_decoded_source: int = 0
    nanoseconds: int = 0


class DecodeTimes:
    """Times in which entries of each form are verified and read as Arrow columns.

    Args:
        pool: threads that decode what is left at the end, each form in one.
    """

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._forms: dict[Form, _Waiting] = {}

    def add(self, form: Form, recoded: EncodedForm, num_source_bytes: int) -> None:
        """Decode entries, some at a time.

        Args:
            form: the form.
            recoded: the entries.
            num_source_bytes: bytes of the entries that they were before.
        """
        waiting = self._forms.setdefault(form, _Waiting())
        if waiting.num_decoded >= _MAX_DECODED:
            return
        waiting.pieces += map(bytes, recoded.data)  # copies: the encoder's memory is used again
        waiting.num_bytes += sum(map(len, recoded.data))
        waiting.num_source_bytes += num_source_bytes
        if waiting.num_bytes >= _LEN_AT_ONCE:
            self._decode(form, waiting)

    def finish(self) -> None:
        """Decode what is left."""
        left = [(form, waiting) for form, waiting in self._forms.items() if waiting.pieces]
        for _done in self._pool.map(self._decode, *zip(*left, strict=True)) if left else ():
            pass

    def seconds(self, form: Form, num_source_bytes: float) -> float:
        """Return the CPU time for entries that are `num_source_bytes` long before they are encoded."""
        waiting = self._forms.get(form)
        if waiting is None or not waiting.num_decoded_source:
            return 0.0
        return waiting.nanoseconds / 1e9 * num_source_bytes / waiting.num_decoded_source

    def _decode(self, form: Form, waiting: _Waiting) -> None:
        decode = partial(time_to_decode, is_experimental=form.magic not in MAGICS)
        if not waiting.num_decoded:  # machine code is loaded
            decode(waiting.pieces[0])
        waiting.nanoseconds += decode(b"".join(waiting.pieces))
        waiting.num_decoded += waiting.num_bytes
        waiting.num_decoded_source += waiting.num_source_bytes
        waiting.pieces.clear()
        waiting.num_bytes = waiting.num_source_bytes = 0
