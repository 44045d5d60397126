"""Conditions of a search: which records are found, and which batches cannot hold any of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kafka_segments.core.formats.entries import Batch, Damage, Record
from kafka_segments.search.content_tests import ContentTest

__all__ = ["Conditions"]


@dataclass(frozen=True)
class Conditions:
    """Conditions that a record must fulfil, all of them.

    Attributes:
        tests: of its content.
        start: the lowest offset; None for any.
        end: the offset after the highest one; None for any.
        since: the earliest timestamp, in milliseconds; None for any.
        until: the timestamp that it must be before; None for any.
        producer_id: of its producer; None for any.
    """

    tests: tuple[ContentTest, ...] = ()
    start: int | None = None
    end: int | None = None
    since: int | None = None
    until: int | None = None
    producer_id: int | None = None

    @cached_property
    def needles(self) -> tuple[bytes, ...]:
        """Byte strings that a record must contain, each in one piece."""
        found = (test.needle for test in self.tests)
        return tuple(dict.fromkeys(needle for needle in found if needle is not None))

    @property
    def has_header_conditions(self) -> bool:
        """Whether a batch's header can leave it out."""
        given = self.start, self.end, self.since, self.producer_id
        return any(one is not None for one in given)

    def may_hold(self, batch: Batch) -> bool:
        """Return whether a batch may hold a record that is looked for, by its header; control batches, too.

        Their records are read for damage alone, which decides what is sound after them.
        """
        if self.producer_id is not None and batch.producer_id != self.producer_id:
            return False
        if self.since is not None and batch.magic > 0 and batch.max_timestamp < self.since:
            return False
        first = batch.base_offset
        if self.end is not None and first is not None and first >= self.end:
            return False
        return self.start is None or batch.highest_offset >= self.start

    def holds(self, record: Record) -> bool:
        """Return whether a record of a batch that `may_hold` it fulfils all conditions."""
        offset, timestamp = record.offset, record.timestamp
        if (self.start is not None and offset < self.start) or (self.end is not None and offset >= self.end):
            return False
        if (self.since is not None and timestamp < self.since) or (
            self.until is not None and not 0 <= timestamp < self.until
        ):
            return False
        return all(test.holds(record) for test in self.tests)

    def touches(self, damage: Damage) -> bool:
        """Return whether damage may hide a record that is looked for."""
        return damage.touches(self.start, self.end)
