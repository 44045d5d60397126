"""Batches that no neighbour confirms and some evidence contradicts are put aside and named."""

from __future__ import annotations

import struct
from itertools import accumulate
from pathlib import Path

import pytest
from tests.made.build import batch, record
from tests.made.sound_batches import sound_batches
from tests.salvage.accounts import Account, salvaged
from tests.salvage.made import batches_of, copy_of, edit, hurt, partition, segment
from tests.verify.test_plants import verified

import kafka_segments
from kafka_segments.cli.main import main
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_files import read_transaction_index
from kafka_segments.log.model import StoredFile, StoredSegment
from kafka_segments.log.segment_figures import figures_by_headers

CASES = Path(__file__).parents[1] / "vectors" / "cases"


def sources(case: str) -> list[Path]:
    """The replicas of a case, in order."""
    return sorted((CASES / case / "in").glob("r*"))


def logs(folder: Path) -> dict[str, bytes]:
    """The segments of a partition."""
    return {path.name: path.read_bytes() for path in folder.glob("*.log")}


def missing(account: Account) -> list[tuple[int, int]]:
    """The offsets that the manifest says are in no copy."""
    return [(one["first_offset"], one["last_offset"]) for one in account.only()["missing"]]


@pytest.mark.parametrize(
    ("case", "sound"),
    [
        ("base-offset-flip-sound-copy", 0),
        ("foreign-segment-beats-own", 1),
        ("payload-bad-under-right-crc-two-copies", 1),
    ],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_sound_copy_wins(case: str, sound: int, is_reversed: bool, tmp_path: Path) -> None:
    copies = sources(case)
    account = salvaged(copies[::-1] if is_reversed else copies, tmp_path / "dest")
    assert logs(account.log("multi-0")) == logs(copies[sound] / "multi-0")
    assert account.reasons() != []
    words = [str(one) for one in copies]
    assert main(["salvage", *words, str(tmp_path / "again")]) == 1


@pytest.mark.parametrize(
    ("case", "offsets", "lost"),
    [
        ("base-offset-flip-sound-copy", (0, 309), [(309, 309)]),
        ("batch-excised-never-compacted", (0, 300), [(115, 119)]),
        ("foreign-segment-beats-own", (0, 312), [(90, 179)]),
        ("payload-bad-under-right-crc-two-copies", (90, 180), [(0, 89), (105, 109)]),
        ("log-start-beyond-end", (0, 312), []),
        ("lod-huge", (0, 312), [(105, 109)]),
        ("epochs-two-in-a-row", (0, 312), []),
    ],
)
def test_one_copy_alone(
    case: str, offsets: tuple[int, int], lost: list[tuple[int, int]], tmp_path: Path
) -> None:
    copies = sources(case)
    one = copies[1] if case.startswith("base") else copies[0]
    account = salvaged([one], tmp_path / "dest")
    found = account.only()
    assert (found["log_start_offset"], found["log_end_offset"]) == offsets
    assert missing(account) == lost
    assert main(["salvage", str(one), str(tmp_path / "again")]) == 1


def test_verify_names_the_batch_that_another_copy_has_elsewhere() -> None:
    rows, _summary = verified(CASES / "base-offset-flip-sound-copy" / "in")
    high = 18_014_398_509_482_293
    name = f"../r1/multi-0/{270:020d}.log"
    assert ("copies-differ", name, 5721, high, high + 2) in rows


def test_verify_names_what_a_log_has_lost_that_was_never_cleaned(tmp_path: Path) -> None:
    rows, _summary = verified(CASES / "batch-excised-never-compacted" / "in")
    assert ("missing-offsets", 115, 119) in [(row[0], *row[3:]) for row in rows]
    front = copy_of("clean/multi-0", tmp_path / "logs")
    segment(front).unlink()
    rows, _summary = verified(tmp_path)
    assert ("missing-offsets", 0, 124) in [(row[0], *row[3:]) for row in rows]


def test_what_was_aborted_stays_so_where_the_segment_of_its_marker_is_empty(tmp_path: Path) -> None:
    """Its `.txnindex` stands there still."""
    begun = batches(0, 1, attributes=16, producer_id=7, producer_epoch=0, base_sequence=0)
    source = log_of(tmp_path / "logs", {0: begun + batches(1, 1), 2: b"", 5: batches(5, 2)})
    (source / f"{2:020d}.txnindex").write_bytes(struct.pack(">hqqqq", 0, 7, 0, 3, 0))
    account = salvaged([source], tmp_path / "dest")
    assert missing(account) == [(0, 0), (2, 4)]
    assert any(reason.startswith("its transaction was aborted") for reason in account.reasons())


def test_an_index_names_offsets_behind_batches_that_are_put_aside(tmp_path: Path) -> None:
    """In the place of the log's newest segment are others, with higher offsets than the index has."""
    source = log_of(tmp_path / "logs", {0: batches(0, 5), 5: batches(20, 2, 1)})
    (source / f"{5:020d}.index").write_bytes(struct.pack(">ii", 7, 400))
    account = salvaged([source], tmp_path / "dest")
    assert missing(account) == [(5, 12)]


@pytest.mark.parametrize("is_cut_out", [False, True])
def test_what_was_aborted_does_not_become_committed(is_cut_out: bool, tmp_path: Path) -> None:
    source = copy_of("clean/transactions-0", tmp_path / "logs")
    base, one = next(
        (int(path.stem), entry)
        for path in sorted(source.glob("*.txnindex"))
        for entry in read_transaction_index(path)
    )
    marker = next(found for found in batches_of(source, base) if found.base_offset == one.last_offset)
    if is_cut_out:
        edit(segment(source, base), lambda data: data[: marker.position] + data[marker.end :])
    else:
        hurt(source, batches_of(source, base).index(marker), base)
    account = salvaged([source], tmp_path / "dest")
    lost = [(first, last) for first, last in missing(account) if first <= one.last_offset <= last]
    assert lost, account.only()["missing"]
    reasons = [reason for reason in account.reasons() if reason.startswith("its transaction was aborted")]
    assert reasons
    served = [found.base_offset for found in sound_batches(account.result_bytes("transactions-0"))]
    assert one.first_offset not in served


def test_a_recovery_point_that_is_older_than_the_files_puts_nothing_aside(tmp_path: Path) -> None:
    """As after a backup was put in the place of a partition."""
    source = copy_of("clean/multi-0", tmp_path / "logs")
    (tmp_path / "logs/.kafka_cleanshutdown").touch()
    (tmp_path / "logs/recovery-point-offset-checkpoint").write_text("0\n1\nmulti 0 3\n")
    hurt(source, 2)
    account = salvaged([source], tmp_path / "dest")
    assert account.only()["log_end_offset"] == 206
    assert missing(account) == [(10, 14)]


def batches(first: int, *counts: int, **fields: int) -> bytes:
    """Batches that continue each other, each of so many records."""
    bases = accumulate(counts, initial=first)
    return b"".join(
        batch(base, [record(delta) for delta in range(count)], **fields)
        for base, count in zip(bases, counts, strict=False)
    )


def log_of(folder: Path, files: dict[int, bytes], **noted: int) -> Path:
    """A partition of these segments, which was shut down cleanly if a recovery point is noted."""
    directory = folder / "t-0"
    directory.mkdir(parents=True)
    for base, data in files.items():
        segment(directory, base).write_bytes(data)
    for name, offset in noted.items():
        checkpoint = folder / f"{name.replace('_', '-')}-offset-checkpoint"
        checkpoint.write_text(f"0\n1\nt 0 {offset}\n")
    if "recovery_point" in noted:
        (folder / ".kafka_cleanshutdown").touch()
    return directory


@pytest.mark.parametrize(
    ("foreign", "end"),
    [
        pytest.param(batches(1000, 2, 2, 5, 2), 8, id="as other blocks of the disk"),
        pytest.param(batches(8, 2, 2, 5, 2), 19, id="a log beyond an older checkpoint"),
        pytest.param(batches(8, 2) + batches(1000, 2, 2, 2), 1006, id="which has lost batches there"),
    ],
)
def test_batches_behind_the_end_of_the_log_must_continue_it(foreign: bytes, end: int, tmp_path: Path) -> None:
    source = log_of(tmp_path / "logs", {0: batches(0, 3, 2, 3) + foreign}, recovery_point=8)
    account = salvaged([source], tmp_path / "dest")
    assert account.only()["log_end_offset"] == end
    words = [why for why in account.reasons() if "are beyond the end of the log, 8" in why]
    assert bool(words) == (end == 8)


def test_a_batch_beyond_the_end_is_not_confirmed_by_files_that_were_swapped(tmp_path: Path) -> None:
    files = {0: batches(10, 4, 3, 3), 10: batches(0, 5, 3, 2), 20: batches(4000, 1)}
    account = salvaged([log_of(tmp_path / "logs", files, recovery_point=21)], tmp_path / "dest")
    assert missing(account) == [(20, 20)]
    assert account.only()["log_end_offset"] == 20


@pytest.mark.parametrize("delta", [3, 60])
def test_the_number_of_records_shows_a_last_offset_that_is_too_high(delta: int, tmp_path: Path) -> None:
    """One batch behind it has its offsets, and no more: its records decide which of the two is wrong."""
    records = [record(at) for at in range(2)]
    high = batch(5, records, last_offset_delta=delta)
    log = batches(0, 5) + high + batches(7, 3)
    account = salvaged([log_of(tmp_path / "logs", {0: log})], tmp_path / "dest")
    assert (missing(account), account.only()["log_end_offset"]) == ([(5, 6)], 10)
    assert any("its offsets, 5 to" in why for why in account.reasons())


def test_a_batch_that_the_log_ended_in_is_put_aside(tmp_path: Path) -> None:
    log = batch(0, [record()], last_offset_delta=1)
    account = salvaged([log_of(tmp_path / "logs", {0: log}, recovery_point=1)], tmp_path / "dest")
    assert missing(account) == [(0, 0)]


def test_a_batch_without_a_record_shows_the_cleaner(tmp_path: Path) -> None:
    files = {0: batches(0, 1) + batch(1, [record()], last_offset_delta=4), 8: batches(8, 2, 5)}
    source = log_of(tmp_path / "logs", files)
    account = salvaged([source], tmp_path / "dest")
    assert missing(account) == []
    assert logs(account.log("t-0")) == logs(source)


def test_the_majority_wins_over_a_batch_that_ends_before_theirs(tmp_path: Path) -> None:
    short = batch(0, [record()]) + batches(2, 1, 3)
    copies = [log_of(tmp_path / f"r{at}", {0: batches(0, 2, 1, 3) if at else short}) for at in range(3)]
    account = salvaged(copies, tmp_path / "dest")
    assert logs(account.log("t-0")) == logs(copies[1])


@pytest.mark.parametrize("is_reversed", [False, True])
def test_another_segment_does_not_begin_within_a_batch(is_reversed: bool, tmp_path: Path) -> None:
    rest = {3: batches(3, 5, 1, 2)}
    sound = log_of(tmp_path / "r0", {0: batches(0, 3)} | rest)
    foreign = log_of(tmp_path / "r1", {0: batches(0, 1, 1, 2, 5, 1)} | rest)
    copies = [foreign, sound] if is_reversed else [sound, foreign]
    account = salvaged(copies, tmp_path / "dest")
    assert logs(account.log("t-0")) == logs(sound)
    alone = salvaged([foreign], tmp_path / "alone")
    assert missing(alone) == [(0, 2)]


def test_leader_epochs_never_fall(tmp_path: Path) -> None:
    (source,) = sources("epochs-two-in-a-row")
    account = salvaged([source], tmp_path / "dest")
    made = account.log("multi-0") / "leader-epoch-checkpoint"
    assert made.read_bytes() == (source / "multi-0" / "leader-epoch-checkpoint").read_bytes()
    assert logs(account.log("multi-0")) == logs(source / "multi-0")
    (note,) = account.only()["notes"]
    assert "offsets 105 to 110 have leader epoch 77" in note


@pytest.mark.parametrize("at", [0, 3, 5, 8, 200])
def test_an_offset_near_the_greatest_is_no_end_wherever_it_stands(at: int, tmp_path: Path) -> None:
    batches = [batch(number) for number in range(200)]
    batches.insert(at, batch((1 << 63) - 3, [record()], last_offset_delta=10))
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(b"".join(batches))
    segment = StoredSegment(StoredFile(str(path), path.stat().st_size, ""), 0)
    assert figures_by_headers(Places(), segment).end_offset == 200


def going_back(folder: Path, offset: int, count: int = 10) -> Path:
    """A log of a follower up to 199, and behind it the batches of its leader from an offset on (KAFKA-3919).

    Each batch of the leader has `count` records.
    """
    source = partition(folder, *[(10, "own")] * 20)
    leader = partition(folder / "leader", *[(count, "leader")] * (320 // count))
    data = segment(leader).read_bytes()
    sent = [data[one.position : one.end] for one in sound_batches(data) if one.base_offset + count > offset]
    edit(segment(source), lambda own: own + b"".join(sent))
    return source


def texts(account: Account) -> list[tuple[int, str]]:
    """Offset and text of each record of the result."""
    rows = kafka_segments.scan(account.log("t-0"), columns=["offset", "value"]).read_all().to_pylist()
    return [(row["offset"], row["value"].decode()) for row in rows]


@pytest.mark.parametrize("count", [5, 10, 7])
@pytest.mark.parametrize("offset", [20, 170, 190, 195])
def test_of_offsets_that_go_back_those_that_came_first_are_served(
    offset: int, count: int, tmp_path: Path
) -> None:
    """No copy outvotes itself, and none of the later ones comes between the first."""
    account = salvaged([going_back(tmp_path, offset, count)], tmp_path / "dest")
    begin = -(-200 // count) * count
    served = [
        *((at, "own") for at in range(200)),
        *((at, "leader") for at in range(begin, 320 // count * count)),
    ]
    assert texts(account) == served
    assert missing(account) == ([(200, begin - 1)] if begin > 200 else [])
    assert account.reasons().count("the result has other batches at its offsets") > 0


@pytest.mark.parametrize("others", [("leader",), ("leader", "leader"), ("own",), ("own", "leader")])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_offsets_that_go_back_beside_other_copies(
    others: tuple[str, ...], is_reversed: bool, tmp_path: Path
) -> None:
    """What most copies have is served, else what the most trusted has first: never some of each."""
    copies = [going_back(tmp_path / "r0", 170)]
    for number, text in enumerate(others, 1):
        num_batches = {"own": 20, "leader": 32}[text]
        copies.append(partition(tmp_path / f"r{number}", *[(10, text)] * num_batches))
    account = salvaged(copies[::-1] if is_reversed else copies, tmp_path / "dest")
    found = texts(account)
    assert [offset for offset, _text in found] == list(range(320))
    (text,) = {text for offset, text in found if 170 <= offset < 200}
    if others != ("leader",):
        assert text == ("own" if "own" in others else "leader")
