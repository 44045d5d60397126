"""The corpora: segments of v2 batches, made by the run itself, the same bytes every time, kept under
`build/bench/`.

| corpus | records | batches | size |
|---|---|---|---|
| json170 | 16-byte keys, JSON values of about 170 bytes | 16 KiB | 256 MiB |
| kib | 16-byte keys, JSON of 1 KiB | 16 KiB | 256 MiB |
| small | no keys, 10-byte values | 1 MiB | 128 MiB |
| headers | as json170, with 3 headers | 16 KiB | 128 MiB |
| lz4, zstd, snappy, gzip | as json170 | 16 KiB before compression | 64 MiB before compression |
| encode170, encode170-1mib | as json170, to be written again | 16 KiB, 1 MiB | 64 MiB |
| huge | as json170 | 16 KiB | 1 GiB |

aiokafka's builder makes them, because it is quick. The compressed ones are those records as Kafka's own
classes compress them; without Java they come from aiokafka too, which the corpus then says (`made_by`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.bench import programs

MIB = 1 << 20
CODECS = ("lz4", "zstd", "snappy", "gzip")
# Of these everybody has the records and writes the batches, by the size that a batch is filled up to: a
# producer's default (`batch.size`), and about the most that a broker takes (`max.message.bytes`).
# aiokafka lets a batch be smaller than that, Kafka's builder as large: hence one byte more where it is asked.
ENCODED = {"encode170": 16384, "encode170-1mib": MIB}
NAMES = ("json170", "kib", "small", "headers", *CODECS, *ENCODED)
HUGE = "huge"
# What QUICK=1 leaves of every size.
QUICK_FRACTION = 32
FOLDER = programs.BUILD / "corpora"

LEN_OVERHEAD = 12
OFS_LENGTH = 8
OFS_LEADER_EPOCH = 12
LEADER_EPOCH = 5
FIRST_TIMESTAMP = 1_700_000_000_000
CITIES = ("Lisbon", "Osaka", "Nairobi", "Lima", "Oslo", "Pune", "Quito", "Turin")
NUM_VALUES = 200_000
# By aiokafka's number.
CODEC_IDS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}

Row = tuple[bytes | None, bytes, list[tuple[str, bytes]]]


@dataclasses.dataclass(frozen=True)
class Corpus:
    """One segment file; `num_bytes` is its size, `len_uncompressed` that of its source before compression."""

    name: str
    path: Path
    num_bytes: int
    num_records: int
    num_batches: int
    len_uncompressed: int
    made_by: str


def json_value(rng: random.Random, index: int) -> bytes:
    """An order, as a shop would write it."""
    items = [
        {"sku": f"S{rng.randrange(5000)}", "qty": rng.randrange(1, 9)} for _ in range(rng.randrange(1, 4))
    ]
    order = {
        "order_id": f"o-{index:010d}",
        "customer": rng.randrange(1 << 20),
        "city": rng.choice(CITIES),
        "amount": round(rng.random() * 500, 2),
        "items": items,
        "ts": FIRST_TIMESTAMP + index * 3,
    }
    return json.dumps(order).encode()


def rows_of(name: str, num_values: int = NUM_VALUES) -> Callable[[int], Row]:
    """The function from a record's number to its key, value and headers."""
    if name == "small":
        return lambda index: (None, b"%010d" % index, [])
    rng = random.Random(7)
    values = [json_value(rng, index) for index in range(num_values)]
    if name == "kib":
        return lambda index: (b"key-%012d" % (index % 100_000), kib_value(values, index), [])
    if name == "headers":
        return lambda index: (b"key-%012d" % (index % 100_000), values[index % num_values], headers_of(index))
    return lambda index: (b"key-%012d" % (index % 100_000), values[index % num_values], [])


def kib_value(values: Sequence[bytes], index: int) -> bytes:
    """A value of 1 KiB, of some that follow each other."""
    following = b"".join(values[(index + number) % len(values)] for number in range(10))
    return b"%d %b" % (index, following[: 1023 - len(str(index))])


def headers_of(index: int) -> list[tuple[str, bytes]]:
    """Three headers as tracing and routing put them there."""
    return [("trace-id", b"%032x" % index), ("ct", b"json"), ("source", b"orders-svc")]


def new_builder(batch_size: int, compression: int = 0) -> Any:
    """aiokafka's builder of one batch."""
    return import_module("aiokafka.record.default_records").DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=batch_size,
    )


def placed(built: bytes, base_offset: int) -> bytes:
    """A built batch with its base offset and leader epoch, which its checksum does not cover."""
    batch = bytearray(built)
    struct.pack_into(">q", batch, 0, base_offset)
    struct.pack_into(">i", batch, OFS_LEADER_EPOCH, LEADER_EPOCH)
    return bytes(batch)


def write_plain(path: Path, size: int, batch_size: int, row: Callable[[int], Row]) -> tuple[int, int]:
    """Write batches until the file has `size` bytes; return the numbers of records and batches."""
    num_records = num_batches = 0
    with path.open("wb") as file:
        while file.tell() < size:
            builder = new_builder(batch_size)
            base = num_records
            while True:
                key, value, headers = row(num_records)
                timestamp = FIRST_TIMESTAMP + num_records
                if builder.append(num_records - base, timestamp, key, value, headers) is None:
                    break
                num_records += 1
            file.write(placed(builder.build(), base))
            num_batches += 1
    return num_records, num_batches


