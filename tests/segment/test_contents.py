"""What a segment holds is seen at its ends, and nothing between them is read for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_segments import open_partition, open_writer
from kafka_segments.cli.main import main
from kafka_segments.core.formats import LEN_LOG_OVERHEAD
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.segment import contents
from kafka_segments.errors import SegmentOrderError

_NUM, _LEN_VALUE = 400, 8000
_TIMES = range(1_700_000_000_000, 1_700_000_000_000 + 2 * _NUM)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Two segments of 3 MB each, with indexes."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    for base in (0, _NUM):
        with open_writer(folder / f"{base:020d}.log") as writer:
            for offset in range(base, base + _NUM, 10):
                rows = [
                    {"timestamp": _TIMES[at], "value": bytes(_LEN_VALUE)} for at in range(offset, offset + 10)
                ]
                writer.write(rows)
    return folder


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Where walks through headers began."""
    found: list[int] = []
    walk = contents.find_last

    def find_last(source: object, position: int, count: int) -> int:
        found.append(position)
        return walk(source, position, count)  # type: ignore[arg-type]

    monkeypatch.setattr(contents, "find_last", find_last)
    yield found


def test_an_index_spares_the_walk_through_all_headers(partition: Path, walks: list[int]) -> None:
    with open_partition(partition) as opened:
        assert opened.gaps == ()
        assert opened.read_table(["offset"]).num_rows == 2 * _NUM
    assert walks == []


@pytest.mark.parametrize("index", [None, b"\0\0\0\5\0\0\0\1", b"odd", bytes(80)])
def test_without_a_sound_index_the_headers_tell(
    index: bytes | None, partition: Path, walks: list[int]
) -> None:
    for path in partition.glob("*.index"):
        path.unlink()
        if index is not None:
            path.write_bytes(index)
    with open_partition(partition) as opened:
        assert opened.gaps == ()
    assert walks == [0, 0]


def test_an_index_that_ends_early_shortens_the_walk(partition: Path, walks: list[int]) -> None:
    for path in partition.glob("*.index"):
        path.write_bytes(path.read_bytes()[: 5 * 8])
    with open_partition(partition) as opened:
        assert opened.gaps == ()
    assert len(walks) == 2 and min(walks) > 0


def test_a_missing_end_is_seen_behind_an_index(partition: Path) -> None:
    log = partition / f"{0:020d}.log"
    index = partition / f"{0:020d}.index"
    last = int.from_bytes(index.read_bytes()[-4:], "big")
    log.write_bytes(log.read_bytes()[:last])  # so that the index leads behind the end
    with open_partition(partition) as opened:
        (gap,) = opened.gaps
    assert gap.first_lost_offset is not None and gap.first_lost_offset > _NUM - 20
    assert gap.last_lost_offset == _NUM - 1


@pytest.mark.parametrize("base", [0, _NUM])
def test_a_batch_astray_between_the_ends_is_told_by_each_reading(
    base: int, partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = partition / f"{base:020d}.log"
    data = bytearray(path.read_bytes())
    second = LEN_LOG_OVERHEAD + int.from_bytes(data[LEN_LOG_OVERHEAD - 4 : LEN_LOG_OVERHEAD], "big")
    data[second : second + 8] = (base + 10 + (1 << 40)).to_bytes(8, "big")
    path.write_bytes(data)
    for isolation in ("read_uncommitted", "read_committed"):
        with open_partition(partition) as opened:
            told = [
                one
                for one in opened.iter_events(isolation=isolation, on_damage="skip")
                if isinstance(one, Damage)
            ]
            damages: list[Damage] = []
            opened.read_batches(on_damage=damages.append, isolation=isolation).read_all()
            assert [str(one.error) for one in opened.outcome.damage] == [str(told[0].error)]
            assert [str(one.error) for one in damages] == [str(one.error) for one in told]
        (one,) = told
        assert isinstance(one.error, SegmentOrderError) and one.path == str(path)
    for options in (
        [],
        ["--headers-only"],
        ["--offsets", f"{base}:{base + 5}"],
        ["--isolation", "read_committed"],
    ):
        assert main(["dump", str(partition), "--format", "jsonl", *options]) == 1
        captured = capsys.readouterr()
        assert "its base offset was changed" in captured.out + captured.err
    assert main(["aborted", str(partition)]) == 1
