"""Subcommand `compact`: merge small files of a table into larger ones."""

from __future__ import annotations

import argparse

from kafka_segments.cli import console, parsing
from kafka_segments.cli.ingest import table_of
from kafka_segments.cli.jobs import add_engine_options, add_progress_option, engine_of, shown_progress
from kafka_segments.query import option_values as values

__all__ = ["add_parser", "run"]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `compact` to the command's parsers."""
    parser = subparsers.add_parser(
        "compact",
        help="merge the small files of a table written by ingest",
        description="Merge small files of a table that `kafka-segments ingest` has written into larger "
        "files with the same rows, in one commit. Programs that read all files of the directory may briefly "
        "see rows twice at its end.",
        epilog="Exit status: 0 done, or nothing to do, 1 done, but a killed run, which was completed first, "
        "had found damage or lost offsets, 2 wrong usage or a path that cannot be opened, 3 the table could "
        "not be written (and is unchanged, unless the message says that this is unknown).",
    )
    parser.add_argument("destination", metavar="DEST", help="a table written by ingest")
    parser.add_argument(
        "--target-size",
        metavar="BYTES",
        default="256m",
        help="approximate size of the new files; larger files are left alone; default: 256m",
    )
    parsing.add_flag(
        parser,
        "--bloom-filter",
        "write a bloom filter of the keys into each new file; otherwise new files have none",
    )
    parsing.add_named_options(parser)
    add_engine_options(parser)
    add_progress_option(parser)
    parsing.add_examples(
        parser,
        ("compact table --target-size 512m", "merge into files of about 512 MiB"),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.ingest.committing import recover
    from kafka_segments.ingest.compact import compact

    table, newest = table_of(arguments)
    target = values.size_from(1)("--target-size", arguments.target_size)
    engine, name = engine_of(arguments)
    with shown_progress(arguments, name) as show:
        has_findings = recover(table, newest, console.say)
        num_files, made = compact(
            table,
            engine,
            target_bytes=target,
            bloom_filter=arguments.bloom_filter,
            show=show,
            say=console.say,
        )
    if made is None:
        console.say("no files to merge")
    else:
        console.say(f"{num_files} files were merged into {len(made.files)}")
    return console.FINDINGS if has_findings else console.CLEAN
