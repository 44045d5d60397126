"""Numba intrinsics for the building blocks of generated decoders (`columns/support.py`).

Imported only for compiling. Each intrinsic does the same as the Python function of its name. Positions are
64-bit integers that the decoder has checked, so that accesses neither wrap around nor are checked again. With
`KAFKA_SEGMENTS_CHECK_BOUNDS=1`, for tests, every access is checked, and a wrong one stops the process
(`llvm.trap`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kafka_segments.core.native.kernels import LEN_PIECE, LEN_VIEW, MOST_INLINE, NUM_PAIRS

__all__ = ["CHECK_BOUNDS", "INTRINSICS", "array_parts", "bytes_loader", "check_place"]

CHECK_BOUNDS = os.environ.get("KAFKA_SEGMENTS_CHECK_BOUNDS") == "1"

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
# Bytes copied in one step.
_SHORT, _VECTOR, _STEP = 16, 64, 256
_CACHE_LINE = 64
# The beginning of a view: its size, and bytes.
_SIZE = 4
_HEAD = ir.VectorType(_I8, LEN_VIEW)
# Arguments of LLVM's prefetch instruction.
_TO_READ, _SECOND_CACHE, _DATA = 0, 2, 1
_Builder = Any


def array_parts(builder: _Builder, value: Any) -> tuple[Any, Any]:
    """Address of an array's first element, and its number of elements."""
    return builder.extract_value(value, 0), builder.extract_value(value, 1)


def check_place(builder: _Builder, start: Any, size: Any, length: Any) -> None:
    """Stop the process unless `0 <= start`, `0 <= size` and `start + size <= length`."""
    if not CHECK_BOUNDS:
        return
    zero = ir.Constant(_I64, 0)
    inside = builder.icmp_signed(">=", start, zero)
    inside = builder.and_(inside, builder.icmp_signed(">=", size, zero))
    inside = builder.and_(inside, builder.icmp_signed("<=", builder.add(start, size), length))
    with builder.if_then(builder.not_(inside), likely=False):
        trap = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), []), "llvm.trap")
        builder.call(trap, [])


def bytes_loader(width: int, signed: bool, big_endian: bool) -> Any:
    """Make an intrinsic `(data, at) -> integer` that loads an integer of `width` bytes."""

    @intrinsic
    def load(_typing: Any, data: Any, at: Any) -> Any:
        def generate(context: Any, builder: _Builder, signature: Any, arguments: Any) -> Any:
            base, length = array_parts(builder, arguments[0])
            check_place(builder, arguments[1], ir.Constant(_I64, width), length)
            narrow = ir.IntType(8 * width)
            address = builder.bitcast(builder.gep(base, [arguments[1]]), narrow.as_pointer())
            value = builder.load(address, align=1)
            if big_endian and width > 1:
                value = builder.bswap(value)
            if width == 8:
                return value
            return builder.sext(value, _I64) if signed else builder.zext(value, _I64)

        return types.int64(data, types.int64), generate

    return load


@intrinsic
def _load(_typing: Any, array: Any, at: Any) -> Any:
    def generate(context: Any, builder: _Builder, signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[0])
        check_place(builder, arguments[1], ir.Constant(_I64, 1), length)
        value = builder.load(builder.gep(base, [arguments[1]]))
        if value.type == _I64:
            return value
        return builder.sext(value, _I64) if signature.args[0][0].dtype.signed else builder.zext(value, _I64)

    return types.int64(array, types.int64), generate


@intrinsic
def _store(_typing: Any, array: Any, at: Any, value: Any) -> Any:
    def generate(context: Any, builder: _Builder, signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[0])
        check_place(builder, arguments[1], ir.Constant(_I64, 1), length)
        place = builder.gep(base, [arguments[1]])
        value = arguments[2]
        if place.type.pointee != _I64:
            value = builder.trunc(value, place.type.pointee)
        builder.store(value, place)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


