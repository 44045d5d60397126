"""Decompression of many ordinary payloads of one codec with one call.

Strategy: as `codecs.direct_codec`, but with a compiled loop over the payloads (`native`), so that Python does
nothing for each of them. Each codec's module has its loop. A loop stops before the first payload that is not
ordinary, does not fit, or is invalid; that one is decompressed by the codec's module, and the loop continues
after it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = [
    "AT",
    "COUNT",
    "ENOUGH",
    "FIRST",
    "OWN",
    "ROOM",
    "SOURCE",
    "TARGET",
    "USED",
    "WORD",
    "Loop",
    "new_loop",
]

# Slots of a loop's `state`: number of the next payload, and of all; bytes written, bytes that are enough for
# one call, and bytes of memory; the addresses of both arrays and of the state itself; from FIRST on values of
# the codec: addresses of functions, contexts.
AT, COUNT, USED, ENOUGH, ROOM, SOURCE, TARGET, OWN, FIRST = range(9)
WORD = 8
"""Bytes of a slot."""
_NUM_STATE = 64


class Loop:
    """A codec's loop, for one thread.

    Args:
        decoder: the compiled loop.
        needs: values for the loop's state, and an object that must stay alive.

    Attributes:
        entry: addresses of the compiled loop and of its arguments.
        state: address and length of its state.
    """

    def __init__(self, decoder: Any, needs: tuple[Sequence[int], Any]) -> None:
        self._run = decoder
        self._kept = needs[1]
        self._state = (ctypes.c_int64 * _NUM_STATE)()
        self._state[OWN] = ctypes.addressof(self._state)
        for at, word in enumerate(needs[0]):
            self._state[FIRST + at] = word
        self._table = decoder.new_table()
        self.entry = decoder.address, self._table.address
        self.state = ctypes.addressof(self._state), _NUM_STATE
        self._has_target = "target" in decoder.parameters
        self._table.set("state", ctypes.addressof(self._state), _NUM_STATE)

    def expand(
        self, source: tuple[int, int], places: tuple[int, int], target: tuple[int, int], enough: int
    ) -> tuple[int, int]:
        """Decompress payloads one after the other.

        Returns:
            The number of payloads done, and the bytes written.
        """
        self.begin(source, places, target, enough)
        self._run(self._table)
        return self._state[AT], self._state[USED]

    def begin(
        self, source: tuple[int, int], places: tuple[int, int], target: tuple[int, int], enough: int
    ) -> None:
        """Set the arguments, for a compiled caller of the loop.

        Args:
            source: address and size of the bytes that hold the payloads.
            places: address of pairs of 64-bit numbers, and their number: begin and end of each payload in
                `source`; for those that are done, replaced by begin and end of the content in `target`.
            target: address and size of the memory to write to.
            enough: bytes to stop at.
        """
        state = self._state
        state[AT], state[COUNT], state[USED] = 0, places[1], 0
        state[ENOUGH], state[ROOM] = enough, target[1]
        state[SOURCE], state[TARGET] = source[0], target[0]
        self._table.set("data", *source)
        self._table.set("places", places[0], 2 * places[1])
        if self._has_target:
            self._table.set("target", *target)


@cache
def _module(name: str) -> ModuleType | None:
    try:
        return import_module(f"kafka_segments.core.segment.codec_loops.{name}_loop")
    except ImportError:
        return None  # without a loop, or the codec reports the missing package


def new_loop(name: str, magic: int = 2) -> Loop | None:
    """Return the loop of a codec by Kafka's name; None if it has none, or its library is not installed."""
    module = _module(name)
    find: Callable[[int], Any] | None = getattr(module, "loop_needs", None)
    needs = find(magic) if find else None
    if module is None or needs is None:
        return None
    from kafka_segments.core.native.engine import load_decoder

    return Loop(load_decoder(module.loop), needs)
