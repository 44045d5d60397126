"""Generated functions: as machine code, from the library in the wheel or compiled here, or interpreted.

Strategy: a wheel for Linux carries the machine code of all generated functions as one shared library
(`library`). Where there is none (another platform, schemas of one's own), numba compiles (`jit`).
Machine code stays loaded until the process ends. Functions over headers also run interpreted, which needs no
package, and is faster for a few entries than loading machine code.
"""

from __future__ import annotations

import ctypes
import inspect
import threading
from collections.abc import Callable
from typing import Any

from kafka_segments.core.native import library

__all__ = [
    "ArgumentTable",
    "Compiled",
    "Decoder",
    "Interpreted",
    "address_of",
    "has_crc32c",
    "is_loaded",
    "load_decoder",
    "parameters_of",
]

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class Decoder:
    """A compiled decoder; calls release Python's global interpreter lock.

    Attributes:
        address: of its code.
        parameters: names of its array parameters, in order.
    """

    def __init__(self, address: int, parameters: tuple[str, ...]) -> None:
        self.address = address
        self._function = _ENTRY(address)
        self.parameters = parameters

    def new_table(self) -> ArgumentTable:
        """Make a table of arguments, for one thread at a time."""
        return ArgumentTable(self.parameters)

    def __call__(self, table: ArgumentTable) -> int:
        """Run the decoder over the arrays of a table; return its status."""
        self._function(table.result_address, None, table.address)
        return table.result.value


class ArgumentTable:
    """Addresses and lengths of a decoder's arrays; the caller keeps the arrays alive."""

    def __init__(self, parameters: tuple[str, ...]) -> None:
        self._places = {name: 2 * at for at, name in enumerate(parameters)}
        self._words = (ctypes.c_int64 * (2 * len(parameters)))()
        self.address = ctypes.addressof(self._words)
        self.result = ctypes.c_int64()
        self.result_address = ctypes.addressof(self.result)

    def set(self, name: str, address: int, length: int) -> None:
        """Set the address of an array, and its number of elements."""
        place = self._places[name]
        self._words[place] = address
        self._words[place + 1] = length


_decoders: dict[tuple[Any, ...], Decoder] = {}
_lock = threading.Lock()


def load_decoder(factory: Callable[..., Any], **options: bool) -> Decoder:
    """Load the decoder that `factory(**options)` returns.

    Args:
        factory: a function of a generated module in `columns/` that returns a function of arrays.
        options: of the factory; each combination is machine code of its own.

    Raises:
        MachineCodeError: the library was made from other sources.
        MissingExtraError: there is no library, and numba cannot be loaded.
    """
    key = (factory, tuple(sorted(options.items())))
    with _lock:
        if key not in _decoders:
            _decoders[key] = _load(factory, options)
        return _decoders[key]


def is_loaded(factory: Callable[..., Any]) -> bool:
    """Whether this process has loaded a decoder that `factory` returns, with any options."""
    return any(known is factory for known, _options in tuple(_decoders))


def parameters_of(factory: Callable[..., Any], options: dict[str, bool]) -> list[tuple[str, str]]:
    """Names and annotations of the parameters of what `factory(**options)` returns."""
    found = inspect.signature(factory(**options)).parameters
    return [(name, str(parameter.annotation)) for name, parameter in found.items()]


def _load(factory: Callable[..., Any], options: dict[str, bool]) -> Decoder:
    parameters = parameters_of(factory, options)
    address = library.address_of(factory, options)
    if address is None:
        from kafka_segments.core.native import jit  # with llvmlite, which takes a while to load

        address = jit.load(factory, options, parameters)
    return Decoder(address, tuple(name for name, _ in parameters))


class Interpreted:
    """A generated function with its arrays, run as it is.

    Args:
        factory: a function of a generated module that returns a function of arrays.
        options: of the factory.
    """

    def __init__(self, factory: Callable[..., Any], **options: bool) -> None:
        self._function: Any = factory(**options)
        self._arrays: dict[str, Any] = dict.fromkeys(inspect.getargs(self._function.__code__).args)

    def set(self, name: str, array: Any) -> None:
        """Set an array: memory, of bytes or of integers of 64 bits."""
        self._arrays[name] = memoryview(array)

    def __call__(self) -> int:
        """Run the function; return its status."""
        return int(self._function(**self._arrays))


class Compiled:
    """A generated function with its arrays, as machine code.

    Args:
        factory: as for `Interpreted`.
        options: of the factory.

    Raises:
        MissingExtraError: there is no machine code, and numba or numpy cannot be loaded.

    Attributes:
        parameters: names of its arrays.
    """

    def __init__(self, factory: Callable[..., Any], **options: bool) -> None:
        self._decoder = load_decoder(factory, **options)
        self.parameters = frozenset(self._decoder.parameters)
        self._table = self._decoder.new_table()
        self._arrays: dict[str, Any] = {}
        self.entry = self._decoder.address, self._table.address
        """Addresses of the code and of its arguments, for other compiled code."""

    def set(self, name: str, array: Any) -> None:
        """Set an array: memory, of bytes or of integers of 64 bits."""
        view = memoryview(array)
        self._arrays[name] = view
        self.place(name, address_of(view), view.nbytes // view.itemsize)

    def place(self, name: str, address: int, length: int) -> None:
        """Set an array by its address and number of elements; the caller keeps it alive."""
        self._table.set(name, address, length)

    def __call__(self) -> int:
        """Run the machine code; return its status."""
        return self._decoder(self._table)


def address_of(view: memoryview) -> int:
    """Return the address of memory, which need not be writable; 0 if there is none."""
    if not view.readonly and view.nbytes:
        return ctypes.addressof(ctypes.c_char.from_buffer(view))
    import numpy as np

    return int(np.asarray(view).ctypes.data) if view.nbytes else 0


def has_crc32c() -> bool:
    """Whether decoders compute CRC-32C by folding; where not (ARM, old x86), the package crc32c is faster."""
    known = library.has_crc32c()
    if known is None:
        from kafka_segments.core.native import cpu

        known = cpu.has_crc32c()
    return known
