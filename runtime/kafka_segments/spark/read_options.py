"""The data source's options: what is to be read, how, in which shape; what streams take and refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kafka_segments.core.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.core.io.store_settings import store_settings
from kafka_segments.errors import OptionError
from kafka_segments.log.discovery import FileOptions
from kafka_segments.query.options import GivenOptions, check_names, option_names
from kafka_segments.query.query import Bound, Query
from kafka_segments.query.query_options import (
    check_with_snapshot,
    files_of,
    latest_start,
    query_of,
    unused_options,
)

__all__ = [
    "BEST",
    "DROPMALFORMED",
    "FAILFAST",
    "ONCE",
    "PERMISSIVE",
    "ReadOptions",
    "Settings",
    "StreamOptions",
]

FAILFAST = "FAILFAST"
PERMISSIVE = "PERMISSIVE"
DROPMALFORMED = "DROPMALFORMED"

FIRST = "first"
BEST = "best"

_START = "startingoffsets"
# Attributes of `ReadOptions` that are one option each.
_OF_READS = {
    "view": "view", "columns": "columns", "include_headers": "includeHeaders", "header_keys": "headerKeys",
    "timestamp_overflow": "timestampOverflow", "mode": "mode", "check_crc": "checkCrc",
    "max_decompressed": "maxDecompressedBytes", "replicas": "replicas", "snapshot": "snapshot",
    "push_filters": "pushFilters",
}  # fmt: skip

NEVER = "never"
ONCE = "once"


_STREAM_VIEWS = ("records", "batches", "control")
_VIEWS_OF_HEADERS = ("batches", "control")
_HEADERS_PARTITION_BYTES = 1 << 30  # the default of `maxPartitionBytes` there: headers of these take 0.2 s
_REFUSED_BY_STREAMS = {
    "snapshot": "a stream reads what is appended, but a snapshot fixes what is read",
    "endingTimestamp": "a stream has no end",
    "endingOffsetsByTimestamp": "a stream has no end",
    "pathGlobFilter": "say where to begin with startingOffsets or startingTimestamp",
    "modifiedBefore": "a stream has no end",
    "modifiedAfter": "say where to begin with startingTimestamp",
}
"""Ends (KafkaSourceProvider.validateStreamOptions), and choices of files: a segment that is left out would
be a gap in the offsets of a stream."""


class Settings(dict[str, str]):
    """Settings for stores, by Hadoop's names. They may hold secrets: no text of it shows a value."""

    def __repr__(self) -> str:
        return f"Settings({', '.join(sorted(self))})"


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What options say of a stream, unless the frame is read in a batch.

    Attributes:
        max_offsets: most offsets of a batch (`maxOffsetsPerTrigger`); None is any number.
        min_offsets: a batch waits for so many (`minOffsetsPerTrigger`); None is for none.
        max_delay_ms: the longest wait for them since the last batch (`maxTriggerDelay`), in milliseconds.
        latest: the start, if it is the latest offset of one partition at least.
        only: options of these that were given, which a batch has no use for.
        wrong: why there can be no stream with the options; empty if there can.
    """

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = 15 * 60_000
    latest: Bound | None = None
    only: tuple[str, ...] = ()
    wrong: str = ""

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> StreamOptions:
        """Check the options of streams; others are ignored.

        Raises:
            OptionError: a value that is not allowed, or options that contradict each other.
        """
        given = GivenOptions(options)
        found = cls(
            given["maxOffsetsPerTrigger"],
            given["minOffsetsPerTrigger"],
            given["maxTriggerDelay"],
            latest_start(options),
            tuple(sorted(name for name in option_names("stream") if name in given)),
            _why_not(given),
        )
        if (found.min_offsets or 0) > (found.max_offsets or found.min_offsets or 0):
            raise OptionError(
                f"minOffsetsPerTrigger ({found.min_offsets}) is above maxOffsetsPerTrigger "
                f"({found.max_offsets})"
            )
        return found


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a read, checked.

    Attributes:
        paths: as given; those of this machine absolute, because tasks run in another directory.
        query: which records.
        files: which of the segments' files count.
        settings: for stores.
        view: what a row is.
        columns: asked for by name; None is the view's usual ones.
        include_headers: whether these have `headers`.
        header_keys: `text` or `binary`; None is text, unless a schema says otherwise.
        timestamp_overflow: what becomes of a timestamp too large for microseconds: `error`, `null`, `clamp`.
        mode: FAILFAST, PERMISSIVE, DROPMALFORMED: what becomes of damage.
        check_crc: verify the checksums.
        max_decompressed: bytes that one batch may decompress to.
        replicas: `first`; `best` (take sound batches from other copies if one is damaged); `unchecked`:
            `first`.
        snapshot: file that fixes what is read; None lists the paths each time.
        push_filters: whether filters that Spark pushes leave anything out: `never`; `once`, for a frame
            that is used for one query only.
        stream: what concerns streams only.
        is_stream: whether the frame is read as a stream.
        remarks: to be logged: options that mean nothing here, or that others make useless.
        ignored: the one among them about options of connections; empty if there is none.
    """

    paths: tuple[str, ...]
    query: Query = field(default_factory=Query)
    files: FileOptions = field(default_factory=FileOptions)
    settings: Settings = field(default_factory=Settings)
    view: str = "records"
    columns: tuple[str, ...] | None = None
    include_headers: bool = False
    header_keys: str | None = None
    timestamp_overflow: str = "error"
    mode: str = FAILFAST
    check_crc: bool = True
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED
    replicas: str = FIRST
    snapshot: str | None = None
    push_filters: str = NEVER
    stream: StreamOptions = field(default_factory=StreamOptions)
    is_stream: bool = False
    remarks: tuple[str, ...] = ()
    ignored: str = ""

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> ReadOptions:
        """Check options as Spark hands them over: names in any case, values strings, many paths as JSON.

        They may be of a batch or a stream; `for_batch` and `for_stream` check what differs.

        Raises:
            OptionError: an unknown option, a value that is not allowed, or options that
                contradict each other.
        """
        names = ", ".join(check_names(options))
        ignored = f"no broker is contacted, so these options have no effect: {names}" if names else ""
        given = GivenOptions(options)
        _check_pairs(given)
        stream = StreamOptions.parse(options)
        left_out = () if stream.latest is None else (_START,)  # a query does not begin at the latest offset
        query = query_of({name: text for name, text in options.items() if name.lower() not in left_out})
        if given["view"] in _VIEWS_OF_HEADERS and "maxPartitionBytes" not in given:
            limits = replace(query.limits, max_partition_bytes=_HEADERS_PARTITION_BYTES)
            query = replace(query, limits=limits)
        return cls(
            paths=_paths(given),
            query=query,
            files=files_of(options),
            settings=Settings(store_settings(given.texts)),
            stream=stream,
            remarks=(*unused_options(options), *filter(None, [ignored])),
            ignored=ignored,
            **{name: given[option] for name, option in _OF_READS.items()},
        )

    def for_batch(self) -> ReadOptions:
        """Return the options of a frame that is read in a batch.

        Raises:
            OptionError: it is to begin at the latest offset.
        """
        if self.stream.latest is not None:
            replace(self.query, start=self.stream.latest)  # raises the error of queries
        return self

    def for_stream(self) -> ReadOptions:
        """Return the options of a stream.

        Raises:
            OptionError: an option that streams refuse.
        """
        if self.stream.wrong:
            raise OptionError(self.stream.wrong)
        return replace(self, is_stream=True)


