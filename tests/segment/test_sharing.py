"""One segment, several iterations at a time: each sees what it would see alone."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import BinaryIO

import pytest
from tests.made.build import batch, message, patched, record

from kafka_segments import Batch, Damage, Record, Segment, open_segment
from kafka_segments.cli import jsonl
from kafka_segments.errors import KafkaFormatError, UnsupportedMagicError

RECORDED = Path(__file__).resolve().parents[1] / "vectors" / "recorded"
FAR = 10_000


def damaged_copy() -> bytes:
    """A recorded segment with damage of every kind that an iteration remembers something of.

    What is said of a damaged region depends on the last sound offset before it, and that on how far the
    records of the batch before could be read.
    """
    data = bytearray(
        (RECORDED / "kafka-4.3/clean/__transaction_state-0/00000000000000000000.log").read_bytes()
    )
    with open_segment(bytes(data)) as segment:
        batches = [entry for entry in segment.iter_entries() if isinstance(entry, Batch)]
    for one in batches[3::7]:
        data[one.end_position - 1] ^= 0x55  # a wrong checksum
    for one in batches[5::11]:
        data[one.position + 8] = 0x7F  # an absurd length
    sound, half = [record(0), record(1)], {"count": 4, "last_offset_delta": 9}
    behind = b"".join(
        batch(FAR + at, sound, **half) + b"no entry" * 5 + batch(FAR + at + 10) + message(FAR + at + 11)
        for at in range(0, 200, 20)
    )
    return bytes(data) + behind + batch(FAR + 200) + bytes(5000)


DATA = damaged_copy()


def lines(segment: Segment) -> Iterator[bytes]:
    for event in segment.iter_events(on_damage="skip"):
        yield jsonl.line(event, segment.path)


def by_hand(segment: Segment) -> Iterator[object]:
    """The same through the single steps; the message of an error stands for it."""
    for entry in segment.iter_entries("skip"):
        yield told(entry)
        if isinstance(entry, Batch) and entry.crc_valid:
            last_offset = None
            try:
                for each in segment.iter_records(entry):
                    last_offset = each.offset
                    yield each
            except UnsupportedMagicError as error:
                yield str(error)
            except KafkaFormatError as error:
                yield told(segment.damage_of(entry, error, last_offset))


def first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    """Where two walks part, None if nowhere: a number, for pytest would take minutes to show all of them."""
    pairs = enumerate(zip_longest(one, other))
    return next((number for number, (left, right) in pairs if left != right), None)


def told(event: object) -> object:
    if isinstance(event, Damage):
        return (*jsonl.line(event, event.path), event.previous_offset, event.next_offset)
    return (event, event.previous_offset) if isinstance(event, Batch) else event


class Slow(io.BytesIO):
    """A stream that lets other threads in between a seek and the read behind it."""

    name = "<bytes>"

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        found = super().seek(position, whence)
        time.sleep(0)
        return found


@pytest.fixture(scope="module", params=["bytes", "file", "map", "stream"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Segment]:
    path = tmp_path_factory.mktemp("sharing") / "00000000000000000000.log"
    path.write_bytes(DATA)
    sources: dict[str, str | bytes | BinaryIO] = {"bytes": DATA, "stream": Slow(DATA)}
    source = sources.get(request.param, str(path))
    with open_segment(source, mmap=request.param == "map") as segment:
        yield segment


def test_the_copy_has_what_is_to_be_kept_apart() -> None:
    with open_segment(DATA) as segment:
        events = list(segment.iter_events(on_damage="skip"))
    damages = [event for event in events if isinstance(event, Damage)]
    assert len({type(damage.error).__name__ for damage in damages}) >= 3
    assert len(damages) >= 30
    # Two records of each half-read batch are sound: what is behind it was lost from the third on.
    lost = [(each.first_lost_offset, each.last_lost_offset) for each in damages]
    assert lost[-2:] == [(FAR + 182, FAR + 189)] * 2


@pytest.mark.parametrize("walk", [lines, by_hand])
@pytest.mark.parametrize("ahead", [0, 1, 2, 29, 190])
def test_two_iterations_in_turns(
    opened: Segment, walk: Callable[[Segment], Iterator[object]], ahead: int
) -> None:
    alone = list(walk(opened))
    first, second = walk(opened), walk(opened)
    begin = list(islice(first, ahead))
    pairs = list(zip_longest(first, second))
    assert first_difference(begin + [one for one, _ in pairs if one is not None], alone) is None
    assert first_difference([other for _, other in pairs], alone) is None


def test_steps_in_any_order(opened: Segment) -> None:
    """Records of batches long past, and damage of any batch, while another iteration is on its way."""
    batches = [
        e for e in opened.iter_entries("skip") if isinstance(e, Batch) and e.crc_valid and e.magic == 2
    ]
    expected = [outcome(opened, each) for each in batches]
    walk = lines(opened)
    begin = list(islice(walk, 100))
    assert first_difference([outcome(opened, each) for each in reversed(batches)], expected[::-1]) is None
    assert first_difference([*begin, *walk], list(lines(opened))) is None


def outcome(segment: Segment, entry: Batch) -> list[object]:
    found: list[Record] = []
    try:
        found.extend(segment.iter_records(entry))
    except KafkaFormatError as error:
        return [*found, told(segment.damage_of(entry, error, found[-1].offset if found else None))]
    return list(found)


def test_damage_of_a_batch_knows_its_neighbours_by_itself() -> None:
    data = batch(5) + batch(10, [record(0)], count=2, last_offset_delta=4) + b"?" * 40 + batch(30)
    with open_segment(data) as segment:
        _, wrong, region, _ = segment.iter_entries("skip")
        assert isinstance(wrong, Batch) and isinstance(region, Damage)
        with pytest.raises(KafkaFormatError) as caught:
            list(segment.iter_records(wrong))
        for last_offset, first_lost in ((10, 11), (None, 6), (10, 11)):
            damage = segment.damage_of(wrong, caught.value, last_offset)
            assert (damage.first_lost_offset, damage.last_lost_offset) == (first_lost, 29)
        damages = [event for event in segment.iter_events(on_damage="skip") if isinstance(event, Damage)]
    # The entries alone do not tell that the batch is wrong inside; the events do.
    assert region.first_lost_offset == 15
    assert [each.first_lost_offset for each in damages] == [11, 11]


def test_threads_share_a_segment(opened: Segment) -> None:
    alone = list(chain(lines(opened), by_hand(opened)))
    results: dict[int, list[object]] = {}
    start = threading.Barrier(4)

    def read(number: int) -> None:
        start.wait()
        results[number] = list(chain(lines(opened), by_hand(opened)))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert sorted(results) == [0, 1, 2, 3]
    for result in results.values():
        assert first_difference(result, alone) is None


def test_an_iterator_goes_on_where_another_was_given_up(opened: Segment) -> None:
    alone = list(lines(opened))
    for number in (1, 70, 190):
        abandoned = lines(opened)
        assert list(islice(abandoned, number)) == alone[:number]
        following = lines(opened)
        assert next(following) == alone[0]
        del abandoned
        assert first_difference(list(following), alone[1:]) is None


def test_patching_is_seen() -> None:
    """The comparison itself: other bytes are other lines."""
    with open_segment(patched(DATA, 70, b"\xa5\xa5")) as other, open_segment(DATA) as segment:
        assert first_difference(list(lines(other)), list(lines(segment))) == 0
