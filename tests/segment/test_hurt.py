"""Whatever is damaged, nothing that was not committed is given out as if it had been."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.forms import examples
from tests.segment import logs
from tests.segment.logs import Log
from tests.segment.test_interleavings import grow
from tests.ways import compiled, interpreted

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.transactions.markers import iter_steps
from kafka_segments.errors import KafkaFormatError
from kafka_segments.log.open_partition import open_partition
from kafka_segments.log.partition import Partition


def hurt(data: bytes, chance: random.Random) -> bytes:
    """A copy with some damage: bits, a stretch of noise or zeros, bytes missing or in excess, a cut."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data) + 1)
        size = chance.choice((1, 4, 30, 200))
        kind = chance.choice(("bit", "noise", "zeros", "missing", "excess", "cut"))
        if kind == "bit" and at < len(data):
            data = data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        elif kind in ("noise", "zeros"):
            stretch = chance.randbytes(size) if kind == "noise" else bytes(size)
            data = data[:at] + stretch[: len(data) - at] + data[at + size :]
        elif kind == "missing":
            data = data[:at] + data[at + size :]
        elif kind == "excess":
            data = data[:at] + chance.randbytes(size) + data[at:]
        elif kind == "cut" and chance.random() < 0.2:
            data = data[:at]
    return data


def given_out(partition: Partition) -> list[int]:
    """The offsets that committed records had once; by both ways the same, with the same damage.

    Their values say it: no checksum covers a base offset.
    """
    damage: list[Damage] = []
    table = partition.read_table(["value"], on_damage=damage.append, isolation="read_committed")
    events = list(partition.iter_events(isolation="read_committed", on_damage="skip"))
    offsets = [int(event.value or b"") for event in events if isinstance(event, Record)]
    assert [int(value) for value in table["value"].to_pylist()] == offsets
    told = [str(event.error) for event in events if isinstance(event, Damage)]
    assert told == [str(one.error) for one in damage]
    return offsets


def not_committed(log: Log) -> set[int]:
    """Offsets of aborted records. (Of open transactions, damage may take what keeps them back.)"""
    data = [piece for piece in log.pieces if piece.kind == "data"]
    aborted = [piece for piece in data if logs.outcome_of(log, piece) == "abort"]
    return {offset for piece in aborted for offset in range(piece.offset, piece.end_offset)}


def has_false_offset(folder: Path, log: Log) -> bool:
    """Whether a base offset was changed: no checksum covers it, and behind the last batch nothing tells."""
    true = {piece.offset for piece in log.pieces}
    for path in folder.glob("*.log"):
        with open_segment(path) as segment:
            entries = list(segment.iter_entries(on_damage="skip"))
        if any(isinstance(entry, Batch) and entry.base_offset not in true for entry in entries):
            return True
    return False


def assert_same_steps(path: Path) -> None:
    """Compiled and interpreted scanners see the same."""
    source, seen = open_source(path), []
    for way in (compiled, interpreted):
        with way():
            steps = iter_steps(source, check_crc=True, max_decompressed=1 << 20)
            seen.append([str(one) for one in steps if not isinstance(one, int)])
    source.close()
    assert seen[0] == seen[1]


@pytest.mark.long
@examples(settings(deadline=None), 60, 1500)
@example(seed=14133)  # a base offset that is far too high
@example(seed=20055)  # zeros to the end of a segment that others follow
@example(seed=2**32 - 1)  # a base offset that is far too high, and the last one
@example(seed=21459)  # a marker whose offset is negative, behind one that is damaged
@example(seed=8451)  # a negative base offset at the beginning of a segment with snapshots
@example(seed=5001738)  # one that is too low sends its segment to the front, with a marker
@example(seed=5005034)  # one that is far too high sends its segment, with a damaged marker, to the end
@given(seed=st.integers(0, 2**32))
def test_aborted_records_stay_aborted(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)
    log = Log()
    grow(log, chance, 40)
    folder = log.write(tmp_path_factory.mktemp("log"))
    logs.write_indexes(log, folder)
    for path in sorted(folder.glob("*.log")):
        if chance.random() < 0.7:
            path.write_bytes(hurt(path.read_bytes(), chance))
    for path in folder.glob("*.log"):
        assert_same_steps(path)
    with open_partition(folder) as partition:
        found = given_out(partition)
        assert not not_committed(log).intersection(found)
        is_told = partition.outcome.damage or has_false_offset(folder, log)
        assert partition.last_stable_offset <= log.offset or is_told
        partition.check_indexes()


@pytest.mark.long
@examples(settings(deadline=None), 60, 1500)
@given(seed=st.integers(0, 2**32))
def test_lying_files_beside_the_segments_raise_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    chance = random.Random(seed)
    log = Log()
    grow(log, chance, 40)
    folder = log.write(tmp_path_factory.mktemp("log"))
    logs.write_indexes(log, folder)
    for path in sorted([*folder.glob("*.txnindex"), *folder.glob("*.snapshot")]):
        if chance.random() < 0.5:
            path.write_bytes(hurt(path.read_bytes(), chance))
    with open_partition(folder, outcomes_from="indexes") as partition:
        given_out(partition)
        assert all(isinstance(finding, KafkaFormatError) for finding in partition.check_indexes())
    with open_partition(folder) as partition:
        first_snapshot = Path(folder, f"{0:020d}.snapshot")
        assert not first_snapshot.exists() and given_out(partition) == logs.committed(log)
