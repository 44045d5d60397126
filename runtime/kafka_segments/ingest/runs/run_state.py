"""State of a table after a run: its settings, how far each partition was read, and the files of the run."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from kafka_segments.core.formats.file_names import Count, InnerPath, PartitionNumber, TopicName
from kafka_segments.ingest.runs.account import Account
from kafka_segments.query.continuation import PartitionState
from kafka_segments.query.query import TopicPartition
from kafka_segments.query.table_words import DIVISIONS

__all__ = [
    "CatalogTable",
    "DamagedBytes",
    "DataFile",
    "PartitionState",
    "Rewound",
    "RunState",
    "TableSettings",
    "following",
    "updated",
]


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table in a catalog of pyiceberg's configuration.

    Attributes:
        catalog: its name there.
        identifier: of the table: namespace and name, with dots between.
    """

    catalog: str
    identifier: str

    def __str__(self) -> str:
        return f"{self.catalog}, {self.identifier}"


@dataclass(frozen=True, slots=True)
class TableSettings:
    """What is the same in all runs into a table; a run with other settings is refused.

    Attributes:
        kind: of table: "parquet", "delta", "iceberg".
        columns: names, in order; later runs may add some, which older rows do not have.
        isolation: of transactions.
        divided_by: "date" or "hour": files are also divided by the records' timestamps; None if not.
        layout: of another system's tables; None for columns of our own.
        catalog: where an Iceberg table is; None beside its data.
    """

    kind: str
    columns: tuple[str, ...]
    isolation: Literal["read_uncommitted", "read_committed"]
    divided_by: Annotated[str, Meta(pattern=rf"\A({'|'.join(DIVISIONS)})\Z")] | None = None
    layout: str | None = None
    catalog: CatalogTable | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of rows.

    Attributes:
        path: below the destination.
        topic: of all rows; None for a file without rows.
        partition: likewise.
        num_rows: rows.
        num_bytes: of the file.
        first_offset: the lowest offset; None without rows.
        last_offset: the highest.
    """

    path: InnerPath
    topic: TopicName | None
    partition: PartitionNumber | None
    num_rows: Count
    num_bytes: Count
    first_offset: Count | None = None
    last_offset: Count | None = None


@dataclass(frozen=True, slots=True)
class DamagedBytes:
    """Bytes of a segment that could not be decoded, kept in a file.

    Attributes:
        path: of the file, below the destination.
        topic: its name.
        partition: its number.
        source: the segment.
        position: where they begin in it.
        end_position: where they end.
        error: what is wrong with them.
        first_lost_offset: of the offsets lost with them, None if unknown.
        last_lost_offset: likewise.
    """

    path: InnerPath
    topic: TopicName
    partition: PartitionNumber
    source: str
    position: Count
    end_position: Count
    error: str
    first_lost_offset: int | None = None
    last_lost_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Rewound:
    """A partition that a run has set back.

    Attributes:
        topic: its name.
        partition: its number.
        offset: the next offset since then; None if the table has nothing of it any more.
    """

    topic: TopicName
    partition: PartitionNumber
    offset: Count | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """A run, and the state of the table after it.

    Attributes:
        number: of the run, from 1.
        run_id: random; names the directory that its files were written to.
        written_ms: when it was committed, in milliseconds since 1970.
        settings: of the table.
        partitions: all that were ever read, by topic and number.
        files: that the run adds.
        removed: paths of files that it removes.
        accounts: of the partitions that it read.
        damaged: bytes that it could not decode.
        rewound: partitions that it sets back.
        placeholder: path of the file without rows that a directory of Parquet without others has.
    """

    number: int
    run_id: str
    written_ms: int
    settings: TableSettings
    partitions: tuple[PartitionState, ...] = ()
    files: tuple[DataFile, ...] = ()
    removed: tuple[InnerPath, ...] = ()
    accounts: tuple[Account, ...] = ()
    damaged: tuple[DamagedBytes, ...] = ()
    rewound: tuple[Rewound, ...] = ()
    placeholder: InnerPath | None = None

    def by_partition(self) -> dict[TopicPartition, PartitionState]:
        """The state of each partition."""
        return {(one.topic, one.partition): one for one in self.partitions}

    def paths(self) -> list[str]:
        """The paths, below the destination, of all files that the run has written."""
        return [*(one.path for one in self.files), *(one.path for one in self.damaged)]


def following(before: RunState | None, run_id: str, settings: TableSettings, **more: Any) -> RunState:
    """Return a run after another one, or the first: with its placeholder, and what else is given."""
    number, placeholder = (0, None) if before is None else (before.number, before.placeholder)
    now = time.time_ns() // 1_000_000
    return RunState(number + 1, run_id, now, settings, placeholder=placeholder, **more)


def updated(
    known: dict[TopicPartition, PartitionState], new: Iterable[PartitionState]
) -> tuple[PartitionState, ...]:
    """Return the state of all partitions after a run, by topic and number."""
    both = known | {(one.topic, one.partition): one for one in new}
    return tuple(both[key] for key in sorted(both))
