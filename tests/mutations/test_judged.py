"""Kafka's own classes and we read the same bytes: the same verdict, and one side's records begin the other's.

The bytes are sound entries with something wrong in them (`cases`); those that brokers recorded, as they are,
`properties/` and `oracle/` compare. Both of our ways read them (`verdicts`). What differs is explained by
`explained`, or fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

import pytest
from tests import forms
from tests.made import edits
from tests.made.encoder import Batch, Record
from tests.made.parts import BATCH
from tests.mutations import verdicts
from tests.mutations.explained import EXPLAINED, Explained
from tests.mutations.found import FOUND
from tests.mutations.judge import Judge
from tests.mutations.run import CASES, EXPLANATIONS, PASSED, all_differences, lines, session
from tests.mutations.utf8 import java_text
from tests.numbered import go_through, spread

NUM_SHORT, NUM_FULL = 3_000, 210_000
MAX_EXPLAINED = 0.005
OF_MESSAGE = ["offset", "size", "crc", "magic", "attributes", "timestamp", "key_length", "value_length"]
OF_RECORD = ["length", "attributes", "timestamp_delta", "offset_delta", "key_length", "key", "value_length"]
OF_RECORD += [
    "value",
    "header_count",
    "header_key_length",
    "header_key",
    "header_value_length",
    "header_value",
]
FIELDS = [
    *(f"batch.{name}" for name in BATCH),
    *(f"record.{name}" for name in OF_RECORD),
    *(f"{kind}.{name}" for kind in ("message", "wrapper", "inner") for name in OF_MESSAGE),
    *(f"batch, compressed bytes, {codec}" for codec in ("gzip", "snappy", "lz4", "zstd")),
    *(f"wrapper, compressed bytes, {codec}" for codec in ("gzip", "snappy", "lz4")),
    *(f"{kind}, contents blindly" for kind in ("batch", "wrapper")),
]
"""What even a short run must have changed."""

PrintAtEnd = Callable[[str, list[str]], None]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as found:
        yield found


@pytest.mark.oracle
@pytest.mark.long
def test_mutations_are_read_alike(print_at_end: PrintAtEnd) -> None:
    if forms.IS_FULL:
        report = spread(partial(session, "judge"), range(NUM_FULL), processes=2, per_task=10_000)
    else:
        report = go_through(session("judge"), range(NUM_SHORT))
    print_at_end("Kafka's classes on mutations", list(lines(report)))
    report.check(forms.pick(NUM_SHORT, NUM_FULL))
    total, counts = report.num_cases, report.counts
    assert counts[PASSED].total() >= total / 2
    assert counts[EXPLANATIONS].total() <= total * MAX_EXPLAINED
    assert [name for name in FIELDS if counts[CASES][name] < total // 10_000 + 1] == []
    assert forms.pick([], [entry.name for entry in EXPLAINED if not counts[EXPLANATIONS][entry.name]]) == []


@pytest.mark.oracle
@pytest.mark.parametrize("entry", EXPLAINED, ids=lambda entry: entry.name)
def test_an_explanation_covers_its_vector_and_not_its_near_miss(judge: Judge, entry: Explained) -> None:
    assert entry.covers(entry.vector)
    assert all_differences(entry.vector, judge.answer(entry.vector)) != []
    assert not entry.covers(entry.near_miss)
    assert all_differences(entry.near_miss, judge.answer(entry.near_miss)) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once_is_read_alike(judge: Judge, name: str) -> None:
    data, word = FOUND[name]
    answer = judge.answer(data)
    assert verdicts.of_kafka(answer, check_crc=True).word == word
    assert all_differences(data, answer) == []


def test_explanations_are_few() -> None:
    assert len(EXPLAINED) <= 15
    assert len({entry.name for entry in EXPLAINED}) == len(EXPLAINED)


@pytest.mark.oracle
def test_java_text(judge: Judge) -> None:
    """Our idea of what Java makes of a header's key, in which verdicts are compared, is Java's."""
    dice = Random(8)
    few = bytes.fromhex("41 80 bf c0 c3 e0 e2 ed a0 9f ef f0 90 f4 8f f5 ff")
    keys = [*edits.BAD_TEXT, *(bytes(dice.choices(few, k=dice.randrange(9))) for _ in range(5000))]
    batch = Batch(records=tuple(Record(at, headers=((key, None),)) for at, key in enumerate(keys)))
    (found,) = judge.answer(batch.encode())["batches"]
    assert [text for record in found["records"] for text in record["keys"]] == list(map(java_text, keys))


@pytest.mark.oracle
def test_a_difference_is_seen(judge: Judge) -> None:
    """Kafka's answer to other bytes: each of these must be called a difference."""
    right = Batch(records=(Record(0, key=b"k"), Record(1, value=b"v", headers=((b"h", b"1"),))))
    others = {
        "header": Batch(records=right.records, leader_epoch=7),
        "record": Batch(records=(right.records[0], Record(1, value=b"v", headers=((b"h", b"2"),)))),
        "Kafka reads": Batch(records=right.records[:1], last_offset_delta=1),
        "Kafka: broken": Batch(records=right.records, count=3),
    }
    assert all_differences(right.encode(), judge.answer(right.encode())) == []
    for word, other in others.items():
        found = all_differences(right.encode(), judge.answer(other.encode()))
        assert [text for text in found if text.startswith(word)] != [], word
    stale = right.encode()[:-1] + b"?"
    found = all_differences(right.encode(), judge.answer(stale))
    assert [text for text in found if text.startswith("Kafka: checksum")] != []
