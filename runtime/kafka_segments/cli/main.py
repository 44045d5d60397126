"""Entry point: parse arguments, run a subcommand, turn errors into messages and exit statuses."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

import kafka_segments
from kafka_segments.cli import console
from kafka_segments.cli.parsing import add_options, new_parser, options_of
from kafka_segments.core.codecs.bounds import other_bound
from kafka_segments.core.io.signals import ended_by_signals
from kafka_segments.errors import KafkaFormatError, OutputError
from kafka_segments.log.skipped_files import num_unlisted
from kafka_segments.query.options import GivenOptions

__all__ = ["main"]

_VERBS = (
    "aborted",
    "audit",
    "cat",
    "compact",
    "completion",
    "convert",
    "dump",
    "find",
    "ingest",
    "ls",
    "plan",
    "report",
    "rewind",
    "salvage",
    "schemas",
    "sizes",
    "slice",
    "verify",
)
"""The subcommands, each the module of its name."""
_READING = frozenset(
    {"aborted", "audit", "cat", "dump", "find", "plan", "report", "salvage", "sizes", "slice", "verify"}
)
"""Those that read records, and have no option of their own for how large a batch may be."""
_OF_ALL = "completion"
"""The one whose work is the parser of all."""
_BY_SIGNAL = 128  # and the number of the signal: the status of what one ended


def main(argv: list[str] | None = None) -> int:
    """Run `kafka-segments` and return its exit status.

    0: clean. 1: damage, or another finding. 2: wrong usage, or a source that cannot be opened; the rest was
    done. 3: the output could not be written. 130, 143, 129: ended by Ctrl-C, SIGTERM, SIGHUP.

    Args:
        argv: the arguments, without the program's name; None takes those of the process.
    """
    try:
        with ended_by_signals():
            return _command(sys.argv[1:] if argv is None else argv)
    except SystemExit as error:  # argparse has printed its message
        status = error.code if isinstance(error.code, int) else console.NOT_OPENED
        if status > _BY_SIGNAL:
            console.say("terminated")
        return status
    except KeyboardInterrupt:
        console.say("interrupted")
        return console.INTERRUPTED
    except KafkaFormatError as error:
        console.say(str(error))
        if isinstance(error, OutputError):
            console.silence_stdout()
        return console.status_of(error)


def _command(words: list[str]) -> int:
    parser = _parser(words[0] if words else None)
    arguments = parser.parse_args(words)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return console.NOT_OPENED
    before, given = num_unlisted(), GivenOptions(options_of(arguments))
    with other_bound(given["maxDecompressedBytes"]):
        status: int = arguments.run(arguments)
    return status if num_unlisted() == before else max(status, console.NOT_OPENED)


def _parser(verb: str | None = None) -> argparse.ArgumentParser:
    """Make the parser: of one subcommand if it is named, since importing all of them takes a while."""
    parser = new_parser(
        prog="kafka-segments",
        description="Read, verify, salvage and convert Kafka's log segments on disk, without a broker.",
    )
    parser.add_argument("--version", action="version", version=f"kafka-segments {kafka_segments.__version__}")
    parser.set_defaults(run=None)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="verb")
    for name in (verb,) if verb in _VERBS and verb != _OF_ALL else _VERBS:
        add_parser = import_module(f"kafka_segments.cli.{name}").add_parser
        add_parser(subparsers, parser) if name == _OF_ALL else add_parser(subparsers)
        if name in _READING:
            add_options(subparsers.choices[name], "maxDecompressedBytes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
