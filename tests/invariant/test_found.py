"""What the property test has found and what was mended then, each as a directory made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.invariant.judge import judge
from tests.invariant.truth import Truth
from tests.invariant.verbs import VERBS, quiet_logs
from tests.made.encoder import Batch, Record
from tests.made.log_directory import CLEANER, HIGH_WATERMARK, RECOVERY_POINT, Directory, Holder
from tests.made.partitions import RECORDED, Sound

from kafka_segments import open_segment
from kafka_segments.core.formats.entries import Batch as Entry

READERS = ("ingest", "source", "source_strict", "source_split", "source_damage")


def _batch(first: int, count: int) -> bytes:
    records = tuple(Record(delta, delta, None, b"v%d" % (first + delta)) for delta in range(count))
    return Batch(first, records, base_timestamp=1_700_000_000_000, leader_epoch=0).encode()


def _name(base: int) -> str:
    return f"{base:020d}.log"


def _sound(*segments: tuple[int, bytes]) -> Sound:
    return Sound("t-0", {_name(base): data for base, data in segments}, "made by hand")


def _faults(directory: Directory, verb: str, folder: Path) -> list[str]:
    with Holder(folder) as holder, quiet_logs():
        partition = directory.write(folder / "log", holder)
        return judge(Truth(directory), verb, VERBS[verb](partition)).faults


@pytest.mark.parametrize("verb", READERS)
def test_the_first_segment_is_named_as_the_last(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 5)), (5, _batch(5, 5) + _batch(10, 6)))
    files = {_name(5): sound.files[_name(5)], _name(1000): sound.files[_name(0)]}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 16}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_base_offset_beyond_the_log(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 12)), (12, _batch(12, 1) + _batch(13, 2)), (15, _batch(15, 9)))
    files = sound.files | {_name(12): _batch(12, 1) + _batch(13 + (1 << 46), 2)}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 24}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_cleaned_segment_that_is_zeros(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 3) + _batch(5, 2)), (8, _batch(8, 4)), (20, _batch(20, 4)))
    files = sound.files | {_name(8): bytes(len(sound.files[_name(8)]))}
    noted = {HIGH_WATERMARK: 24, CLEANER: 20}
    assert _faults(Directory(sound, files, noted), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("noted", [HIGH_WATERMARK, RECOVERY_POINT])
def test_a_torn_tail_below_a_checkpoint(noted: str, verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 3) + _batch(3, 3)))
    whole = sound.files[_name(0)]
    for end in (len(whole) - 5, len(_batch(0, 3)) - 5):
        files = {_name(0): whole[:end] + bytes(200)}
        assert _faults(Directory(sound, files, {noted: 6}), verb, tmp_path) == []
        assert _faults(Directory(sound, {_name(0): whole[:end]}, {noted: 6}), verb, tmp_path) == []


PARTITIONS = ("dump", "dump_committed", "aborted", "partition_events", "partition_batches")


@pytest.mark.parametrize("verb", PARTITIONS)
def test_zeros_that_no_cleaner_leaves(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, b""), (2, _batch(2, 1)), (4, _batch(4, 1) + _batch(6, 1)), (8, _batch(8, 1)))
    for base in (2, 4):
        files = sound.files | {_name(base): bytes(len(sound.files[_name(base)]))}
        assert _faults(Directory(sound, files, {CLEANER: 8}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", [*PARTITIONS, "plan"])
def test_segments_that_hold_nothing(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 5)), (5, _batch(5, 5)), (10, _batch(10, 2)))
    emptied: dict[str, bytes] = dict.fromkeys(sound.files, b"")
    assert _faults(Directory(sound, emptied, {HIGH_WATERMARK: 12}), verb, tmp_path) == []
    damaged = sound.files | {_name(0): b"", _name(5): _batch(5, 5)[:-1] + b"?"}
    assert _faults(Directory(sound, damaged, {HIGH_WATERMARK: 12}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", [*PARTITIONS, "plan"])
def test_a_name_beyond_the_high_watermark(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 5)), (5, _batch(5, 5)), (10, _batch(10, 2)))
    files = {_name(1 << 40): sound.files[_name(0)], _name(5): sound.files[_name(5)]}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 12}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", [*PARTITIONS, "plan"])
def test_a_flipped_header_is_no_cleaners_trace(verb: str, tmp_path: Path) -> None:
    flipped = bytearray(_batch(5, 3))
    flipped[60] ^= 4  # numRecords
    sound = _sound((0, _batch(0, 5) + _batch(5, 3)), (8, _batch(8, 2)), (10, _batch(10, 2)))
    files = sound.files | {_name(0): _batch(0, 5) + bytes(flipped), _name(8): b""}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 12}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", [*PARTITIONS])
def test_a_base_offset_beyond_the_next_segment(verb: str, tmp_path: Path) -> None:
    behind = _batch(12, 2) + _batch(14, 2)
    sound = _sound((0, _batch(0, 5) + _batch(5, 3) + _batch(8, 2)), (10, _batch(10, 2) + behind))
    for changed in (
        {_name(0): _batch(0, 5) + _batch(5 + (1 << 16), 3) + _batch(8, 2)},
        {_name(10): _batch(10 + (1 << 40), 2) + behind},
    ):
        with Holder(tmp_path) as holder, quiet_logs():
            partition = Directory(sound, sound.files | changed).write(tmp_path / "log", holder)
            assert VERBS[verb](partition).status == 1


@pytest.mark.parametrize("verb", [*PARTITIONS, *READERS])
def test_zeros_behind_everything_but_a_wrong_name(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 9)), (9, _batch(9, 8)), (17, _batch(17, 20)))
    files = {_name(9): _batch(9, 8), _name(17): bytes(500), _name(1 << 40): _batch(0, 9)}
    assert _faults(Directory(sound, files), verb, tmp_path) == []


def test_a_message_without_a_timestamp_says_so_by_a_number() -> None:
    """Absent fields are None in the Kaitai classes, and -1 in what a segment gives (and `dump` prints)."""
    old = sorted((RECORDED.parent / "kafka-0.9").rglob("*.log"))[0]
    with open_segment(old) as segment:
        batches = [entry for entry in segment.iter_entries() if isinstance(entry, Entry)]
    assert {(batch.magic, batch.max_timestamp) for batch in batches} == {(0, -1)}


@pytest.mark.parametrize("verb", PARTITIONS)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_negative_base_offset(at: int, verb: str, tmp_path: Path) -> None:
    parts = [_batch(3, 2), _batch(5, 5), _batch(10, 2)]
    changed = list(parts)
    changed[at] = ((3, 5, 10)[at] - (1 << 63)).to_bytes(8, "big", signed=True) + parts[at][8:]
    for behind in ((), ((12, _batch(12, 2)),)):
        sound = _sound((0, _batch(0, 3)), (3, b"".join(parts)), *behind)
        files = sound.files | {_name(3): b"".join(changed)}
        assert _faults(Directory(sound, files, {CLEANER: 3}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", PARTITIONS)
def test_what_a_segment_with_others_offsets_seems_to_reach_over(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 8)), (8, _batch(8, 3)), (11, _batch(11, 8)), (19, _batch(19, 2)))
    swapped = {_name(0): sound.files[_name(11)], _name(11): sound.files[_name(0)] + _batch(19, 1)}
    files = sound.files | swapped | {_name(8): bytes(len(_batch(8, 3)))}
    assert _faults(Directory(sound, files, {}), verb, tmp_path) == []
    strayed = {_name(8): _batch(8, 2) + (9000).to_bytes(8, "big") + _batch(10, 1)[8:]}
    files = sound.files | strayed | {_name(11): bytes(len(_batch(11, 8)))}
    assert _faults(Directory(sound, files, {}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", PARTITIONS)
def test_zeros_whose_offsets_stand_in_another_segment_but_for_one(verb: str, tmp_path: Path) -> None:
    sound = _sound(
        (0, _batch(0, 1)), (1, _batch(1, 5) + _batch(6, 2)), (8, _batch(8, 3)), (11, _batch(11, 2))
    )
    files = sound.files | {_name(0): _batch(1, 5) + _batch(6, 1), _name(1): bytes(100)}
    assert _faults(Directory(sound, files, {CLEANER: 11}), verb, tmp_path) == []
