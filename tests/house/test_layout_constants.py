"""No layout stands in hand-written code of the runtime: places, widths, byte orders are for schemas to say.

`layout_rules` says how one is told; the tables here say what it must find and what it must let pass. What a
codec's own container looks like, no schema of Kafka's says: those modules are in `ALLOWED`, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.house.layout_rules import RULES, findings

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"

MOST_ALLOWED = 5
# Module to why, and what it may have.
ALLOWED: dict[str, tuple[str, set[str]]] = {
    "kafka_segments/core/codecs/gzip.py": (
        "RFC 1952's members: zlib by itself sees their ends otherwise than Java",
        {"packing", "a magic", "a place in a buffer", "a field of bits", "a constant of a layout"},
    ),
    "kafka_segments/core/codecs/lz4.py": (
        "LZ4's frame header: Kafka's rules for it are not the library's; and cut blocks",
        {"packing", "a magic", "a place in a buffer", "a field of bits", "a constant of a layout"},
    ),
    "kafka_segments/core/codecs/snappy.py": (
        "snappy-java's stream of blocks: no library reads it as Java does; and cut blocks",
        {
            "packing",
            "a magic",
            "a place in a buffer",
            "a field of bits",
            "an integer put together",
            "a constant of a layout",
        },
    ),
    "kafka_segments/core/codecs/zstd.py": (
        "RFC 8878's headers of frames and blocks: where one ends, for zstd-jni's reads end elsewhere",
        {"packing", "a magic", "a place in a buffer", "a field of bits", "a constant of a layout"},
    ),
    "kafka_segments/core/formats/java.py": (
        "surrogates in UTF-8: the JDK replaces them otherwise than Python; ints and longs in values",
        {"a magic", "a Kaitai stream read by hand"},
    ),
}


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(RUNTIME.rglob("*.py")):
        yield path.relative_to(RUNTIME).as_posix(), path.read_text(encoding="utf-8")


def test_no_layout_stands_in_the_runtime() -> None:
    found = [
        f"{name}:{line}: {rule}: {code}"
        for name, text in modules()
        for line, rule, code in findings(text)
        if name not in ALLOWED or rule not in ALLOWED[name][1]
    ]
    assert found == []


def test_the_allowed_are_few_and_each_is_needed() -> None:
    texts = dict(modules())
    assert len(ALLOWED) <= MOST_ALLOWED
    for name, (reason, rules) in ALLOWED.items():
        assert len(reason) > 20
        unused = rules - {rule for _, rule, _ in findings(texts.get(name, ""))}
        assert unused == set(), f"{name} needs this no more"


BAD = [
    ("struct", "import struct"),
    ("struct", "from struct import Struct"),
    ("packing", "(size,) = layouts.unpack_from(data, position)"),
    ("packing", "size = int.from_bytes(data[start:end])"),
    ("packing", "field = size.to_bytes(width)"),
    ("packing", "header = Header.from_buffer_copy(data)"),
    ("a Kaitai stream read by hand", "offset = stream.read_s8be()"),
    ("a Kaitai stream read by hand", "codec = self._io.read_bits_int_be(width)"),
    ("a structure", "class Header(ctypes.BigEndianStructure): pass"),
    ("a structure", "class Header(Structure): pass"),
    ("a structure", "HEADER = np.dtype([('offset', kind)])"),
    ("a byte order", "kind = np.dtype('>i8')"),
    ("a byte order", "columns = [('offset', '>i8'), ('size', '>i4')]"),
    ("a byte order", "FORMAT = '>qiibI'"),
    ("a byte order", "offsets = offsets.byteswap()"),
    ("an array of numbers over bytes", "offsets = np.frombuffer(data, dtype=np.int64)"),
    ("an array of numbers over bytes", "offsets = np.frombuffer(data, np.int64)"),
    ("an array of numbers over bytes", "offsets = np.frombuffer(data)"),
    ("an array of numbers over bytes", "offsets = memoryview(data).cast('q')"),
    ("a magic", r"MAGIC = b'\x82SNAPPY\x00'"),
    ("a magic", r"is_v2 = magic_byte == b'\x02'"),
    ("a magic", r"pattern = re.compile(b'.{4}[\\x00-\\x02]')"),
    ("a magic", "is_parquet = data.startswith(b'PAR1')"),
    ("a magic", "is_parquet = head == b'PAR1'"),
    ("a place in a buffer", "magic = data[16]"),
    ("a place in a buffer", "rest = data[61:]"),
    ("a place in a buffer", "first = payload[0]"),
    ("a place in a buffer", "magic = data[position + 16]"),
    ("a place in a buffer", "size = self._data[position + 8 : position + 12]"),
    ("a place in a buffer", "magic = memoryview(x)[16]"),
    ("a place in a buffer", "magic = source.read(start, size)[16]"),
    ("a place in a buffer", "def magic(entry: bytes) -> int: return entry[16]"),
    ("a place in a buffer", "def magic(entry: bytes | memoryview) -> int: return entry[4:][12]"),
    ("a place in a buffer", "def magic(entry: npt.NDArray[np.uint8]) -> int: return entry[16]"),
    ("a place in a buffer", "def magic(source): entry = source.read(); return entry[16]"),
    ("a place in a file", "head = stream.read(61)"),
    ("a place in a file", "stream.seek(position + 8)"),
    ("a place in a file", "head = source.read(position + 8, size)"),
    ("an integer put together", "size = high << 8 | low"),
    ("an integer put together", "size = (high << 8) + low"),
    ("an integer put together", "value |= group << shift"),
    ("an integer put together", "value += group << 7"),
    ("an integer put together", "size = high * 256 + low"),
    ("an integer put together", "size = low + high * 0x100"),
    ("a place in a file", "size = load_s4be(data, position + 8)"),
    ("a place in a file", "size = be32(data, position + 8)"),
    ("a field of bits", "codec = attributes & 7"),
    ("a field of bits", "codec = CODECS[attributes & 7]"),
    ("a field of bits", "low = value & 0xFF"),
    ("a field of bits", "codec = 0x07 & number"),
    ("a field of bits", "is_control = number >> 5 & 1"),
    ("a field of bits", "is_text = header.flags & 1"),
    ("a field of bits", "more = group & 0x80"),
    ("a field of bits", "more = group >= 0x80"),
    ("a field of bits", "low = group & np.uint64(0x7F)"),
    ("an integer put together", "value |= group << u64(7)"),
    ("a constant of a layout", "OFS_MAGIC = 16"),
    ("a constant of a layout", "_LEN_HEADER = 61"),
    ("a constant of a layout", "LEN_LOG_OVERHEAD: int = 8 + 4"),
    ("a constant of a layout", "OFS_CRC, OFS_MAGIC = 17, 16"),
    ("a constant of a layout", "ofs_magic = 16"),
    ("a constant of a layout", "CODEC_MASK = 0x07"),
    ("a constant of a layout", "KNOWN_MAGICS = (0, 1, 2)"),
    ("a constant of a layout", "LZ4_MAGIC = 0x184D2204"),
    ("a constant of a layout", "head = cut(data, len_header=61)"),
    ("a constant of a layout", "def cut(data, len_header=61): pass"),
    ("a constant of a layout", "def cut(data, *, len_header=61): pass"),
    ("a list of magics", "is_known = prefix.magic in (0, 1, 2)"),
    ("a list of magics", "is_known = magic not in range(3)"),
]

GOOD = [
    "prefix = layout.read_prefix(data)",
    "rest = data[layout.LEN_LOG_OVERHEAD :]",
    "piece = data[start : start + size]",
    "value = value[:MAX_LEN_VALUE]",
    "line, end, rest = content.partition(b'\\n')",
    "zeros = data.rstrip(b'\\0')",
    "text = b''.join(chunks)",
    "text = data.replace(b'\\n', b' ')",
    "name = parts[0] + arguments[-1]",
    "def first(data: list[int]) -> int: return data[0]",
    "def first(chunk: tuple[int, int]) -> int: return chunk[0]",
    "for data in pairs: print(pairs[0])",
    "MAX_LEN_VALUE = 64 << 10",
    "BLOCK_SIZE = 4096",
    "_LEN_WINDOW = 2 << 20",
    "checksum = TABLES[(7 - at) * 256 + (word >> (8 * at) & 0xFF)] ^ TABLE[checksum & 0xFF]",
    "num_bytes = self._arena.data[1]",
    "size = load_s4be(data, start)",
    "address = ctypes.addressof(ctypes.c_char.from_buffer(memory))",
    "len_batch = 0",
    "OFS_MAGIC: int = constants(Prefix).ofs_magic",
    "scan = Scan(source, len_window=WINDOW_SIZE)",
    "wrapped = (value + (1 << 63)) % (1 << 64) - (1 << 63)",
    "low = value & 0xFFFF_FFFF",
    "is_odd = count & 1",
    "digest = digest << 1 & 0xFFFF_FFFF",
    "reached = position + (size << 1)",
    "total = count * 1000 + rest",
    "data = np.frombuffer(data, dtype=np.uint8)",
    "data = np.frombuffer(data, 'u1')",
    "codec = typing.cast(Codec, module.CODEC)",
    "times = batch.column('timestamp').cast(pa.int64())",
    "text = memoryview(data).cast('B')",
    "data = source.read(0, size)",
    "data = stream.read()",
    "data = stream.read(-1)",
    "is_known = prefix.magic in formats.MAGICS",
    "is_old = batch.magic < 2",
    "label = f'<{name}>'",
    "name = '<stdin>'",
    "columns: dict[str, int] = {'offset': 0}",
]


@pytest.mark.parametrize(("rule", "code"), BAD, ids=[code for _, code in BAD])
def test_a_layout_is_found(rule: str, code: str) -> None:
    assert rule in [found for _, found, _ in findings(code)]


@pytest.mark.parametrize("code", GOOD)
def test_other_code_passes(code: str) -> None:
    assert findings(code) == []


def test_every_rule_is_shown_at_work() -> None:
    assert RULES.keys() == {rule for rule, _ in BAD}
