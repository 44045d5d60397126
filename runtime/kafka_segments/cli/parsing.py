"""Parser of the command line: `argparse` with messages that suggest what to write instead."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from kafka_segments.cli import console
from kafka_segments.core.io.store_settings import STORE_PREFIXES
from kafka_segments.errors import OptionError
from kafka_segments.errors.escaping import shown
from kafka_segments.query.options import OPTIONS, did_you_mean

__all__ = [
    "LIKE_KAFKA",
    "add_count",
    "add_examples",
    "add_files",
    "add_flag",
    "add_format",
    "add_named_options",
    "add_no_crc",
    "add_options",
    "add_sources",
    "arguments_of",
    "named_options",
    "new_parser",
    "options_of",
]

LIKE_KAFKA = "--like-kafka"
"""An option of `dump` whose values are all arguments that follow, whatever they are: another program's."""

_AS_BYTES = "keys and values are printed as text; --format jsonl prints their bytes in base64"
_INTERNAL = f"records of internal topics are printed like all others: {_AS_BYTES}"
_MAY_BE_EMPTY = ("--delimiter", "--key", "--null")
_INDEXES = "dump reads segments only; `kafka-segments aborted DIR` checks transaction indexes"
_OF_KAFKA_DUMP_LOG = {
    "--files": "give the files as arguments: kafka-segments dump FILE...",
    "--print-data-log": "records are always printed (--headers-only leaves them out)",
    "--deep-iteration": "compressed batches are always decompressed (--headers-only leaves them alone)",
    "--skip-record-metadata": "select what you need from --format jsonl",
    "--max-message-size": "batches of any size are read",
    "--max-bytes": "cut the output off: ... | head",
    "--verify-index-only": _INDEXES,
    "--index-sanity-check": _INDEXES,
    "--key-decoder-class": _AS_BYTES,
    "--value-decoder-class": _AS_BYTES,
    "--cluster-metadata-decoder": _INTERNAL,
    "--offsets-decoder": _INTERNAL,
    "--remote-log-metadata-decoder": _INTERNAL,
    "--share-group-state-decoder": _INTERNAL,
    "--transaction-log-decoder": _INTERNAL,
}
"""Options of Kafka's own tool (DumpLogSegments), and their replacements here."""


def new_parser(**options: Any) -> argparse.ArgumentParser:
    """Make a parser with subparsers of the same kind; options as for `ArgumentParser`."""
    return _Parser(**options)


class _Parser(argparse.ArgumentParser):
    """Parser without abbreviations of options, and with suggestions in messages."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.allow_abbrev = False
        self.examples: list[tuple[str, str]] = []

    @property
    def actions(self) -> list[argparse.Action]:
        """All arguments and options."""
        return self._actions

    def format_help(self) -> str:
        """Return the help, with the examples at its end."""
        lines = [f"  {_typed(command)}\n      {words}\n" for command, words in self.examples]
        return super().format_help() + "".join(["\nexamples:\n", *lines] if lines else [])

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments, and end the process with status 2."""
        self.print_usage(sys.stderr)
        self.exit(console.NOT_OPENED, f"{self.prog}: error: {shown(message)}\n")

    # The override merges the overloads of argparse.
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse arguments; an unknown one is an error, with a suggestion."""
        given = list(sys.argv[1:] if args is None else args)
        others = None
        if LIKE_KAFKA in given and "--" not in given[: given.index(LIKE_KAFKA)]:
            end = given.index(LIKE_KAFKA) + 1
            given, others = given[:end], given[end:]
        self._refuse_early(given)
        parsed, unknown = super().parse_known_args(given, namespace)
        if others is not None and hasattr(parsed, "like_kafka"):
            parsed.like_kafka = others
        if unknown:
            options = [name for name in self._option_string_actions if name.startswith("--")]
            hint = "".join(did_you_mean(one.partition("=")[0], options) for one in unknown[:1])
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return parsed, unknown

    def _refuse_early(self, given: Sequence[str]) -> None:
        for before, one in zip(["", *given], given, strict=False):
            if one == "--":
                return
            if not one and before not in _MAY_BE_EMPTY:
                self.error("an argument is empty: give a path or a value (is a variable of the shell unset?)")
            name = one.partition("=")[0]
            if name in _OF_KAFKA_DUMP_LOG and name not in self._option_string_actions:
                hint = f"or write {LIKE_KAFKA} before all of its options"
                self.error(f"{name} is an option of kafka-dump-log: {_OF_KAFKA_DUMP_LOG[name]}; {hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not among an argument's choices."""
        if action.choices is None or value in action.choices:
            return
        known = list(map(str, action.choices))
        hint = did_you_mean(str(value), known)
        if action.nargs == argparse.PARSER and os.path.exists(str(value)):
            hint = f": write a command before it, as in `kafka-segments dump {value}`"
        choices = ", ".join(known)
        name = "/".join(action.option_strings) or action.metavar or action.dest
        self.error(f"argument {name}: invalid choice: {value!r}{hint} (choose from {choices})")


