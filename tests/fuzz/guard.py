"""Places for inputs: the very end of readable memory, where who reads on stops the process; and a file."""

from __future__ import annotations

import os
from random import Random

import numpy as np
from tests.columns.guarded import guarded


class Guard:
    """Room for one input at a time."""

    def __init__(self, size: int = 1 << 17) -> None:
        self._array = guarded(np.zeros(size, np.uint8))
        self.is_on = True

    def place(self, data: bytes) -> bytes | memoryview:
        """The same bytes, there; valid until the next ones come. None at all have no place."""
        start = len(self._array) - len(data)
        if not data or start < 0 or not self.is_on:
            return data
        self._array[start:] = np.frombuffer(data, np.uint8)
        return memoryview(self._array[start:])


class _File:
    """A file in memory, with another content each time."""

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("input")
        self._path = f"/proc/self/fd/{self._descriptor}"

    def place(self, data: bytes) -> str:
        """A path to a file with these bytes; valid until the next ones come."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, data, 0)
        return self._path


GUARD, FILE = Guard(), _File()


def place(dice: Random, data: bytes) -> bytes | memoryview | str:
    """A source for `open_segment`: nearly always memory with nothing readable behind."""
    return FILE.place(data) if dice.randrange(8) == 0 else GUARD.place(data)
