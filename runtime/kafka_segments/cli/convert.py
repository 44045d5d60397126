"""Subcommand `convert`: write a segment in another message format or codec, with a report."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from kafka_segments.cli import console, parsing
from kafka_segments.cli.input_check import refuse_other_file
from kafka_segments.core.formats.entries import Damage
from kafka_segments.errors import MissingCodecError, OptionError
from kafka_segments.log.findings import damage_words
from kafka_segments.log.log_dir import refuse_below_sources
from kafka_segments.write.recompression import Recompression, recompress

if TYPE_CHECKING:
    from kafka_segments.write.convert import Conversion

__all__ = ["add_parser", "run"]

_OF_FORMATS = ("first_offset", "leader_epoch", "batch_size", "experimental_magic3", "metadata_first")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `convert` to the command's parsers."""
    parser = subparsers.add_parser(
        "convert",
        help="write a segment in another message format, or with another codec",
        description="Write a segment in another message format, as Kafka's brokers did: up to magic 2, as "
        "they stored messages of old producers, or down to 1 or 0, as they served old consumers. Batches "
        "that have the message format to write already, or an older one on the way down, are copied byte "
        "for byte. Information that the message format to write cannot hold is counted on standard output. "
        "With --codec the message format to write stays: each batch is recompressed, as by a topic's "
        "compression.type, with the same records, offsets and header.",
        epilog="Exit status: 0 done, 1 damage (all sound batches were converted), 2 wrong usage, a file "
        "that cannot be opened or a batch that the message format to write cannot hold (nothing was "
        "written), 3 the output could not be written.",
    )
    parser.add_argument("source", metavar="SRC", help="a .log file; - reads standard input")
    parser.add_argument("destination", metavar="DEST", help="a new file, outside the partition of SRC")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--to-magic", type=int, choices=(0, 1, 2, 3), help="the message format to write")
    what.add_argument(
        "--codec",
        metavar="CODEC[:LEVEL]",
        help="producer (each batch keeps its codec: a copy of all sound batches), uncompressed or none, "
        "gzip, snappy, lz4, zstd; with a level, as in zstd:19, batches of the same codec are recompressed, "
        "too",
    )
    parser.add_argument(
        "--report", choices=("jsonl", "text"), default="text", help="format of the report; default: text"
    )
    _add_format_options(parser)
    parsing.add_examples(
        parser,
        (
            "convert old/t-0/00000000000000000000.log new.log --to-magic 2",
            "messages of magic 0 or 1 become batches",
        ),
        (
            "convert t-0/00000000000000000000.log small.log --codec zstd:19",
            "the same records, in fewer bytes",
        ),
    )
    parser.set_defaults(run=run)


def _add_format_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that are for some formats only."""
    parser.add_argument(
        "--first-offset",
        type=int,
        metavar="N",
        help="to magic 0 or 1: leave out records below this offset, from uncompressed batches",
    )
    parser.add_argument(
        "--leader-epoch", type=int, metavar="N", help="to magic 2: epoch of new batches; default: -1"
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        metavar="BYTES",
        help="to magic 2: bytes of messages per batch; 0 makes one batch of each message; default: 16384",
    )
    parsing.add_flag(
        parser,
        "--experimental-magic3",
        "convert to magic 3, a proposal that Kafka discarded, or back to 2; brokers and clients cannot "
        "read it",
    )
    parsing.add_flag(
        parser,
        "--metadata-first",
        "to magic 3: use the layout with the metadata of all records before keys and values",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.core.io.new_outputs import new_file
    from kafka_segments.core.io.outputs import check_absent

    destination = _checked_destination(arguments.source, arguments.destination)
    check_absent(destination)
    refuse_other_file(arguments.source)
    damages = _Damages()
    conversion = _conversion(arguments, damages)
    with new_file(destination, arguments.destination) as output:
        for data in conversion:
            output.write(data)
        if damages.status and not output.size:
            raise OptionError(
                "it has no sound batch, so nothing was written: is this a segment?", path=arguments.source
            )
    _print_report(conversion, arguments.report)
    return damages.status


class _Damages:
    """Handler that prints damage on standard error; `status` is the command's."""

    def __init__(self) -> None:
        self.status = console.CLEAN

    def __call__(self, damage: Damage) -> None:
        if isinstance(damage.error, MissingCodecError):
            raise damage.error  # fatal: with the codec installed, these records are readable
        self.status = console.FINDINGS
        console.say(damage_words(damage))


def _checked_destination(source: str, destination: str) -> str:
    """Return the destination with links resolved.

    Raises:
        OptionError: it is the source, or in the source's partition or the log directory around that.
    """
    resolved = os.path.realpath(destination)
    if source != "-" and resolved == os.path.realpath(source):
        raise OptionError("DEST is the source; choose another file", path=destination)
    refuse_below_sources([source], resolved, destination)
    return resolved


def _conversion(arguments: argparse.Namespace, on_damage: _Damages) -> Conversion | Recompression:
    if arguments.codec is not None:
        _refuse_options(arguments, "--to-magic", *_OF_FORMATS)
        codec, level = _codec(arguments.codec)
        return recompress(arguments.source, codec, level=level, on_damage=on_damage)
    from kafka_segments.write.convert import convert_magic3, down_convert, up_convert

    if arguments.to_magic == 3 and not arguments.experimental_magic3:
        raise OptionError("--to-magic 3 needs --experimental-magic3: no version of Kafka has magic 3")
    if arguments.metadata_first and not arguments.experimental_magic3:
        raise OptionError("--metadata-first is for --experimental-magic3")
    if arguments.experimental_magic3:
        _refuse_options(arguments, "formats other than magic 3", "first_offset", "batch_size", "leader_epoch")
        return convert_magic3(
            arguments.source,
            arguments.to_magic,
            metadata_first=arguments.metadata_first,
            experimental_magic3=True,
            on_damage=on_damage,
        )
    if arguments.to_magic == 2:
        _refuse_options(arguments, "conversions to magic 0 or 1", "first_offset")
        options = {"batch_size": arguments.batch_size, "partition_leader_epoch": arguments.leader_epoch}
        options = {name: value for name, value in options.items() if value is not None}
        return up_convert(arguments.source, on_damage=on_damage, **options)
    _refuse_options(arguments, "conversions to magic 2", "batch_size", "leader_epoch")
    return down_convert(
        arguments.source, arguments.to_magic, first_offset=arguments.first_offset, on_damage=on_damage
    )


def _codec(text: str) -> tuple[str, int | None]:
    """The codec and the level of a text such as `zstd:19`."""
    name, colon, level = text.partition(":")
    if colon and not level.removeprefix("-").isdecimal():
        raise OptionError(f"--codec {text!r}: give a level as a number, as in zstd:19")
    return name, int(level) if colon else None


def _refuse_options(arguments: argparse.Namespace, use: str, *names: str) -> None:
    for name in names:
        if getattr(arguments, name) not in (None, False):
            raise OptionError(f"--{name.replace('_', '-')} is for {use}")


def _print_report(conversion: Conversion | Recompression, form: str) -> None:
    report = conversion.tally if isinstance(conversion, Recompression) else conversion.report
    text = report.to_jsonl() if form == "jsonl" else report.to_text()
    console.print_all([text.encode()])
