"""Subcommand `rewind`: remove rows of a table from an offset on, so that the next run reads them again."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kafka_segments.cli import console, parsing
from kafka_segments.cli.ingest import table_of
from kafka_segments.cli.jobs import add_engine_options, engine_of
from kafka_segments.errors import OptionError

if TYPE_CHECKING:
    from kafka_segments.query.query import TopicPartition

__all__ = ["add_parser", "run"]

_ALL = "all"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `rewind` to the command's parsers."""
    parser = subparsers.add_parser(
        "rewind",
        help="set partitions of a table back to an offset, after their logs were truncated or recreated",
        description="Remove all rows of partitions from an offset on, in a table that `kafka-segments "
        "ingest` has written. The next run of ingest continues from there with what the log then has. Rows "
        "that no log has any longer are lost.",
        epilog="Exit status: 0 done, or nothing to do, 1 done, but a killed run, which was completed first, "
        "had found damage or lost offsets, 2 wrong usage or a path that cannot be opened, 3 the table could "
        "not be written (and is unchanged).",
    )
    parser.add_argument("destination", metavar="DEST", help="a table written by ingest")
    parser.add_argument(
        "partitions",
        nargs="+",
        metavar="TOPIC:PARTITION",
        help="such as orders:3, or orders:all; also orders-3 and orders, unless these have two meanings",
    )
    parser.add_argument(
        "--to-offset",
        metavar="OFFSET",
        required=True,
        type=_offset,
        help="the offset at which the next run begins; 0 removes all rows and forgets the id of the topic",
    )
    parsing.add_named_options(parser)
    add_engine_options(parser)
    parsing.add_examples(
        parser,
        ("rewind table orders:3 --to-offset 500", "read a partition again from offset 500 on"),
    )
    parser.set_defaults(run=run)


def _offset(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not an offset")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.ingest.committing import recover
    from kafka_segments.ingest.rewind import rewind

    table, newest = table_of(arguments)
    known = {(one.topic, one.partition) for one in newest.partitions}
    named = [key for name in arguments.partitions for key in _named(name, known, arguments.destination)]
    engine, _ = engine_of(arguments)
    has_findings = recover(table, newest, console.say)
    done = rewind(table, engine, named, arguments.to_offset)
    for one in done:
        then = "at the log's start" if one.offset is None else f"at offset {one.offset}"
        console.say(
            f"{one.topic}-{one.partition}: {one.num_rows:,} rows removed; the next run begins {then}, and "
            f"would have begun at {one.before}"
        )
    if not done:
        console.say("nothing to remove")
    return console.FINDINGS if has_findings else console.CLEAN


def _named(name: str, known: Iterable[TopicPartition], path: str) -> Iterator[TopicPartition]:
    """The partitions that a name is of: of one partition, or of a topic."""
    topic, colon, number = name.partition(":")
    if colon:  # which topics' names cannot have
        found = sorted(key for key in known if key[0] == topic and number in (str(key[1]), _ALL))
    else:
        found = sorted(key for key in known if name in (key[0], f"{key[0]}-{key[1]}"))
    if not found:
        raise OptionError(f"the table has no topic and no partition {name}", path=path)
    topics = sorted({topic for topic, _ in found})
    if len(topics) > 1:
        one = f"{topics[0]}:{name.removeprefix(topics[0])[1:]}"
        raise OptionError(
            f"{name} is a topic of the table, and also a partition of {topics[0]}: give {name}:{_ALL}, or "
            f"{one}",
            path=path,
        )
    yield from found
