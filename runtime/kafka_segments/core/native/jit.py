"""Decoders that are compiled here, and kept.

Strategy: numba compiles (a second or two, once a machine); LLVM alone loads compiled code (milliseconds), so
that numba is imported for compiling only. The key in the cache is a digest of everything that the code
depends on (`keys`).
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from typing import Any

from kafka_segments.core.native import cache, keys
from kafka_segments.core.native.cpu import llvm
from kafka_segments.errors import MissingExtraError

__all__ = ["load"]

_COMPILING = "compiling decoders, which takes seconds"
_READY = "the wheels for Linux of `make wheels` have them compiled (docs/install.md)"
_engines: list[Any] = []  # kept, as their code must never be unloaded


def load(factory: Callable[..., Any], options: dict[str, bool], parameters: list[tuple[str, str]]) -> int:
    """Load what `factory(**options)` returns from the cache, or compile it; return its address.

    Args:
        factory: a function of a generated module.
        options: its arguments.
        parameters: names and annotations of the returned function's parameters.
    """
    name = f"{factory.__module__.rpartition('.')[2]}.{factory.__name__}"
    key = f"{name}-{keys.digest(factory, options)}"
    with cache.opened() as folder:
        content = _kept_or_compiled(folder, key, lambda: _compile(factory, options, parameters))
    entry, _, code = content.partition(b"\n")
    return _link(entry.decode("ascii"), code)


def _kept_or_compiled(folder: cache.Folder | None, key: str, make: Callable[[], bytes]) -> bytes:
    if folder is None:
        cache.say(f"{_COMPILING}, in every process: there is no folder to keep them in; {_READY}")
        return make()
    content = folder.read(key)
    if content is not None:
        return content
    with folder.lock(key):
        content = folder.read(key)  # another process may have compiled it meanwhile
        if content is None:
            cache.say(
                f"{_COMPILING}, once for each user, Python, CPU and choice of columns; kept in "
                f"{folder.path}; {_READY}"
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
        target = importlib.import_module("kafka_segments.core.native.target")
        with target.settings(DISABLE_JIT=0):
            compiling = importlib.import_module("kafka_segments.core.native.compiling")
    except (ImportError, OSError, AttributeError) as error:  # or numba rejects this numpy
        raise MissingExtraError(
            f"reading into Arrow needs numba, which cannot be loaded here ({error}): "
            "pip install --force-reinstall 'kafka-segments[arrow,jit]'",
            extra="jit",
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
