"""A search finds what reading everything finds: compiled and without extras, in damaged files too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.forms import pick
from tests.made.build import batch, control, message, patched, record
from tests.made.codecs import gzip_member
from tests.made.segments import recorded, some_segment

from kafka_segments import Batch, Damage, Record, open_segment
from kafka_segments.core.io.storage import open_source
from kafka_segments.errors import ReadError, SegmentOrderError, TruncatedError
from kafka_segments.search import raw_search
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.content_tests import (
    Contains,
    ContentTest,
    HasHeader,
    HasJson,
    HasKey,
    MatchesPattern,
)
from kafka_segments.search.found import FoundRecord, RawPlace
from kafka_segments.search.json_paths import parse_json_test
from kafka_segments.search.raw_search import search_damage
from kafka_segments.search.segment_search import Checked, SegmentSearch
from kafka_segments.search.time_bound import TimeBound

NEEDLE = b"needle-in-a-haystack"


@pytest.fixture(params=["compiled", "plain"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to search; the second is that of an installation without extras."""
    if request.param == "plain":
        monkeypatch.setattr(SegmentSearch, "_candidates", lambda _self: None)
    else:
        pytest.importorskip("numba")
    return str(request.param)


def searched(
    data: bytes | Path, conditions: Conditions, checked: Checked = "candidates"
) -> tuple[list[Record], list[Damage], list[RawPlace], SegmentSearch]:
    source = open_source(data)
    try:
        search = SegmentSearch(source, conditions, checked=checked)
        found = list(search.events())
    finally:
        source.close()
    records = [one.record for one in found if isinstance(one, FoundRecord)]
    damages = [one for one in found if isinstance(one, Damage)]
    return records, damages, [one for one in found if isinstance(one, RawPlace)], search


def events(data: bytes | Path, conditions: Conditions) -> tuple[list[Record], list[Damage]]:
    """What reading everything finds."""
    records, damages, is_wanted = [], [], False
    with open_segment(data) as segment:
        for event in segment.iter_events(on_damage="skip"):
            if isinstance(event, Batch):
                is_wanted = conditions.producer_id in {None, event.producer_id}
            elif isinstance(event, Damage):
                damages.append(event)
            elif isinstance(event, Record) and event.control is None and is_wanted:
                records += [event] if conditions.holds(event) else []
    return records, damages


def conditions_for(records: list[Record], random: Random) -> Iterator[tuple[ContentTest, ...]]:
    """Conditions that some of the records fulfil, and some that none does."""
    one = random.choice(records)
    value = one.value or b"?"
    start = random.randrange(len(value))
    part = value[start : start + random.choice((1, 2, 9))]
    yield (HasKey(one.key or b"none"),)
    yield (Contains(part or b"?"),)
    yield (Contains(part or b"?", "value"), MatchesPattern(re.compile(rb"[a-z]\d?")))
    yield (MatchesPattern(re.compile(re.escape(value[:6]) + rb".*", re.DOTALL)),)
    yield (Contains(NEEDLE),)
    if one.headers:
        yield (HasHeader(*random.choice(one.headers)),)


@pytest.mark.long
def test_recorded_segments_give_what_reading_everything_gives(engine: str) -> None:
    step, num_found = pick(24, 1), 0
    for number, path in enumerate(recorded()[::step]):
        random, everything = Random(number), events(path, Conditions())[0]
        for tests in conditions_for(everything, random) if everything else ():
            conditions = Conditions(tests)
            found, damages, raw, _search = searched(path, conditions)
            assert found == events(path, conditions)[0], (path, tests)
            assert (damages, raw) == ([], [])
            num_found += len(found)
    assert num_found > 50


@pytest.mark.long
@pytest.mark.parametrize("checked", ["candidates", "all"])
def test_damaged_segments_give_what_reading_everything_gives(engine: str, checked: Checked) -> None:
    random = Random(7)
    for number in range(pick(4, 300)):
        data = bytearray(some_segment(30, seed=number))
        everything = events(bytes(data), Conditions())[0]
        for _ in range(random.choice((1, 1, 4))):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        damaged = bytes(data)
        for tests in conditions_for(everything, random):
            conditions = Conditions(tests)
            expected, lost = events(damaged, conditions)
            found, damages, _raw, _search = searched(damaged, conditions, checked)
            assert found == expected, (number, tests)
            # Reading gives batches whose offsets were changed as they are.
            damages = [one for one in damages if not isinstance(one.error, SegmentOrderError)]
            seen, where = ([(one.position, one.end_position) for one in some] for some in (damages, lost))
            if checked == "all" or engine == "plain":
                assert seen == where
            else:  # of damage that other damage follows, what has nothing that was looked for is left out
                assert all(
                    any(one.position <= at < end <= one.end_position for one in lost) for at, end in seen
                )


