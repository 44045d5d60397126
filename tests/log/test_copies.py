"""Copies of partitions become one log: each offset once, and what it says there is what the log says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from tests import work
from tests.forms import IS_FULL
from tests.log.cluster import Cluster, Replica, Written
from tests.log.memory import MemoryPlaces

from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.segment.beside.index_files import LeaderEpoch
from kafka_segments.core.segment.segment import open_segment
from kafka_segments.errors import OptionError
from kafka_segments.log.discovery import discover
from kafka_segments.log.lineage import Lineage, contradiction, diverges_at
from kafka_segments.log.log_end import find_end
from kafka_segments.log.model import PartitionCopy, PartitionLog, StoredFile, StoredSegment
from kafka_segments.log.replicas import resolve


def resolved(places: MemoryPlaces, *paths: str) -> PartitionLog:
    (log,) = resolve(places, discover(places, paths or ["m:/*"]))
    return log


def held(places: MemoryPlaces, log: PartitionLog) -> dict[int, tuple[int, int]]:
    """By offset: number and epoch of the batch that is read for it. An offset that comes twice fails."""
    found: dict[int, tuple[int, int]] = {}
    for piece in log.pieces:
        data = places.files[piece.segment.file.path][0]
        with open_segment(data) as segment:
            for batch in segment.iter_entries():
                assert isinstance(batch, Batch)
                assert batch.base_offset is not None
                for offset in range(batch.base_offset, batch.last_offset + 1):
                    if piece.start <= offset and (piece.end is None or offset < piece.end):
                        assert offset not in found
                        found[offset] = batch.max_timestamp, batch.partition_leader_epoch
    return found


def of_truth(cluster: Cluster) -> dict[int, tuple[int, int]]:
    return {offset: (batch.number, batch.epoch) for offset, batch in cluster.truth.items()}


WHO = st.integers(0, 3)
ACTIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 3)),
    st.tuples(st.just("append"), st.integers(1, 3)),
    st.tuples(st.just("fetch"), WHO, st.integers(0, 4)),
    st.tuples(st.just("all_fetch"), st.integers(0, 100)),
    st.tuples(st.just("roll"), WHO),
    st.tuples(st.just("note")),
    st.tuples(st.just("elect"), WHO),
    st.tuples(st.just("crash"), WHO),
    st.tuples(st.just("delete_head"), WHO),
)


def play(actions: list[tuple[object, ...]], *, clean: bool) -> Cluster:
    """Clean: only what has all that is committed may lead. Else nothing is deleted from the start."""
    cluster = Cluster(4)
    for name, *numbers in actions:
        who = numbers[0] if numbers else 0
        replica: Replica = cluster.replicas[who % 4]  # type: ignore[operator]
        if name == "roll":
            replica.roll()
        elif name == "all_fetch":
            for follower in range(4):
                cluster.fetch(follower, who)  # type: ignore[arg-type]
        elif name == "delete_head":
            # Retention takes what is committed only.
            is_old = len(replica.bases) > 1 and replica.bases[1] <= cluster.committed
            if clean and replica.is_alive and is_old:
                replica.delete_head()
        elif name == "elect":
            if not clean or replica.end >= cluster.committed:
                cluster.elect(who)  # type: ignore[arg-type]
        else:
            getattr(cluster, str(name))(*numbers)
    return cluster


MANY = settings(
    max_examples=300, deadline=None, derandomize=not IS_FULL, suppress_health_check=[HealthCheck.too_slow]
)


@MANY
@given(st.lists(ACTIONS, min_size=20, max_size=80))
def test_the_log_is_the_leaders_whoever_led_before(actions: list[tuple[object, ...]]) -> None:
    cluster = play(actions, clean=False)
    places = cluster.places()
    log = resolved(places)
    assert held(places, log) == of_truth(cluster)
    ends = {replica.end for replica in cluster.replicas}
    event(f"epochs {min(cluster.epoch, 4)}, ends {len(ends)}")


# A leader that has deleted its head, and followers of which one knows more to be committed than another.
NOTED_BY_ONE: list[tuple[object, ...]] = [
    *[("append", 1)] * 11,
    *[("all_fetch", 9), ("elect", 0), ("append", 1), ("fetch", 3, 1), ("all_fetch", 2), ("all_fetch", 1)],
    *[("roll", 3), ("elect", 3), ("delete_head", 3)],
]


@MANY
@given(st.lists(ACTIONS, min_size=20, max_size=80))
@example(NOTED_BY_ONE)
def test_older_offsets_come_from_who_still_has_them(actions: list[tuple[object, ...]]) -> None:
    cluster = play(actions, clean=True)
    places = cluster.places()
    found = held(places, resolved(places))
    truth = of_truth(cluster)
    assert found.items() <= truth.items()
    assert all(offset in found for offset in truth if offset >= cluster.leading.start)
    # What a leader deleted is there as far as somebody is known to have had it committed.
    for replica in cluster.replicas:
        for batch in replica.log:
            if batch.last < replica.noted:
                assert found[batch.first] == (batch.number, batch.epoch)
    event(f"start {min(cluster.leading.start, 3)}, epochs {min(cluster.epoch, 4)}")


@MANY
@given(st.lists(ACTIONS, min_size=10, max_size=60), st.sets(st.integers(0, 3)))
def test_without_lineage_there_is_the_log_or_an_error(
    actions: list[tuple[object, ...]], lineage: set[int]
) -> None:
    cluster = play(actions, clean=False)
    places = cluster.places(lineage)
    try:
        log = resolved(places)
    except OptionError as error:
        assert "m:/" in str(error.path)
        assert str(error).count("m:/") == 2, "both are named"
        event("error")
        return
    found = held(places, log)
    # It is one of the logs that there were, whole, and nothing of another one.
    logs = [
        {
            offset: (batch.number, batch.epoch)
            for batch in replica.log
            for offset in range(batch.first, batch.last + 1)
        }
        for replica in cluster.replicas
    ]
    assert found in logs
    if cluster.leader in lineage:
        assert found.items() >= logs[cluster.leader].items()
    event("log")


def scenario() -> Cluster:
    """Replica 1 leads from epoch 1 on, without what 0 had written last; 0 is gone, 2 follows."""
    cluster = Cluster(3)
    for _ in range(4):
        cluster.append(10)
    for follower in (1, 2):
        cluster.fetch(follower, 2)
    cluster.crash(0)
    cluster.elect(1)
    cluster.crash(0)
    cluster.replicas[0].is_alive = False
    for _ in range(3):
        cluster.append(5)
    cluster.fetch(2, 1)
    return cluster


def test_a_stale_leaders_tail_is_left_out_and_told() -> None:
    cluster = scenario()
    log = resolved(cluster.places())
    assert [(one.first_offset, one.last_offset, one.path) for one in log.findings] == [(20, 39, "m:/0/t-0")]
    assert "diverges from the log's at offset 20, where leader epoch 0 ended" in log.findings[0].detail
    assert "m:/1/t-0" in log.findings[0].detail
    assert log.leader_epochs == (LeaderEpoch(0, 0), LeaderEpoch(1, 20))
    (piece,) = log.pieces
    assert (piece.start, piece.end, piece.segment.file.path[:3]) == (0, None, "m:/1"[:3])
    assert sorted(one.file.path[:3] for one in piece.others) == ["m:/", "m:/"]
    assert sorted(one.file.path for one in piece.others) == [f"m:/{n}/t-0/{0:020}.log" for n in (0, 2)]
    # Of another copy counts what is below the offset where it left the log.
    assert {one.file.path[2:4]: one.end_offset for one in piece.others} == {"/0": 20, "/2": None}
    assert log.copies == ("m:/1/t-0", "m:/2/t-0"), "nobody is to look for lost offsets in the other one"
    # The tail is what was read last if the leader's own disk is not given: nothing tells otherwise.
    assert held(cluster.places(), resolved(cluster.places(), "m:/0")).keys() == set(range(40))


def test_the_end_is_that_of_copies_which_count() -> None:
    cluster = scenario()
    cluster.replicas[0].noted = 33
    cluster.replicas[1].noted = 24
    log = resolved(cluster.places())
    assert log.end.high_watermark == 25, "as replica 2 noted; 33 is of a history that was left"
    assert find_end(cluster.places(), log.pieces[-1].segment).end_offset == 35


def test_one_copy_opens_no_segment() -> None:
    cluster = scenario()
    places = cluster.places()
    log = resolved(places, "m:/1")
    assert [path for word, path in places.asked if word == "open" and path.endswith(".log")] == []
    assert [(piece.start, piece.end) for piece in log.pieces] == [(0, None)]


def test_the_same_offsets_and_epoch_with_other_batches_are_an_error() -> None:
    cluster = Cluster(2)
    for _ in range(3):
        cluster.append(10)
    cluster.fetch(1, 100)
    cluster.replicas[1].log[2] = Written(77, 20, 29, 0)
    with pytest.raises(
        OptionError, match=r"batch at offset 29 differs from the one in m:/\d/t-0, of leader epoch 0 in both"
    ) as error:
        resolved(cluster.places())
    assert str(error.value.path) != ""
    assert {str(error.value)[:3], *str(error.value).split("in ")[1][:3].split()} == {"m:/"}
    # Other boundaries of batches are no less another log.
    cluster.replicas[1].log[2:] = [Written(2, 20, 24, 0), Written(3, 25, 29, 0)]
    with pytest.raises(OptionError, match="differs from the one in"):
        resolved(cluster.places())


def test_an_epoch_that_began_at_two_offsets_is_an_error() -> None:
    cluster = scenario()
    cluster.fetch(2, 100)
    cluster.replicas[2].epochs = [(0, 0), (1, 25)]
    with pytest.raises(OptionError, match="leader epoch 1 began at offset 2") as error:
        resolved(cluster.places())
    assert str(error.value).count("m:/") == 2
    # The cleaner may take the first batches of an epoch before they are fetched.
    places = cluster.places()
    places.files["m:/1/cleaner-offset-checkpoint"] = (b"0\n1\nt 0 30\n", 0)
    assert held(places, resolved(places)) == of_truth(cluster)


def test_two_topics_of_one_name_are_an_error() -> None:
    places = scenario().places()
    for number, topic_id in enumerate(("lZ6vvmajTWKDBUTV6SQAtQ", "MWJ6FHTfRYy67jzwZdeqSQ")):
        places.files[f"m:/{number}/t-0/partition.metadata"] = (
            f"version: 0\ntopic_id: {topic_id}".encode(),
            0,
        )
    with pytest.raises(OptionError, match="two topics of one name") as error:
        resolved(places)
    for part in ("m:/0/t-0", "m:/1/t-0", "lZ6vvmajTWKDBUTV6SQAtQ", "MWJ6FHTfRYy67jzwZdeqSQ"):
        assert part in str(error.value)


def test_deleted_records_are_deleted_in_all_copies() -> None:
    cluster = scenario()
    cluster.replicas[2].bases = [0, 10, 20]
    places = cluster.places()
    places.files["m:/1/log-start-offset-checkpoint"] = (b"0\n1\nt 0 12\n", 0)
    log = resolved(places)
    assert log.log_start_offset == 12
    # One from a history that the log has left says nothing of it.
    places.files["m:/0/log-start-offset-checkpoint"] = (b"0\n1\nt 0 25\n", 0)
    assert resolved(places).log_start_offset == 12


def test_disjoint_copies_without_lineage_follow_each_other() -> None:
    cluster = Cluster(2)
    for _ in range(4):
        cluster.append(10)
    cluster.fetch(1, 100)
    first, second = cluster.replicas
    first.log = first.log[:2]
    second.start, second.bases, second.log = 20, [20], second.log[2:]
    log = resolved(cluster.places(set()))
    assert [(piece.start, piece.end) for piece in log.pieces] == [(0, 20), (20, None)]
    assert held(cluster.places(), log) == of_truth(cluster)


def test_a_damaged_end_is_no_disagreement() -> None:
    cluster = Cluster(2)
    for _ in range(5):
        cluster.append(10)
    cluster.fetch(1, 100)
    for lineage in (None, set()):
        places = cluster.places(lineage)
        path = f"m:/0/t-0/{0:020}.log"
        damaged = bytearray(places.files[path][0])
        damaged[-1] ^= 1
        places.files[path] = (bytes(damaged), 0)
        log = resolved(places)
        assert log.pieces[-1].segment.file.path.startswith("m:/1")


def test_a_newest_segment_of_nothing_but_damage_stays_in_sight() -> None:
    cluster = Cluster(2)
    for _ in range(2):
        cluster.append(10)
        cluster.replicas[0].roll()
    cluster.fetch(1, 1)
    cluster.append(10)
    places = cluster.places()
    path = f"m:/0/t-0/{20:020}.log"
    damaged = bytearray(places.files[path][0])
    damaged[-1] ^= 1
    places.files[path] = (bytes(damaged), 0)
    log = resolved(places)
    assert (log.pieces[-1].start, log.pieces[-1].end) == (20, None)
    found = find_end(places, log.pieces[-1].segment)
    assert found.end_offset == 20
    assert found.tail is not None


def epochs(*entries: tuple[int, int]) -> tuple[LeaderEpoch, ...]:
    return tuple(LeaderEpoch(*entry) for entry in entries)


@pytest.mark.parametrize(
    ("leader", "other", "expected"),
    [
        # KIP-101: the follower's latest epoch is known.
        (((0, 0), (1, 20)), ((0, 0),), 20),
        (((0, 0), (1, 50)), ((0, 0),), 40),
        # KIP-279: fast leader changes, of which each has seen others.
        (((0, 0), (2, 10)), ((0, 0), (1, 10)), 10),
        (((0, 0), (3, 15)), ((0, 0), (2, 10)), 10),
        (((0, 0), (1, 5), (4, 20)), ((0, 0), (1, 5), (2, 10), (3, 30)), 10),
        # Nothing in common: what the one does not know any more is taken from the other.
        (((7, 30),), ((3, 0), (5, 10)), 30),
        (((7, 100),), ((3, 0), (5, 10)), 40),
        (((0, 0), (5, 20)), ((3, 30),), 20),
    ],
)
def test_where_histories_part(
    leader: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...], expected: int
) -> None:
    assert diverges_at(Lineage(epochs(*leader), 100), Lineage(epochs(*other), 40)) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (((0, 0), (1, 5)), ((0, 0), (1, 5)), None),
        (((0, 0), (1, 5)), ((0, 0), (1, 6)), (1, 5, 6)),
        (((1, 6),), ((0, 0), (1, 5)), None),
        (((1, 4),), ((0, 0), (1, 5)), (1, 4, 5)),
        (((0, 0), (1, 5)), ((1, 9),), None),
        (((0, 0), (1, 5)), ((1, 4),), (1, 5, 4)),
        (((0, 3), (1, 5)), ((0, 4), (1, 5)), None),
        ((), ((0, 4),), None),
    ],
)
def test_what_cannot_both_be(
    one: tuple[tuple[int, int], ...],
    other: tuple[tuple[int, int], ...],
    expected: tuple[int, int, int] | None,
) -> None:
    assert contradiction(Lineage(epochs(*one), 100), Lineage(epochs(*other), 100)) == expected


def test_ten_thousand_segments_of_three_replicas_and_a_tier() -> None:
    def segment(path: str, base: int, **more: object) -> StoredSegment:
        file = StoredFile(f"{path}/{base:020}.log", 1 << 30, "")
        return StoredSegment(file, base, end_offset=base + 1000, **more)  # type: ignore[arg-type]

    copies = []
    for partition in range(10):
        for broker, start in enumerate((500, 400, 600)):
            path = f"/{broker}/t-{partition}"
            segments = tuple(segment(path, at * 1000) for at in range(start, 1000))
            copies.append(
                PartitionCopy(path, "t", partition, segments, leader_epochs=epochs((0, 0), (1, 300_000)))
            )
        tiered = tuple(
            segment(
                f"/tier/t-{partition}", at * 1000, leader_epochs=epochs((0 if at < 300 else 1, at * 1000))
            )
            for at in range(800)
        )
        copies.append(PartitionCopy(f"/tier/t-{partition}", "t", partition, tiered, is_tiered=True))
    copies = [replace(copy, segments=copy.segments) for copy in copies]
    num_segments = sum(len(copy.segments) for copy in copies)
    with work.at_most(150 * num_segments):
        logs = resolve(NoFiles(), copies)
    found = [[(log.pieces[0].start, log.pieces[-1].end), len(log.pieces)] for log in logs]
    assert found == [[(0, 1_000_000), 1000]] * 10


class NoFiles(Places):
    """Whatever is opened is an empty file."""

    def read_whole(self, path: str, view: memoryview) -> bool:
        return False

    def open(self, path: str):  # type: ignore[no-untyped-def]
        return MemoryPlaces({path: b""}).open(path)
