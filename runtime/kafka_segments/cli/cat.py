"""Subcommand `cat`: print values, keys or headers of records, or fill a template."""

from __future__ import annotations

import argparse
from contextlib import closing

from kafka_segments.cli import console, parsing
from kafka_segments.cli.opened_files import GivenFiles, Readable, fast_rows_if_there
from kafka_segments.cli.selection import add_isolation_option, add_selection_options, conditions_of
from kafka_segments.cli.sources import places_of
from kafka_segments.core.formats.entries import Damage, Record
from kafka_segments.core.segment.records.batch_records import ManyRows
from kafka_segments.log.findings import damage_words
from kafka_segments.search.conditions import Conditions
from kafka_segments.search.templates import FIELDS, RecordFile, Template, unescaped

__all__ = ["add_parser", "run"]

_LEN_BLOCK = 64 << 10  # bytes that are written together


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `cat` to the command's parsers."""
    parser = subparsers.add_parser(
        "cat",
        help="print the values, keys or headers of records, or fill a template",
        description="Print the values of records unchanged, each followed by a newline; or their keys, "
        "their headers, or a filled template. Control records are skipped. Damage is reported on standard "
        "error.",
        epilog="Exit status: 0 clean, 1 damage (all sound records were printed), 2 wrong usage or a file "
        "that cannot be opened, 3 the output could not be written.",
    )
    parsing.add_files(parser, "; - reads standard input")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--print", dest="what", choices=("value", "key", "headers"), default="value", help="default: value"
    )
    what.add_argument(
        "--template",
        metavar="TEXT",
        help=rf"a text with fields in braces: {', '.join(FIELDS)}; \n \t \r \0 \\ \xff are single bytes",
    )
    parser.add_argument(
        "--delimiter",
        metavar="TEXT",
        default=r"\n",
        help=r"what follows each record, with escapes as in a template; default: \n",
    )
    parser.add_argument(
        "--null", metavar="TEXT", help="text in place of null; default: null, or a hyphen with --base64"
    )
    parsing.add_flag(parser, "--base64", "print keys, values and headers in base64")
    add_selection_options(parser)
    parsing.add_count(parser, "--limit", "stop after N records")
    add_isolation_option(parser)
    parsing.add_no_crc(parser)
    parsing.add_named_options(parser)
    parsing.add_examples(
        parser,
        ("cat --print key logs/orders-0", "the keys, one per line"),
        (
            "cat --print key --delimiter '\\0' logs/orders-0",
            "keys that may contain newlines, each followed by a zero byte",
        ),
        ("cat --template '{offset}\\t{key}\\t{value}' logs/orders-0", "a table"),
        (
            "cat --base64 --template '{key} {value}' --isolation read_committed logs/orders-0",
            "committed records in base64",
        ),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    null = arguments.null if arguments.null is not None else "-" if arguments.base64 else "null"
    text = f"{{{arguments.what}}}" if arguments.template is None else arguments.template
    template = Template(text, null=unescaped(null), is_base64=arguments.base64)
    conditions = conditions_of(arguments)
    check_crc = arguments.check_crc
    files = GivenFiles(places_of(arguments), arguments.files, arguments.isolation, check_crc=check_crc)
    cat = _Cat(files, conditions, template, unescaped(arguments.delimiter), arguments.limit)
    with closing(files), console.printing():
        for one in files.found:
            if not cat.is_over:
                files.read(one, cat.segment)
        cat.flush()
        if not cat.is_over:
            files.report_gaps(conditions.touches)
    return files.status


class _Cat:
    """Printer of records on standard output."""

    def __init__(
        self,
        files: GivenFiles,
        conditions: Conditions,
        template: Template,
        delimiter: bytes,
        limit: int | None,
    ) -> None:
        self._files, self._conditions = files, conditions
        self._template, self._delimiter, self._left = template, delimiter, limit
        self._rows = ManyRows(fast_rows_if_there)
        self._block: list[bytes] = []
        self._len_block = 0

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self._left == 0

    def flush(self) -> None:
        """Write what is kept."""
        block, self._block, self._len_block = self._block, [], 0
        console.write(b"".join(block))
        console.flush()

    def segment(self, segment: Readable) -> None:
        """Print the records of a file."""
        file = RecordFile.of(segment.path)
        for event in self._files.events(segment, self._conditions.may_hold, self._rows):
            if isinstance(event, Damage):
                self._say_damage(event)
            elif isinstance(event, Record) and event.control is None and self._conditions.holds(event):
                self._write(self._template.render(event, file) + self._delimiter)
                if self._left is not None:
                    self._left -= 1
                    if self.is_over:
                        return

    def _write(self, data: bytes) -> None:
        self._block.append(data)
        self._len_block += len(data)
        if self._len_block >= _LEN_BLOCK:
            self.flush()

    def _say_damage(self, damage: Damage) -> None:
        if self._conditions.touches(damage):
            self._files.damaged(damage)
            console.say(damage_words(damage))