def _typed(example: str) -> str:
    """Return an example as it is typed: the last command of a pipe has the program's name already."""
    return example if "| kafka-segments " in example else f"kafka-segments {example}"


def add_examples(parser: argparse.ArgumentParser, *examples: tuple[str, str]) -> None:
    """Add examples to the help of a subcommand.

    Args:
        parser: made by a parser of `new_parser`.
        examples: each a command line, without the program's name unless it ends a pipe, and what it does.
    """
    assert isinstance(parser, _Parser)
    parser.examples += examples


def arguments_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return all arguments and options of a parser."""
    assert isinstance(parser, _Parser)
    return parser.actions


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add the flags of some of the Spark source's options; at most one that chooses topics may be given."""
    is_of_topics = any(name.startswith("subscribe") for name in names)
    topics = parser.add_mutually_exclusive_group() if is_of_topics else parser
    for option in (OPTIONS[name] for name in names):
        words = option.help.replace("`", "")
        how: dict[str, Any] = {"choices": option.choices, "metavar": option.metavar}
        if option.default == "true":
            words, how = f"do not {words}", {"action": "store_const", "const": "false"}
        elif option.default is not None:
            words += f"; default: {option.default}"
        group = topics if option.name.startswith("subscribe") else parser
        group.add_argument(str(option.flag), dest=option.name, help=words, **how)


def options_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The options that flags were given for, as text by name."""
    return {name: text for name, text in vars(arguments).items() if name in OPTIONS and text is not None}


def add_files(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Add the files that a verb reads one by one; `more` follows in the help."""
    about = ".log files, patterns of these, or directories of partitions, logs or tiers; paths or addresses"
    parser.add_argument("files", nargs="+", metavar="PATH", help=about + more)


def add_sources(
    parser: argparse.ArgumentParser, more: str = "", *, metavar: str = "PATH", nargs: str = "+"
) -> None:
    """Add the paths at which a verb looks for partitions; `more` follows in the help."""
    about = "log directories, partitions' directories, tiers, .log files, or patterns of these, local "
    about += "or by address (s3a://BUCKET/PATH)"
    parser.add_argument("sources", nargs=nargs, metavar=metavar, help=about + more)


def add_format(
    parser: argparse.ArgumentParser, *others: str, about: str = "default: text, for people"
) -> None:
    """Add `--format`: text, JSON lines or another one."""
    parser.add_argument("--format", choices=(*others, "jsonl", "text"), default="text", help=about)


def add_flag(parser: argparse._ActionsContainer, flag: str, about: str) -> None:
    """Add an option without a value; False unless it is given."""
    parser.add_argument(flag, action="store_true", help=about)


def add_no_crc(parser: argparse._ActionsContainer, about: str = "do not verify batch checksums") -> None:
    """Add `--no-crc`, which sets `check_crc`."""
    parser.add_argument("--no-crc", dest="check_crc", action="store_false", help=about)


def add_count(parser: argparse.ArgumentParser, flag: str, about: str, *, default: int | None = None) -> None:
    """Add an option whose value is a number from 1 on."""
    words = about if default is None else f"{about}; default: {default}"
    parser.add_argument(flag, type=_count, default=default, metavar="N", help=words)


def _count(text: str) -> int:
    if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r}: give a number from 1 on")


def add_named_options(
    parser: argparse.ArgumentParser, about: str = "", *, flags: Sequence[str] = ("-o", "--option")
) -> None:
    """Add the option whose values are NAME=VALUE, which `named_options` reads.

    Args:
        parser: of a verb.
        about: what may be given besides settings for stores; empty for nothing else.
        flags: its names; a verb whose `-o` is the output has the long one alone.
    """
    stores = "a setting for object stores, such as fs.s3a.endpoint"
    words = f"{about}; or {stores}" if about else stores
    parser.add_argument(*flags, dest="option", action="append", default=[], metavar="NAME=VALUE", help=words)


def named_options(given: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The options that were given as NAME=VALUE, as text by name; settings of stores, too.

    Args:
        given: the arguments of `--option`.
        names: that are allowed.

    Raises:
        OptionError: another name, or no value.
    """
    known = {name.lower() for name in names}
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not (name.lower() in known or name.startswith(STORE_PREFIXES)):
            # Without the value, also after another character than `=`: it may be a secret.
            shown_name = re.sub(r"[^\w.-].*", "", name, flags=re.DOTALL)
            close = "" if name.lower() in known else did_you_mean(shown_name, names)
            allowed = ", ".join([*names, "fs.*"])
            raise OptionError(f"--option {shown_name!r}{close}: give NAME=VALUE, NAME one of {allowed}")
        found[name] = value
    return found
