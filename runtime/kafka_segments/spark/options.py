"""The data source's options: what is to be read, how, and in which shape."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kafka_segments.codecs import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import OptionError
from kafka_segments.io.store_settings import store_settings
from kafka_segments.log.discovery import FileOptions
from kafka_segments.log.file_options import boolean_of, files_of
from kafka_segments.query.query import Query
from kafka_segments.query.query_options import query_of, size_of, unused_options
from kafka_segments.spark.names import check_names

__all__ = [
    "BEST",
    "DROPMALFORMED",
    "FAILFAST",
    "NO_BROKER",
    "ONCE",
    "PERMISSIVE",
    "UNCHECKED",
    "VIEWS",
    "ReadOptions",
    "Settings",
]

FAILFAST = "FAILFAST"
PERMISSIVE = "PERMISSIVE"
DROPMALFORMED = "DROPMALFORMED"

FIRST = "first"
BEST = "best"
UNCHECKED = "unchecked"

NEVER = "never"
ONCE = "once"

NO_BROKER = "no broker is asked, so these options mean nothing here"

VIEWS = ("records", "batches", "segments", "control", "aborted", "damage")
_ISOLATION = "kafka.isolation.level"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?=/)")
# Spark writes `file:/x` for local paths; people write `file:///x`.
_OF_THIS_MACHINE = re.compile(r"file:(?://)?(/(?:[^/].*)?)", re.IGNORECASE | re.DOTALL)


class Settings(Mapping[str, str]):
    """Settings for stores, by Hadoop's names. They may hold secrets: no text of it shows a value."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = dict(settings or {})

    def __getitem__(self, name: str) -> str:
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)

    def __repr__(self) -> str:
        return f"Settings({', '.join(sorted(self._settings))})"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a read, checked.

    Attributes:
        paths: as given; those of this machine absolute, because tasks run in another directory.
        query: which records.
        files: which of the segments' files count.
        settings: for stores.
        view: one of `VIEWS`.
        columns: asked for by name; None is the view's usual ones.
        include_headers: whether these have `headers`.
        header_keys: `text` or `binary`; None is text, unless a schema says otherwise.
        timestamp_overflow: what becomes of a timestamp that Spark's microseconds cannot say: `error`, `null`,
            `clamp`.
        mode: FAILFAST, PERMISSIVE, DROPMALFORMED: what becomes of damage.
        check_crc: verify the checksums.
        max_decompressed: bytes that one batch may decompress to.
        replicas: `first`; `best` (take sound batches from other copies, where one is damaged); `unchecked`
            (as `first`, and nothing is compared with other copies).
        snapshot: file that pins what is to be read; None looks anew each time.
        push_filters: whether filters that Spark pushes leave anything out: `never`; `once`, for a frame
            that is used for one query only.
        remarks: to be told once: options that mean nothing here, or that others make useless.
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
    remarks: tuple[str, ...] = ()

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> ReadOptions:
        """Check options as Spark hands them over: names in any case, values strings, many paths as JSON.

        Raises:
            OptionError: an unknown option, a value that is none of those allowed, or options that
                contradict each other.
        """
        given = {name.lower(): value for name, value in options.items()}
        ignored = check_names(given)
        _check_pairs(given)
        return cls(
            paths=_paths(given),
            query=query_of(_with_isolation(given)),
            files=files_of(given),
            settings=Settings(store_settings(given)),
            view=_one_of(given, "view", VIEWS) or "records",
            columns=_columns(given),
            include_headers=boolean_of(given, "includeHeaders", False),
            header_keys=_one_of(given, "headerKeys", ("text", "binary")),
            timestamp_overflow=_one_of(given, "timestampOverflow", ("error", "null", "clamp")) or "error",
            mode=_one_of(given, "mode", (FAILFAST, PERMISSIVE, DROPMALFORMED)) or FAILFAST,
            check_crc=boolean_of(given, "checkCrc", True),
            max_decompressed=size_of(given, "maxDecompressedBytes", DEFAULT_MAX_DECOMPRESSED),
            replicas=_one_of(given, "replicas", (FIRST, BEST, UNCHECKED)) or FIRST,
            snapshot=_file(given, "snapshot"),
            push_filters=_one_of(given, "pushFilters", (NEVER, ONCE)) or NEVER,
            remarks=tuple(_remarks(given, ignored)),
        )


