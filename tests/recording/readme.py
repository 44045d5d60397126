"""tests/vectors/README.md, rendered from the tables of sets and topics."""

from __future__ import annotations

from tests.recording import topics43, topics_legacy
from tests.recording.sets import VECTORS, RecordedSet

README = VECTORS / "README.md"
SETS: tuple[RecordedSet, ...] = (*topics43.SETS, *topics_legacy.SETS)

INTRODUCTION = """\
<!-- Written by tests/recording/record.py from tests/recording/topics*.py: change those. -->
# Vectors

The test data of the project: log directories that real brokers wrote, what Kafka's own classes read from
them, and small files for each schema. This page lists what was recorded, and what each topic shows.

| folder | what is in it |
|---|---|
| `recorded/<set>/` | log directories of real brokers, file for file |
| `oracle/<set>/` | what Kafka's own classes read from every `.log` and `.checkpoint` there, see below |
| `connector/<set>/` | what Spark's own `kafka` source read from a broker on a copy: `tests/connector` |
| `provenance/<set>.toml` | who wrote the bytes: broker, clients, date, and the digest of every file |
| `<stem>/` | small vectors of the schema of that name, each `.bin` with a `.toml` |
| `crashers/` | segments that once broke a reader, found by `tests/fuzz`, each `.bin` with a `.toml` |

The files in `oracle/` have the batch and record lines of `kafka-segments dump --format jsonl`, but the Java
program in `tests/oracle` prints them with Kafka's own classes, without any code of this project. Their
paths are relative to `recorded/`: run `kafka-segments dump` there to compare. `python tests/oracle/run.py
FILE...` reads other files.

`make record` records everything again, which takes about ten minutes. Ids and the brokers' own timestamps
differ each time, so the files are committed. To record a part, run `python tests/recording/record.py
kafka-4.3`.

Clients send records with fixed timestamps (2023 for 4.3, 2017 for the older brokers). Transaction markers,
LogAppendTime, internal topics and the records that roll the segments of compacted topics have timestamps of
the day of recording. Every topic has small indexes (`segment.index.bytes=8192`,
`index.interval.bytes=512`).
"""


def render() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(map(_section, SETS))


def _section(recorded: RecordedSet) -> str:
    clients = f", {', '.join(recorded.clients)}" if recorded.clients else ""
    rows = "".join(f"| `{topic.name}` | {topic.partitions} | {topic.shows} |\n" for topic in recorded.topics)
    return (
        f"\n## {recorded.name}\n\n{recorded.shows} Broker {recorded.broker}{clients}.\n\n"
        f"| topic | partitions | shows |\n|---|---|---|\n{rows}"
    )


def write() -> None:
    """Write the page."""
    README.write_text(render(), encoding="utf-8")
