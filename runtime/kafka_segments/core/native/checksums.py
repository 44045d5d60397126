"""Checksums in compiled code: by folding if the CPU has the instructions, else by tables.

Strategy: `fold` emits the folding. CRC-32, of mostly short messages, is folded to 16 bytes if there are
enough bytes; these and the rest go through tables, eight bytes at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from kafka_segments.core.native import target
from kafka_segments.core.native.fold import LEAST_FOLDED, emit_crc32_fold, emit_crc32c
from kafka_segments.core.native.intrinsics import array_parts, bytes_loader, check_place

__all__ = ["CHECKSUMS"]

_I64 = ir.IntType(64)
_Builder = Any


@intrinsic
def _crc32c(_typing: Any, data: Any, start: Any, end: Any) -> Any:
    def generate(context: Any, builder: _Builder, signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[0])
        start, end = arguments[1], arguments[2]
        check_place(builder, start, builder.sub(end, start), length)
        return emit_crc32c(builder, builder.gep(base, [start]), builder.sub(end, start))

    return types.int64(data, types.int64, types.int64), generate


_njit: Any = numba.njit  # whose type does not know all of its options
_jit = _njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
_CAN_FOLD = target.has("pclmul", "64bit")
_load_u1, _load_u8le = bytes_loader(1, False, True), bytes_loader(8, False, False)


@intrinsic
def _fold(_typing: Any, data: Any, start: Any, end: Any) -> Any:
    def generate(context: Any, builder: _Builder, signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[0])
        start, end = arguments[1], arguments[2]
        size = builder.sub(end, start)
        check_place(builder, start, size, length)
        words = [ir.Constant(_I64, 0)] * 2  # for compiling only; never used
        if _CAN_FOLD:
            words = list(emit_crc32_fold(builder, builder.gep(base, [start]), size))
        return context.make_tuple(builder, signature.return_type, words)

    return types.UniTuple(types.int64, 2)(data, types.int64, types.int64), generate


_folded: Any = _fold  # with its signature in calls


def _tables(polynomial: int) -> Any:
    """Tables for eight bytes at a time: checksum of each byte, followed by 0 to 7 zeros."""
    tables = np.zeros((8, 256), np.int64)
    for value in range(256):
        register = value
        for _bit in range(8):
            register = register >> 1 ^ (polynomial if register & 1 else 0)
        tables[0, value] = register
    for zeros in range(1, 8):
        for value in range(256):
            register = int(tables[zeros - 1, value])
            tables[zeros, value] = register >> 8 ^ int(tables[0, register & 0xFF])
    return tables.ravel()


def _by_tables(polynomial: int) -> tuple[Any, Any]:
    """Make `(word) -> register`, for eight bytes, and `(register, data, start, end) -> register`."""
    tables = _tables(polynomial)

    @_jit
    def of_word(word: int) -> int:
        """The register after eight bytes, from 0 or already combined with them."""
        register = 0
        for at in range(8):
            register ^= tables[(7 - at) * 256 + ((word >> (8 * at)) & 0xFF)]
        return register

    @_jit
    def go_on(register: int, data: Any, start: int, end: int) -> int:
        while end - start >= 8:
            register = of_word(_load_u8le(data, start) ^ register)
            start += 8
        while start < end:
            register = tables[(register ^ _load_u1(data, start)) & 0xFF] ^ (register >> 8)
            start += 1
        return register

    return of_word, go_on


_crc32_of_word, _crc32_on = _by_tables(0xEDB88320)  # the polynomials, bits reversed
_, _crc32c_on = _by_tables(0x82F63B78)


@_jit
def crc32(data: Any, start: int, end: int) -> Any:
    """CRC-32 (as in zlib), by folding if the CPU supports it and there are enough bytes, else by tables."""
    register = 0xFFFFFFFF
    if _CAN_FOLD and end - start >= LEAST_FOLDED:
        rest = end - (end - start) % 16
        lower, upper = _folded(data, start, rest)
        register = _crc32_of_word(upper ^ _crc32_of_word(lower))
        start = rest
    return _crc32_on(register, data, start, end) ^ 0xFFFFFFFF


@_jit
def crc32c_by_tables(data: Any, start: int, end: int) -> Any:
    """CRC-32C by tables, for CPUs without instructions for it."""
    return _crc32c_on(0xFFFFFFFF, data, start, end) ^ 0xFFFFFFFF


CHECKSUMS: dict[str, Callable[..., Any]] = {
    "crc32": crc32,
    "crc32c": _crc32c if target.has_crc32c() else crc32c_by_tables,
}
"""Machine code by the name of the function in `columns/support.py` that it replaces."""
