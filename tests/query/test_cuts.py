"""However a segment is cut into splits, and whatever the hints say: its rows come, each once, in order."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random

import pytest
from tests.damage.edits import apply
from tests.forms import pick
from tests.made.samples import sampled
from tests.made.segments import some_segment
from tests.query.splits import RECORDED, read, recorded, split_of, stored, whole

from kafka_segments import open_segment
from kafka_segments.core.segment.columnar import fused_scan, reader
from kafka_segments.core.segment.scan import scanner
from kafka_segments.log.findings import Kind
from kafka_segments.log.model import StoredSegment

CASES = tomllib.loads((Path(__file__).parents[1] / "damage" / "cases.toml").read_text())["case"]
EDITED = [case for case in CASES if "edits" in case and case["source"].endswith(".log")]


def cuts(segment: StoredSegment, offsets: list[int], random: Random) -> list[int]:
    """Some offsets to cut at, the segment's first one among them; between records, and where none are."""
    low, high = segment.base_offset, max(offsets, default=segment.base_offset)
    chosen = {random.randint(low, high + 2) for _ in range(random.choice([0, 1, 3, 8]))}
    return [low, *sorted(chosen - {low})]


def hints(path: Path, size: int, start: int, random: Random) -> tuple[int, int | None]:
    """Where the range may begin and end: right, missing or wrong."""
    with open_segment(path) as segment:
        entries = [one for one in segment.iter_entries("skip") if hasattr(one, "base_offset")]
    below = [one.position for one in entries if one.base_offset is not None and one.base_offset <= start]
    kind = random.randrange(4)
    if kind == 0 or not below:
        return 0, None
    if kind == 1:
        return random.choice(below[-3:]), random.choice([None, 0, size])
    if kind == 2:
        return random.randrange(size), random.randrange(size)
    return random.choice([one.position for one in entries]), random.choice([None, size * 2])


def check(path: Path, random: Random, rounds: int) -> None:
    segment, expected = stored(path), whole(path)
    offsets = [row[0] for row in expected]
    size = segment.file.size
    for _ in range(rounds):
        starts = cuts(segment, offsets, random)
        found = []
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            position, end_position = hints(path, size, start, random)
            split = split_of(
                segment,
                start,
                end,
                position=position,
                end_position=end_position,
                cleaned_up_to=1 << 62,
            )
            got, told = read(split)
            assert not told.of(Kind.LOST)
            found += got
        assert found == expected, (path, starts)


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the files were large: many windows, most of which are fused."""
    monkeypatch.setattr(scanner, "_LEN_FIRST_WINDOW", 100)
    monkeypatch.setattr(scanner, "_LEN_WINDOW", 3000)
    monkeypatch.setattr(scanner, "LEN_RUN_WINDOW", 1400)
    monkeypatch.setattr(scanner, "_LEN_EDGE", 200)
    monkeypatch.setattr(reader, "_FUSED_FROM", 0)
    monkeypatch.setattr(fused_scan, "LEN_PIECE", 700)


@pytest.mark.long
@pytest.mark.parametrize("path", sampled(recorded()))
def test_a_recorded_segment(path: Path) -> None:
    check(path, Random(path.name), pick(2, 8))


@pytest.mark.long
@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("path", sampled(recorded()))
def test_a_recorded_segment_in_small_windows(path: Path) -> None:
    check(path, Random(path.name + "small"), pick(1, 4))


@pytest.mark.usefixtures("small_windows")
def test_batches_of_all_shapes(tmp_path: Path) -> None:
    for seed in range(12):
        path = tmp_path / f"{0:020}.log"
        path.write_bytes(some_segment(120, seed))
        check(path, Random(seed), 6)


@pytest.mark.parametrize("case", EDITED, ids=[case["name"] for case in EDITED])
def test_a_damaged_copy(case: dict, tmp_path: Path) -> None:
    path = tmp_path / Path(case["source"]).name
    path.write_bytes(apply((RECORDED / case["source"]).read_bytes(), case["edits"]))
    check(path, Random(case["name"]), 3)
