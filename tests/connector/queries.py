"""What Spark's `kafka` source was asked of the recorded sets, option by option: ours is asked the same.

Whole sets are asked for up to ends that are written out, because a broker's own ends move. The timestamps of
most topics lie around `T0`, that of tests/recording.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.connector import served
from tests.recording.sets import ORACLE

T0 = 1_700_000_000_000
ISOLATIONS = ("read_uncommitted", "read_committed")
MAIN, OLD, EXTREME = "kafka-4.3/clean", "kafka-2.8/clean", "kafka-4.3/extreme-timestamps"
# `assign` with these fails: the source leaves them out of what it thinks is there (ConsumerStrategy).
INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")


@dataclass(frozen=True)
class Query:
    """One query of the source.

    Attributes:
        set_name: the recorded set it is asked of.
        name: of the query, a file's name.
        options: of the source, without those of the connection.
        settings: of the session.
    """

    set_name: str
    name: str
    options: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)


def whole(name: str, topics: Mapping[str, list[int]], isolation: str) -> dict[str, str]:
    """Options for all records of topics as they were recorded.

    The source waits for each record before an ending offset: that of `read_committed` is the last stable one.
    """
    endings: dict[str, dict[str, int]] = {}
    for topic, numbers in topics.items():
        for number in numbers:
            end = served.ends(name, topic, number)
            stable = isolation == "read_committed"
            endings.setdefault(topic, {})[str(number)] = end.last_stable if stable else end.log_end
    return {
        "assign": json.dumps(topics),
        "startingOffsets": "earliest",
        "endingOffsets": json.dumps(endings),
        "kafka.isolation.level": isolation,
    }


def whole_sets(names: list[str] | None = None) -> list[Query]:
    """All of every topic of every set, at both isolation levels; internal topics apart from the others."""
    found = []
    for name in served.served_sets() if names is None else names:
        topics = served.partitions(name)
        ordinary = {topic: numbers for topic, numbers in topics.items() if topic not in INTERNAL}
        internal = {topic: numbers for topic, numbers in topics.items() if topic in INTERNAL}
        for isolation in ISOLATIONS if name != EXTREME else ():
            found.append(Query(name, isolation, whole(name, ordinary, isolation)))
            if internal:
                by_consumer = {"spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true"}
                found.append(
                    Query(name, f"internal.{isolation}", whole(name, internal, isolation), by_consumer)
                )
    return found


def one_by_one() -> list[Query]:
    """Each record of the set whose timestamps Spark cannot hold: the source fails at those alone."""
    found = []
    for topic, numbers in served.partitions(EXTREME).items():
        for number in numbers:
            for offset in range(served.ends(EXTREME, topic, number).log_end):
                ends = [json.dumps({topic: {str(number): end}}) for end in (offset, offset + 1)]
                options = {"assign": json.dumps({topic: [number]})}
                options |= {"startingOffsets": ends[0], "endingOffsets": ends[1]}
                found.append(Query(EXTREME, f"{topic}-{number}.{offset:03}", options))
    return found


def middle_of(name: str, directory: str) -> int:
    """A timestamp half-way through a partition."""
    lines = [
        json.loads(line)
        for path in sorted((ORACLE / name / directory).glob("*.jsonl"))
        for line in path.open(encoding="utf-8")
    ]
    times = [line["timestamp"] for line in lines if line["type"] == "record"]
    return int(times[len(times) // 2])


def selections() -> list[Query]:
    """Queries for some of the records, by each option that the source has for it."""
    by_offset = {"multi": {"0": 17}, "shapes": {"0": -2}, "transactions": {"0": 5, "1": -2}}
    to_offset = {"multi": {"0": 190}, "shapes": {"0": -1}, "transactions": {"0": 60, "1": -1}}
    by_time = {"multi": {"0": T0 + 100_000}, "timestamps": {"0": T0 + 1}, "compact-multi": {"0": T0 + 2_101}}
    to_time = {"multi": {"0": T0 + 150_002}, "timestamps": {"0": T0 * 2}, "compact-multi": {"0": T0 + 4_000}}
    appended = middle_of(MAIN, "append-time-0")
    several = "multi,timestamps,compact-multi,shapes,transactions,append-time,deleted-head"
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    main = {
        "offsets": {
            "subscribe": ",".join(by_offset),
            "startingOffsets": json.dumps(by_offset),
            "endingOffsets": json.dumps(to_offset),
        },
        "offsets-before-the-log": {
            "subscribe": "deleted-head",
            "startingOffsets": json.dumps({"deleted-head": {"0": 3}}),
        },
        "offsets-before-the-log-tolerated": {
            "subscribe": "deleted-head",
            "startingOffsets": json.dumps({"deleted-head": {"0": 3}}),
            "failOnDataLoss": "false",
        },
        "pattern": {"subscribePattern": "(codec|kpy)-.*"},
        "assign": {"assign": json.dumps({"idempotent": [0, 2], "transactions": [1]})},
        "names-to-quote": {"subscribe": "007,null,dots.and-3,empty"},
        "from-timestamp": {"subscribe": several, "startingTimestamp": str(T0 + 15), **latest},
        "from-timestamp-to-timestamp": {
            "subscribe": several,
            "startingTimestamp": str(T0),
            "endingTimestamp": str(T0 + 60_000),
            **latest,
        },
        "from-timestamp-error": {"subscribe": several, "startingTimestamp": str(T0 * 3)},
        "append-time": {
            "subscribe": "append-time",
            "startingTimestamp": str(appended),
            "endingTimestamp": str(appended + 20),
        },
        "by-timestamp": {
            "subscribe": ",".join(by_time),
            "startingOffsetsByTimestamp": json.dumps(by_time),
            "endingOffsetsByTimestamp": json.dumps(to_time),
        },
        "timestamp-wins": {
            "subscribe": "multi",
            "startingTimestamp": str(T0 + 120_003),
            "startingOffsetsByTimestamp": json.dumps({"multi": {"0": T0}}),
            "startingOffsets": json.dumps({"multi": {"0": 3}}),
        },
        "committed-from-timestamp": {
            "subscribe": "transactions",
            "startingTimestamp": str(T0 + 1),
            "kafka.isolation.level": "read_committed",
        },
        "min-partitions": {"subscribe": "multi,shapes", "minPartitions": "9"},
        "max-records": {"subscribe": "multi,shapes", "maxRecordsPerPartition": "31"},
    }
    old = {
        "from-timestamp": {"subscribePattern": "(v0|v1|mixed).*", "startingTimestamp": "1", **latest},
        "magic-0-timestamp-error": {"subscribe": "v0-none", "startingTimestamp": "1"},
    }
    return [Query(MAIN, name, options) for name, options in main.items()] + [
        Query(OLD, name, options) for name, options in old.items()
    ]
