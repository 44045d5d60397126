"""Sizes of batches in magic 2 and in both layouts of the discarded magic 3, with each codec.

    python tools/magic3_layouts.py FILE...

Each batch of magic 2 in the segments is encoded again with each codec at its default level; batches without
records are left out. The last two columns are what validation of a compressed batch decompresses: in magic 2
and the first layout all of it, in the second one the metadata of the records, rounded up to the block that
the codec decompresses at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "runtime"), str(ROOT / "generated")]

from kafka_segments import Batch, open_segment  # noqa: E402 (of this clone)
from kafka_segments.core.codecs import CODEC_NAMES, compress, decompress  # noqa: E402
from kafka_segments.core.formats import MetadataFirstReader  # noqa: E402
from kafka_segments.core.formats.batch_values import BatchValues, Hook, build_batch, parse_batch  # noqa: E402
from kafka_segments.core.formats.entries import ExperimentalBatch  # noqa: E402
from kafka_segments.errors import KafkaFormatError  # noqa: E402

__all__ = ["BLOCKS", "Sizes", "measured", "table"]

BLOCKS = {"none": 1, "gzip": 1, "snappy": 32 << 10, "lz4": 64 << 10, "zstd": 128 << 10}
"""Bytes that a decompressor gives at once: those of snappy-java, LZ4 as Kafka writes it, and Zstandard."""
_LAYOUTS = ((2, False), (3, False), (3, True))


@dataclass(slots=True)
class Sizes:
    """Sums over all batches, in bytes.

    Attributes:
        batches: of magic 2, of magic 3, and of magic 3 with metadata first.
        whole: all records of the third, decompressed.
        prefix: of these, what validation has to decompress.
    """

    batches: list[int]
    whole: int = 0
    prefix: int = 0


class _Codec:
    def __init__(self, name: str) -> None:
        self._name = name

    def compress(self, data: bytes) -> bytes:
        return compress(self._name, data)

    def decompress(self, data: bytes) -> bytes:
        return bytes(decompress(self._name, data))


def measured(paths: list[str]) -> tuple[int, int, dict[str, Sizes]]:
    """The number of batches and of records in segments, and their sizes by codec.

    Raises:
        KafkaFormatError: damage, or a batch that cannot be built.
    """
    hooks: dict[str, Hook] = {name: _Codec(name) for name in CODEC_NAMES}
    found = {name: Sizes([0, 0, 0]) for name in BLOCKS}
    num_batches = num_records = 0
    for values in _batches(paths, hooks):
        num_batches += 1
        num_records += len(values.records)
        for number, (name, sizes) in enumerate(found.items()):
            _add(sizes, replace(values, compression=number), hooks, BLOCKS[name])
    return num_batches, num_records, found


def _batches(paths: list[str], hooks: Mapping[str, Hook]) -> Iterator[BatchValues]:
    for path in paths:
        with open_segment(path) as segment:
            for entry in segment.iter_entries():
                if not isinstance(entry, Batch) or entry.crc_valid is False or entry.magic != 2:
                    continue
                if sum(1 for _record in segment.iter_records(entry)):  # all of them are sound
                    yield parse_batch(segment.read_entry(entry), hooks)


def _add(sizes: Sizes, values: BatchValues, hooks: Mapping[str, Hook], block: int) -> None:
    for at, (magic, first) in enumerate(_LAYOUTS):
        sizes.batches[at] += len(build_batch(values, magic, hooks, metadata_first=first))
    plain = build_batch(replace(values, compression=0), 3, hooks, metadata_first=True)
    with open_segment(plain, experimental_magic3=True) as segment:
        (header,) = segment.iter_entries()
    assert isinstance(header, ExperimentalBatch)
    payload = plain[header.len_head :]
    metadata = MetadataFirstReader(payload, header).len_metadata
    sizes.whole += len(payload)
    sizes.prefix += min(len(payload), -(-metadata // block) * block)


def table(found: Mapping[str, Sizes]) -> str:
    """The sizes as a table of Markdown."""
    lines = ["| codec | magic 2 | magic 3 | metadata first | decompressed for validation | of |"]
    lines.append("|---|---|---|---|---|---|")
    for name, sizes in found.items():
        old, new, first = sizes.batches
        share = f"{100 * sizes.prefix / sizes.whole:.1f} %" if sizes.whole else "-"
        saved = [f"{size} ({100 * (size - old) / old:+.1f} %)" if old else str(size) for size in (new, first)]
        lines.append(f"| {name} | {old} | {' | '.join(saved)} | {sizes.prefix} ({share}) | {sizes.whole} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="a segment, a .log file")
    try:
        num_batches, num_records, found = measured(parser.parse_args(arguments).files)
    except KafkaFormatError as error:
        print(f"magic3_layouts.py: {error}", file=sys.stderr)
        return 2
    print(f"{num_batches} batches of magic 2, {num_records} records\n\n{table(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
