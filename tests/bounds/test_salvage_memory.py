"""`salvage` and `slice` take bounded memory, whatever they are given.

Each adversary is a partition: many short stretches, many producers and transactions of every sort, gaps
between them, batches and markers of hundreds of MiB. In the short form all are small, and in one directory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import crc32c
import pytest
from tests.forms import pick
from tests.made.directories import ABORT, append, data, marker
from tests.made.encoder import Batch, Record
from tests.python import run_python
from tests.verify.plants import write_snapshot

pytestmark = pytest.mark.long

MOST_MIB = 300
NUM_BATCHES = pick(1_500, 150_000)
NUM_GAPS = pick(1_500, 50_000)  # a third of a millisecond each, ten times that where bytes are damaged
NUM_PLAIN = pick(300, 15_000)  # without machine code it takes longer
LEN_HUGE = pick(40 << 20, 600 << 20)
TRANSACTIONAL, CONTROL = 0x10, 0x30
CODE = """
import json, sys
if sys.argv[1] == "plain":
    sys.modules |= dict.fromkeys(("numpy", "pyarrow", "numba", "llvmlite"))
from kafka_segments.cli.main import main
from tests.python import peak
status = main(sys.argv[2:])
print(json.dumps([status, peak() >> 20]), file=sys.stderr)
"""


def short_stretches(count: int) -> Iterator[bytes]:
    """A producer's open transaction in each batch, with a gap between offsets and a wrong byte between."""
    for number in range(count):
        yield opened(10 * number, number)
        yield b"\x55"


def open_transactions(count: int) -> Iterator[bytes]:
    """A producer's open transaction in each batch, in one stretch."""
    return (opened(number, number) for number in range(count))


def aborted_transactions(count: int) -> Iterator[bytes]:
    """A producer's aborted transaction in each pair of batches."""
    for number in range(0, count, 2):
        yield opened(number, number)
        yield marker(number + 1, number, ABORT)


def transactions_over_gaps(count: int) -> Iterator[bytes]:
    """Open transactions that go on after each of many gaps, where their markers may be."""
    return (opened(10 * number, number % 5_000) for number in range(count))


def transactions_between_gaps(count: int) -> Iterator[bytes]:
    """A gap in each of many transactions, beside one that is open throughout."""
    yield opened(0, 1 << 40)
    for number in range(0, count, 2):
        yield opened(10 * number + 10, number)
        yield marker(10 * number + 20, number, ABORT)


def idempotent_producers(count: int) -> Iterator[bytes]:
    """A producer without transactions in each batch."""
    return (data(number, b"", producer_id=number, producer_epoch=0) for number in range(count))


def producers_between_gaps(count: int) -> Iterator[bytes]:
    """The same with a gap before each."""
    return (data(10 * number, b"", producer_id=number, producer_epoch=0) for number in range(count))


def producers_between_damage(count: int) -> Iterator[bytes]:
    """The same with bytes in each gap that are no batch, so that it is none of the log cleaner's."""
    for number, batch in enumerate(producers_between_gaps(count)):
        yield b"\x01" * 70 + batch if number else batch


def opened(offset: int, producer_id: int) -> bytes:
    """A batch of an open transaction."""
    return data(offset, b"", attributes=TRANSACTIONAL, producer_id=producer_id, producer_epoch=0)


def write_huge(path: Path, attributes: int, producer_id: int) -> None:
    """A batch with a right checksum over zeros, more than memory may hold."""
    head = bytearray(Batch(0, (Record(0, 0, b"k", b"v"),), "none").encode()[:61])
    head[8:12] = (LEN_HUGE - 12).to_bytes(4, "big")
    head[21:23] = attributes.to_bytes(2, "big")
    head[43:51] = producer_id.to_bytes(8, "big", signed=True)
    checksum = crc32c.crc32c(bytes(head[21:]))
    for _ in range((LEN_HUGE - 61) >> 20):
        checksum = crc32c.crc32c(bytes(1 << 20), checksum)
    checksum = crc32c.crc32c(bytes((LEN_HUGE - 61) % (1 << 20)), checksum)
    head[17:21] = checksum.to_bytes(4, "big")
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(LEN_HUGE)


