"""Subcommand `slice`: copy the batches of a range of offsets or times into a new directory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kafka_segments.cli import console, parsing
from kafka_segments.cli.jobs import SECONDS_BEFORE, add_progress_option, shown_progress
from kafka_segments.cli.output import Line, print_lines
from kafka_segments.cli.selection import add_selection_options, conditions_of
from kafka_segments.cli.sources import places_of
from kafka_segments.cli.text import counted
from kafka_segments.core.formats.file_names import NO_END
from kafka_segments.errors import OptionError

if TYPE_CHECKING:
    from kafka_segments.salvage.slicing import Sliced

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slice` to the command's parsers."""
    parser = subparsers.add_parser(
        "slice",
        help="copy the batches of a range of offsets or times into a new partition's directory",
        description="Copy the batches of a range of offsets or times, byte for byte, into a new directory "
        "of the partition, with indexes. Batches are copied whole: the first and the last may also have "
        "records outside the range.",
        epilog="Exit status: 0 clean, 1 a part of the range was damaged or missing (the rest was copied), 2 "
        "wrong usage or a source that cannot be opened, 3 the result could not be written (and was removed).",
    )
    parser.add_argument(
        "source",
        metavar="SRC",
        help="a partition's directory, a .log file, or a pattern that matches copies of one partition",
    )
    parser.add_argument(
        "destination",
        metavar="DEST",
        help="a new or empty directory; a broker expects the name TOPIC-PARTITION",
    )
    add_selection_options(parser)
    parsing.add_format(parser, about="format of the summary; default: text")
    parsing.add_named_options(parser)
    add_progress_option(parser)
    parsing.add_examples(
        parser,
        ("slice logs/orders-0 cut/orders-0 --offsets 1000:2000", "the batches with these offsets"),
        (
            "slice logs/orders-0 cut/orders-0 --since 2026-01-31T12:00:00Z --until 2026-01-31T13:00:00Z",
            "the batches of an hour",
        ),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.salvage.slicing import SliceRange, slice_partition

    if arguments.offsets is None and arguments.since is None and arguments.until is None:
        raise OptionError("no range is given: use --offsets A:B, --since TIME, --until TIME")
    asked = conditions_of(arguments)
    end = NO_END if asked.end is None else asked.end
    wanted = SliceRange(asked.start or 0, end, asked.since, asked.until)
    places = places_of(arguments)
    with shown_progress(arguments, "reading", wait=SECONDS_BEFORE) as progress:
        found = slice_partition(
            arguments.source, arguments.destination, wanted, places=places, progress=progress
        )
    for words in (*map(str, found.skipped), *found.notes):
        console.say(words)
    for fate in found.unused:
        place = f"{found.paths[fate.file]}, position {fate.position} to {fate.end_position}"
        console.say(f"{place}: {fate.status}: {fate.reason}")
    if found.num_unused > len(found.unused):
        console.say(f"and {counted(found.num_unused - len(found.unused), 'more range')} of bytes")
    with console.printing():
        print_lines(_lines(found), arguments.format)
    is_whole = not (found.num_unused or found.num_gaps or found.notes)
    return console.CLEAN if is_whole else console.FINDINGS


def _lines(found: Sliced) -> Iterator[Line]:
    values: dict[str, Any] = {"type": "slice", "first_offset": found.first, "last_offset": found.last}
    values |= {"num_bytes": found.num_bytes, "segments": [one.name for one in found.segments]}
    values["num_missing"] = found.num_gaps
    values["missing"] = [{"first_offset": one.first, "last_offset": one.last} for one in found.gaps]
    words = "no batch has records of this range; the segment that was written is empty"
    if found.first is not None:
        segments = counted(len(found.segments), "segment")
        words = (
            f"offsets {found.first} to {found.last} in whole batches, {found.num_bytes} bytes in {segments}"
        )
    yield Line(values, words)
    for gap in found.gaps:
        yield Line(None, f"in no copy: offsets {gap.first} to {gap.last}")
    if found.num_gaps > len(found.gaps):
        yield Line(None, f"and {counted(found.num_gaps - len(found.gaps), 'more gap')}")
