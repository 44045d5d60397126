"""Queries and file options from the text of options.

Source: KafkaSourceProvider.getKafkaOffsetRangeLimit, validateGeneralOptions, JsonUtils of Spark's
connector/kafka-0-10-sql. Times take precedence over times by partition, and these over offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from kafka_segments.errors import OptionError
from kafka_segments.log.discovery import FileOptions
from kafka_segments.query.options import GivenOptions
from kafka_segments.query.query import LATEST, Bound, Limits, Query, Topics

__all__ = ["check_with_snapshot", "files_of", "latest_start", "query_of", "unused_options"]


def query_of(options: Mapping[str, str]) -> Query:
    """Make a query from options; other options are ignored.

    Args:
        options: as Spark has them: names in any case, values as text.

    Raises:
        OptionError: a value that is not allowed, or options that contradict each other; with the
            option's name.

    Example:
        >>> query_of({"subscribe": "a, b", "startingOffsets": "earliest"}).topics.names == {"a", "b"}
        True
    """
    given = GivenOptions(options)
    return Query(
        topics=Topics(given["subscribe"], given["subscribePattern"], given["assign"]),
        start=_bound(given, "starting"),
        end=_bound(given, "ending"),
        no_match=given["startingOffsetsByTimestampStrategy"],
        isolation=given["kafka.isolation.level"],
        limits=Limits(
            max_partition_bytes=given["maxPartitionBytes"],
            min_partitions=given["minPartitions"],
            max_records=given["maxRecordsPerPartition"],
            max_walk_bytes=given["maxWalkBytes"],
        ),
        fail_on_data_loss=given["failOnDataLoss"],
        max_timestamp_skew_ms=given["maxTimestampSkewMs"],
    )


def latest_start(options: Mapping[str, str]) -> Bound | None:
    """Return the start that options give, if it is the latest offset, of one partition at least; else None.

    Streams can begin there, queries cannot (`query_of` refuses it).

    Raises:
        OptionError: a value that is not allowed.
    """
    start = _bound(GivenOptions(options), "starting")
    is_latest = start.kind == "latest" or (start.kind == "offsets" and LATEST in start.by_partition.values())
    return start if is_latest else None


def check_with_snapshot(options: Mapping[str, str]) -> None:
    """Check the file options of a query that reads a snapshot.

    Raises:
        OptionError: one that selects files, for a snapshot holds the list of its files.
    """
    given = GivenOptions(options)
    for name in ("pathGlobFilter", "modifiedBefore", "modifiedAfter", "recursiveFileLookup"):
        if name in given:
            raise OptionError(f"give snapshot or {name}, not both: a snapshot holds the list of its files")


def unused_options(options: Mapping[str, str]) -> list[str]:
    """Warnings about options that others make useless, as in the connector."""
    given = GivenOptions(options)
    warnings = []
    for side in ("starting", "ending"):
        used, *others = [name for name in _bound_names(side) if name in given] or [""]
        warnings += [f"{name} is ignored: {used} takes precedence" for name in others]
    return warnings


def _bound_names(side: str) -> tuple[str, str, str]:
    """Names of the options for the start or end, in order of precedence."""
    return f"{side}Timestamp", f"{side}OffsetsByTimestamp", f"{side}Offsets"


def _bound(given: GivenOptions, side: str) -> Bound:
    names = _bound_names(side)
    bounds: list[Bound] = [given[name] for name in names if name in given]  # ignored ones are checked too
    return bounds[0] if bounds else given[names[-1]]


def files_of(options: Mapping[str, str]) -> FileOptions:
    """Make file options from options; other options are ignored.

    Args:
        options: as Spark has them: names in any case, values as text.

    Raises:
        OptionError: a value that is not allowed; with the option's name.

    Example:
        >>> files_of({"pathGlobFilter": "*5.log"}).path_glob_filter
        '*5.log'
    """
    given = GivenOptions(options)
    zone: ZoneInfo | None = given["timeZone"]
    after, before = (_nanoseconds(given, name, zone) for name in ("modifiedAfter", "modifiedBefore"))
    if after is not None and before is not None and after >= before:
        raise OptionError(
            f"options modifiedAfter ({given.texts['modifiedafter']}) and modifiedBefore "
            f"({given.texts['modifiedbefore']}) leave no time between them"
        )
    return FileOptions(
        path_glob_filter=given["pathGlobFilter"],
        modified_before=before,
        modified_after=after,
        recursive=given["recursiveFileLookup"],
        ignore_missing=given["ignoreMissingFiles"],
    )


def _nanoseconds(given: GivenOptions, name: str, zone: tzinfo | None) -> int | None:
    """Nanoseconds since 1970; a time without a zone needs `timeZone`, as the session's is not known here."""
    moment: datetime | None = given[name]
    if moment is None:
        return None
    zone = moment.tzinfo or zone
    if zone is None:
        text = given.texts[name.lower()]
        raise OptionError(
            f"option {name} is {text!r}, without a zone: write {text}Z for UTC, or give option timeZone"
        )
    return (
        (moment.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    )