def huge_batch(folder: Path, _count: int) -> None:
    """A batch that is copied, and whose records are not read."""
    write_huge(folder / f"{0:020}.log", 0, -1)


def huge_marker(folder: Path, _count: int) -> None:
    """A batch that claims to be a marker."""
    write_huge(folder / f"{0:020}.log", CONTROL, 7)


def snapshot_of_producers(folder: Path, count: int) -> None:
    """A producer snapshot of more producers than are kept."""
    append(folder, data(0, b""))
    write_snapshot(folder, 0, *((number, 0, 0, -1, 0, 0, 0, -1) for number in range(count)))


def many_segments(folder: Path, count: int) -> None:
    """A segment for each of many batches."""
    for number in range(count // 100):
        append(folder, data(number, b""), base_offset=number)


def of_batches(batches: Callable[[int], Iterator[bytes]]) -> Callable[[Path, int], None]:
    """A partition of one segment."""

    def write(folder: Path, count: int) -> None:
        append(folder, *batches(count))

    return write


ADVERSARIES: dict[str, Callable[[Path, int], None]] = {
    **{
        one.__name__: of_batches(one)
        for one in (
            short_stretches,
            open_transactions,
            aborted_transactions,
            transactions_over_gaps,
            transactions_between_gaps,
            idempotent_producers,
            producers_between_gaps,
        )
    },
    **{one.__name__: one for one in (huge_batch, huge_marker, snapshot_of_producers, many_segments)},
}


WITH_GAPS = (
    *("short_stretches", "transactions_over_gaps", "transactions_between_gaps"),
    "producers_between_gaps",
)


def peak_of(*words: str, way: str = "compiled") -> int:
    """The most memory that a command had in a process of its own, in MiB."""
    done = run_python("-c", CODE, way, *words, status=None)
    status, most = json.loads(done.stderr.splitlines()[-1])
    assert status in (0, 1), done.stderr
    return int(most)


@pytest.mark.parametrize(
    "names", pick([list(ADVERSARIES)], [[one] for one in ADVERSARIES]), ids=lambda one: one[0]
)
def test_salvage_of_any_partition(names: Sequence[str], tmp_path: Path) -> None:
    for name in names:
        count = NUM_GAPS if name in WITH_GAPS else NUM_BATCHES
        ADVERSARIES[name](tmp_path / "source" / f"{name}-0", count)
    assert peak_of("salvage", str(tmp_path / "source"), str(tmp_path / "made")) <= MOST_MIB
    made = {path.parent.name for path in (tmp_path / "made" / "log").glob("*/*.log")}
    assert made == {f"{name}-0" for name in names}


@pytest.mark.parametrize("name", [one for one in ADVERSARIES if not one.startswith("huge")])
@pytest.mark.skipif(NUM_PLAIN < 1000, reason="in the full form alone")
def test_salvage_without_machine_code(name: str, tmp_path: Path) -> None:
    ADVERSARIES[name](tmp_path / "source" / f"{name}-0", NUM_PLAIN)
    words = "salvage", str(tmp_path / "source"), str(tmp_path / "made")
    assert peak_of(*words, way="plain") <= MOST_MIB


def test_slice_of_many_gaps(tmp_path: Path) -> None:
    source = append(tmp_path / "t-0", *short_stretches(pick(1_500, 15_000)))
    assert peak_of("slice", str(source), str(tmp_path / "made"), "--offsets", "5:") <= MOST_MIB


def test_partitions_with_many_gaps_each(tmp_path: Path) -> None:
    """What the manifest lists of a partition is not kept until the last one is done."""
    for number in range(pick(3, 40)):
        append(tmp_path / "source" / f"t-{number}", *producers_between_damage(pick(300, 10_000)))
    assert peak_of("salvage", str(tmp_path / "source"), str(tmp_path / "made")) <= MOST_MIB
    manifest = json.loads((tmp_path / "made/manifest.json").read_text())
    assert {one["num_missing"] for one in manifest["partitions"]} == {pick(299, 9_999)}
