"""Tables of docs/sizes-reference.md and docs/concepts/history.md: what formats take. Run by `make generate`.

All numbers are counts of bytes without compression, so they are the same with every version of a codec. The
recorded logs are those of tests/vectors; the encoders are those that write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from kafka_segments import encode_control, encode_empty_batch, encode_records, open_segment
from kafka_segments.core.formats import LEN_HEAD
from kafka_segments.core.formats.entries import Batch, ExperimentalBatch, Record
from kafka_segments.core.formats.metadata_first import MetadataFirstReader
from kafka_segments.core.io.storage import open_source
from kafka_segments.sizes import Form, SizeReport, data_file, measure_sizes
from kafka_segments.write.convert import convert_magic3

__all__ = ["history", "lines"]

RECORDED = Path(__file__).resolve().parent.parent / "tests" / "vectors" / "recorded"
SETS = ("kafka-0.9/clean", "kafka-0.10.2/clean", "kafka-2.8/clean", "kafka-4.3/clean")
MAGICS = (0, 1, 2, 3)
TIME = 1_714_000_000_000
DAY = 86_400_000
BLOCKS = {"gzip": 1, "snappy": 32 << 10, "lz4": 64 << 10, "zstd": 128 << 10}
"""Bytes that a decompressor gives at once: snappy-java's and Kafka's LZ4 blocks, Zstandard's largest."""


@cache
def lines() -> tuple[str, ...]:
    """All tables, a line each."""
    return tuple(chain(_recorded(), _chapter(), _headers(), _overheads(), _prefixes()))


@cache
def history() -> tuple[str, ...]:
    """The tables of the page on the formats' history, a line each."""
    return tuple(chain(_beyond_content(), _single_features()))


def _beyond_content() -> Iterator[str]:
    key, value = b"k" * 10, b"v" * 100
    yield "| records in a batch | magic 0 | magic 1 | magic 2 | magic 3 |"
    yield "|---|---|---|---|---|"
    for count in (1, 2, 3, 4, 10, 100, 1000, 10_000):
        rows = _rows(count, value, key=key)
        sizes = [len(_encoded(rows, magic)) / count - len(key) - len(value) for magic in MAGICS]
        yield f"| {count:,} | {' | '.join(f'{size:.2f}' for size in sizes)} |"
    yield ""


def _single_features() -> Iterator[str]:
    plain = {"timestamp": TIME, "key": b"k", "value": b"v"}
    size = {magic: len(_encoded([plain], magic)) for magic in MAGICS}
    header = len(_encoded([{**plain, "headers": [(b"name", b"value")]}], 2)) - size[2] - len(b"namevalue")
    commit = [("COMMIT", {"coordinator_epoch": 0})]
    marker = encode_control(commit, timestamp=TIME, producer_id=1, producer_epoch=0, is_transactional=True)
    empty = encode_empty_batch(base_offset=0, last_offset=9, producer_id=1, producer_epoch=0, base_sequence=0)
    yield "| what | bytes | since |"
    yield "|---|---|---|"
    yield f"| a timestamp | {size[1] - size[0]} a message | magic 1 |"
    yield f"| a header, besides its key and its value | {header} or more a record | magic 2 |"
    yield f"| the end of a transaction | {len(marker)} in each of its partitions | magic 2 |"
    yield f"| a batch whose records were all compacted away | {len(empty)} | magic 2 |"


