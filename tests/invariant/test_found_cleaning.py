"""What the cleaner excuses, and what it does not: directories made by hand, each read by every verb."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.invariant.answers import Answer
from tests.invariant.judge import judge
from tests.invariant.truth import Truth
from tests.invariant.verbs import VERBS, quiet_logs
from tests.made.encoder import Batch, Record
from tests.made.log_directory import CLEANER, Directory
from tests.made.partitions import Sound
from tests.python import locked


def _segment(*firsts: int) -> bytes:
    return b"".join(
        Batch(
            first,
            tuple(Record(delta, delta, None, b"v") for delta in range(5)),
            base_timestamp=1_700_000_000_000,
            leader_epoch=0,
        ).encode()
        for first in firsts
    )


def _files(segments: dict[int, tuple[int, ...]]) -> dict[str, bytes]:
    logs = {f"{base:020d}.log": _segment(*firsts) for base, firsts in segments.items()}
    return logs | {"partition.metadata": b"version: 0\ntopic_id: zzzzzzzzzzzzzzzzzzzzzg\n"}


def _read(directory: Directory, verb: str, folder: Path) -> Answer:
    with locked(folder / "held.lock") as lock, quiet_logs():
        return VERBS[verb](directory.write(folder / "log", lock))


SOUND = {0: (0, 5), 10: (10, 15), 20: (20, 25), 30: (30, 35)}
"""First offsets of batches of five records, by segment."""


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("noted", [None, 0, 30])
@pytest.mark.parametrize(
    ("segments", "lost", "is_below_note"),
    [
        ({0: (0, 5), 10: (10, 15), 20: (20,), 30: (30, 35)}, (25, 29), True),
        ({0: (0, 5), 10: (10, 15), 20: (20, 25), 30: (35,)}, (30, 34), False),
        ({0: (0,), 10: (12,), 20: (20,), 30: (35,)}, (5, 34), None),
        ({0: (0,), 10: (10, 17), 22: (22, 27), 32: (37,)}, (32, 36), False),
        ({0: (0,), 10: (10, 17), 22: (25,), 30: (30, 35)}, (22, 24), True),
        ({0: (0,), 10: (10, 17), 22: (22, 28), 33: (38,)}, (33, 37), False),
    ],
    ids=["end", "beginning", "everywhere", "behind a trace", "by name", "behind the last trace"],
)
def test_what_is_missing_behind_note_and_traces_is_lost(
    segments: dict[int, tuple[int, ...]],
    lost: tuple[int, int],
    is_below_note: bool | None,
    noted: int | None,
    verb: str,
    tmp_path: Path,
) -> None:
    sound = Sound("t-0", _files(SOUND), "made by hand", None, noted)
    directory = Directory(sound, _files(segments), {} if noted is None else {CLEANER: noted})
    answer = _read(directory, verb, tmp_path)
    assert judge(Truth(directory), verb, answer).faults == []
    if is_below_note is not None:
        has_trace = any(len(firsts) == 2 and firsts[1] > firsts[0] + 5 for firsts in segments.values())
        is_lost = not ((is_below_note and noted == 30) or (noted is None and has_trace))
        named = [(one.first, one.last) for one in answer.named]
        told = lost in named or (lost[0], None) in named or any(one.is_all for one in answer.named)
        assert (answer.status != 0, told) == (is_lost, is_lost)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("noted", [None, 0, 10])
def test_what_is_missing_in_front_of_a_trace_is_the_cleaners(
    noted: int | None, verb: str, tmp_path: Path
) -> None:
    """Also where the note is older than the segments."""
    files = _files({0: (0,), 10: (12,), 20: (20, 27), 36: (36, 41)})
    checkpoints = {} if noted is None else {CLEANER: noted}
    directory = Directory(Sound("t-0", files, "made by hand"), files, checkpoints)
    answer = _read(directory, verb, tmp_path)
    assert (answer.status, [] if verb == "plan" else answer.named) == (0, [])


RECORDED = Path(__file__).parents[1] / "vectors" / "recorded"
COMPACTED = sorted(
    path.relative_to(RECORDED).as_posix()
    for path in RECORDED.glob("*/clean/*compact*")
    if any(path.glob("*.log")) and path.name != "compact-emptied-0"  # which lacks more than its note
)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("partition", COMPACTED)
def test_a_recorded_partition_that_was_cleaned_lacks_nothing_without_the_note(
    partition: str, verb: str, tmp_path: Path
) -> None:
    """Old formats, too: the cleaner's traces are between messages there, and inside wrappers."""
    copy = shutil.copytree(RECORDED / partition, tmp_path / Path(partition).name)
    answer = VERBS[verb](copy)
    assert [one.text for one in answer.named if one.first is not None] == []
    assert answer.status == 0
