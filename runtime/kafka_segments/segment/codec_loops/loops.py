"""Many ordinary payloads of one codec, decompressed with one call.

Strategy: as `direct`, but with the loop over the payloads compiled (`native`), so that Python does nothing
for each of them. A module for each codec has its loop. A loop stops in front of the first payload that is not
ordinary, does not fit, or is wrong; that one goes another way, and the loop on behind it.
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

# What a loop's `state` holds: the number of the payload to go on with, and how many there are; bytes written,
# how many are enough for one call, and how many there is room for; the addresses of both arrays and of the
# state itself; from FIRST on what the codec needs: addresses of functions, contexts.
AT, COUNT, USED, ENOUGH, ROOM, SOURCE, TARGET, OWN, FIRST = range(9)
WORD = 8
"""Bytes of one of them."""
_NUM_STATE = 32


class Loop:
    """A codec's loop, for one thread.

    Args:
        decoder: the compiled loop.
        needs: what the codec needs, and what must be kept as long as it does.

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
        """Decompress payloads one behind the other.

        Returns:
            How many payloads were done, and the bytes written.
        """
        self.begin(source, places, target, enough)
        self._run(self._table)
        return self._state[AT], self._state[USED]

    def begin(
        self, source: tuple[int, int], places: tuple[int, int], target: tuple[int, int], enough: int
    ) -> None:
        """Say what there is to do, for somebody who calls the loop.

        Args:
            source: address and size of the bytes that hold them.
            places: address of pairs of 64-bit numbers, and how many pairs: where each payload begins and ends
                in `source`; for those that are done, it becomes where they are in `target`.
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
        return import_module(f"kafka_segments.segment.codec_loops.{name}_loop")
    except ImportError:
        return None  # there is no such loop, or the codec will say what is missing


def new_loop(name: str, magic: int = 2) -> Loop | None:
    """The loop of a codec by Kafka's name; None if it has none, or this installation lacks what it needs."""
    module = _module(name)
    find: Callable[[int], Any] | None = getattr(module, "loop_needs", None)
    needs = find(magic) if find else None
    if module is None or needs is None:
        return None
    from kafka_segments.native.engine import load_decoder

    return Loop(load_decoder(module.loop), needs)
