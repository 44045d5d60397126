"""Options of streams: where they begin, how much a batch has; and which options they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_segments.errors import OptionError
from kafka_segments.query.options import GivenOptions, option_names
from kafka_segments.query.query import Bound
from kafka_segments.query.query_options import latest_start

__all__ = ["StreamOptions"]

_VIEWS = ("records", "batches", "control")
_REFUSED = {
    "snapshot": "a stream reads what is appended, but a snapshot fixes what is read",
    "endingTimestamp": "a stream has no end",
    "endingOffsetsByTimestamp": "a stream has no end",
    "pathGlobFilter": "say where to begin with startingOffsets or startingTimestamp",
    "modifiedBefore": "a stream has no end",
    "modifiedAfter": "say where to begin with startingTimestamp",
}
"""Ends (KafkaSourceProvider.validateStreamOptions), and choices of files: a segment that is left out would
be a gap in the offsets of a stream."""


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


def _why_not(given: GivenOptions) -> str:
    for name, why in _REFUSED.items():
        if name in given:
            return f"option {name} is not for streams: {why}"
    if given["endingOffsets"].kind == "offsets":
        return "offsets in endingOffsets are not for streams: a stream has no end"
    if given["view"] not in _VIEWS:
        return f"view={given['view']} is not for streams: these have the views {', '.join(_VIEWS)}"
    if given["pushFilters"] == "once":
        return "pushFilters=once is not for streams: Spark pushes no filters into them"
    return ""
