"""Subcommand `rewind`: rows of a table from an offset on are removed, to be taken anew."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kafka_segments.cli import console, parsing
from kafka_segments.cli.jobs import add_engine_options, engine_of
from kafka_segments.cli.table_argument import table_of
from kafka_segments.errors import OptionError

if TYPE_CHECKING:
    from kafka_segments.query.query import TopicPartition

__all__ = ["add_parser", "run"]

_ALL = "all"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `rewind` to the command's parsers."""
    parser = subparsers.add_parser(
        "rewind",
        help="set partitions of a table of ingest back, where their logs were truncated or recreated",
        description="Remove rows of partitions from a table that `kafka-segments ingest` has written: all "
        "from an offset on. The next run of ingest goes on from there, and takes what the log has by then. "
        "Rows that are in no log any more are lost.",
        epilog="Exit status: 0 done, or nothing to do, 1 done, and a killed run that was finished first had "
        "found damage or lost offsets, 2 wrong usage, or something that cannot be opened, 3 "
        "the table could not be written (and is as it was).",
    )
    parser.add_argument("destination", metavar="DEST", help="a table of ingest")
    parser.add_argument(
        "partitions",
        nargs="+",
        metavar="TOPIC:PARTITION",
        help="such as orders:3, or orders:all; orders-3 and orders, too, where these are names of one thing",
    )
    parser.add_argument(
        "--to-offset",
        metavar="OFFSET",
        required=True,
        type=_offset,
        help="where the next run begins; 0: all rows are removed, and the id of the topic is forgotten",
    )
    parsing.add_named_options(parser)
    add_engine_options(parser)
    parsing.add_examples(
        parser,
        ("rewind table orders:3 --to-offset 500", "a partition is read again from offset 500 on"),
    )
    parser.set_defaults(run=run)


def _offset(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no offset")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.ingest.rewind import rewind
    from kafka_segments.ingest.runs.recovery import recover

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
            f"{name} is a topic of the table, and a partition of {topics[0]}: give {name}:{_ALL}, or {one}",
            path=path,
        )
    yield from found
