"""Entry point: parse arguments, run a subcommand, turn errors into messages and exit statuses."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import kafka_segments
from kafka_segments.cli import (
    aborted,
    audit,
    cat,
    compact,
    completion,
    console,
    convert,
    dump,
    find,
    ingest,
    ls,
    plan,
    report,
    rewind,
    salvage,
    schemas,
    sizes,
    verify,
)
from kafka_segments.cli import slice as slice_verb
from kafka_segments.cli.parsing import new_parser
from kafka_segments.errors import KafkaFormatError, OutputError

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run `kafka-segments` and return its exit status.

    0: clean. 1: damage, or another finding. 2: wrong usage, or a source that cannot be opened; the rest was
    done. 3: the output could not be written. 130: interrupted.

    Args:
        argv: the arguments, without the program's name; None takes those of the process.
    """
    try:
        parser = _parser()
        arguments = parser.parse_args(argv)
        if arguments.run is None:
            parser.print_help(sys.stderr)
            return console.NOT_OPENED
        return _run(arguments.run, arguments)
    except SystemExit as error:  # argparse has printed its message
        return error.code if isinstance(error.code, int) else console.NOT_OPENED
    except KeyboardInterrupt:
        console.say("interrupted")
        return console.INTERRUPTED


def _run(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    try:
        return run(arguments)
    except KafkaFormatError as error:
        console.say(str(error))
        if isinstance(error, OutputError):
            console.silence_stdout()
        return console.status_of(error)


def _parser() -> argparse.ArgumentParser:
    parser = new_parser(
        prog="kafka-segments", description="Reads Kafka's log segments where they lie, without a broker."
    )
    parser.add_argument("--version", action="version", version=f"kafka-segments {kafka_segments.__version__}")
    parser.set_defaults(run=None)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    aborted.add_parser(subparsers)
    audit.add_parser(subparsers)
    cat.add_parser(subparsers)
    compact.add_parser(subparsers)
    completion.add_parser(subparsers, parser)
    convert.add_parser(subparsers)
    dump.add_parser(subparsers)
    find.add_parser(subparsers)
    ingest.add_parser(subparsers)
    ls.add_parser(subparsers)
    plan.add_parser(subparsers)
    report.add_parser(subparsers)
    rewind.add_parser(subparsers)
    salvage.add_parser(subparsers)
    schemas.add_parser(subparsers)
    sizes.add_parser(subparsers)
    slice_verb.add_parser(subparsers)
    verify.add_parser(subparsers)
    return parser


if __name__ == "__main__":
    sys.exit(main())
