"""Arguments of `scan` and of what has the same ones (polars, DuckDB), checked and made a query."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict

from kafka_segments.core.formats.on_damage import OnDamage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.store_settings import STORE_PREFIXES, store_settings
from kafka_segments.errors import OptionError
from kafka_segments.query.option_values import time_of
from kafka_segments.query.query import (
    EARLIEST,
    LATEST,
    Condition,
    Limits,
    Query,
    TopicPartition,
    Topics,
    at_offsets,
)

__all__ = ["OffsetRange", "Path", "ScanOptions", "Time", "places_of", "query_of_arguments", "texts_of"]

Path = str | os.PathLike[str]
OffsetRange = tuple[int | None, int | None]
Time = datetime | int | str


class ScanOptions(TypedDict, total=False):
    """Arguments of `scan` for its rows, by name; what reads the same rows takes them too.

    Attributes:
        topics: names; all but internal topics if None.
        partitions: numbers, for all those topics; or pairs of topic and number, such as `("orders", 3)`.
        offsets: `(start, end)`: only records with start <= offset < end, None is open. Or a pair for each
            partition to read, by topic and number: missing offsets of these ranges are lost.
        since: only records at or after this time: with a time zone, a text in ISO 8601 (UTC unless it names a
            zone), or milliseconds since 1970. Records without a timestamp are excluded if a time is given.
        until: only records before this time.
        isolation: "read_committed" excludes records of aborted and open transactions.
        on_damage: "raise" raises the first damage, loss of offsets or doubtful transaction; "skip" continues
            after it; a function receives each as a `Damage`.
        max_timestamp_skew: the most by which a record may be earlier than one before it (a timedelta, or
            milliseconds): reading can then stop after `until`. Without it, later records are read too,
            because producers may set any time.
        storage_options: settings of stores by Hadoop's names (`fs.s3a.endpoint`), also prefixed with
            `spark.hadoop.`.
        max_decompressed: bytes that one batch may decompress to; a larger one is damage.
        threads: that read at a time, each another segment, or another part of a large one.
        in_order: with several threads, whether rows come by partition and offset; those that wait for their
            turn take up to some 50 MiB for each thread. Else batches come as they are read, which is faster.
    """

    topics: str | Iterable[str] | None
    partitions: Iterable[int] | Iterable[TopicPartition] | None
    offsets: OffsetRange | Mapping[TopicPartition, OffsetRange] | None
    since: Time | None
    until: Time | None
    isolation: Literal["read_uncommitted", "read_committed"]
    on_damage: OnDamage
    max_timestamp_skew: timedelta | int | None
    storage_options: Mapping[str, str] | None
    max_decompressed: int
    threads: int
    in_order: bool


_WHOLE = Limits(max_partition_bytes=1 << 62)
# What makes some 3 Arrow batches: more that wait for their turn would not be in memory that is used again. To
# read all headers first takes as long as to read the records.
_SHARED = Limits(max_partition_bytes=16 << 20, max_compressed_bytes=8 << 20, only_by_index=True)


def places_of(storage_options: Mapping[str, str] | None) -> Places:
    """Return the filesystems by path, with settings of stores.

    Raises:
        OptionError: an option that is not a setting of a store.
    """
    options = dict(storage_options or {})
    unknown = [name for name in options if not name.startswith(STORE_PREFIXES)]
    if unknown:
        raise OptionError(
            f"unknown storage option {unknown[0]}: settings of stores have Hadoop's names, for example "
            "fs.s3a.endpoint (docs/stores.md)"
        )
    return Places(store_settings(options))


def texts_of(paths: Any) -> list[str]:
    """Return a path or several ones as texts.

    Raises:
        OptionError: no path, or something else than a path.
    """
    found = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
    found = list(found) if isinstance(found, Iterable) else [found]
    for path in found:
        if not isinstance(path, (str, os.PathLike)):
            raise OptionError(f"a path is of type {type(path).__name__}: give a str or a path")
    if not found:
        raise OptionError(
            "there is no path in paths: give a log directory, a partition's directory or a segment"
        )
    return [os.fsdecode(path) for path in found]


def query_of_arguments(
    *,
    topics: str | Iterable[str] | None = None,
    partitions: Iterable[int] | Iterable[TopicPartition] | None = None,
    offsets: OffsetRange | Mapping[TopicPartition, OffsetRange] | None = None,
    since: Time | None = None,
    until: Time | None = None,
    isolation: Any = "read_uncommitted",
    max_timestamp_skew: timedelta | int | None = None,
    threads: int = 1,
) -> Query:
    """Make a query, of parts that threads can share; arguments as for `scan`.

    Raises:
        OptionError: an invalid argument, or arguments that contradict each other.
    """
    from kafka_segments.core.segment.columnar.stream import check_offsets

    times = time_of("since", since), time_of("until", until)
    limits = _SHARED if threads > 1 else _WHOLE
    query = replace(_of_partitions(topics, partitions, offsets), isolation=isolation, limits=limits)
    conditions = list(query.conditions)
    if not isinstance(offsets, Mapping):
        conditions += _between("offset", *check_offsets(offsets))
    conditions += _between("timestamp", *times)
    return replace(query, conditions=tuple(conditions), max_timestamp_skew_ms=_skew(max_timestamp_skew))


def _of_partitions(
    topics: str | Iterable[str] | None,
    partitions: Iterable[int] | Iterable[TopicPartition] | None,
    offsets: Any,
) -> Query:
    """Make a query from the selected partitions and a mapping of offsets."""
    names = None if topics is None else frozenset(_listed("topics", topics))
    numbers = None if partitions is None else _listed("partitions", partitions)
    if isinstance(offsets, Mapping):
        if names is not None or numbers is not None:
            raise OptionError(
                "offsets by partition say which partitions are read: leave topics and partitions out"
            )
        return _at_offsets(_listed("offsets", offsets), offsets)
    if names is not None and not all(isinstance(name, str) for name in names):
        raise OptionError(f"topics are names, not {topics!r}")
    if numbers is None or all(_is_number(one) for one in numbers):
        conditions = () if numbers is None else (Condition("partition", values=frozenset(numbers)),)
        return Query(Topics(names=names), conditions=conditions)
    if names is not None or not all(map(_is_partition, numbers)):
        raise OptionError("partitions are numbers, or pairs of topic and number where no topics are given")
    return Query(Topics(partitions=frozenset(numbers)))


def _at_offsets(keys: list[Any], offsets: Mapping[Any, Any]) -> Query:
    from kafka_segments.core.segment.columnar.stream import check_offsets

    if not all(map(_is_partition, keys)):
        raise OptionError(f"offsets are by pairs of topic and number, not {keys[0]!r}")
    pairs = {key: check_offsets(offsets[key] if offsets[key] is not None else ()) for key in keys}
    for (topic, partition), pair in pairs.items():
        if any(one is not None and one < 0 for one in pair):
            raise OptionError(f"offsets of {topic}-{partition} are {pair}, below 0: None is open")
    start = at_offsets({key: EARLIEST if one[0] is None else one[0] for key, one in pairs.items()})
    end = at_offsets({key: LATEST if one[1] is None else one[1] for key, one in pairs.items()})
    return Query(Topics(partitions=frozenset(keys)), start, end)


def _listed(name: str, given: Any) -> list[Any]:
    """What an argument names: one thing at least."""
    if not isinstance(given, Iterable):
        raise OptionError(f"{name} is {given!r}: give a list")
    found = [given] if isinstance(given, str) else list(given)
    if not found:
        raise OptionError(f"{name} names nothing; leave it out to read all")
    return found


def _is_number(one: Any) -> bool:
    return isinstance(one, int) and not isinstance(one, bool)


def _is_partition(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) and _is_number(one[1])


def _between(column: Any, start: int | None, end: int | None) -> Iterator[Condition]:
    if start is not None or end is not None:
        yield Condition(column, lowest=start, highest=None if end is None else end - 1)


def _skew(skew: Any) -> int | None:
    """The skew in milliseconds, rounded up."""
    if isinstance(skew, timedelta):
        return -(-skew // timedelta(milliseconds=1))
    if skew is not None and (not isinstance(skew, int) or isinstance(skew, bool)):
        raise OptionError(f"max_timestamp_skew is {skew!r}; give a timedelta, or milliseconds")
    return skew