def _check_pairs(given: GivenOptions) -> None:
    """Options that cannot both be meant."""
    for name in ("includeHeaders", "headerKeys", "timestampOverflow"):
        if name in given and given["view"] not in ("records", "control"):
            raise OptionError(f"option {name} is only for records, but view={given['view']} has none")
    if "snapshot" in given:
        if "path" in given or "paths" in given:
            raise OptionError("give snapshot or a path, not both: a snapshot holds the list of its files")
        check_with_snapshot(given.texts)
    columns = given["columns"]
    if given["view"] == "records" and columns is not None and "includeHeaders" in given:
        has_headers = "headers" in map(str.lower, columns)
        if given["includeHeaders"] != has_headers:
            raise OptionError(
                f"options columns and includeHeaders differ: the one {'has' if has_headers else 'lacks'} "
                f"headers, the other is {given.texts['includeheaders']}"
            )


def _paths(given: GivenOptions) -> tuple[str, ...]:
    paths = [*(given["paths"] or ()), *([given["path"]] if "path" in given else ())]
    if not paths and "snapshot" not in given:
        raise OptionError(
            "no path: give one or more to .load(...); in SQL, CREATE TEMPORARY VIEW ... OPTIONS (path '...') "
            "(Spark forgets the options of CREATE TABLE: SELECT ... FROM such a table WITH (path = '...'))"
        )
    return tuple(paths)


def _why_not(given: GivenOptions) -> str:
    for name, why in _REFUSED_BY_STREAMS.items():
        if name in given:
            return f"option {name} is not for streams: {why}"
    if given["endingOffsets"].kind == "offsets":
        return "offsets in endingOffsets are not for streams: a stream has no end"
    if given["view"] not in _STREAM_VIEWS:
        return f"view={given['view']} is not for streams: these have the views {', '.join(_STREAM_VIEWS)}"
    if given["pushFilters"] == "once":
        return "pushFilters=once is not for streams: Spark pushes no filters into them"
    return ""
