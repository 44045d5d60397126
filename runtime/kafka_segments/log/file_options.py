"""Which files count, in the words of Spark's file sources: options as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from kafka_segments.errors import OptionError
from kafka_segments.log.discovery import FileOptions

__all__ = ["FILE_OPTIONS", "boolean_of", "files_of"]

FILE_OPTIONS = (
    "pathGlobFilter",
    "recursiveFileLookup",
    "modifiedBefore",
    "modifiedAfter",
    "timeZone",
    "ignoreMissingFiles",
)
"""Names of the options that choose among the files at the paths, in any case."""


def files_of(options: Mapping[str, str]) -> FileOptions:
    """What some options say of files; others are passed over.

    Args:
        options: as Spark has them: names in any case, values as text.

    Raises:
        OptionError: a value that is none of those allowed; with the option's name.

    Example:
        >>> files_of({"pathGlobFilter": "*5.log"}).path_glob_filter
        '*5.log'
    """
    given = {name.lower(): value for name, value in options.items()}
    after, before = _time(given, "modifiedAfter"), _time(given, "modifiedBefore")
    if after is not None and before is not None and after >= before:
        raise OptionError(
            f"options modifiedAfter ({given['modifiedafter']}) and modifiedBefore "
            f"({given['modifiedbefore']}) leave no time between them"
        )
    return FileOptions(
        path_glob_filter=given.get("pathglobfilter"),
        modified_before=before,
        modified_after=after,
        recursive=boolean_of(given, "recursiveFileLookup", False),
        ignore_missing=boolean_of(given, "ignoreMissingFiles", False),
    )


def _time(given: Mapping[str, str], name: str) -> int | None:
    """Nanoseconds since 1970. For a time without a zone Spark takes the session's, which nobody tells us."""
    value = given.get(name.lower())
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", value))
    except ValueError as error:
        raise OptionError(f"option {name} is {value!r}; it is a time such as 2026-01-31T12:00:00Z") from error
    zone = _zone(given)
    if time.tzinfo is None and zone is None:
        raise OptionError(
            f"option {name} is {value!r}, a time of no zone: write {value}Z for UTC, or give option timeZone"
        )
    since = time.replace(tzinfo=time.tzinfo or zone) - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def _zone(given: Mapping[str, str]) -> tzinfo | None:
    name = given.get("timezone")
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError, below
        raise OptionError(f"option timeZone is {name!r}; it is a name such as Europe/Paris or UTC") from error
    except KeyError as error:
        raise OptionError(f"there is no time zone {name!r} (option timeZone) on this machine") from error


def boolean_of(given: Mapping[str, str], name: str, default: bool) -> bool:
    """The value of an option that is `true` or `false`.

    Raises:
        OptionError: it is neither.
    """
    value = given.get(name.lower())
    if value is None:
        return default
    if value.strip().lower() not in ("true", "false"):
        raise OptionError(f"option {name} is {value!r}; it is true or false")
    return value.strip().lower() == "true"
