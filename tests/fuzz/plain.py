"""Compiled kernels replaced by what they are compiled from: slow, but their lines and places can be watched.

Strategy: a stand-in for `native.engine.load_decoder` gives functions that find their arrays by address, as
the machine code does. They have an address themselves (ctypes makes one), so that loops which call each other
by address work too. Loads, stores and copies check that they stay within their arrays.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from tests.columns.driver import TYPES

from kafka_segments.core.native import engine
from kafka_segments_generated.columns import support

LOADS = re.compile(r"load_[us]([1248])(be|le)?")


def rebound(function: FunctionType, blocks: dict[str, Any], done: dict[Any, Any] | None = None) -> Any:
    """A generated function with other building blocks, by name; so are the functions that it calls."""
    done = {} if done is None else done
    if function not in done:
        names: dict[str, Any] = dict(function.__globals__)
        done[function] = FunctionType(function.__code__, names, function.__name__)
        done[function].__kwdefaults__ = function.__kwdefaults__
        for name, value in function.__globals__.items():
            if isinstance(value, FunctionType) and value.__module__.startswith("kafka_segments"):
                own = blocks.get(value.__name__) if value.__module__.endswith("support") else None
                names[name] = own or rebound(value, blocks, done)
    return done[function]


class OutsideError(AssertionError):
    """An access beyond an array's end, or before its beginning."""


def _check(array: Any, at: int, size: int) -> None:
    if at < 0 or size < 0 or at + size > len(array):
        raise OutsideError(f"{size} elements at {at} of {len(array)}")


def _loading(block: Callable[[Any, int], int], width: int) -> Callable[[Any, int], int]:
    def load(array: Any, at: int) -> int:
        _check(array, at, width)
        return block(array, at)

    return load


def _store(array: Any, at: int, value: int) -> None:
    _check(array, at, 1)
    if array.dtype == np.uint8:
        value &= 0xFF
    support.store(array, at, value)


def _clear_bit(bitmap: Any, at: int) -> None:
    _check(bitmap, at >> 3, 1)
    support.clear_bit(bitmap, at)


def _copy_bytes(target: Any, to: int, source: Any, start: int, size: int) -> None:
    _check(target, to, size)
    _check(source, start, size)
    support.copy_bytes(target, to, source, start, size)


def _store_view(views: Any, row: int, data: Any, start: int, size: int, buffer: int) -> None:
    _check(views, support.LEN_VIEW * row, support.LEN_VIEW)
    _check(data, start, size)
    support.store_view(views, row, data, start, size, buffer)


def _checksum(block: Callable[[Any, int, int], int]) -> Callable[[Any, int, int], int]:
    def checksum(data: Any, start: int, end: int) -> int:
        _check(data, start, end - start)
        return block(data, start, end)

    return checksum


def checked_blocks() -> dict[str, Any]:
    """The building blocks of generated code, each of which checks its places."""
    blocks = {
        name: _loading(getattr(support, name), int(match[1]))
        for name in support.__all__
        if (match := LOADS.fullmatch(name))
    }
    blocks |= {"load": _loading(support.load, 1), "store": _store, "clear_bit": _clear_bit}
    blocks |= {"copy_bytes": _copy_bytes, "store_view": _store_view}
    blocks |= {name: _checksum(getattr(support, name)) for name in ("crc32", "crc32c")}
    return blocks


class PlainDecoder:
    """Stands for `native.engine.Decoder`."""

    def __init__(self, factory: Any, options: dict[str, bool]) -> None:
        self._run = rebound(factory, checked_blocks())(**options)
        code = self._run.__code__
        self.parameters = code.co_varnames[: code.co_argcount]
        self._kinds = [
            TYPES[re.sub(r"\W", "", str(self._run.__annotations__[each]))] for each in self.parameters
        ]
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self._callback = kind(self._called)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self.error: BaseException | None = None

    def new_table(self) -> engine.ArgumentTable:
        """As the compiled one."""
        return engine.ArgumentTable(self.parameters)

    def __call__(self, table: engine.ArgumentTable) -> int:
        """Run over the arrays of a table."""
        return self._over(table.address)

    def _over(self, address: int) -> int:
        words = (ctypes.c_int64 * (2 * len(self.parameters))).from_address(address)
        arrays = []
        for at, kind in enumerate(self._kinds):
            place, length = words[2 * at], words[2 * at + 1]
            size = length * np.dtype(kind).itemsize
            memory = (ctypes.c_ubyte * size).from_address(place) if place and size > 0 else b""
            arrays.append(np.frombuffer(memory, kind))
        return int(self._run(*arrays))

    def _called(self, result: int, _unused: Any, address: int) -> int:
        """As C calls it: what is raised has to wait, for C would lose it."""
        try:
            ctypes.c_int64.from_address(result).value = self._over(address)
        except BaseException as error:
            PlainDecoder.pending = error
            ctypes.c_int64.from_address(result).value = support.DAMAGED
        return 0

    pending: BaseException | None = None


_decoders: dict[Any, PlainDecoder] = {}


def load_plain(factory: Any, **options: bool) -> PlainDecoder:
    """Stands for `load_decoder`."""
    key = factory, tuple(sorted(options.items()))
    if key not in _decoders:
        _decoders[key] = PlainDecoder(factory, options)
    return _decoders[key]


def install() -> None:
    """Have everything in this process that is imported later run plain kernels."""
    engine.load_decoder = load_plain  # type: ignore[assignment]


def raise_pending() -> None:
    """Raise what a kernel raised that was called from C."""
    error, PlainDecoder.pending = PlainDecoder.pending, None
    if error is not None:
        raise error