def _check_pairs(given: Mapping[str, str]) -> None:
    """Options that cannot both be meant."""
    view = given.get("view", "records").lower()
    for name in ("includeHeaders", "headerKeys", "timestampOverflow"):
        if name.lower() in given and view not in ("records", "control"):
            raise OptionError(f"option {name} is of rows that are records, and view={view} has none")
    if "snapshot" in given and ("path" in given or "paths" in given):
        raise OptionError("give snapshot or a path, not both: a snapshot holds the list of its files")
    for name in ("pathGlobFilter", "modifiedBefore", "modifiedAfter", "recursiveFileLookup"):
        if "snapshot" in given and name.lower() in given:
            raise OptionError(f"give snapshot or {name}, not both: a snapshot holds the list of its files")
    levels = [given[name].lower() for name in ("isolationlevel", _ISOLATION) if name in given]
    if len(set(levels)) > 1:
        raise OptionError(f"options isolationLevel and {_ISOLATION} differ: {levels[0]!r}, {levels[1]!r}")
    names = {name.strip().lower() for name in given.get("columns", "").split(",")}
    are_both = view == "records" and "columns" in given and "includeheaders" in given
    if are_both and boolean_of(given, "includeHeaders", False) != ("headers" in names):
        raise OptionError(
            f"options columns and includeHeaders differ: the one {'has' if 'headers' in names else 'lacks'} "
            f"headers, the other is {given['includeheaders']}"
        )


def _with_isolation(given: Mapping[str, str]) -> Mapping[str, str]:
    level = given.get("isolationlevel", given.get(_ISOLATION))
    return given if level is None else {**given, _ISOLATION: level}


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    try:
        paths = json.loads(given["paths"]) if "paths" in given else []
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list):
        raise OptionError(f'option paths is {given["paths"]!r:.80}; it is JSON such as ["/a","/b"]')
    if "path" in given:
        paths.append(given["path"])
    if not paths and "snapshot" not in given:
        raise OptionError(
            "no path: give one or more to .load(...); in SQL, CREATE TEMPORARY VIEW ... OPTIONS (path '...') "
            "(Spark forgets the options of CREATE TABLE: SELECT ... FROM such a table WITH (path = '...'))"
        )
    return tuple(map(_absolute, paths))


def _absolute(path: object) -> str:
    if not isinstance(path, str) or not path or "\0" in path:
        raise OptionError(f"{path!r:.80} is no path")
    local = _OF_THIS_MACHINE.fullmatch(path)
    if local is None and _SCHEME.match(path):
        return path
    return os.path.abspath(path if local is None else local[1])


def _file(given: Mapping[str, str], name: str) -> str | None:
    return _absolute(given[name]) if name in given else None


def _columns(given: Mapping[str, str]) -> tuple[str, ...] | None:
    if "columns" not in given:
        return None
    names = tuple(name.strip() for name in given["columns"].split(","))
    twice = {name.lower() for name in names if [one.lower() for one in names].count(name.lower()) > 1}
    if not all(names) or twice:
        raise OptionError(
            f"option columns is {given['columns']!r:.200}; it is names with commas between them, each once"
        )
    return names


def _remarks(given: Mapping[str, str], ignored: list[str]) -> Iterator[str]:
    yield from unused_options(given)
    if ignored:
        yield f"{NO_BROKER}: {', '.join(ignored)}"


def _one_of(given: Mapping[str, str], name: str, values: tuple[str, ...]) -> str | None:
    value = given.get(name.lower())
    if value is None:
        return None
    known = {one.lower(): one for one in values}
    if value.strip().lower() not in known:
        raise OptionError(f"option {name} is {value!r}; it is {', '.join(values[:-1])} or {values[-1]}")
    return known[value.strip().lower()]
