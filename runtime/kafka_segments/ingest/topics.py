"""Topics that `ingest` writes: those that are named, else all but Kafka's internal ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence

from kafka_segments.core.formats.file_names import parse_directory_name
from kafka_segments.errors import OptionError
from kafka_segments.ingest.files.file_columns import FileColumns
from kafka_segments.ingest.runs.run_state import TableSettings
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.query import INTERNAL_TOPICS, Topics
from kafka_segments.query.resolve import select

__all__ = ["check_topics", "choose", "is_internal"]


def check_topics(settings: TableSettings, topics: Collection[str], path: str) -> None:
    """Check that a table has one topic if its rows do not say of which they are.

    Args:
        settings: of the table.
        topics: that it has, or gets.
        path: of the table, for errors.

    Raises:
        OptionError: it would have several.
    """
    if len(topics) > 1 and not FileColumns.of(settings).has_topic:
        raise OptionError(
            f"--layout {settings.layout} has no column for the topic, so the Iceberg table can hold only "
            f"one, but there are {', '.join(sorted(topics))}; choose one with --subscribe",
            path=path,
        )


def choose(
    logs: Iterable[PartitionLog], sources: Sequence[str], topics: Topics
) -> tuple[list[PartitionLog], list[PartitionLog]]:
    """Return the logs to write, and the internal topics that were not named.

    A topic is named by `subscribe`, or by a source that is one of its directories or segments.

    Args:
        logs: what the sources hold.
        sources: as given.
        topics: what is asked for.

    Raises:
        OptionError: a requested topic does not exist, or all topics are internal.
    """
    is_any = topics == Topics()
    asked = list(logs) if is_any else select(logs, topics)[0]
    is_hidden = is_internal(sources, topics)
    hidden = [log for log in asked if is_hidden(log.topic)]
    chosen = [log for log in asked if log not in hidden]
    if hidden and not chosen:
        names = ", ".join(sorted({log.topic for log in hidden}))
        raise OptionError(f"there are only internal topics here ({names}); name them in --subscribe to write")
    return chosen, hidden


def is_internal(sources: Sequence[str], topics: Topics) -> Callable[[str], bool]:
    """Return a function that decides whether a topic is internal, and not named; arguments as of `choose`."""
    hidden = INTERNAL_TOPICS - set(topics.names or ()) - set(_topics_of(sources))
    return hidden.__contains__


def _topics_of(sources: Sequence[str]) -> Iterable[str]:
    for source in sources:
        path = os.path.abspath(source)
        for directory in (path, os.path.dirname(path)) if path.endswith(".log") else (path,):
            partition = parse_directory_name(os.path.basename(directory))
            if partition is not None:
                yield partition.topic