def positions(segment: bytes | bytearray | memoryview) -> Iterator[tuple[int, int]]:
    """Where each whole batch of a segment begins and ends."""
    position = 0
    while position + LEN_OVERHEAD <= len(segment):
        end = position + LEN_OVERHEAD + struct.unpack_from(">i", segment, position + OFS_LENGTH)[0]
        if end > len(segment):
            return
        yield position, end
        position = end


def cut(segment: bytes, limit: int) -> bytes:
    """The whole batches within the first `limit` bytes, but one at least; everything if `limit` is 0."""
    if not limit or limit >= len(segment):
        return segment
    last = 0
    for _, end in positions(segment):
        if last and end > limit:
            break
        last = end
    return segment[:last]


def len_cut(corpus: Corpus, limit: int) -> int:
    """How long `cut` leaves a corpus."""
    with corpus.path.open("rb") as file:
        # The batch that crosses the limit stays out, unless it is the first.
        return len(cut(file.read(limit + 2 * MIB), limit)) if limit < corpus.num_bytes else corpus.num_bytes


def recompress_in_python(source: Path, codec: str, destination: Path) -> None:
    """Compress a segment's batches with aiokafka's builder: other bytes than Kafka's, the same records."""
    memory_records = import_module("aiokafka.record.memory_records")
    with destination.open("wb") as file:
        batches = memory_records.MemoryRecords(source.read_bytes())
        while batches.has_next():
            batch = batches.next_batch()
            base = batch.base_offset
            builder = new_builder(1 << 20, CODEC_IDS[codec])
            for record in batch:
                builder.append(
                    record.offset - base, record.timestamp, record.key, record.value, record.headers
                )
            file.write(placed(builder.build(), base))


def recompress(source: Path, paths: dict[str, Path]) -> str:
    """Compress a segment with several codecs; say what did it."""
    java = programs.java()
    if isinstance(java, programs.Missing):
        for codec, path in paths.items():
            recompress_in_python(source, codec, path)
        return f"aiokafka, for want of Java ({java.reason})"
    pairs = [word for codec, path in paths.items() for word in (codec, str(path))]
    subprocess.run([*java.command, "Recompress", str(source), *pairs], check=True)
    return "Kafka's Java classes"


def repeat(source: Path, path: Path, copies: int, num_records: int) -> None:
    """Write a segment several times over, each copy's offsets behind those of the one before."""
    segment = bytearray(source.read_bytes())
    places = [position for position, _ in positions(segment)]
    with path.open("wb") as file:
        for copy in range(copies):
            file.write(segment)
            if copy + 1 < copies:
                for place in places:
                    base = struct.unpack_from(">q", segment, place)[0]
                    struct.pack_into(">q", segment, place, base + num_records)


class Maker:
    """Makes the corpora of one scale in a folder of their own, those that are not there yet."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.fraction = QUICK_FRACTION if quick else 1

    def corpora(self) -> dict[str, Corpus]:
        """All of them, by name, in order."""
        listing = self.folder / "corpora.json"
        if not listing.exists():
            self._remove_older()
            self.folder.mkdir(parents=True, exist_ok=True)
            made = [dataclasses.asdict(corpus) | {"path": corpus.path.name} for corpus in self._make()]
            listing.write_text(json.dumps(made, indent=1), encoding="utf-8")
        found = [Corpus(**entry) for entry in json.loads(listing.read_text(encoding="utf-8"))]
        return {one.name: dataclasses.replace(one, path=self.folder / one.path) for one in found}

    def _remove_older(self) -> None:
        """Remove this scale's corpora of other states of the program, which nobody will read again."""
        scale = self.folder.name.partition("-")[0]
        for older in self.folder.parent.glob(f"{scale}-*"):
            shutil.rmtree(older)

    def _make(self) -> Iterator[Corpus]:
        sizes = {"json170": (256, 16384), "kib": (256, 16384), "small": (128, MIB), "headers": (128, 16384)}
        for name, (size, batch) in sizes.items():
            yield self._plain(name, size * MIB // self.fraction, batch)
        source = self._plain("json170", 64 * MIB // self.fraction, 16384, file="json64")
        paths = {codec: self._path(codec) for codec in CODECS}
        made_by = recompress(source.path, paths)
        for codec, path in paths.items():
            size = path.stat().st_size
            yield dataclasses.replace(source, name=codec, path=path, num_bytes=size, made_by=made_by)
        source.path.unlink()
        for name, len_batch in ENCODED.items():
            yield self._plain(name, 64 * MIB // self.fraction, len_batch + 1)
        yield dataclasses.replace(self._plain("json170", 1024 * MIB // self.fraction, 16384, HUGE), name=HUGE)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _plain(self, name: str, size: int, batch_size: int, file: str = "") -> Corpus:
        path = self._path(file or name)
        num_records, num_batches = write_plain(path, size, batch_size, rows_of(name))
        num_bytes = path.stat().st_size
        return Corpus(name, path, num_bytes, num_records, num_batches, num_bytes, "aiokafka")


def make(*, quick: bool = False, folder: Path | None = None) -> dict[str, Corpus]:
    """The corpora, made where they are not kept from an earlier run of this very program.

    Args:
        quick: a thirty-second of every size.
        folder: where to keep them; None is `build/bench/corpora`.
    """
    sources = [Path(__file__), programs.HERE / "java" / "Recompress.java"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    # What was made for want of Java is made again when Java is there.
    maker = "python" if isinstance(programs.java(), programs.Missing) else "java"
    name = f"{'quick' if quick else 'full'}-{maker}-{digest}"
    return Maker((FOLDER if folder is None else folder) / name, quick).corpora()
