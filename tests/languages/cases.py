"""What the programs read: recorded segments, vectors, damaged copies, and every form of varints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
KINDS = ("kafka_varint", "kafka_varlong", "kafka_unsigned_varint")


def recorded() -> list[Path]:
    """All recorded segments, and the vectors of a segment."""
    return [
        *sorted((VECTORS / "recorded").rglob("*.log")),
        *sorted((VECTORS / "kafka_log_segment").glob("*.bin")),
    ]


def damaged(folder: Path, files: list[Path], step: int) -> list[Path]:
    """Write copies of files, each with one byte changed at every `step` bytes, and one that is cut off."""
    found = []
    for number, file in enumerate(files):
        data = file.read_bytes()
        for at in range(0, len(data), step):
            found.append(folder / f"{number}-{at}.log")
            found[-1].write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        found.append(folder / f"{number}-cut.log")
        found[-1].write_bytes(data[:-1])
    return found


def varints(folder: Path) -> Path:
    """Write the file of varints, in the form that `reference.py` describes."""
    path = folder / "all.varints"
    vectors = {kind: [file.read_bytes() for file in sorted((VECTORS / kind).glob("*.bin"))] for kind in KINDS}
    path.write_bytes(
        b"".join(
            bytes([number, len(data)]) + data
            for number, kind in enumerate(KINDS)
            for data in (*vectors[kind], *_forms())
        )
    )
    return path


def sound(path: Path, lines: Sequence[str]) -> Path:
    """Write those varints of a file that can be read; `lines` is what is printed of all."""
    data, kept, at = path.read_bytes(), bytearray(), 0
    for line in lines:
        end = at + 2 + data[at + 1]
        kept += b"" if line.endswith(" error") else data[at:end]
        at = end
    found = path.with_name(f"sound-{path.name}")
    found.write_bytes(kept)
    return found


def _forms() -> Iterator[bytes]:
    """Every length with interesting first, middle and last bytes; cut off and too long ones among them."""
    ends = (0x00, 0x01, 0x02, 0x07, 0x08, 0x0F, 0x10, 0x3F, 0x40, 0x7E, 0x7F, 0x80, 0xFF)
    middles = (0x80, 0x81, 0xAA, 0xD5, 0xFF)
    yield b""
    for last in ends:
        yield bytes([last])
        for count in range(11):
            for first in middles:
                for middle in middles:
                    yield bytes([first, *[middle] * count, last])
