"""Subcommand `salvage`: build clean partitions from damaged copies."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kafka_segments.cli import console, parsing
from kafka_segments.cli.jobs import SECONDS_BEFORE, add_progress_option, shown_progress, size_words
from kafka_segments.cli.output import Line, line_values, print_lines
from kafka_segments.cli.sources import places_of
from kafka_segments.cli.text import counted
from kafka_segments.errors import OptionError
from kafka_segments.log.findings import loss_words

if TYPE_CHECKING:
    from kafka_segments.salvage.partition_job import DonePartition
    from kafka_segments.salvage.salvaging import Salvaged

__all__ = ["add_parser", "run"]

_DAY_MS = 24 * 3600 * 1000
_MAX_LINES = 10  # on what was put aside of a partition, and on its transactions
_NUM_NAMED = 10  # topics in a warning


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `salvage` to the command's parsers."""
    parser = subparsers.add_parser(
        "salvage",
        help="build clean partitions from damaged ones",
        description="Build clean partitions, with indexes, from the best of all copies: sound batches are "
        "copied byte for byte, in the order of their offsets, and what is damaged in one copy is taken from "
        "another. Sources are only read. DEST/log is a log directory to start a broker on, DEST/quarantine "
        "has the bytes that could not be used, and DEST/manifest.json records what became of every range of "
        "bytes.",
        epilog="Exit status: 0 clean, 1 something was lost or put aside (all sound batches were salvaged), "
        "2 wrong usage or a partition that cannot be salvaged (the rest was), 3 the result could not be "
        "written (and was removed).",
    )
    parsing.add_sources(parser, metavar="SRC")
    parser.add_argument(
        "destination",
        nargs="?",
        metavar="DEST",
        help="a new or empty directory, outside the sources; not with --dry-run",
    )
    parsing.add_flag(parser, "--dry-run", "write nothing; print the manifest on standard output")
    parser.add_argument(
        "--retention-ms",
        type=int,
        default=7 * _DAY_MS,
        metavar="MS",
        help="the topics' retention.ms, to warn of what a broker would delete at once; -1: no limit; "
        "default: 7 days",
    )
    parsing.add_count(parser, "--jobs", "number of partitions to work on at a time", default=1)
    parsing.add_format(parser, about="format of the summary; default: text")
    parsing.add_named_options(parser)
    add_progress_option(parser)
    parsing.add_examples(
        parser,
        ("salvage /mnt/disk1/kafka --dry-run", "show what would become of each byte"),
        (
            "salvage /mnt/disk1/kafka /mnt/disk2/kafka /srv/salvaged",
            "one log directory from two damaged ones",
        ),
        (
            "salvage '/backup/*/orders-*' /srv/salvaged --retention-ms -1",
            "one topic, with unlimited retention",
        ),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.salvage.salvaging import salvage

    sources, destination = _paths(arguments)
    places = places_of(arguments)
    with shown_progress(arguments, "reading", wait=SECONDS_BEFORE) as progress:
        found = salvage(
            sources,
            destination,
            places=places,
            retention_ms=arguments.retention_ms,
            jobs=arguments.jobs,
            progress=progress,
        )
    for skipped in found.skipped:
        console.say(str(skipped))
    for note in found.notes:
        console.say(note)
    with console.printing():
        if arguments.dry_run:
            for text in found.manifest:
                console.write(text.encode())
        else:
            print_lines(_lines(found, arguments.retention_ms), arguments.format)
    return _status(found)


def _paths(arguments: argparse.Namespace) -> tuple[list[str], str | None]:
    """Return sources and destination; of a dry run all paths are sources."""
    given = [*arguments.sources, *([] if arguments.destination is None else [arguments.destination])]
    if arguments.dry_run:
        return given, None
    if len(given) < 2:
        raise OptionError("DEST is missing: give it after the sources, or use --dry-run")
    return given[:-1], given[-1]


def _lines(found: Salvaged, retention_ms: int) -> Iterator[Line]:
    expired = [one.topic for one in found.partitions if _is_expired(one)]
    if expired:
        yield Line(None, _retention_words(expired, len(found.partitions), retention_ms))
    for one in found.partitions:
        yield from _partition_lines(one)
    hurt = [f"{one.topic}-{one.partition}" for one in found.partitions if _has_losses(one)]
    if hurt and len(found.partitions) > 1:
        partitions = counted(len(found.partitions), "partition")
        yield Line(None, f"records lost in {len(hurt)} of {partitions}: {_names(hurt)}")


def _partition_lines(one: DonePartition) -> Iterator[Line]:
    values, summary = line_values("partition", one, "topic", "partition"), one.summary()
    if summary is None:
        words = f"{one.topic}-{one.partition}: not salvaged: {one.error}"
        yield Line(values | {"error": str(one.error)}, words)
        return
    yield Line(values | summary | {"error": None})
    for text in _summary_words(f"{one.topic}-{one.partition}", summary):
        yield Line(None, text)


def _is_expired(one: DonePartition) -> bool:
    """Return whether a broker would delete segments of a partition at once."""
    summary = one.summary()
    return summary is not None and bool(summary["retention"]["num_deleted_segments"])


def _has_losses(one: DonePartition) -> bool:
    """Return whether offsets of a partition are in no copy, or it was not salvaged."""
    summary = one.summary()
    return summary is None or bool(summary["num_missing"])


def _names(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - _NUM_NAMED
    return ", ".join(names[:_NUM_NAMED]) + (f" and {more} more" if more > 0 else "")


def _summary_words(name: str, summary: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a partition: what is lost first."""
    sizes = [f"{size_words(size)} {status}" for status, size in sorted(summary["num_bytes"].items())]
    start, end = summary["log_start_offset"], summary["log_end_offset"]
    offsets = f"offsets {start} to {end - 1}" if start < end else f"no offsets, the next one is {end}"
    segments = counted(len(summary["segments"]), "segment")
    missing = [(gap["first_offset"], gap["last_offset"]) for gap in summary["missing"]]
    if missing:
        yield loss_words(name, missing)
    yield f"{'   ' if missing else f'{name}:'} {offsets}, {segments}; {', '.join(sizes) or 'no bytes'}"
    if summary["num_missing"] > len(missing):
        yield f"    of {summary['num_missing']} ranges in no copy: see the manifest"
    for aside in summary["put_aside"][:_MAX_LINES]:
        yield f"    put aside: {aside['path']}, position {aside['position']}: {aside['reason']}"
    if len(summary["put_aside"]) > _MAX_LINES:
        yield "    and more was put aside: see the manifest"
    yield from _transaction_words(summary["transactions"])
    for copy in summary["copies"]:
        if copy["reason"]:
            yield f"    {copy['path']}: not used from offset {copy['trusted_to']} on: {copy['reason']}"
    for note in summary["notes"]:
        yield f"    {note}"


def _transaction_words(transactions: list[dict[str, Any]]) -> Iterator[str]:
    lost = [one for one in transactions if one["marker_lost"]]
    for one in lost[:_MAX_LINES]:
        where = f"producer {one['producer_id']} from offset {one['first_offset']} on"
        yield f"    the marker of a transaction may be lost: {where}"
        if one["command"]:
            yield f"    consumers of committed records wait there until you run: {one['command']}"
    if len(lost) > _MAX_LINES:
        yield "    and more such transactions: see the manifest"


def _retention_words(expired: list[str], num_partitions: int, retention_ms: int) -> str:
    """Return what a broker would delete; `expired` has the topic of each partition that this concerns."""
    topics = list(dict.fromkeys(expired))
    return (
        f"WARNING: a broker would at once delete segments of {len(expired)} of "
        f"{counted(num_partitions, 'partition')}, for records older than {retention_ms / _DAY_MS:g} days "
        f"(cleanup.policy=delete): before it starts, set retention.ms=-1 for {_names(topics)}, or "
        "log.retention.ms=-1 in server.properties"
    )


def _status(found: Salvaged) -> int:
    errors = [one.error for one in found.partitions if one.error is not None]
    if errors:
        return console.NOT_OPENED
    return console.FINDINGS if found.has_findings else console.CLEAN
