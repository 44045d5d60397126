"""What the property test has found and what was mended then: the directories of `found.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.invariant.answers import Answer
from tests.invariant.judge import judge
from tests.invariant.truth import Truth
from tests.invariant.verbs import VERBS, quiet_logs, source_of
from tests.made.encoder import Batch, Record
from tests.made.log_directory import Directory
from tests.made.partitions import RECORDED, Sound, indexes_of
from tests.python import locked

from kafka_segments import open_segment
from kafka_segments.core.formats.entries import Batch as Entry

FOUND = tomllib.loads(Path(__file__).with_name("found.toml").read_text(encoding="utf-8"))
GROUPS = {
    "readers": ("ingest", "source", "source_strict", "source_split", "source_damage"),
    "partitions": ("dump", "dump_committed", "aborted", "partition_events", "partition_batches"),
}
ASKED = [
    pytest.param(case, verb, id=f"{name}, {verb}")
    for name, case in FOUND.items()
    for group in case["verbs"]
    for verb in GROUPS.get(group, (group,))
]
WORD = re.compile(r"(\d+)\+(\d+)(?:@(-?\d+))?(?:\[(-?\d+):(\w+)\])?|=(\d+)|(\w\w)=(\d+)|(\w\w)\*(\d+)|-(\d+)")


def name_of(base: int | str) -> str:
    return f"{int(base):020d}.log"


def bytes_of(text: str, sound: dict[str, bytes]) -> bytes:
    """The bytes of a segment, in the words that `found.toml` explains."""
    data = b""
    for word in text.split():
        found = WORD.fullmatch(word)
        assert found is not None, word
        first, count, says, at, new, same, fill, like, byte, size, less = found.groups()
        if less:
            data = data[: -int(less)]
        elif count:
            data += batch_of(int(first), int(count), says, at, new)
        elif same:
            data += sound[name_of(same)]
        else:
            data += (
                bytes.fromhex(fill) * len(sound[name_of(like)]) if fill else bytes.fromhex(byte) * int(size)
            )
    return data


def batch_of(first: int, count: int, says: str | None, at: str | None, new: str | None) -> bytes:
    """A batch; neither another base offset nor other bytes change its checksum."""
    records = tuple(Record(delta, delta, None, b"v%d" % (first + delta)) for delta in range(count))
    data = bytearray(Batch(first, records, base_timestamp=1_700_000_000_000, leader_epoch=0).encode())
    if says:
        data[:8] = int(says).to_bytes(8, "big", signed=True)
    if at and new:
        place = int(at) % len(data)
        data[place : place + len(new) // 2] = bytes.fromhex(new)
    return bytes(data)


def files_of(segments: dict[str, str], sound: dict[str, bytes]) -> dict[str, bytes]:
    return {name_of(base): bytes_of(text, sound) for base, text in segments.items()}


def directories(case: dict[str, Any]) -> Iterator[Directory]:
    """All directories of a case."""

    def all_of(key: str, default: Any) -> list[Any]:
        found = case.get(key, default)
        return found if isinstance(found, list) else [found]

    is_whole = "now" in case
    for segments, done, noted, is_live, special, with_indexes in product(
        all_of("sound", {}),
        all_of("now" if is_whole else "changed", {}),
        all_of("noted", {}),
        all_of("live", False),
        all_of("specials", {}),
        [False, True] if case.get("indexes") else [False],
    ):
        sound = files_of(segments, {})
        files = ({} if is_whole else sound) | files_of(done, sound)
        if with_indexes:
            for name in [one for one in files if one in sound]:
                files |= indexes_of(int(name[:-4]), sound[name])
        checkpoints = {
            f"{name.replace('high-watermark', 'replication')}-offset-checkpoint": at
            for name, at in noted.items()
        }
        specials = {name_of(base): kind for base, kind in special.items()}
        yield Directory(Sound("t-0", sound, "made by hand"), files, checkpoints, specials, is_live=is_live)


def read(directory: Directory, verb: str, folder: Path, **options: str) -> Answer:
    with locked(folder / "held.lock") as lock, quiet_logs():
        partition = directory.write(folder / "log", lock)
        return source_of(partition, **options) if options else VERBS[verb](partition)


@pytest.mark.parametrize(("case", "verb"), ASKED)
def test_what_was_found(case: dict[str, Any], verb: str, tmp_path: Path) -> None:
    for directory in directories(case):
        answer = read(directory, verb, tmp_path)
        if "status" in case:
            assert answer.status == case["status"]
        else:
            assert judge(Truth(directory), verb, answer).faults == []


@pytest.mark.parametrize("verb", GROUPS["readers"])
def test_a_cleaned_log_shows_it_in_another_segment(verb: str, tmp_path: Path) -> None:
    records = tuple(Record(delta, delta, b"k", b"v") for delta in (0, 2))
    cleaned = Batch(0, records, base_timestamp=1_700_000_000_000, leader_epoch=0, last_offset_delta=3)
    (directory,) = directories(
        {"sound": {"4": "", "6": "8+2", "10": "10+1"}, "noted": {"high-watermark": 11}}
    )
    directory.files |= {name_of(0): cleaned.encode()}
    answer = read(directory, verb, tmp_path)
    assert (answer.status, answer.named) == (0, [])


def test_damage_at_the_end_of_a_range_is_not_pending(tmp_path: Path) -> None:
    (directory, *_) = directories(
        FOUND["a length beyond the end before sound batches"] | {"noted": {"high-watermark": 11}}
    )
    tolerant = {"failOnDataLoss": "false", "mode": "PERMISSIVE", "columns": "offset,key,value,damage"}
    answer = read(directory, "source", tmp_path, endingOffsets='{"t":{"0":6}}', **tolerant)
    assert [(one.first, one.last) for one in answer.named] == [(3, 5)]


def test_a_message_without_a_timestamp_says_so_by_a_number() -> None:
    """Absent fields are None in the Kaitai classes, and -1 in what a segment gives (and `dump` prints)."""
    old = sorted((RECORDED.parent / "kafka-0.9").rglob("*.log"))[0]
    with open_segment(old) as segment:
        batches = [entry for entry in segment.iter_entries() if isinstance(entry, Entry)]
    assert {(batch.magic, batch.max_timestamp) for batch in batches} == {(0, -1)}
