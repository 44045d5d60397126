"""Strategies: segments of entries in all the shapes that Kafka's formats can have.

Strategy: Hypothesis draws some bytes for a whole segment, and `Dice` spends them, choice by choice; long runs
of records repeat a few, large values come from a seed. One draw is quick enough for twenty thousand batches,
and Hypothesis, which varies parts of what it drew before, does not give most of them twice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from tests.made.codecs import FORMS, LEGACY_FORMS, codec_of
from tests.made.encoder import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    Batch,
    Entry,
    Header,
    Message,
    Record,
    Wrapper,
)

# What fails is not made smaller: with so many drawn bytes that takes minutes and makes nothing clearer.
QUICK = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
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

LEN_DRAWN = 256
"""Bytes that are drawn for each entry; few need more, and all choices behind them are simple."""


class Dice:
    """Drawn bytes, spent choice by choice."""

    def __init__(self, drawn: bytes) -> None:
        self._number = int.from_bytes(drawn, "little")

    def below(self, sides: int) -> int:
        """A choice among `sides`; 0 when all is spent."""
        self._number, rolled = divmod(self._number, sides)
        return rolled

    def choose(self, options: Sequence[T]) -> T:
        """One of them; the first is the simplest."""
        return options[self.below(len(options))]

    def piece(self, longest: int = 24) -> bytes:
        """Some bytes, or none."""
        size = self.below(longest + 1)
        return self.below(256**size).to_bytes(size, "little")


def _content(dice: Dice, longest: int) -> bytes | None:
    """A key or value: null, empty, a few bytes, or enough that its length takes two bytes."""
    kind = dice.below(8)
    if kind > 5:
        return None if kind == 6 else b""
    return dice.piece(longest) * (9 if kind == 5 else 1)


def _headers(dice: Dice) -> tuple[Header, ...]:
    """Up to four, duplicates among them, values null or not."""
    return tuple(
        (dice.choose(HEADER_KEYS), None if dice.below(4) == 1 else dice.piece(9))
        for _ in range(dice.below(4) + 1)
    )


def _record(dice: Dice) -> Record:
    """One record; its offset delta is set by the batch."""
    kind = dice.below(8)
    return Record(
        timestamp_delta=dice.choose(TIME_DELTAS),
        key=_content(dice, 9),
        value=_content(dice, 24),
        headers=_headers(dice) if kind > 4 else (),
        attributes=-1 if kind == 1 else 0,
    )


def _run(dice: Dice) -> tuple[Record, ...]:
    """The records of a batch, in ascending order of their offsets unless chosen otherwise."""
    kind = dice.below(50)
    if kind == 1:
        return ()
    start, step = dice.choose([0, 0, 0, 0, 1, 300]), dice.choose(STEPS)
    found = [_record(dice) for _ in range(dice.choose([1, 2, 3, 1, 2, 5]))]
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


def _batch(dice: Dice, base_offset: int, forms: Sequence[str]) -> Batch:
    """A batch of magic 2."""
    kind = dice.below(16)
    producer, times = dice.choose(PRODUCERS), (dice.choose(TIMES), dice.choose(TIMES))
    form = dice.choose(forms)
    found = _run(dice)
    batch = Batch(
        base_offset=base_offset,
        records=found,
        form=form if found else "none",
        timestamp_type=LOG_APPEND_TIME if kind in (1, 2) else CREATE_TIME,
        is_transactional=kind in (3, 4),
        has_delete_horizon=kind == 5,
        base_timestamp=times[0],
        max_timestamp=times[1] if kind in (1, 2, 6) else None,
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


def _message(dice: Dice, offset: int, magic: int) -> Message:
    """A message of magic 0 or 1."""
    return Message(
        offset=offset,
        magic=magic,
        timestamp_type=LOG_APPEND_TIME if dice.below(4) == 1 and magic == 1 else CREATE_TIME,
        timestamp=dice.choose(TIMES),
        key=_content(dice, 9),
        value=_content(dice, 24),
    )


def _wrapper(dice: Dice, first_offset: int, forms: Sequence[str]) -> Wrapper:
    """A compressed message with others inside."""
    magic, kind, form, time = 1 - dice.below(2), dice.below(8), dice.choose(forms), dice.choose(TIMES)
    first_inner = min(first_offset, dice.choose([0, 0, 2]))
    of_librdkafka = magic == 1 and kind == 6 and 0 < first_offset < 10
    offset, inner = first_offset, []
    for _ in range(1 + dice.below(4)):
        # A wrapper's messages have its own magic, but for the damage of KAFKA-4298.
        inner.append(_message(dice, offset, 1 - magic if kind == 7 else magic))
        offset += dice.choose(STEPS)
    return Wrapper(
        messages=tuple(inner),
        magic=magic,
        form=form,
        timestamp=time,
        timestamp_type=LOG_APPEND_TIME if magic and kind in (4, 5) else CREATE_TIME,
        first_inner=0 if of_librdkafka else first_inner,
        of_librdkafka=of_librdkafka,
    )


def segment(dice: Dice, size: int, codec: str | None) -> list[Entry]:
    """Entries as `segments` gives them, chosen by dice."""
    forms = [form for form in FORMS if codec in (None, codec_of(form))]
    legacy_forms = [form for form in forms if form in LEGACY_FORMS]
    offset = dice.choose(FIRST_OFFSETS)
    found: list[Entry] = []
    for _ in range(size):
        kind, gap = dice.below(12), dice.choose(GAPS)
        if kind < 9:
            found.append(_batch(dice, offset, forms))
        elif kind > 9 and legacy_forms:
            found.append(_wrapper(dice, offset, legacy_forms))
        else:
            found.append(_message(dice, offset, dice.below(2)))
        highest = max([found[-1].last_offset(), offset, *(row.offset for row in found[-1].rows())])
        # A Java long would not hold what comes after the highest.
        offset = highest + 1 + gap if highest < HIGHEST - (1 << 32) else 1 << 20
    return found


def segments(size: int = 4, codec: str | None = None) -> st.SearchStrategy[list[Entry]]:
    """Lists of `size` entries with ascending offsets, gaps among them; a quarter of them of the old formats.

    Args:
        size: how many.
        codec: what all that are compressed are compressed with; any if None.
    """
    drawn = st.binary(min_size=LEN_DRAWN * size, max_size=LEN_DRAWN * size)
    return drawn.map(lambda data: segment(Dice(data), size, codec))
