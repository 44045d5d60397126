"""The data source's options."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_segments.compression import DEFAULT_MAX_DECOMPRESSED
from kafka_segments.errors import OptionError

__all__ = ["DROPMALFORMED", "FAILFAST", "ReadOptions"]

FAILFAST = "FAILFAST"
DROPMALFORMED = "DROPMALFORMED"

_KNOWN = ("path", "paths", "includeHeaders", "checkCrc", "mode", "maxDecompressedBytes")
# What Spark itself puts beside the user's options when a table was made with SQL.
_SPARKS_OWN = (
    "owner",
    "provider",
    "location",
    "external",
    "comment",
    "is_managed_location",
    "serialization.format",
)
_SPARKS_PREFIXES = ("option.", "spark.sql.")
_URI_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a read, checked. `paths` are local paths, as given."""

    paths: tuple[str, ...]
    include_headers: bool = False
    check_crc: bool = True
    mode: str = FAILFAST
    max_decompressed: int = DEFAULT_MAX_DECOMPRESSED

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> ReadOptions:
        """Check options as Spark hands them over: names in any case, values strings, many paths as JSON.

        Raises:
            OptionError: an unknown option, or a value that is none of those allowed.
        """
        given = {name.lower(): value for name, value in options.items()}
        known = {name.lower() for name in _KNOWN}
        for name in given:
            if name not in known and name not in _SPARKS_OWN and not name.startswith(_SPARKS_PREFIXES):
                raise OptionError(f"unknown option {name}; the options are {', '.join(_KNOWN)}")
        return cls(
            paths=_paths(given),
            include_headers=_boolean(given, "includeHeaders", False),
            check_crc=_boolean(given, "checkCrc", True),
            mode=_mode(given),
            max_decompressed=_size(given, "maxDecompressedBytes", DEFAULT_MAX_DECOMPRESSED),
        )


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    paths = json.loads(given["paths"]) if "paths" in given else []
    if "path" in given:
        paths.append(given["path"])
    if not paths:
        raise OptionError(
            "no path: give one or more to .load(...); in SQL, CREATE TEMPORARY VIEW ... OPTIONS (path '...') "
            "(Spark can forget the options of CREATE TABLE: then query the table WITH (path = '...'))"
        )
    return tuple(_local(path) for path in paths)


def _local(path: str) -> str:
    """Spark writes `file:/x` or `file:///x` for local paths."""
    match = _URI_SCHEME.match(path)
    if match is None:
        return path
    if match[1].lower() != "file":
        raise OptionError(f"only local files are read, not {match[1]}: mount or copy it", path=path)
    return "/" + path[match.end() :].lstrip("/")


def _boolean(given: Mapping[str, str], name: str, default: bool) -> bool:
    value = given.get(name.lower())
    if value is None:
        return default
    if value.lower() not in ("true", "false"):
        raise OptionError(f"option {name} is {value!r}; it is true or false")
    return value.lower() == "true"


def _mode(given: Mapping[str, str]) -> str:
    mode = given.get("mode", FAILFAST).upper()
    if mode not in (FAILFAST, DROPMALFORMED):
        raise OptionError(f"option mode is {given['mode']!r}; it is {FAILFAST} or {DROPMALFORMED}")
    return mode


def _size(given: Mapping[str, str], name: str, default: int) -> int:
    value = given.get(name.lower())
    if value is None:
        return default
    if not re.fullmatch(r"[0-9]{1,18}", value) or int(value) == 0:
        raise OptionError(f"option {name} is {value!r}; it is a number of bytes above 0")
    return int(value)
