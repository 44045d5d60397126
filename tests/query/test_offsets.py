"""Ranges: which offsets are read for a query, what is lost, and where a log that is written to ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.made import build
from tests.query import logs
from tests.query.logs import PLACES, RECORDED, Entry

from kafka_segments.errors import OptionError
from kafka_segments.log.findings import LEFT_OUT_KINDS, Findings, Kind
from kafka_segments.log.model import LogEnd, PartitionLog
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Condition, Query, Topics
from kafka_segments.query.query_options import query_of
from kafka_segments.query.read.split_reader import Reading, read_split
from kafka_segments.query.resolve import select


def log_of(folder: Path, start: int = 0) -> PartitionLog:
    """Offsets 0 to 39, a record each, times from 0 to 3900, of which those below `start` are deleted."""
    path = logs.write(folder, [Entry("create2", (at * 100,)) for at in range(40)], segment_bytes=1000)
    return replace(logs.log_of(path), log_start_offset=start or None)


def made(log: PartitionLog, **options: str) -> Plan:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return plan([log], query_of(named), PLACES)


def read(one: Plan) -> list[int]:
    return [offset for offset, _time in logs.rows_of(logs.splits_of(one))]


def at(offset: int) -> str:
    return f'{{"t":{{"0":{offset}}}}}'


CASES = {
    "everything": ({}, range(10, 40), None),
    "from an offset": ({"startingOffsets": at(25)}, range(25, 40), None),
    "up to an offset": ({"endingOffsets": at(25)}, range(10, 25), None),
    "between offsets": ({"startingOffsets": at(12), "endingOffsets": at(13)}, range(12, 13), None),
    "nothing": ({"startingOffsets": at(12), "endingOffsets": at(12)}, range(0), None),
    "earliest and latest": ({"startingOffsets": at(-2), "endingOffsets": at(-1)}, range(10, 40), None),
    "from before the start": ({"startingOffsets": at(3)}, range(10, 40), (3, 9)),
    "all before the start": ({"startingOffsets": at(3), "endingOffsets": at(7)}, range(0), (3, 6)),
    "to before the start": ({"endingOffsets": at(7)}, range(0), None),
    "to behind the end": ({"endingOffsets": at(50)}, range(10, 40), (40, 49)),
    "all behind the end": ({"startingOffsets": at(45), "endingOffsets": at(50)}, range(0), (45, 49)),
    "from behind the end": ({"startingOffsets": at(45)}, range(0), (40, 44)),
    "from the end": ({"startingOffsets": at(40)}, range(0), None),
    "from a time": ({"startingTimestamp": "2450"}, range(25, 40), None),
    "up to a time": ({"endingTimestamp": "2500"}, range(10, 25), None),
    "up to a time that never came": ({"endingTimestamp": "9999"}, range(10, 40), None),
    "from a time before the start": ({"startingTimestamp": "0"}, range(10, 40), None),
    "from a time of a partition": ({"startingOffsetsByTimestamp": at(2401)}, range(25, 40), None),
    "from a time that never came": (
        {"startingTimestamp": "9999", "startingOffsetsByTimestampStrategy": "latest"},
        range(0),
        None,
    ),
}


@pytest.mark.parametrize(("options", "offsets", "lost"), CASES.values(), ids=CASES)
def test_ranges(
    tmp_path: Path, options: dict[str, str], offsets: range, lost: tuple[int, int] | None
) -> None:
    one = made(log_of(tmp_path, start=10), **options)
    assert read(one) == list(offsets)
    assert [(loss.first_offset, loss.last_offset) for loss in one.of(Kind.LOST)] == ([lost] if lost else [])
    assert all("the log" in loss.detail for loss in one.of(Kind.LOST))


def test_a_time_that_never_came_is_an_error_unless_it_may_be(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="t-0 has timestamp 9999 or a later one"):
        made(log_of(tmp_path), startingTimestamp="9999")


def test_a_range_that_ends_before_it_begins_is_an_error(tmp_path: Path) -> None:
    """Also where a time and an offset were given: KafkaSourceRDD.compute asserts the same in the task."""
    with pytest.raises(OptionError, match="begins at offset 30, which is after its end"):
        made(log_of(tmp_path), startingTimestamp="3000", endingOffsets=at(20))


def test_offsets_are_given_for_exactly_the_partitions_that_are_read(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    with pytest.raises(OptionError, match="t-1 has one but is not read"):
        made(log, startingOffsets='{"t":{"0":1,"1":1}}')
    with pytest.raises(OptionError, match="t-0 is read but has none"):
        made(log, endingOffsetsByTimestamp="{}")


def test_what_is_left_out_by_offsets_is_said_segment_by_segment(tmp_path: Path) -> None:
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 15\n")
    one = made(log_of(tmp_path, start=15), startingOffsets=at(22), endingOffsets=at(30))
    reasons = {left_out.detail: left_out for left_out in one.of(*LEFT_OUT_KINDS)}
    assert len(reasons) == 3
    assert reasons["its records are deleted: the log starts at offset 15"].last_offset is not None
    assert reasons["before offset 22, where reading begins"].num_bytes > 0
    assert reasons["reading ends at offset 30: the ending offset"].last_offset is None


def live(log: PartitionLog, high_watermark: int | None) -> PartitionLog:
    return replace(log, end=LogEnd(is_live=True, high_watermark=high_watermark))


def test_a_live_log_ends_at_its_high_watermark(tmp_path: Path) -> None:
    log = live(log_of(tmp_path), 35)
    one = made(log)
    assert read(one) == list(range(35))
    (left_out,) = one.of(*LEFT_OUT_KINDS)
    assert (left_out.first_offset, left_out.last_offset) == (35, 39)
    assert left_out.detail == "after the high watermark"
    assert str(one.ranges[0].end_is) == "the high watermark" and one.ranges[0].log_end_offset == 40
    assert read(made(log, endingOffsets=at(38))) == list(range(35))
    assert made(log, endingOffsets=at(38)).of(Kind.LOST) == [], "what is there and not committed is not lost"
    assert read(made(log, endingOffsets="log-end")) == list(range(40))
    with pytest.raises(OptionError, match="3600 or a later one"):
        made(log, startingTimestamp="3600")
    assert read(made(live(log, 99))) == list(range(40))
    unknown = made(live(log, None))
    assert read(unknown) == [] and "not known yet" in unknown.of(*LEFT_OUT_KINDS)[0].detail
    assert read(made(live(log, None), endingOffsets="log-end")) == list(range(40))


def test_the_high_watermark_may_be_asked_for_where_it_is_known(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    noted = replace(log, end=LogEnd(high_watermark=35))
    assert read(made(noted)) == list(range(40))
    assert read(made(noted, endingOffsets="high-watermark")) == list(range(35))
    with pytest.raises(OptionError, match="not known"):
        made(log, endingOffsets="high-watermark")


def test_a_last_batch_that_is_cut_off_is_not_in_the_log(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    newest = Path(log.pieces[-1].segment.file.path)
    newest.write_bytes(newest.read_bytes()[:-5])
    (tmp_path / "t-0" / newest.with_suffix(".index").name).write_bytes(b"")
    again = logs.log_of(tmp_path / "t-0")
    one = made(again, endingOffsets=at(40))
    assert one.ranges[0].end == 39
    assert [(loss.first_offset, loss.last_offset) for loss in one.of(Kind.LOST)] == [(39, 39)]


@pytest.mark.parametrize(
    "options", [{}, {"endingOffsets": "high-watermark"}, {"kafka_isolation_level": "read_committed"}], ids=str
)
@pytest.mark.parametrize("kind", ["sound", "wrong", "cut off"])
def test_damage_at_the_end_is_read_whatever_the_end_is_called(
    tmp_path: Path, options: dict[str, str], kind: str
) -> None:
    log = log_of(tmp_path)
    newest = Path(log.pieces[-1].segment.file.path)
    last = newest.read_bytes()[-len(build.batch(39, [build.record(0, None, b"x" * 20)])) :]
    behind = bytearray((40).to_bytes(8, "big") + last[8:])
    behind[-1] ^= 1
    newest.write_bytes(newest.read_bytes() + {"sound": b"", "wrong": behind, "cut off": behind[:70]}[kind])
    again = replace(logs.log_of(tmp_path / "t-0"), end=LogEnd(high_watermark=99))
    one, told = made(again, **options), Findings()
    for split in logs.splits_of(one):
        list(read_split(split, PLACES, Reading(("offset",)), told))
    assert told.of(Kind.LOST) == []
    assert [damage.first_offset for damage in told.of(Kind.DAMAGE)] == ([40] if kind == "wrong" else [])
    assert one.ranges[0].end == (None if kind == "wrong" or not options else 40)


def test_a_missing_segment_is_lost_unless_the_log_is_compacted(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    pieces = list(log.pieces)
    hole = pieces.pop(2)
    pieces[1] = replace(pieces[1], end=hole.start)
    holed = replace(log, pieces=tuple(pieces))
    (loss,) = made(holed).of(Kind.LOST)
    assert (loss.first_offset, loss.last_offset) == (hole.start, pieces[2].start - 1)
    assert made(holed, startingOffsets=at(pieces[2].start)).of(Kind.LOST) == []
    assert made(replace(holed, cleaned_up_to=1 << 62)).of(Kind.LOST) == []


@pytest.mark.parametrize("records", [{}, {"maxRecordsPerPartition": "7"}], ids=["whole", "cut"])
@pytest.mark.parametrize(
    ("condition", "offsets", "end"),
    [
        (Condition("offset", highest=24), range(25), 25),
        (Condition("offset", highest=38), range(39), 39),
        (Condition("offset", highest=39), range(40), 40),
        (Condition("offset", highest=40), range(40), None),
        (Condition("offset", lowest=20, highest=1000), range(20, 40), None),
        (Condition("offset", lowest=60, highest=1000), range(0), None),
        (Condition("offset", values=frozenset({3, 38})), range(3, 39), 39),
        (Condition("offset", values=frozenset({3, 99})), range(3, 40), None),
    ],
    ids=str,
)
def test_a_condition_on_offsets_asks_for_none_that_are_not_there(
    tmp_path: Path, condition: Condition, offsets: range, end: int | None, records: dict[str, str]
) -> None:
    """Unlike an ending offset: a reader told to go there would call the rest lost."""
    query = replace(query_of(records), conditions=(condition,))
    one = plan([log_of(tmp_path)], query, PLACES)
    assert [at for at in read(one) if condition.holds(at)] == [at for at in offsets if condition.holds(at)]
    if not records:
        assert [split.end for split in logs.splits_of(one)][-1:] in ([end], [])
    told = Findings()
    for split in logs.splits_of(one):
        assert list(read_split(split, PLACES, Reading(("offset",)), told)) or not offsets
    assert told.of(Kind.LOST) == [] and one.of(Kind.LOST) == []


@pytest.mark.parametrize(
    ("options", "topics"),
    [
        ({"subscribe": "multi,shapes"}, {"multi", "shapes"}),
        ({"subscribePattern": "^code.-n"}, {"codec-none"}),
        ({"subscribePattern": "offsets|null"}, {"null"}),
        ({"subscribe": "__consumer_offsets"}, {"__consumer_offsets"}),
        ({"assign": '{"idempotent":[0,2]}'}, {"idempotent"}),
    ],
)
def test_topics_are_chosen_as_by_the_connector(options: dict[str, str], topics: set[str]) -> None:
    found = [logs.log_of(path) for path in RECORDED.glob("kafka-4.3/clean/*-[0-9]")]
    one = plan(found, query_of(options), PLACES)
    assert {chosen.topic for chosen in one.ranges} == topics
    assert len(one.ranges) + len([out for out in one.of(*LEFT_OUT_KINDS) if out.first_offset is None]) == len(
        found
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"subscribe": "multi,nothing"}, "no topic nothing in these paths"),
        ({"assign": '{"idempotent":[0,7]}'}, "no partition 7 of idempotent in these paths; there is 0, 1, 2"),
        ({"subscribePattern": "^zzz"}, "no topic that matches"),
    ],
)
def test_what_is_not_there_is_an_error(options: dict[str, str], why: str) -> None:
    found = [logs.log_of(path) for path in RECORDED.glob("kafka-4.3/clean/*-[0-9]")]
    with pytest.raises(OptionError, match=why):
        plan(found, query_of(options), PLACES)


def test_nothing_at_all_is_a_plan_without_tasks() -> None:
    assert plan([], Query(), PLACES).tasks == ()
    bare = PartitionLog("t", 0, ())
    assert plan([bare], Query(), PLACES).tasks == ()


INTERNAL_WHY = "it is an internal topic of Kafka: name it in subscribe or assign to read it"


@pytest.mark.parametrize("options", [{}, {"subscribePattern": ".*"}])
@pytest.mark.parametrize("is_live", [False, True])
def test_internal_topics_are_read_by_name_only(
    options: dict[str, str], is_live: bool, tmp_path: Path
) -> None:
    found = []
    names = ("__cluster_metadata", "__consumer_offsets", "__remote_log_metadata")
    for topic in ("t", *names):
        (tmp_path / topic).mkdir()
        path = logs.write(tmp_path / topic, [Entry("create2", (at * 100,)) for at in range(3)])
        log = replace(logs.log_of(path), topic=topic)
        found.append(replace(log, end=LogEnd(is_live=True, high_watermark=3)) if is_live else log)
    named = {name: query_of({"subscribe": name}) for name in names}
    for name, query in named.items():
        assert {one.topic for one in plan(found, query, PLACES).ranges} == {name}
    one = plan(found, query_of(options), PLACES)
    assert {found.topic for found in one.ranges} == {"t"}
    assert {(left.topic, left.detail) for left in one.of(*LEFT_OUT_KINDS)} == {
        (name, INTERNAL_WHY) for name in named
    }
    (alone,) = plan(found[1:2], query_of({}), PLACES).ranges
    assert alone.topic == "__cluster_metadata", "the paths name it"


def test_logs_are_not_compared_by_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 2,000 partitions that took half of the planning's time."""

    def compared(_self: object, _other: object) -> bool:
        raise AssertionError("two logs were compared")

    logs = [PartitionLog("t", number, ()) for number in range(3)]
    monkeypatch.setattr(PartitionLog, "__eq__", compared)
    chosen, left_out = select(logs, Topics(partitions=frozenset({("t", 1)})))
    assert ([log.partition for log in chosen], [one.partition for one in left_out]) == ([1], [0, 2])
