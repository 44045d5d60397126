"""Tables of a topic at both isolation levels, held against Kafka's consumer of a running broker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.broker.harness import ISOLATIONS
from tests.ingest.ingested import INGEST_TITLES, OFFSETS, Run, Table, parquet_rows
from tests.ingest.running import RunningBroker
from tests.spark.kafka_rows import Row

from kafka_segments.ingest.runs.run_log import RunLog


class Commands(NamedTuple):
    """`ingest --engine local`, and `audit`."""

    ingest: Run
    audit: Run


class Tables:
    """A table for each isolation level.

    Args:
        broker: which is asked what consumers read.
        commands: that write and audit.
        folder: for the tables.
        topic: the only one in them.
        sources: of the runs; the broker's log directory if there are none.
    """

    def __init__(
        self, broker: RunningBroker, commands: Commands, folder: Path, topic: str, *sources: Path
    ) -> None:
        self.broker, self.topic = broker, topic
        self._commands, self._folder, self._sources = commands, folder, sources or (broker.data,)

    def beside(self, name: str, *sources: Path) -> Tables:
        """Other tables of the topic."""
        folder = self._folder.with_name(name)
        return Tables(self.broker, self._commands, folder, self.topic, *(sources or self._sources))

    def path(self, isolation: str) -> Path:
        """Where one is."""
        return self._folder / isolation

    def rows(self, isolation: str) -> list[Row]:
        """The rows."""
        return parquet_rows(self.path(isolation))

    def run(self, isolation: str, status: int = 0) -> tuple[dict[str, str], str]:
        """One run that ends with a status: its line of partition 0, and its messages."""
        found, table, err = self._ingest(isolation)
        assert found == status, err
        return table.get((self.topic, 0)) or self._still(isolation), err

    def _still(self, isolation: str) -> dict[str, str]:
        """The line that a partition without anything new would have: there is none in the table."""
        newest = RunLog(str(self.path(isolation))).newest()
        assert newest is not None
        offset = str(newest.by_partition()[self.topic, 0].next_offset)
        return dict.fromkeys(INGEST_TITLES, "0") | dict.fromkeys(OFFSETS, offset)

    def run_both(self, title: str = "records", status: int = 0) -> list[str]:
        """A run into each; what their lines of partition 0 say in a column."""
        return [self.run(isolation, status)[0][title] for isolation in ISOLATIONS]

    def refused(self) -> str:
        """The message of runs that have to be refused and to change nothing."""
        messages = set()
        for isolation in ISOLATIONS:
            before = self._state(isolation)
            status, table, err = self._ingest(isolation)
            assert (status, table) == (2, {}), err
            assert self._state(isolation) == before
            messages.add(err)
        (message,) = messages
        return message

    def audited(self, isolation: str) -> Table:
        """The lines of an audit that finds nothing amiss, in the table and in the sources."""
        status, table, err = self._commands.audit(self.path(isolation), *self._sources)
        assert status == 0, err
        return table

    def are_consumed(self, partitions: int = 1) -> Table:
        """Check rows, ends and counts of both against the consumer; the lines of the last audit."""
        every = self.broker.consumed(self.topic, "read_uncommitted", range(partitions))
        for isolation in ISOLATIONS:
            found = self.broker.consumed(self.topic, isolation, range(partitions))
            assert self.rows(isolation) == found.rows
            table = self.audited(isolation)
            for key, bounds in found.bounds.items():
                check_line(table[key], bounds, of(found.rows, key), of(every.rows, key))
        return table

    def _ingest(self, isolation: str) -> tuple[int, Table, str]:
        options = "--subscribe", self.topic, "--isolation", isolation
        return self._commands.ingest(*self._sources, self.path(isolation), *options)

    def _state(self, isolation: str) -> tuple[list[Row], object]:
        return self.rows(isolation), RunLog(str(self.path(isolation))).newest()


def of(rows: Sequence[Row], key: tuple[str, int]) -> list[Row]:
    """The rows of a partition."""
    return [row for row in rows if (row.topic, row.partition) == key]


def check_line(
    line: dict[str, str], bounds: tuple[int, int], given: Sequence[Row], every: Sequence[Row]
) -> None:
    """Check a line of an account of a log without gaps.

    Args:
        line: of `ingest` or `audit`.
        bounds: first and end offset, as the consumer has them.
        given: rows that the consumer was given at the isolation level.
        every: rows that it was given at `read_uncommitted`.
    """
    first, end = bounds
    below = [row for row in every if row.offset < end]
    counts = {name: int(line[name]) for name in ("records", "aborted", "control", "absent", "lost")}
    assert (int(line["first offset"]), int(line["end offset"])) == bounds
    assert counts == {
        "records": len(given),
        "aborted": len(below) - len(given),
        # What readers of all records are not given are the markers of transactions.
        "control": end - first - len(below),
        "absent": 0,
        "lost": 0,
    }
