"""Subcommand `completion`: print a script by which a shell completes commands, options and paths."""

from __future__ import annotations

import argparse
from functools import partial
from types import ModuleType

from kafka_segments.cli import console, parsing
from kafka_segments.errors import MissingExtraError

__all__ = ["add_parser", "run"]

SHELLS = ("bash", "zsh", "fish")
_PATHS = ("FILE", "SRC", "DEST", "PATH", "DIR", "TABLE")
"""Metavariables that stand for paths."""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], command: argparse.ArgumentParser
) -> None:
    """Add `completion` to the command's parsers.

    Args:
        subparsers: of the command.
        command: its own parser, with all subcommands when the script is made.
    """
    parser = subparsers.add_parser(
        "completion",
        help="print a completion script for a shell",
        description="Print a script that makes a shell complete commands, options, their values and paths. "
        "The script does not call kafka-segments: generate it again after an upgrade.",
        epilog="Exit status: 0 done, 2 wrong usage, or the package shtab is missing, 3 the output could not "
        "be written.",
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parsing.add_examples(
        parser,
        (
            "completion bash > ~/.local/share/bash-completion/completions/kafka-segments",
            "for bash; needs the package bash-completion",
        ),
        ("completion zsh > ~/.zfunc/_kafka-segments", "for zsh; needs ~/.zfunc in fpath before compinit"),
        ("completion fish > ~/.config/fish/completions/kafka-segments.fish", "for fish"),
    )
    parser.set_defaults(run=partial(run, command))


def run(command: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status.

    Raises:
        MissingExtraError: shtab is not installed.
    """
    shtab = _shtab()
    for parser in (command, *_subcommands(command)):
        for argument in parsing.arguments_of(parser):
            name = argument.metavar if isinstance(argument.metavar, str) else ""
            if name in _PATHS and argument.choices is None:
                argument.complete = shtab.FILE  # type: ignore[attr-defined]
    script = str(shtab.complete(command, shell=arguments.shell))
    console.print_all([script.encode() + b"\n"])
    return console.CLEAN


def _subcommands(command: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers of all subcommands."""
    return [
        parser
        for argument in parsing.arguments_of(command)
        if argument.nargs == argparse.PARSER and isinstance(argument.choices, dict)
        for one in argument.choices.values()
        for parser in (one, *_subcommands(one))
    ]


def _shtab() -> ModuleType:
    try:
        import shtab
    except ImportError as error:
        raise MissingExtraError(
            "completion scripts need shtab: pip install 'kafka-segments[completion]'",
            extra="completion",
        ) from error
    return shtab
