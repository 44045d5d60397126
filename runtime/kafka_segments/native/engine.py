"""Generated decoders as machine code, loaded from the cache or compiled.

Strategy: numba compiles (a second or two, once a machine); LLVM alone loads compiled code (milliseconds), so
that numba is imported for compiling only. The key in the cache is a digest of everything that the code
depends on (`keys`). Machine code stays loaded until the process ends.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import inspect
import threading
from collections.abc import Callable
from typing import Any

from kafka_segments.errors import MissingExtraError
from kafka_segments.native import cache, keys
from kafka_segments.native.binding import llvm

__all__ = ["Decoder", "load_decoder"]

_COMPILING = "compiling decoders, which takes seconds"
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
_engines: list[Any] = []  # kept, as their code must never be unloaded


def load_decoder(factory: Callable[..., Any], **options: bool) -> Decoder:
    """Load the decoder that `factory(**options)` returns.

    Args:
        factory: a function of a generated module in `columns/` that returns a function of arrays.
        options: of the factory; each combination is compiled separately.
    """
    key = (factory, tuple(sorted(options.items())))
    with _lock:
        if key not in _decoders:
            _decoders[key] = _load(factory, options)
        return _decoders[key]


def _load(factory: Callable[..., Any], options: dict[str, bool]) -> Decoder:
    parameters = [
        (name, str(parameter.annotation))
        for name, parameter in inspect.signature(factory(**options)).parameters.items()
    ]
    name = f"{factory.__module__.rpartition('.')[2]}.{factory.__name__}"
    key = f"{name}-{keys.digest(factory, options)}"
    with cache.opened() as folder:
        content = _kept_or_compiled(folder, key, lambda: _compile(factory, options, parameters))
    entry, _, code = content.partition(b"\n")
    return Decoder(_link(entry.decode("ascii"), code), tuple(name for name, _ in parameters))


def _kept_or_compiled(folder: cache.Folder | None, key: str, make: Callable[[], bytes]) -> bytes:
    if folder is None:
        cache.say(f"{_COMPILING}, in every process anew: there is no folder to keep them in")
        return make()
    content = folder.read(key)
    if content is not None:
        return content
    with folder.lock(key):
        content = folder.read(key)  # another process may have compiled it meanwhile
        if content is None:
            cache.say(
                f"{_COMPILING}, once for each user, Python, CPU and choice of columns; kept in {folder.path}"
            )
            content = make()
            if keys.is_unchanged():
                folder.write(key, content)
    return content


def _compile(
    factory: Callable[..., Any], options: dict[str, bool], parameters: list[tuple[str, str]]
) -> bytes:
    was_on = gc.isenabled()
    gc.disable()  # the compiler makes millions of live objects
    try:
        entry, code = _compiler()(factory, options, parameters)
    finally:
        if was_on:
            gc.enable()
    return bytes(entry.encode("ascii") + b"\n" + code)


def _compiler() -> Callable[..., tuple[str, bytes]]:
    """Import `compile_decoder`, which needs numba."""
    try:
        target = importlib.import_module("kafka_segments.native.target")
        with target.settings(DISABLE_JIT=0):
            compiling = importlib.import_module("kafka_segments.native.compiling")
    except (ImportError, OSError, AttributeError) as error:  # or numba rejects this numpy
        raise MissingExtraError(
            f"reading into Arrow needs numba, which cannot be loaded here ({error}): "
            "pip install --force-reinstall 'kafka-segments[arrow]'",
            extra="arrow",
        ) from error
    compiler: Callable[..., tuple[str, bytes]] = compiling.compile_decoder
    return compiler


def _link(entry: str, code: bytes) -> int:
    """Load an object file; return the address of its entry point.

    Each has its own engine, as two files may have different functions of the same name.
    """
    if not _engines:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    _engines.append(engine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(entry))
