"""The shapes that nearly all payloads have, decompressed straight into memory that is there already.

Strategy: beside the calls, most of the time that small payloads take goes into new memory for what comes out.
The C libraries in the wheels of lz4, zstandard and deflate export their own functions; these are called here
on addresses, through ctypes, and write where the caller wants. Whatever is not quite ordinary (a header with
options, damage, too little room) is answered with None: then the codec's own module does it, which knows all
the rules and has the words for what is wrong. So a payload is never taken here that would be refused there.

Where a library or its function is missing, all payloads of the codec go the other way; `available` tells.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Direct", "available", "direct_codec"]

Direct = Callable[[memoryview, int, memoryview, int], int | None]
"""`(payload, its address, target, its address) -> bytes written`, or None: use the codec's module."""

_VOID, _SIZE = ctypes.c_void_p, ctypes.c_size_t


def _library(package: str, module: str) -> ctypes.CDLL | None:
    """The C library inside a wheel's extension module, without importing that."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = Path(folder) / f"{module}{suffix}"
            if path.is_file():
                try:
                    return ctypes.CDLL(str(path))
                except OSError:
                    return None
    return None


def _function(library: ctypes.CDLL | None, name: str, result: Any, *arguments: Any) -> Any:
    """One function of a library; None if it does not export it."""
    try:
        return ctypes.CFUNCTYPE(result, *arguments)((name, library)) if library else None
    except AttributeError:
        return None


def _container(name: str) -> Any:
    """The codec's own module, which knows the container; imported late, for its package may be missing."""
    return importlib.import_module(f"kafka_segments.compression.{name}")


def _lz4() -> Direct | None:
    """Frames whose header is one that the LZ4 library itself writes for independent blocks without extras."""
    lz4 = _container("lz4")

    library = _library("lz4.block", "_block")
    decompress = _function(
        library, "LZ4_decompress_safe", ctypes.c_int, _VOID, _VOID, ctypes.c_int, ctypes.c_int
    )
    if decompress is None:
        return None
    headers = lz4.plain_headers()
    len_header = len(next(iter(headers)))

    def direct(payload: memoryview, address: int, target: memoryview, to: int) -> int | None:
        max_block = headers.get(bytes(payload[:len_header]))
        if max_block is None:
            return None
        size, room = 0, len(target)
        for start, length, is_stored in lz4.iter_blocks(payload, len_header):
            if start + length > len(payload) or length > max_block or size + max_block > room:
                return None
            if is_stored:
                ctypes.memmove(to + size, address + start, length)
                size += length
                continue
            written = decompress(address + start, to + size, length, max_block)
            if written < 0:
                return None
            size += written
        return size

    return _or_none(direct)


def _zstd() -> Direct | None:
    """One frame, with a window that a reader of streams takes too."""
    zstd = _container("zstd")

    library = _library("zstandard", "_cffi") or _library("zstandard", "backend_c")
    create = _function(library, "ZSTD_createDCtx", _VOID)
    decompress = _function(library, "ZSTD_decompressDCtx", _SIZE, _VOID, _VOID, _SIZE, _VOID, _SIZE)
    is_error = _function(library, "ZSTD_isError", ctypes.c_uint, _SIZE)
    len_frame = _function(library, "ZSTD_findFrameCompressedSize", _SIZE, _VOID, _SIZE)
    if create is None or decompress is None or is_error is None or len_frame is None:
        return None
    local = _PerThread(create)

    def direct(payload: memoryview, address: int, target: memoryview, to: int) -> int | None:
        if not zstd.has_plain_window(payload) or len_frame(address, len(payload)) != len(payload):
            return None
        written: int = decompress(local.get().context, to, len(target), address, len(payload))
        return None if is_error(written) or written > zstd.LARGEST_WINDOW else written

    return direct


def _gzip() -> Direct | None:
    """One member whose header has no options."""
    gzip = _container("gzip")

    library = _library("deflate", "_deflate")
    create = _function(library, "libdeflate_alloc_decompressor", _VOID)
    decompress = _function(
        library,
        "libdeflate_gzip_decompress_ex",
        ctypes.c_int,
        *(_VOID, _VOID, _SIZE, _VOID, _SIZE, _VOID, _VOID),
    )
    if create is None or decompress is None:
        return None
    local = _PerThread(create)

    def direct(payload: memoryview, address: int, target: memoryview, to: int) -> int | None:
        if not gzip.is_plain_header(payload):
            return None
        state = local.get()
        source, place = (address, len(payload)), (to, len(target))
        status = decompress(state.context, *source, *place, state.consumed_address, state.written_address)
        return state.written.value if status == 0 and state.consumed.value == len(payload) else None

    return direct


def _snappy() -> Direct | None:
    """One stream of snappy-java's, or one bare block."""
    import cramjam

    snappy = _container("snappy")

    decompress_into, declared = cramjam.snappy.decompress_raw_into, cramjam.snappy.decompress_raw_len

    def direct(payload: memoryview, address: int, target: memoryview, to: int) -> int | None:  # noqa: ARG001
        size = 0
        try:
            for block in snappy.iter_blocks(payload):
                if not block or declared(block) > len(target) - size:
                    return None
                size += decompress_into(block, target[size:])
        except cramjam.DecompressionError:
            return None
        return size

    return _or_none(direct)


class _State:
    """A library's context, and places for the numbers that it hands back."""

    def __init__(self, context: int) -> None:
        self.context = context
        self.consumed, self.written = _SIZE(), _SIZE()
        self.consumed_address = ctypes.addressof(self.consumed)
        self.written_address = ctypes.addressof(self.written)


class _PerThread:
    """A `_State` for each thread. The contexts live as long as the process: there are few threads."""

    def __init__(self, create: Callable[[], int]) -> None:
        self._create = create
        self._local = threading.local()

    def get(self) -> _State:
        state: _State | None = getattr(self._local, "state", None)
        if state is None:
            state = self._local.state = _State(self._create())
        return state


def _or_none(direct: Direct) -> Direct:
    """The same, with None for whatever the container's reader refuses."""
    from kafka_segments.errors import DecompressionError

    def careful(payload: memoryview, address: int, target: memoryview, to: int) -> int | None:
        try:
            return direct(payload, address, target, to)
        except DecompressionError:
            return None

    return careful


_MAKERS = {"gzip": _gzip, "snappy": _snappy, "lz4": _lz4, "zstd": _zstd}


@cache
def direct_codec(name: str) -> Direct | None:
    """The short way for a codec by Kafka's name; None if this installation has none."""
    try:
        return _MAKERS[name]()
    except ImportError:
        return None  # the codec's own module will say what is missing


def available() -> tuple[str, ...]:
    """The codecs that have a short way in this installation."""
    return tuple(name for name in _MAKERS if direct_codec(name) is not None)
