"""The names that options have: ours, those of Spark's connector that mean nothing here, and Spark's own.

Names are compared without regard to case, as Spark does; it hands them over in small letters.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from kafka_segments.errors import OptionError
from kafka_segments.io.store_settings import STORE_PREFIXES
from kafka_segments.log.file_options import FILE_OPTIONS
from kafka_segments.query.query_options import QUERY_OPTIONS

__all__ = ["OWN_OPTIONS", "PATH_OPTIONS", "check_names", "nearest"]

PATH_OPTIONS = ("path", "paths")

OWN_OPTIONS = (
    "view",
    "columns",
    "includeHeaders",
    "headerKeys",
    "timestampOverflow",
    "mode",
    "checkCrc",
    "maxDecompressedBytes",
    "replicas",
    "snapshot",
    "pushFilters",
    "isolationLevel",
)
"""Those that neither make a query nor choose files."""

# The connector's, about connections, consumer groups and streams (KafkaSourceProvider, KafkaOffsetReader).
_OF_CONNECTIONS = (
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
)
_CONSUMER = "kafka."
# The connector refuses these, because rows would be others than it promises (validateGeneralOptions).
_REFUSED = {
    "kafka.auto.offset.reset": "say where to begin with startingOffsets",
    "kafka.key.deserializer": "keys come as bytes; decode the column key",
    "kafka.value.deserializer": "values come as bytes; decode the column value",
    "kafka.enable.auto.commit": "nothing is committed by reading files",
    "kafka.interceptor.classes": "records come as they are stored",
}
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
_KNOWN = {name.lower(): name for name in (*PATH_OPTIONS, *FILE_OPTIONS, *QUERY_OPTIONS, *OWN_OPTIONS)}
_IGNORED = {name.lower(): name for name in _OF_CONNECTIONS}


def check_names(given: Mapping[str, str]) -> list[str]:
    """Check the names of options, all in small letters.

    Returns:
        Those that are accepted and mean nothing here.

    Raises:
        OptionError: an unknown name, with the nearest one; or one that Spark's connector refuses.
    """
    ignored = []
    for name in given:
        if name in _REFUSED:
            raise OptionError(f"option {name} is not supported, as in Spark's kafka source: {_REFUSED[name]}")
        if name in _KNOWN or name in _SPARKS_OWN or name.startswith((*_SPARKS_PREFIXES, *STORE_PREFIXES)):
            continue
        if name in _IGNORED or name.startswith(_CONSUMER):
            ignored.append(_IGNORED.get(name, name))
        else:
            raise OptionError(f"unknown option {name}{nearest(name, [*_KNOWN.values(), *_OF_CONNECTIONS])}")
    return sorted(ignored)


def nearest(name: str, known: Iterable[str]) -> str:
    """What to say behind a name that is unknown: the one that is most like it, or all of them."""
    names = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), names, n=1)
    if found:
        return f"; did you mean {names[found[0]]}?"
    return f"; there are {', '.join(names.values())}"
