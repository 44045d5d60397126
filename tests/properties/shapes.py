"""Strategies: segments of entries in all the shapes that Kafka's formats can have.

Strategy: Hypothesis draws one number for all choices of an entry (`Dice` spends it), one more and some bytes for
each record; long runs of records repeat a few drawn ones, and large values repeat drawn bytes or come from a
seed. So an example costs few draws, can be drawn twenty thousand times, and still shrinks.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st
from tests.properties.codecs import FORMS, LEGACY_FORMS, codec_of
from tests.properties.encoder import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    Batch,
    Entry,
    Header,
    Message,
    Record,
    Wrapper,
)

LARGE = 64 << 10
"""From how many bytes on a key or value counts as large."""
MANY = 100
"""From how many records on a batch has many."""

HIGHEST = (1 << 63) - 1
LOWEST = -HIGHEST - 1
TIMES = [1_700_000_000_000] * 4 + [0, -1, 1, 253_402_300_800_000, HIGHEST, LOWEST, 1 << 32]
TIME_DELTAS = [0, 1, 2, 40, 0, 1, 2, 40, -1, 63, 64, -64, -65, 1 << 20, -(1 << 40), HIGHEST, LOWEST]
FIRST_OFFSETS = [0, 0, 1, 7, 5000, (1 << 31) - 3, 1 << 32, (1 << 62) + 11]
GAPS = [0, 0, 0, 1, 3, 200]
STEPS = [1, 1, 1, 1, 2, 64, 9000]
STRANGE_DELTAS = [(-5, 1), (9, -3), (5, 0), ((1 << 31) - 6, 1), (-(1 << 31), 7)]
HEADER_KEYS = [b"h", b"trace", b"", b"\xff\xfe", "schlüssel".encode(), b"\xed\xa0\x80", b"\0", b"k" * 70]
PRODUCERS = [(-1, -1, -1), (-1, -1, -1), (7, 0, 0), (1 << 40, 32767, (1 << 31) - 2)]
CONTROL_VALUES = {0: b"\0\0\0\0\0\3", 1: b"\0\0\0\0\0\7", 5: b"\0\0\0\1\0", 337: b"?"}

T = TypeVar("T")

# As bytes: Hypothesis draws large integers with a bias to small ones, whose later choices are all the first.
numbers = st.binary(min_size=8, max_size=8).map(lambda drawn: int.from_bytes(drawn, "little"))
pieces = st.binary(max_size=24)


class Dice:
    """A drawn number, spent choice by choice."""

    def __init__(self, number: int) -> None:
        self._number = number

    def below(self, sides: int) -> int:
        """A choice among `sides`; 0 when the number is spent."""
        self._number, rolled = divmod(self._number, sides)
        return rolled

    def choose(self, options: Sequence[T]) -> T:
        """One of them; the first is the simplest."""
        return options[self.below(len(options))]


def _content(dice: Dice, piece: bytes) -> bytes | None:
    """A key or value: null, empty, a few bytes, or enough that its length takes two bytes."""
    kind = dice.below(8)
    if kind > 5:
        return None if kind == 6 else b""
    return piece * 9 if kind == 5 else piece


def _headers(dice: Dice, piece: bytes) -> tuple[Header, ...]:
    """Up to four, duplicates among them, values null or not."""
    return tuple(
        (dice.choose(HEADER_KEYS), None if dice.below(4) == 1 else piece[: place * 3])
        for place in range(dice.below(4) + 1)
    )


@st.composite
def records(draw: st.DrawFn) -> Record:
    """One record; its offset delta is set by the batch."""
    dice, piece = Dice(draw(numbers)), draw(pieces)
    kind = dice.below(8)
    return Record(
        timestamp_delta=dice.choose(TIME_DELTAS),
        key=_content(dice, piece[:9]),
        value=_content(dice, piece),
        headers=_headers(dice, piece) if kind > 4 else (),
        attributes=-1 if kind == 1 else 0,
    )


@st.composite
def runs(draw: st.DrawFn, dice: Dice) -> tuple[Record, ...]:
    """The records of a batch, in ascending order of their offsets unless drawn otherwise."""
    kind = dice.below(50)
    if kind == 1:
        return ()
    found = [draw(records()) for _ in range(dice.choose([1, 2, 3, 1, 2, 5]))]
    start, step = dice.choose([0, 0, 0, 0, 1, 300]), dice.choose(STEPS)
    if kind == 2:
        found = _repeated(found, MANY + dice.below(MANY))
    elif kind in (3, 5):
        found[-1] = _enlarged(dice, found[-1])
    elif kind == 4:
        start, step = dice.choose(STRANGE_DELTAS)
    return tuple(record._replace(offset_delta=start + index * step) for index, record in enumerate(found))


def _repeated(found: list[Record], count: int) -> list[Record]:
    """`count` records like those few, no two neighbours alike."""
    return [
        found[index % len(found)]._replace(
            timestamp_delta=index * 3 - 50, value=b"%d of many" % index if index % 7 else None
        )
        for index in range(count)
    ]


def _enlarged(dice: Dice, record: Record) -> Record:
    size, seed = LARGE + dice.below(LARGE), dice.below(3)
    large = random.Random(seed).randbytes(size) if seed else (b"0123456789abcdef" * (size // 16 + 1))[:size]
    field = dice.choose(["value", "value", "key", "headers"])
    return record._replace(**{field: ((b"large", large),) if field == "headers" else large})


@st.composite
def batches(draw: st.DrawFn, base_offset: int = 0, forms: Sequence[str] = tuple(FORMS)) -> Batch:
    """A batch of magic 2."""
    dice = Dice(draw(numbers))
    found = draw(runs(dice))
    kind = dice.below(16)
    producer = dice.choose(PRODUCERS)
    batch = Batch(
        base_offset=base_offset,
        records=found,
        form=dice.choose(forms) if found else "none",
        timestamp_type=LOG_APPEND_TIME if kind in (1, 2) else CREATE_TIME,
        is_transactional=kind in (3, 4),
        has_delete_horizon=kind == 5,
        base_timestamp=dice.choose(TIMES),
        max_timestamp=dice.choose(TIMES) if kind in (1, 2, 6) else None,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        leader_epoch=kind - 1,
    )
    if kind == 7 or not found:  # compaction has removed the last records, or all
        highest = max([4, *(record.offset_delta for record in found)])
        return replace(batch, last_offset_delta=min(highest + 3, (1 << 31) - 1))
    return _control(dice, batch) if kind == 9 else batch


def _control(dice: Dice, batch: Batch) -> Batch:
    """A control batch with markers, or with types that nobody knows."""
    kinds = [dice.choose(list(CONTROL_VALUES)) for _ in range(1 + dice.below(2))]
    markers = tuple(
        Record(offset_delta=delta, key=b"\0\0" + kind.to_bytes(2, "big"), value=CONTROL_VALUES[kind])
        for delta, kind in enumerate(kinds)
    )
    return replace(batch, records=markers, is_control=True, last_offset_delta=None)


@st.composite
def messages(draw: st.DrawFn, offset: int = 0, magic: int | None = None) -> Message:
    """A message of magic 0 or 1, of the one given or any."""
    dice, piece = Dice(draw(numbers)), draw(pieces)
    kind = dice.below(4)
    magic = kind % 2 if magic is None else magic
    return Message(
        offset=offset,
        magic=magic,
        key=_content(dice, piece[:9]),
        value=_content(dice, piece),
        timestamp=dice.choose(TIMES),
        timestamp_type=LOG_APPEND_TIME if magic == 1 and kind == 3 else CREATE_TIME,
    )


@st.composite
def wrappers(draw: st.DrawFn, first_offset: int = 0, forms: Sequence[str] = LEGACY_FORMS) -> Wrapper:
    """A compressed message with others inside."""
    dice = Dice(draw(numbers))
    magic, kind = 1 - dice.below(2), dice.below(8)
    offset, inner = first_offset, []
    for _ in range(1 + dice.below(4)):
        # A wrapper's messages have its own magic, but for the damage of KAFKA-4298.
        inner.append(draw(messages(offset, 1 - magic if kind == 7 else magic)))
        offset += dice.choose(STEPS)
    of_librdkafka = magic == 1 and kind == 6 and 0 < first_offset < 10
    return Wrapper(
        messages=tuple(inner),
        magic=magic,
        form=dice.choose(forms),
        timestamp=dice.choose(TIMES),
        timestamp_type=LOG_APPEND_TIME if magic and kind in (4, 5) else CREATE_TIME,
        first_inner=0 if of_librdkafka else min(first_offset, dice.choose([0, 0, 2])),
        of_librdkafka=of_librdkafka,
    )


@st.composite
def segments(draw: st.DrawFn, size: int = 4, codec: str | None = None) -> list[Entry]:
    """`size` entries with ascending offsets, gaps among them; a quarter of them of the old formats.

    Args:
        draw: given by Hypothesis.
        size: how many.
        codec: what all that are compressed are compressed with; any if None.
    """
    dice = Dice(draw(numbers))
    offset = dice.choose(FIRST_OFFSETS)
    found: list[Entry] = []
    for _ in range(size):
        entry = draw(_entries(dice, offset, codec))
        found.append(entry)
        highest = max([entry.last_offset(), offset, *(row.offset for row in entry.rows())])
        # A Java long would not hold what comes after the highest.
        offset = highest + 1 + dice.choose(GAPS) if highest < HIGHEST - (1 << 32) else 1 << 20
    return found


def _entries(dice: Dice, offset: int, codec: str | None) -> st.SearchStrategy[Entry]:
    forms = [form for form in FORMS if codec in (None, codec_of(form))]
    legacy_forms = [form for form in forms if form in LEGACY_FORMS]
    kind = dice.below(12)
    if kind < 9:
        return batches(offset, forms)
    return wrappers(offset, legacy_forms) if kind > 9 and legacy_forms else messages(offset)