def _recorded() -> Iterator[str]:
    yield "### Recorded logs"
    yield ""
    yield (
        "Log directories that [brokers recorded](../tests/vectors/README.md), without segments with times "
        "before 1970: the bytes that are there, some of them compressed, and the bytes without compression, "
        "batch by batch. Control batches and empty batches, which the old formats cannot hold, count in "
        "magic 3 as they do in magic 2. In a clone, `kafka-segments sizes "
        "tests/vectors/recorded/kafka-2.8/clean --compression none --experimental-magic3` prints the numbers "
        "of a row."
    )
    yield ""
    yield (
        "| log directory | records a batch | bytes there | magic 0 | magic 1 | magic 2 | magic 3 | 1 to "
        "2 | 2 to 3 |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in SETS:
        report = _measured(name)
        sizes = [round(size.num_bytes.value) for size in report.sizes]
        depth = report.tally.num_records / report.tally.num_batches
        cells = [f"{depth:.2f}", str(round(report.num_bytes.value)), *map(str, sizes)]
        cells += [_change(sizes[2], sizes[1]), _change(sizes[3], sizes[2])]
        yield f"| `{name}` | {' | '.join(cells)} |"
    yield ""


def _paths(name: str) -> list[Path]:
    """Segments of a log directory; without those of times before 1970, which Kafka would refuse today."""
    return [path for path in sorted((RECORDED / name).rglob("*.log")) if "negative-" not in path.parent.name]


@cache
def _measured(name: str) -> SizeReport:
    files = [data_file(str(path), partial(open_source, str(path))) for path in _paths(name)]
    forms = [Form(magic) for magic in MAGICS]
    return measure_sizes(files, forms, on_finding=_ignore, progress=_ignore)


def _ignore(*_any: object) -> None:
    """Take findings and progress, of which the tables have nothing."""


def _change(after: float, before: float) -> str:
    return f"{after / before - 1:+.1%}"


def _encoded(rows: Sequence[dict[str, Any]], magic: int) -> bytes:
    return encode_records(
        rows, magic=magic, batch_size=1 << 30, max_message_bytes=None, experimental_magic3=magic == 3
    )


def _rows(count: int, value: bytes, *, key: bytes | None = None, step: int = 1) -> list[dict[str, Any]]:
    return [{"timestamp": TIME + at * step, "key": key, "value": value} for at in range(count)]


def _chapter() -> Iterator[str]:
    yield "### The chapter's table"
    yield ""
    yield (
        "The book says that 1,000 messages of 100 bytes of JSON without a key, in one batch, take 130 bytes "
        "per message in magic 1 and about 105 in magic 2, which is 19 % less; and that two of 5 bytes "
        "take 95 bytes or more in magic 1 and 85 in magic 2. The encoders write this many bytes per message:"
    )
    yield ""
    yield "| messages | magic 0 | magic 1 | magic 2 | magic 3 | 1 to 2 | 2 to 3 |"
    yield "|---|---|---|---|---|---|---|"
    cases = [
        ("2 of 5 bytes, at once", _rows(2, b"hello", step=0)),
        *(
            (f"{count} of 100 bytes, a millisecond apart", _rows(count, b"x" * 100))
            for count in (1, 2, 10, 100)
        ),
        ("1000 of 100 bytes, at once", _rows(1000, b"x" * 100, step=0)),
        ("1000 of 100 bytes, a millisecond apart", _rows(1000, b"x" * 100)),
        ("1000 of 1000 bytes and a key of 100", _rows(1000, b"x" * 1000, key=b"k" * 100)),
    ]
    for name, rows in cases:
        sizes = [len(_encoded(rows, magic)) for magic in MAGICS]
        cells = [f"{size / len(rows):.2f}" for size in sizes]
        changes = f"{_change(sizes[2], sizes[1])} | {_change(sizes[3], sizes[2])}"
        yield f"| {name} | {' | '.join(cells)} | {changes} |"
    yield ""


def _headers() -> Iterator[str]:
    yield "### The discarded proposal: the header of a batch"
    yield ""
    yield (
        "The proposal says 18 % of 53 bytes. A header of magic 2 has 61 bytes, or 49 without the offset and "
        "the length:"
    )
    yield ""
    yield "| records | last timestamp after the first | magic 2 | magic 3 | less |"
    yield "|---|---|---|---|---|"
    for count, spread in ((1, 0), (100, 0), (100, 1000), (100, 16_000), (10_000, 16_000), (100, 30 * DAY)):
        rows = _rows(count, b"", step=0)
        rows[-1]["timestamp"] = TIME + spread
        with open_segment(_encoded(rows, 3), experimental_magic3=True) as segment:
            head = next(iter(segment.iter_entries()))
        assert isinstance(head, ExperimentalBatch)
        less = _change(head.len_head, LEN_HEAD)
        yield f"| {count} | {spread} ms | {LEN_HEAD} | {head.len_head} | {less} |"
    yield ""


def _overheads() -> Iterator[str]:
    yield "### The discarded proposal: all that is not key, value or header"
    yield ""
    yield (
        "The proposal says 14 % of 7 bytes per message. That example, from KIP-98, leaves out the length of "
        "the value and the number of headers: magic 3 saves one byte of 11 (the last row). In the recorded "
        "logs, with the headers of batches:"
    )
    yield ""
    yield (
        "| log | content | overhead, magic 2 | a record | overhead, magic 3 | a record | less | of all "
        "bytes |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name in SETS:
        report = _measured(name)
        content, num_records = _content(_paths(name))
        sizes = [round(size.num_bytes.value) for size in report.sizes]
        yield _overhead(f"`{name}`", content, num_records, sizes[2], sizes[3])
    rows = _rows(1000, b"x" * 1000, key=b"k" * 100)
    yield _overhead(
        "the records of KIP-98", 1_100_000, 1000, *(len(_encoded(rows, magic)) for magic in (2, 3))
    )
    yield ""


def _overhead(name: str, content: int, num_records: int, old: int, new: int) -> str:
    cells = [str(content)]
    for size in (old, new):
        cells += [str(size - content), f"{(size - content) / num_records:.2f}"]
    return f"| {name} | {' | '.join(cells)} | {_change(new - content, old - content)} | {_change(new, old)} |"


def _content(paths: Sequence[Path]) -> tuple[int, int]:
    """Bytes of keys, values and headers, and the number of records."""
    size = count = 0
    for path in paths:
        for record in _records(path):
            size += _length(record)
            count += 1
    return size, count


def _records(path: Path) -> Iterator[Record]:
    with open_segment(path) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Record):
                yield event


def _length(record: Record) -> int:
    headers = sum(len(key) + len(value or b"") for key, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


def _prefixes() -> Iterator[str]:
    yield "### The additional proposal: what a validator decompresses"
    yield ""
    yield (
        "In a [layout of ours](formats/kafka_record_batch_v3_metadata_first.md), the metadata of all records "
        "come first, and a validator decompresses only these, rounded up to the codec's block. The share of "
        "the decompressed payloads that it decompresses:"
    )
    yield ""
    yield f"| log | batches | payload of one | metadata | {' | '.join(BLOCKS)} |"
    yield f"|---|---|---|---|{'---|' * len(BLOCKS)}"
    for name in ("kafka-4.3/clean/multi-0", "kafka-4.3/clean/codec-none-0"):
        path = sorted((RECORDED / name).glob("*.log"))[0]
        rows = [_row(record) for record in _records(path)]
        for size in (1000, 16 << 10, 1 << 20):
            payloads = list(_payloads(rows, size))
            whole = sum(total for _metadata, total in payloads)
            read = [sum(_rounded(*one, block) for one in payloads) for block in (1, *BLOCKS.values())]
            cells = " | ".join(f"{num / whole:.1%}" for num in read)
            mean = whole // len(payloads)
            yield f"| `{name}`, batches of {size} | {len(payloads)} | {mean} bytes | {cells} |"


def _row(record: Record) -> dict[str, Any]:
    names = ("offset", "timestamp", "key", "value", "headers")
    return {name: getattr(record, name) for name in names}


def _rounded(metadata: int, total: int, block: int) -> int:
    return min(total, -(-metadata // block) * block)


def _payloads(rows: Sequence[dict[str, Any]], batch_size: int) -> Iterator[tuple[int, int]]:
    """The bytes of metadata, and of the whole payload, of each batch with metadata first."""
    data = encode_records(rows, batch_size=batch_size, max_message_bytes=None)
    converted = convert_magic3(data, 3, metadata_first=True, experimental_magic3=True).to_bytes()
    with open_segment(converted, experimental_magic3=True) as segment:
        for batch in segment.iter_entries():
            assert isinstance(batch, Batch) and isinstance(batch, ExperimentalBatch)
            payload = segment.read_entry(batch)[batch.len_head :]
            reader = MetadataFirstReader(payload, batch)
            yield reader.len_metadata, len(payload)
            reader.close()