def test_conditions_on_headers_leave_batches_alone(engine: str) -> None:
    first = batch(0, [record(at, b"k%d" % at) for at in range(3)], max_timestamp=5, base_timestamp=5)
    second = batch(3, [record(at) for at in range(3)], max_timestamp=90, base_timestamp=90, producer_id=7)
    data = first + control(6, (b"\0\0\0\1", b"\0\0\0\0\0\0"), producer_id=7) + second
    cases = [
        (Conditions(start=1, end=4), [1, 2, 3]),
        (Conditions(since=6), [3, 4, 5]),
        (Conditions(until=6), [0, 1, 2]),
        (Conditions(producer_id=7), [3, 4, 5]),
        (Conditions((HasKey(b"k1"),), producer_id=7), []),
        (Conditions((HasKey(b"k1"),), end=3), [1]),
    ]
    for conditions, offsets in cases:
        found = searched(data, conditions)[0]
        assert [one.offset for one in found] == offsets, conditions
        assert found == events(data, conditions)[0]


def test_all_conditions_hold_on_one_record(engine: str) -> None:
    data = batch(0, [record(0, b"a", b"x-1"), record(1, b"b", b"x-2"), record(2, b"a", b"x-2")])
    found = searched(data, Conditions((HasKey(b"a"), Contains(b"x-2"))))[0]
    assert [one.offset for one in found] == [2]


def test_bytes_in_a_damaged_batch_are_found_as_they_lie(engine: str) -> None:
    sound = batch(0, [record(0, b"k", NEEDLE)])
    broken = batch(1, [record(0, b"k", b"before " + NEEDLE + b" after")])
    broken = patched(broken, len(broken) - 3, b"X")
    data = sound + broken + batch(2, [record(0, b"k", NEEDLE)])
    found, damages, raw, _search = searched(data, Conditions((Contains(NEEDLE),)))
    assert [one.offset for one in found] == [0, 2]
    (damage,) = damages
    assert (damage.position, damage.end_position) == (len(sound), len(sound) + len(broken))
    (place,) = raw
    assert data[place.position : place.end_position] == NEEDLE
    assert len(sound) < place.position < damage.end_position
    assert place.words == "bytes 'needle-in-a-haystack'"


def test_a_batch_that_a_false_length_swallows_is_found_in_the_damage(engine: str) -> None:
    swallower = batch(0, [record(0, b"k", b"x" * 500)])
    inside = [batch(at, [record(0, b"k", NEEDLE)]) for at in (1, 2)]
    false = patched(swallower, 8, (len(swallower) - 12 + len(inside[0])).to_bytes(4, "big"))
    found, damages, raw, _search = searched(false + b"".join(inside), Conditions((Contains(NEEDLE),)))
    assert [one.offset for one in found] == [2]  # the next entry stands where the length says
    assert [one.position for one in damages] == [0]
    assert [len(swallower) < one.position < damages[0].end_position for one in raw] == [True]


def test_a_false_length_before_damage_hides_nothing(engine: str) -> None:
    swallower = batch(0, [record(0, b"k", b"x" * 500)])
    inside = [batch(at, [record(0, b"k", b"other" if at < 3 else NEEDLE)]) for at in (1, 2, 3)]
    false = patched(swallower, 8, (len(swallower) - 12 + len(inside[0]) + 20).to_bytes(4, "big"))
    data = false + b"".join(inside)
    found, damages, _raw, _search = searched(data, Conditions((Contains(NEEDLE),)))
    assert ([one.offset for one in found], [one.position for one in damages]) == ([3], [0])
    assert damages[0].end_position == len(swallower)


@pytest.mark.parametrize("checked", ["candidates", "all"])
def test_a_batch_with_a_negative_offset_is_damage(engine: str, checked: Checked) -> None:
    one, two, three = (batch(at, [record(0, b"k", b"v")]) for at in (3, 4, 5))
    data = one + patched(two, 0, (-(2**63) + 4).to_bytes(8, "big", signed=True)) + three
    found, (damage,), _raw, _search = searched(data, Conditions(start=0), checked)
    assert [one.offset for one in found] == [3, 5]
    assert (damage.position, damage.end_position) == (len(one), len(one) + len(two))
    assert isinstance(damage.error, SegmentOrderError)
    assert (damage.first_lost_offset, damage.last_lost_offset) == (4, 4)
    found, damages, _raw, _search = searched(data, Conditions(start=5), checked)
    assert ([one.offset for one in found], damages) == ([5], [])


def test_a_payload_that_does_not_decompress_is_said(engine: str) -> None:
    sound = batch(0, [record(0, b"k", NEEDLE)], attributes=1, payload=gzip_member(record(0, b"k", NEEDLE)))
    payload = gzip_member(record(0, b"k", NEEDLE))[:-9]
    broken = batch(1, [record(0, b"k", NEEDLE)], attributes=1, payload=payload)
    data = sound + broken + batch(2, [record(0, b"k", NEEDLE)])
    found, damages, raw, _search = searched(data, Conditions((Contains(NEEDLE),)))
    assert [one.offset for one in found] == [0, 2]
    assert [(one.position, type(one.error).__name__) for one in damages] == [
        (len(sound), "DecompressionError")
    ]
    assert raw == []


