"""Compile a generated decoder with numba to machine code that runs without numba.

Imported only for compiling. Strategy: generated modules are plain Python. Their functions are bound to other
globals, with intrinsics for building blocks and compiled functions of other generated modules. A wrapper of
the decoder has one argument, the address of a table with each array's address and length, which is the only
interface between machine code and caller.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

from kafka_segments.core.native.checksums import CHECKSUMS
from kafka_segments.core.native.intrinsics import INTRINSICS
from kafka_segments.core.native.keys import global_names
from kafka_segments.core.native.target import settings

__all__ = ["compile_decoder", "compiled"]

# Modules with the building blocks in Python: of generated packages, and for hand-written loops.
_BLOCKS = (".support", "kafka_segments.core.native.kernels")
_BUILDING_BLOCKS = INTRINSICS | CHECKSUMS
# Types of array elements by the name of the annotation in generated code.
_ELEMENTS = {"Bytes": types.uint8, "Tinies": types.int8, "Ints": types.int32, "Longs": types.int64}
# Without numba's own runtime (`_nrt`): nothing is allocated or counted, so the machine code needs no numba.
_OPTIONS = {
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
    "_nrt": False,
}
# Reference counts and vector loops do not occur: their passes would only take time. The other settings are
# for users' functions, and would break compiling, or make the code need numba.
_SETTINGS: dict[str, int | None] = {
    "LLVM_REFPRUNE_PASS": 0,
    "LOOP_VECTORIZE": 0,
    "BOUNDSCHECK": None,
    "DEBUGINFO_DEFAULT": 0,
    "DISABLE_JIT": 0,
}


def _pointer_to(element: Any) -> Any:
    """Make an intrinsic that converts an address to a pointer to elements."""

    @intrinsic
    def pointer(_typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_data_type(element).as_pointer())

        return types.CPointer(element)(types.int64), generate

    return pointer


_POINTERS = {name: _pointer_to(element) for name, element in _ELEMENTS.items()}


class _Binder:
    """Replaces functions that generated functions call by compiled ones, each once."""

    def __init__(self) -> None:
        self._compiled: dict[Any, Any] = {}

    def namespace(self, function: FunctionType) -> dict[str, Any]:
        """Return a function's globals, with compiled functions for those that it may call."""
        names = global_names(function.__code__)
        return {
            name: self._bound(value) if name in names else value
            for name, value in function.__globals__.items()
        }

    def _bound(self, value: Any) -> Any:
        if not isinstance(value, FunctionType):
            return value
        if value.__name__ in _BUILDING_BLOCKS and value.__module__.endswith(_BLOCKS):
            return _BUILDING_BLOCKS[value.__name__]
        if value not in self._compiled:
            bound = FunctionType(value.__code__, self.namespace(value), value.__name__)
            inline = not value.__name__.endswith("_slowly")
            self._compiled[value] = numba.njit(bound, forceinline=inline, **_OPTIONS)
        return self._compiled[value]


def compile_decoder(
    factory: Callable[..., Any], options: dict[str, bool], parameters: list[tuple[str, str]]
) -> tuple[str, bytes]:
    """Compile what `factory(**options)` returns, for this CPU.

    Args:
        factory: a function of a generated module.
        options: its arguments.
        parameters: names and annotations of the returned function's parameters.

    Returns:
        The name of the entry point, and an object file. The entry point has numba's own calling convention:
        `int entry(int64 *result, void *unused, int64 table)`.
    """
    with compiled(factory, options, parameters) as found:
        _name, _kind, (code, _bitcode) = found.library.serialize_using_object_code()
        return found.fndesc.llvm_func_name, code


@contextmanager
def compiled(
    factory: Callable[..., Any], options: dict[str, bool], parameters: list[tuple[str, str]]
) -> Iterator[Any]:
    """The result of numba's compiler, under the settings of this package; see `compile_decoder`."""
    assert isinstance(factory, FunctionType)
    arrays = tuple(types.Tuple((types.CPointer(_ELEMENTS[kind]), types.int64)) for _, kind in parameters)
    with warnings.catch_warnings(), settings(**_SETTINGS):
        warnings.simplefilter("ignore", numba.NumbaWarning)
        bound = FunctionType(factory.__code__, _Binder().namespace(factory), factory.__name__)
        bound.__kwdefaults__ = factory.__kwdefaults__
        decode: Any = numba.njit(bound(**options), forceinline=True, **_OPTIONS)
        with settings(OPT=0):  # inlined code is optimized by its caller
            decode.compile(arrays)
        dispatcher = numba.njit(types.int64(types.int64), **_OPTIONS)(_entry(decode, parameters))
        yield dispatcher.overloads[(types.int64,)]


def _entry(decode: Any, parameters: list[tuple[str, str]]) -> Any:
    """Make `entry(table)`, which calls the decoder with arrays as pairs (typed address, length)."""
    arrays = ", ".join(
        f"({kind}(load(table, {2 * at})), load(table, {2 * at + 1}))"
        for at, (_name, kind) in enumerate(parameters)
    )
    source = (
        "def entry(address):\n"
        f"    table = (Longs(address), {2 * len(parameters)})\n"
        f"    return decode({arrays})\n"
    )
    namespace = {**_POINTERS, "load": INTRINSICS["load"], "decode": decode}
    exec(compile(source, "<entry>", "exec"), namespace)
    return namespace["entry"]
