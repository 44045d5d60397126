"""The building blocks as machine code do what the plain Python of the same name does."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import crc32c
import numpy as np
import pytest
from tests.native import kernels
from tests.python import run_python

from kafka_segments.core.native.engine import load_decoder
from kafka_segments.core.native.kernels import NUM_PAIRS

ROOT = Path(__file__).resolve().parents[2]
LENGTHS = [*range(200), *range(250, 270), 511, 512, 513, 1023, 1024, 1087, 1088, 4095, 4096, 65_537, 1 << 20]


def call(factory, *arrays, **options):
    decoder = load_decoder(factory, **options)
    table = decoder.new_table()
    for name, array in zip(decoder.parameters, arrays, strict=True):
        table.set(name, array.ctypes.data, len(array))
    return decoder(table)


@pytest.mark.parametrize("castagnoli", [True, False])
def test_checksums_are_those_of_the_packages(castagnoli):
    data = np.frombuffer(random.Random(1).randbytes((1 << 20) + 64), np.uint8).copy()
    expected = crc32c.crc32c if castagnoli else zlib.crc32
    for length in LENGTHS:
        for start in (0, 1, 7, 13, 63):
            out = np.array([0, start, start + length], np.int64)
            call(kernels.checksums, data, out, castagnoli=castagnoli)
            assert out[0] == expected(data[start : start + length]), (start, length)


def test_the_check_value_of_the_catalogues():
    data = np.frombuffer(b"123456789", np.uint8).copy()
    for castagnoli, value in ((True, 0xE3069283), (False, 0xCBF43926)):
        out = np.array([0, 0, 9], np.int64)
        call(kernels.checksums, data, out, castagnoli=castagnoli)
        assert out[0] == value


@pytest.mark.parametrize("backwards", [False, True])
def test_copies_are_exact_and_stay_within_their_arrays(backwards):
    source = np.frombuffer(random.Random(2).randbytes(600), np.uint8).copy()
    for size in range(260):
        for slack in (0, 1, 63, 64, 200):
            one = source.copy()
            fence = np.full(size + slack + 128, 0xAA, np.uint8)
            other = fence[: size + slack + 3]
            numbers = np.array([5, 3, size], np.int64)
            if backwards:
                other[3 : 3 + size] = source[300 : 300 + size]
            assert call(kernels.copies, one, other, numbers, backwards=backwards) == size
            if backwards:
                assert (one[5 : 5 + size] == other[3 : 3 + size]).all()
                assert (one[:5] == source[:5]).all()
            else:
                assert (other[3 : 3 + size] == source[5 : 5 + size]).all()
                assert (other[:3] == 0xAA).all()
                assert (fence[size + slack + 3 :] == 0xAA).all()


def test_integers_of_every_sort():
    data = np.frombuffer(bytes(range(0x70, 0x70 + 40)), np.uint8).copy()
    for at in range(32):
        out = np.zeros(8, np.int64)
        out[0] = at
        call(kernels.loads, data, out, unused=False)
        raw = data[at : at + 8].tobytes()
        expected = [
            raw[0],
            struct.unpack(">h", raw[:2])[0],
            struct.unpack("<h", raw[:2])[0],
            struct.unpack(">i", raw[:4])[0],
            struct.unpack("<I", raw[:4])[0],
            struct.unpack(">q", raw)[0],
            struct.unpack("<q", raw)[0],
        ]
        assert out[1:].tolist() == expected
        plain = np.zeros(8, np.int64)
        plain[0] = at
        kernels.loads(unused=False)(data, plain)
        assert plain.tolist() == out.tolist()


def test_integers_are_stored_in_every_way():
    for value in (0, -1, 0x0102030405060708, -0x0102030405060708, (1 << 63) - 1, -(1 << 63), 0x80):
        raw = struct.pack(">q", value)
        expected = b"".join([
            raw[7:], raw[6:], raw[6:][::-1], raw[4:], raw[4:][::-1], raw, raw[::-1],
        ])  # fmt: skip
        data, plain = np.full(40, 0xAA, np.uint8), np.full(40, 0xAA, np.uint8)
        numbers = np.array([3, value], np.int64)
        assert call(kernels.stores, data, numbers, unused=False) == len(data)
        kernels.stores(unused=False)(plain, numbers)
        assert data.tobytes() == plain.tobytes() == b"\xaa" * 3 + expected + b"\xaa" * 8


def test_a_bit_is_one_of_eight():
    bitmap = np.frombuffer(random.Random(3).randbytes(8), np.uint8).copy()
    word = int.from_bytes(bitmap.tobytes(), "little")
    for at in range(64):
        numbers = np.array([at], np.int64)
        assert call(kernels.bit, bitmap, numbers, unused=False) == word >> at & 1
        assert kernels.bit(unused=False)(bitmap, numbers) == word >> at & 1


def test_pairs_of_bytes_are_compared_at_many_places():
    chosen = random.Random(4)
    for _ in range(200):
        data = np.array([chosen.choice((0, 7, 255)) for _ in range(100)], np.uint8)
        numbers = np.array([chosen.randrange(60), 255, chosen.randrange(60), chosen.choice((0, 7)), 0])
        plain = numbers.copy()
        call(kernels.pairs, data, numbers, unused=False)
        kernels.pairs(unused=False)(data, plain)
        assert numbers.tolist() == plain.tolist()
        one, other = data[numbers[0] :], data[numbers[2] :]
        bits = [one[at] == 255 and other[at] == numbers[3] for at in range(NUM_PAIRS)]
        assert numbers[4] == sum(1 << at for at, bit in enumerate(bits) if bit)


def test_a_cpu_without_instructions_for_checksums(tmp_path):
    """On ARM, say: tables do it, and slower. What is compiled so must not go into the cache."""
    program = (
        "from kafka_segments.core.native import target\n"
        "target.has_crc32c = lambda: False\n"
        "from kafka_segments.core.native.checksums import CHECKSUMS, crc32c_by_tables\n"
        "assert CHECKSUMS['crc32c'] is crc32c_by_tables\n"
        "from tests.native import test_intrinsics\n"
        "test_intrinsics.test_the_check_value_of_the_catalogues()\n"
        "test_intrinsics.test_checksums_are_those_of_the_packages(True)\n"
    )
    run_python("-c", program, cwd=ROOT, env={"KAFKA_SEGMENTS_CACHE_DIR": str(tmp_path)})
    assert list(tmp_path.iterdir())


def test_a_null_is_one_bit():
    for at in range(64):
        bitmap = np.full(8, 0xFF, np.uint8)
        call(kernels.bits, bitmap, np.array([at], np.int64), unused=False)
        assert int.from_bytes(bitmap.tobytes(), "little") == (1 << 64) - 1 - (1 << at)


def test_reading_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    with path.open("rb") as file:
        data = np.zeros(40, np.uint8)
        assert call(kernels.files, data, np.array([file.fileno(), 80], np.int64), unused=False) == 20
        assert data[:20].tolist() == list(range(80, 100))
    assert call(kernels.files, data, np.array([-1, 0], np.int64), unused=False) == -1
