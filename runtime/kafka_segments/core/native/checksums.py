"""Checksums in compiled code: by folding if the CPU has the instructions, else by tables.

Strategy: a checksum treats a message as a polynomial, in which bytes may be replaced by others with the same
remainder. Four registers of 16 to 64 bytes advance over the data in parallel; each is multiplied "four
registers ahead" and added to the bytes there (V. Gopal et al., Fast CRC Computation for Generic Polynomials
Using PCLMULQDQ, Intel 2009). The last register has the remainder of the whole, which goes through the CRC
instruction of SSE 4.2, as do the few bytes after it. With 64 bytes it runs at memory speed. CRC-32, of short
messages, is folded in registers of 16 bytes, and the rest goes through tables, eight bytes at a time, as the
instruction supports the other polynomial only.

Other CPUs (ARM, x86 before 2010) are not supported (`target.has_crc32c`): they use the package crc32c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kafka_segments.core.native import target
from kafka_segments.core.native.intrinsics import array_parts, bytes_loader, check_place

__all__ = ["CHECKSUMS"]

_CASTAGNOLI = 0x1_1EDC_6F41  # RFC 3720 appendix B.4
_ETHERNET = 0x1_04C1_1DB7  # CRC-32: IEEE 802.3, zlib
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_INVERTED = 0xFFFF_FFFF
_NUM_REGISTERS = 4

# Bytes of a register, its multiplication instruction, and the needed features; the best first.
_WIDTHS = (
    (64, "llvm.x86.pclmulqdq.512", ("vpclmulqdq", "avx512f")),
    (32, "llvm.x86.pclmulqdq.256", ("vpclmulqdq", "avx2")),
    (16, "llvm.x86.pclmulqdq", ("pclmul",)),
)


_LEAST_FOLDED = _NUM_REGISTERS * 16
"""Bytes that `_emit_crc32_fold` needs."""


def _power_of_x(exponent: int, polynomial: int) -> int:
    """Power of x, modulo the polynomial."""
    power = 1
    for _ in range(exponent):
        power <<= 1
        if power >> 32:
            power ^= polynomial
    return power


def _reflected(exponent: int, polynomial: int) -> int:
    """Power of x for the multiplication: bits reversed, and shifted by the bit that it drops."""
    return int(f"{_power_of_x(exponent, polynomial):032b}"[::-1], 2) << 1


def _fold_constants(len_bytes: int, polynomial: int = _CASTAGNOLI) -> tuple[int, int]:
    """Factors that move the lower and the upper half of 16 bytes `len_bytes` ahead."""
    return _reflected(8 * len_bytes + 32, polynomial), _reflected(8 * len_bytes - 32, polynomial)


def _emit_crc32c(builder: Any, address: Any, size: Any) -> Any:
    """Emit the CRC-32C (an i64) of `size` bytes from `address` on."""
    len_register, multiply = next((width, name) for width, name, needs in _WIDTHS if target.has(*needs))
    return _Folding(builder, len_register, multiply, _CASTAGNOLI).checksum(address, size)


def _emit_crc32_fold(builder: Any, address: Any, size: Any) -> tuple[Any, Any]:
    """Emit two words (i64) whose CRC-32, from a register of 0, is that of `size` bytes.

    The initial inversion is included. `size` is a multiple of 16, and not less than `_LEAST_FOLDED`.
    """
    len_register, multiply, _needs = _WIDTHS[-1]
    folding = _Folding(builder, len_register, multiply, _ETHERNET)
    one = folding.fold_all(address, builder.gep(address, [size]))
    lower, upper = (builder.extract_element(one, ir.Constant(_I32, word)) for word in range(2))
    return lower, upper


class _Folding:
    """Emitter of the folding.

    Args:
        builder: emits the instructions.
        len_register: bytes of a register.
        multiply: name of its multiplication instruction.
        polynomial: of the checksum.
    """

    def __init__(self, builder: Any, len_register: int, multiply: str, polynomial: int) -> None:
        self._builder = builder
        self._polynomial = polynomial
        self._len_register = len_register
        self._vector = ir.VectorType(_I64, len_register // 8)
        kind = ir.FunctionType(self._vector, [self._vector, self._vector, _I8])
        self._multiply = cgutils.get_or_insert_function(builder.module, kind, multiply)

    def checksum(self, address: Any, size: Any) -> Any:
        """Emit the checksum: fold as long as all registers are full, then go word by word."""
        builder, len_step = self._builder, _NUM_REGISTERS * self._len_register
        value = cgutils.alloca_once_value(builder, ir.Constant(_I64, _INVERTED))
        len_folded = cgutils.alloca_once_value(builder, ir.Constant(_I64, 0))
        with builder.if_then(builder.icmp_signed(">=", size, ir.Constant(_I64, len_step))):
            whole = builder.and_(size, ir.Constant(_I64, -self._len_register))
            one = self.fold_all(address, builder.gep(address, [whole]))
            builder.store(self._reduced(one), value)
            builder.store(whole, len_folded)
        done = builder.load(len_folded)
        return self._rest(builder.gep(address, [done]), builder.sub(size, done), builder.load(value))

    def _load(self, address: Any, number: int) -> Any:
        place = self._builder.gep(address, [ir.Constant(_I64, self._len_register * number)])
        return self._builder.load(self._builder.bitcast(place, self._vector.as_pointer()), align=1)

    def _fold(self, register: Any, len_bytes: int, ahead: Any) -> Any:
        """Move `register` ahead by `len_bytes` and add it to the register there."""
        builder = self._builder
        factors = list(_fold_constants(len_bytes, self._polynomial))
        constants = ir.Constant(self._vector, factors * (self._len_register // 16))
        lower = builder.call(self._multiply, [register, constants, ir.Constant(_I8, 0x00)])
        upper = builder.call(self._multiply, [register, constants, ir.Constant(_I8, 0x11)])
        return builder.xor(builder.xor(lower, upper), ahead)

    def fold_all(self, start: Any, end: Any) -> Any:
        """Fold `[start, end)`, a multiple of a register and not less than four, to one register."""
        builder, words = self._builder, self._len_register // 8
        inversion = ir.Constant(self._vector, [_INVERTED] + [0] * (words - 1))
        registers = [self._load(start, number) for number in range(_NUM_REGISTERS)]
        registers[0] = builder.xor(registers[0], inversion)
        at = builder.gep(start, [ir.Constant(_I64, _NUM_REGISTERS * self._len_register)])
        at, registers = self._loop((at, end), registers)
        one = registers[0]
        for other in registers[1:]:
            one = self._fold(one, self._len_register, other)
        _at, (one,) = self._loop((at, end), [one])
        return one

    def _reduced(self, one: Any) -> Any:
        """Reduce one register to its CRC-32C, not inverted."""
        builder, value = self._builder, ir.Constant(_I64, 0)
        for word in range(self._len_register // 8):
            value = _step(builder, value, builder.extract_element(one, ir.Constant(_I32, word)))
        return value

    def _loop(self, span: tuple[Any, Any], registers: list[Any]) -> tuple[Any, list[Any]]:
        """Fold the registers while `span` has enough bytes; return the position and the registers."""
        builder, (start, end) = self._builder, span
        len_step = len(registers) * self._len_register
        before = builder.block
        head, body, after = (builder.append_basic_block(name) for name in ("fold", "folding", "folded"))
        builder.branch(head)
        builder.position_at_end(head)
        at = _phi(builder, start, before)
        current = [_phi(builder, register, before) for register in registers]
        following = builder.gep(at, [ir.Constant(_I64, len_step)])
        fits = builder.icmp_unsigned("<=", builder.ptrtoint(following, _I64), builder.ptrtoint(end, _I64))
        builder.cbranch(fits, body, after)
        builder.position_at_end(body)
        for number, register in enumerate(current):
            register.add_incoming(self._fold(register, len_step, self._load(at, number)), body)
        at.add_incoming(following, body)
        builder.branch(head)
        builder.position_at_end(after)
        return at, current

    def _rest(self, address: Any, size: Any, value: Any) -> Any:
        """Finish the checksum with `size` more bytes."""
        builder = self._builder
        len_words = builder.and_(size, ir.Constant(_I64, -8))
        value = _chain(builder, (address, len_words), value, _I64)
        rest = builder.gep(address, [len_words])
        value = _chain(builder, (rest, builder.sub(size, len_words)), value, _I8)
        return builder.xor(value, ir.Constant(_I64, _INVERTED))


def _phi(builder: Any, value: Any, block: Any) -> Any:
    phi = builder.phi(value.type)
    phi.add_incoming(value, block)
    return phi


def _step(builder: Any, value: Any, word: Any) -> Any:
    """Advance the checksum by one word (i64 or i8)."""
    wide = word.type == _I64
    kind = _I64 if wide else _I32
    name = "llvm.x86.sse42.crc32.64.64" if wide else "llvm.x86.sse42.crc32.32.8"
    step = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind, word.type]), name)
    if wide:
        return builder.call(step, [value, word])
    return builder.zext(builder.call(step, [builder.trunc(value, _I32), word]), _I64)


def _chain(builder: Any, span: tuple[Any, Any], value: Any, word: Any) -> Any:
    """Advance the checksum by the words of a span (address, size)."""
    address, size = span
    before = builder.block
    head, body, after = (builder.append_basic_block(name) for name in ("chain", "chaining", "chained"))
    builder.branch(head)
    builder.position_at_end(head)
    index, current = _phi(builder, ir.Constant(_I64, 0), before), _phi(builder, value, before)
    builder.cbranch(builder.icmp_signed("<", index, size), body, after)
    builder.position_at_end(body)
    place = builder.bitcast(builder.gep(address, [index]), word.as_pointer())
    current.add_incoming(_step(builder, current, builder.load(place, align=1)), body)
    index.add_incoming(builder.add(index, ir.Constant(_I64, word.width // 8)), body)
    builder.branch(head)
    builder.position_at_end(after)
    return current


@intrinsic
def _crc32c(_typing: Any, data: Any, start: Any, end: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[0])
        start, end = arguments[1], arguments[2]
        check_place(builder, start, builder.sub(end, start), length)
        return _emit_crc32c(builder, builder.gep(base, [start]), builder.sub(end, start))

    return types.int64(data, types.int64, types.int64), generate


_njit: Any = numba.njit  # whose type does not know all of its options
_jit = _njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
_CAN_FOLD = target.has("pclmul", "64bit")
_load_u1, _load_u8le = bytes_loader(1, False, True), bytes_loader(8, False, False)


@intrinsic
def _fold(_typing: Any, data: Any, start: Any, end: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[0])
        start, end = arguments[1], arguments[2]
        size = builder.sub(end, start)
        check_place(builder, start, size, length)
        words = [ir.Constant(_I64, 0)] * 2  # for compiling only; never used
        if _CAN_FOLD:
            words = list(_emit_crc32_fold(builder, builder.gep(base, [start]), size))
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
    if _CAN_FOLD and end - start >= _LEAST_FOLDED:
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