def _bytes_storer(width: int, big_endian: bool) -> Any:
    """Make an intrinsic `(data, at, value)` that stores the lowest `width` bytes of an integer."""

    @intrinsic
    def store(_typing: Any, data: Any, at: Any, value: Any) -> Any:
        def generate(context: Any, builder: _Builder, signature: Any, arguments: Any) -> Any:
            base, length = array_parts(builder, arguments[0])
            check_place(builder, arguments[1], ir.Constant(_I64, width), length)
            narrow = ir.IntType(8 * width)
            value = arguments[2] if width == 8 else builder.trunc(arguments[2], narrow)
            if big_endian and width > 1:
                value = builder.bswap(value)
            address = builder.bitcast(builder.gep(base, [arguments[1]]), narrow.as_pointer())
            builder.store(value, address, align=1)
            return context.get_dummy_value()

        return types.void(data, types.int64, types.int64), generate

    return store


@intrinsic
def _length(_typing: Any, array: Any) -> Any:
    def generate(_context: Any, builder: _Builder, _signature: Any, arguments: Any) -> Any:
        return array_parts(builder, arguments[0])[1]

    return types.int64(array), generate


@intrinsic
def _address(_typing: Any, array: Any) -> Any:
    def generate(_context: Any, builder: _Builder, _signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(array_parts(builder, arguments[0])[0], _I64)

    return types.int64(array), generate


@intrinsic
def _copy_bytes(_typing: Any, target: Any, to: Any, source: Any, start: Any, size: Any) -> Any:
    """Copy in whole steps if both arrays have room for one more step, else byte-exact.

    Most keys and values are short, and a call of memcpy costs more than the copy.
    """

    def generate(context: Any, builder: _Builder, signature: Any, arguments: Any) -> Any:
        target, target_length = array_parts(builder, arguments[0])
        source, source_length = array_parts(builder, arguments[2])
        to, start, size = arguments[1], arguments[3], arguments[4]
        check_place(builder, to, size, target_length)
        check_place(builder, start, size, source_length)
        padded = builder.add(size, ir.Constant(_I64, _STEP))
        has_room = builder.and_(
            builder.icmp_signed("<=", builder.add(to, padded), target_length),
            builder.icmp_signed("<=", builder.add(start, padded), source_length),
        )
        to_address, from_address = builder.gep(target, [to]), builder.gep(source, [start])
        with builder.if_else(has_room, likely=True) as (wide, exact):
            with wide:
                _copy_wide(builder, to_address, from_address, size)
            with exact:
                cgutils.raw_memcpy(builder, to_address, from_address, size, 1)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(target, integer, source, integer, integer), generate


def _copy_wide(builder: _Builder, target: Any, source: Any, size: Any) -> None:
    """Copy `size` bytes rounded up to whole steps, at least one; small steps for small sizes.

    One step copies any size up to its own, without branches that the CPU may mispredict.
    """
    start = ir.Constant(_I64, 0)
    with builder.if_else(builder.icmp_signed("<=", size, ir.Constant(_I64, _SHORT))) as (short, longer):
        with short:
            _copy_vectors(builder, target, source, start, (_SHORT, 1))
        with longer:
            is_medium = builder.icmp_signed("<=", size, ir.Constant(_I64, _VECTOR))
            with builder.if_else(is_medium) as (medium, long):
                with medium:
                    _copy_vectors(builder, target, source, start, (_VECTOR, 1))
                with long:
                    _copy_steps(builder, target, source, size)


def _copy_steps(builder: _Builder, target: Any, source: Any, size: Any) -> None:
    """Copy one step, and longer sizes by memcpy, which is worth the call there.

    Also prefetch the bytes to be copied `LEN_PIECE` later.
    """
    step = ir.Constant(_I64, _STEP)
    kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    for ahead in range(LEN_PIECE, LEN_PIECE + _STEP, _CACHE_LINE):
        place = builder.gep(source, [ir.Constant(_I64, ahead)])
        builder.call(prefetch, [place, _I32(_TO_READ), _I32(_SECOND_CACHE), _I32(_DATA)])
    _copy_vectors(builder, target, source, ir.Constant(_I64, 0), (_VECTOR, _STEP // _VECTOR))
    with builder.if_then(builder.icmp_signed(">", size, step), likely=False):
        rest = builder.sub(size, step)
        cgutils.raw_memcpy(builder, builder.gep(target, [step]), builder.gep(source, [step]), rest, 1)


def _copy_vectors(builder: _Builder, target: Any, source: Any, index: Any, shape: tuple[int, int]) -> None:
    width, count = shape
    vector = ir.VectorType(_I8, width).as_pointer()
    places = [builder.add(index, ir.Constant(_I64, width * number)) for number in range(count)]
    values = [
        builder.load(builder.bitcast(builder.gep(source, [place]), vector), align=1) for place in places
    ]
    for place, value in zip(places, values, strict=True):
        builder.store(value, builder.bitcast(builder.gep(target, [place]), vector), align=1)


@intrinsic
def _store_view(  # noqa: PLR0917
    _typing: Any, views: Any, row: Any, data: Any, start: Any, size: Any, buffer: Any
) -> Any:
    """Load the first bytes with one instruction unless they are at an end of the data."""

    def generate(context: Any, builder: _Builder, signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[2])
        start, size, buffer = arguments[3:]
        check_place(builder, start, size, length)
        source, most = builder.gep(base, [start]), ir.Constant(_I64, MOST_INLINE)
        is_short = builder.icmp_signed("<=", size, most)
        room = builder.and_(
            builder.icmp_signed(">=", start, ir.Constant(_I64, _SIZE)),
            builder.icmp_signed("<=", builder.add(start, most), length),
        )
        with builder.if_else(room, likely=True) as (wide, exact):
            with wide:
                place = builder.gep(source, [ir.Constant(_I64, -_SIZE)])
                loaded = builder.load(builder.bitcast(place, _HEAD.as_pointer()), align=1), builder.block
            with exact:
                words = cgutils.alloca_once(builder, _HEAD)
                place = builder.gep(builder.bitcast(words, _I8.as_pointer()), [ir.Constant(_I64, _SIZE)])
                cgutils.raw_memcpy(builder, place, source, builder.select(is_short, size, most), 1)
                copied = builder.load(words), builder.block
        head = builder.phi(_HEAD)
        for value, block in (loaded, copied):
            head.add_incoming(value, block)
        views, num_bytes = array_parts(builder, arguments[0])
        at = builder.mul(arguments[1], ir.Constant(_I64, LEN_VIEW))
        check_place(builder, at, ir.Constant(_I64, LEN_VIEW), num_bytes)
        target = builder.gep(views, [at])
        with builder.if_else(is_short) as (short, long):
            with short:
                _store_words(builder, target, _only(builder, head, size), (size,))
            with long:
                _store_words(builder, target, head, (size, None, buffer, start))
        return context.get_dummy_value()

    integer = types.int64
    return types.void(views, integer, data, integer, integer, integer), generate


def _only(builder: _Builder, head: Any, size: Any) -> Any:
    """Return 16 bytes of which only `size` after the first four are kept, and others are 0."""
    single = builder.insert_element(ir.Constant(_HEAD, ir.Undefined), builder.trunc(size, _I8), _I32(0))
    sizes = builder.shuffle_vector(single, single, ir.Constant(ir.VectorType(_I32, LEN_VIEW), [0] * LEN_VIEW))
    places = ir.Constant(_HEAD, [LEN_VIEW] * _SIZE + list(range(MOST_INLINE)))
    return builder.select(builder.icmp_signed("<", places, sizes), head, ir.Constant(_HEAD, [0] * LEN_VIEW))


def _store_words(builder: _Builder, target: Any, head: Any, words: tuple[Any, ...]) -> None:
    """Store 16 bytes, of which some words of 32 bits are replaced."""
    kind = ir.VectorType(_I32, LEN_VIEW // _SIZE)
    value = builder.bitcast(head, kind)
    for at, word in enumerate(words):
        if word is not None:
            value = builder.insert_element(value, builder.trunc(word, _I32), _I32(at))
    builder.store(value, builder.bitcast(target, kind.as_pointer()), align=1)


@intrinsic
def _read_at(_typing: Any, file: Any, position: Any, data: Any, start: Any, size: Any) -> Any:
    """Call `pread` of the C library; an interrupted call returns fewer bytes, or -1."""

    def generate(_context: Any, builder: _Builder, _signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[2])
        start, size = arguments[3:]
        check_place(builder, start, size, length)
        kind = ir.FunctionType(_I64, [ir.IntType(32), _I8.as_pointer(), _I64, _I64])
        pread = cgutils.get_or_insert_function(builder.module, kind, "pread")
        file = builder.trunc(arguments[0], ir.IntType(32))
        return builder.call(pread, [file, builder.gep(base, [start]), size, arguments[1]])

    return types.int64(types.int64, types.int64, data, types.int64, types.int64), generate


@intrinsic
def _call(  # noqa: PLR0917
    _typing: Any, function: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any
) -> Any:
    def generate(_context: Any, builder: _Builder, _signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_I64, [_I64] * 7)
        address = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(address, arguments[1:])

    return types.int64(*[types.int64] * 8), generate


@intrinsic
def _equal_pairs(_typing: Any, data: Any, one_at: Any, one: Any, other_at: Any, other: Any) -> Any:
    def generate(_context: Any, builder: _Builder, _signature: Any, arguments: Any) -> Any:
        base, length = array_parts(builder, arguments[0])
        equal = [
            _equal_vector(builder, (base, length), at, value)
            for at, value in ((arguments[1], arguments[2]), (arguments[3], arguments[4]))
        ]
        bits = builder.bitcast(builder.and_(*equal), ir.IntType(NUM_PAIRS))
        return builder.zext(bits, _I64)

    return types.int64(data, *[types.int64] * 4), generate


def _equal_vector(builder: _Builder, array: tuple[Any, Any], at: Any, value: Any) -> Any:
    """Compare `NUM_PAIRS` bytes from a place on with one value; the result has a bit for each."""
    check_place(builder, at, ir.Constant(_I64, NUM_PAIRS), array[1])
    kind = ir.VectorType(_I8, NUM_PAIRS)
    loaded = builder.load(builder.bitcast(builder.gep(array[0], [at]), kind.as_pointer()), align=1)
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), builder.trunc(value, _I8), _I32(0))
    zeros = ir.Constant(ir.VectorType(_I32, NUM_PAIRS), [0] * NUM_PAIRS)
    return builder.icmp_unsigned("==", loaded, builder.shuffle_vector(single, single, zeros))


@intrinsic
def _wrap(_typing: Any, value: Any) -> Any:
    def generate(_context: Any, _builder: _Builder, _signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return types.int64(types.int64), generate


@intrinsic
def _rare(_typing: Any, condition: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        bit = ir.IntType(1)
        kind = ir.FunctionType(bit, [bit, bit])
        expect = cgutils.get_or_insert_function(builder.module, kind, "llvm.expect.i1")
        return builder.call(expect, [arguments[0], ir.Constant(bit, 0)])

    return types.boolean(types.boolean), generate


def _loaders() -> dict[str, Any]:
    """Make `load_u1`, `load_s4be`, `load_u2le`...: one for each integer type of schemas."""
    loaders = {}
    for sign, signed in (("u", False), ("s", True)):
        loaders[f"load_{sign}1"] = bytes_loader(1, signed, True)
        for width in (2, 4, 8):
            for order, big_endian in (("be", True), ("le", False)):
                loaders[f"load_{sign}{width}{order}"] = bytes_loader(width, signed, big_endian)
    return loaders


def _storers() -> dict[str, Any]:
    """Make `store_1`, `store_4be`, `store_2le`...: one for each size and byte order."""
    storers = {"store_1": _bytes_storer(1, True)}
    for width in (2, 4, 8):
        for order, big_endian in (("be", True), ("le", False)):
            storers[f"store_{width}{order}"] = _bytes_storer(width, big_endian)
    return storers


INTRINSICS: dict[str, Callable[..., Any]] = {
    **_loaders(),
    **_storers(),
    "address": _address,
    "call": _call,
    "copy_bytes": _copy_bytes,
    "equal_pairs": _equal_pairs,
    "length": _length,
    "load": _load,
    "rare": _rare,
    "read_at": _read_at,
    "store": _store,
    "store_view": _store_view,
    "wrap": _wrap,
}
"""Intrinsics by the name of the function in `columns/support.py` that they replace."""
