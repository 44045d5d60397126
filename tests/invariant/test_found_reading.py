"""What the property test has found in the reading of ranges and was mended then, made by hand.

See `test_found.py` for the other verbs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.invariant.test_found import READERS, _batch, _faults, _name, _sound
from tests.invariant.verbs import VERBS, quiet_logs, source_of
from tests.made.encoder import Batch, Record
from tests.made.log_directory import (
    CLEANER,
    HIGH_WATERMARK,
    LOG_START,
    RECOVERY_POINT,
    SPECIALS,
    Directory,
    Holder,
)
from tests.made.partitions import Sound, indexes_of


def _with_indexes(sound: Sound) -> dict[str, bytes]:
    files = dict(sound.files)
    for name, data in sound.files.items():
        files |= indexes_of(int(name[:-4]), data)
    return files


@pytest.mark.parametrize("verb", READERS)
def test_a_live_log_whose_newest_segment_is_empty(verb: str, tmp_path: Path) -> None:
    behind = _batch(5, 3) + _batch(8, 1)
    sound = _sound((0, _batch(0, 5)), (5, behind))
    for newest in (b"", bytes(len(behind))):
        files = {_name(0): _batch(0, 5) + behind, _name(5): newest}
        assert _faults(Directory(sound, files, {HIGH_WATERMARK: 9}, is_live=True), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_live_log_with_a_name_beyond_its_high_watermark(verb: str, tmp_path: Path) -> None:
    sound = _sound((1000, _batch(1000, 6)), (1006, _batch(1006, 4)))
    noted = {HIGH_WATERMARK: 1009, LOG_START: 1000}
    for renamed in ({_name(2000): sound.files[_name(1000)]}, {_name(1 << 40): sound.files[_name(1006)]}):
        for files in (renamed, {_name(1006): sound.files[_name(1006)], **renamed}):
            assert _faults(Directory(sound, files, noted, is_live=True), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("strays_to", [38, 1 << 16, 1 << 40])
@pytest.mark.parametrize("is_newest", [True, False])
def test_a_base_offset_that_hides_what_is_behind_it(
    verb: str, strays_to: int, is_newest: bool, tmp_path: Path
) -> None:
    before, behind = _batch(24, 5) + _batch(29, 1), _batch(35, 5) + _batch(40, 2)
    following = () if is_newest else ((42, _batch(42, 3)),)
    sound = _sound((24, before + _batch(30, 5) + behind), *following)
    changed = before + _batch(strays_to, 5) + behind
    for files in (sound.files, _with_indexes(sound)):
        for is_live in (False, True):
            directory = Directory(sound, files | {_name(24): changed}, {HIGH_WATERMARK: 42}, is_live=is_live)
            assert _faults(directory, verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_first_base_offset_that_no_part_has(verb: str, tmp_path: Path) -> None:
    sound = _sound((8, _batch(8, 2) + _batch(10, 1) + _batch(11, 3)), (14, _batch(14, 2)))
    changed = {_name(8): _batch(8 + (1 << 27), 2) + _batch(10, 1) + _batch(11, 3)}
    for files in (sound.files, _with_indexes(sound)):
        assert _faults(Directory(sound, files | changed), verb, tmp_path) == []
        alone = {name: data for name, data in (files | changed).items() if int(name.split(".")[0]) == 8}
        assert _faults(Directory(sound, alone), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_damage_at_the_beginning_of_a_segment_with_another_name(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 1) + _batch(1, 4)), (5, _batch(5, 3)))
    damaged = sound.files[_name(0)][:60] + b"?" + sound.files[_name(0)][61:]
    files = {_name(0): sound.files[_name(5)], _name(5): damaged}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 8}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_damage_at_the_end_of_a_swapped_segment(verb: str, tmp_path: Path) -> None:
    first = _batch(0, 5) + _batch(5, 1)
    sound = _sound((0, first), (6, _batch(6, 4) + _batch(10, 3)))
    files = {_name(0): _batch(10, 3), _name(6): first + _batch(0, 5) + b"\x55" * 100}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 13}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_what_the_newest_segment_lacks_stands_before_it(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 3)), (3, _batch(3, 2) + _batch(5, 4)))
    for newest in (b"", bytes(100)):
        files = {_name(0): sound.files[_name(3)], _name(3): newest}
        for noted in ({}, {CLEANER: 3}):
            assert _faults(Directory(sound, files, noted), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_offsets_that_fall_are_no_cleaners_trace(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 5)), (5, _batch(5, 1) + _batch(6, 1) + _batch(7, 1)))
    damaged = _batch(5, 1) + _batch(6, 1)[:-1] + b"?" + _batch(7, 1) + _batch(5, 1)
    files = {_name(0): _batch(0, 5) + _batch(5, 1), _name(1 << 40): damaged}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 8}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_cleaned_log_shows_it_in_another_segment(verb: str, tmp_path: Path) -> None:
    records = tuple(Record(delta, delta, b"k", b"v") for delta in (0, 2))
    cleaned = Batch(0, records, base_timestamp=1_700_000_000_000, leader_epoch=0, last_offset_delta=3)
    sound = _sound((0, cleaned.encode()), (4, b""), (6, _batch(8, 2)), (10, _batch(10, 1)))
    directory = Directory(sound, sound.files, {HIGH_WATERMARK: 11})
    with Holder(tmp_path) as holder, quiet_logs():
        answer = VERBS[verb](directory.write(tmp_path / "log", holder))
    assert (answer.status, answer.named) == (0, [])


@pytest.mark.parametrize("verb", [*READERS, "partition_events", "partition_batches", "plan"])
def test_a_name_below_the_log_start_offset(verb: str, tmp_path: Path) -> None:
    sound = _sound((10, _batch(10, 4)), (14, _batch(14, 4)), (18, _batch(18, 2)))
    files = {name: data for name, data in sound.files.items() if name != _name(14)}
    files[_name(9)] = sound.files[_name(14)]
    for noted in ({LOG_START: 10}, {LOG_START: 10, CLEANER: 18}):
        assert _faults(Directory(sound, files, noted | {HIGH_WATERMARK: 20}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_segment_around_the_log_start_offset_with_a_lower_name(verb: str, tmp_path: Path) -> None:
    behind = _batch(16, 2) + _batch(20, 2)
    sound = _sound((8, _batch(8, 2) + _batch(10, 4)), (16, behind), (22, _batch(22, 2)))
    between = {_name(16): _batch(16, 1) + _batch(20, 2), _name(5): _batch(9, 1) + _batch(17, 1)}
    files = sound.files | between
    noted = {LOG_START: 8, HIGH_WATERMARK: 24, CLEANER: 22}
    assert _faults(Directory(sound, files, noted), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_torn_end_in_a_swapped_newest_segment(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 3) + _batch(3, 4)), (7, _batch(7, 6)))
    files = {_name(0): _batch(7, 6), _name(7): (_batch(0, 3) + _batch(3, 4))[:-20]}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 13, CLEANER: 7}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("special", SPECIALS)
def test_what_is_no_file_beside_a_cleaned_segment(special: str, verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 12)), (12, _batch(13, 4)), (26, _batch(26, 2)))
    noted = {HIGH_WATERMARK: 28, CLEANER: 26}
    directory = Directory(sound, sound.files | {_name(0): b""}, noted, {_name(0): special})
    assert _faults(directory, verb, tmp_path) == []


def _moved(batch: bytes, base_offset: int) -> bytes:
    """A batch with another base offset, which no checksum covers."""
    return base_offset.to_bytes(8, "big", signed=True) + batch[8:]


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("noted", [{}, {CLEANER: 19, HIGH_WATERMARK: 28}], ids=["plain", "cleaned"])
def test_a_negative_base_offset(noted: dict[str, int], at: int, verb: str, tmp_path: Path) -> None:
    parts = [_batch(19, 2), _batch(21, 5), _batch(26, 2)]
    parts[at] = _moved(parts[at], (19, 21, 26)[at] - (1 << 63))
    for behind in ((), ((28, _batch(28, 2)),)):
        sound = _sound((0, _batch(0, 19)), (19, _batch(19, 2) + _batch(21, 5) + _batch(26, 2)), *behind)
        files = sound.files | {_name(19): b"".join(parts)}
        for each in (files, _with_indexes(sound) | files):
            assert _faults(Directory(sound, each, noted), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_length_beyond_the_end_before_sound_batches(verb: str, tmp_path: Path) -> None:
    sound = _sound((0, _batch(0, 3) + _batch(3, 3) + _batch(6, 5)))
    longer = (1 << 29).to_bytes(4, "big")
    files = {_name(0): _batch(0, 3) + _batch(3, 3)[:8] + longer + _batch(3, 3)[12:] + _batch(6, 5)}
    for noted in ({}, {HIGH_WATERMARK: 11}):
        assert _faults(Directory(sound, files, noted), verb, tmp_path) == []


def test_damage_at_the_end_of_a_range_is_not_pending(tmp_path: Path) -> None:
    longer = (1 << 29).to_bytes(4, "big")
    data = _batch(0, 3) + _batch(3, 3)[:8] + longer + _batch(3, 3)[12:] + _batch(6, 5)
    sound = _sound((0, _batch(0, 3) + _batch(3, 3) + _batch(6, 5)))
    with Holder(tmp_path) as holder, quiet_logs():
        partition = Directory(sound, {_name(0): data}, {HIGH_WATERMARK: 11}).write(tmp_path / "log", holder)
        tolerant = {"failOnDataLoss": "false", "mode": "PERMISSIVE", "columns": "offset,key,value,damage"}
        answer = source_of(partition, endingOffsets='{"t":{"0":6}}', **tolerant)
    assert [(one.first, one.last) for one in answer.named] == [(3, 5)]


@pytest.mark.parametrize("verb", READERS)
def test_zeros_over_the_offset_of_a_segments_first_batches(verb: str, tmp_path: Path) -> None:
    sound = _sound(
        (7, _batch(7, 7)), (14, _batch(14, 1) + _batch(15, 1) + _batch(16, 3)), (19, _batch(19, 2))
    )
    changed = sound.files | {_name(14): _moved(_batch(15, 1), 0) + _batch(16, 3)}
    assert _faults(Directory(sound, changed, {HIGH_WATERMARK: 21}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_changed_base_offset_is_no_cleaners_trace_at_a_segments_beginning(
    verb: str, tmp_path: Path
) -> None:
    parts = [_batch(1000, 5), _batch(1005, 1), _batch(1006, 1), _batch(1007, 1), _batch(1008, 1)]
    sound = _sound((1000, b"".join(parts)))
    changed = {_name(1000): parts[1] + _moved(parts[2], 1 << 37) + parts[3] + parts[4]}
    noted = {HIGH_WATERMARK: 1009, CLEANER: 1000}
    assert _faults(Directory(sound, changed, noted), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_torn_end_of_a_segment_with_a_far_too_high_name(verb: str, tmp_path: Path) -> None:
    torn = (_batch(8, 3) + _batch(11, 3) + _batch(14, 2))[:-20]
    sound = _sound((0, _batch(0, 8)), (8, _batch(8, 3) + _batch(11, 3) + _batch(14, 2)), (16, _batch(16, 4)))
    files = {_name(0): _batch(0, 8), _name(16): _batch(16, 4), _name(1 << 40): torn}
    assert _faults(Directory(sound, files, {HIGH_WATERMARK: 20, CLEANER: 16}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_last_segment_named_below_the_log_start_offset(verb: str, tmp_path: Path) -> None:
    sound = _sound((7, _batch(7, 5)), (12, _batch(12, 3) + _batch(15, 6)))
    files = {_name(7): _batch(7, 5), _name(6): sound.files[_name(12)]}
    assert _faults(Directory(sound, files, {LOG_START: 7}), verb, tmp_path) == []


@pytest.mark.parametrize("verb", READERS)
def test_a_cleaned_segment_before_a_last_one_with_a_far_too_high_name(verb: str, tmp_path: Path) -> None:
    cleaned = _batch(0, 2) + _batch(5, 3)
    sound = _sound((0, cleaned), (8, _batch(8, 5) + _batch(13, 3)))
    files = {_name(0): cleaned, _name(1 << 40): _batch(8, 5)}
    assert _faults(Directory(sound, files, {RECOVERY_POINT: 16, CLEANER: 8}), verb, tmp_path) == []