def test_a_batch_without_the_bytes_is_not_verified(engine: str) -> None:
    whole = batch(0, [record(0, b"k", b"something else")])
    broken = patched(whole, len(whole) - 3, b"Z")
    data = broken + batch(1, [record(0, b"k", NEEDLE)])
    _found, damages, _raw, search = searched(data, Conditions((Contains(NEEDLE),)))
    assert len(damages) == (engine == "plain")
    assert search.counts.num_verified == (2 if engine == "plain" else 1)
    _found, damages, _raw, search = searched(data, Conditions((Contains(NEEDLE),)), "all")
    assert (len(damages), search.counts.num_batches) == (1, 2)
    found, damages, _raw, search = searched(broken, Conditions((Contains(b"some"),)), "none")
    assert (len(found), damages, search.counts.num_verified) == (1, [], 0)


def test_messages_of_old_formats_are_searched(engine: str) -> None:
    inner = b"".join(message(at, b"m%d %s" % (at, NEEDLE if at == 2 else b"")) for at in range(3))
    wrapper = message(7, gzip_member(inner), attributes=1)
    data = message(4, NEEDLE, magic=0) + wrapper + message(8, b"plain " + NEEDLE)
    conditions = Conditions((Contains(NEEDLE),))
    found, damages, _raw, _search = searched(data, conditions)
    assert [one.offset for one in found] == [4, 7, 8]
    assert (found, damages) == events(data, conditions)


def test_a_string_across_two_records_is_no_find(engine: str) -> None:
    one, two = record(0, None, b"abc"), record(1, None, b"def")
    data = batch(0, [one, two])
    assert one[-4:] + two[:2] in data
    assert searched(data, Conditions((Contains(one[-4:] + two[:2]),)))[0] == []


def test_large_damage_is_searched_where_windows_meet() -> None:
    noise = bytearray(Random(1).randbytes(raw_search._LEN_WINDOW + 4000))
    border = raw_search._LEN_WINDOW
    places = [10, border - raw_search._LEN_OVERLAP - 3, border - 5, len(noise) - len(NEEDLE)]
    for at in places:
        noise[at : at + len(NEEDLE)] = NEEDLE
    damage = Damage("x.log", 0, len(noise), TruncatedError("cut"), None, None)
    source = open_source(bytes(noise))
    raw = list(
        search_damage(source, damage, (Contains(NEEDLE), HasJson(parse_json_test("$"), "$")), TimeBound())
    )
    assert [one.position for one in raw] == places


def test_unreadable_blocks_of_damage_are_passed_over() -> None:
    data = bytearray(20_000)
    for at in (5_000, 13_000):
        data[at : at + len(NEEDLE)] = NEEDLE
    source = BadBlock(bytes(data), 8192)
    damage = Damage("x.log", 100, len(data), TruncatedError("cut"), None, None)
    raw = list(search_damage(source, damage, (Contains(NEEDLE),), TimeBound()))
    assert [one.position for one in raw] == [5_000, 13_000]


class BadBlock:
    """A source with a block that cannot be read."""

    name, is_memory, descriptor = "x.log", True, -1

    def __init__(self, data: bytes, bad: int) -> None:
        self._data, self._bad, self.size = data, bad, len(data)

    def read(self, position: int, size: int) -> bytes:
        if position < self._bad + 4096 and position + size > self._bad:
            raise ReadError("bad", errno=5, position=max(position, self._bad))
        return self._data[position : position + size]

    def window(self, position: int, size: int, buffer: memoryview) -> bytes:
        return self.read(position, size)

    def close(self) -> None:
        pass


def test_entries_where_windows_meet_are_searched_once(engine: str) -> None:
    batches = []
    for number in range(130):
        value = bytes(30_000) + (NEEDLE if number in {2, 69, 70, 129} else b"other")
        batches.append(batch(number, [record(0, b"k", value)]))
    broken = sum(map(len, batches[:100]))
    data = patched(b"".join(batches), broken + 70, b"\xff\xff")
    conditions = Conditions((Contains(NEEDLE),))
    found, damages, _raw, search = searched(data, conditions)
    assert [one.offset for one in found] == [2, 69, 70, 129]
    assert [one.position for one in damages] == ([broken] if engine == "plain" else [])
    found, damages, _raw, search = searched(data, conditions, "all")
    assert [one.offset for one in found] == [2, 69, 70, 129]
    assert [(one.position, one.first_lost_offset, one.last_lost_offset) for one in damages] == [
        (broken, 100, 100)
    ]
    assert search.counts.num_batches == 130
