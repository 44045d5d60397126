"""Subcommand `sizes`: measure segments in other formats, with other codecs and batch sizes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_segments.cli import console, parsing
from kafka_segments.cli.input_check import refuse_other_file
from kafka_segments.cli.jobs import JobProgress, add_progress_option, is_drawn
from kafka_segments.cli.output import print_lines
from kafka_segments.cli.sources import GivenFile, files_of, places_of
from kafka_segments.core.codecs import CODEC_NAMES, check_level
from kafka_segments.core.formats import EXPERIMENTAL_MAGICS, MAGICS
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.query.option_values import size_from

if TYPE_CHECKING:
    from kafka_segments.sizes import Form, MeasuredFile

__all__ = ["add_parser", "run"]

_DEFAULT = ("none", "gzip", "gzip:1", "snappy", "lz4", "lz4:1", "zstd", "zstd:1", "zstd:9")
_LARGEST_WHOLE = 16 << 20
_SECONDS = 3.0  # with those of opening the segments
_NUM_SHOWN = 10  # damaged places
_to_bytes = size_from(1)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `sizes` to the command's parsers."""
    parser = subparsers.add_parser(
        "sizes",
        help="measure how large segments would be in other formats and codecs",
        description="Encode the records of segments in other message formats, with other codecs, levels and "
        "batch sizes, and print the sizes, their ratio to the present size, CPU time and records per batch. "
        "No file is written. Of more than 16 MiB, only a sample is read, and the output says so; --whole "
        "reads everything.",
        epilog="Exit status: 0 clean, 1 damage in what was read, 2 wrong usage or a file that cannot be "
        "opened, 3 the output could not be written.",
    )
    parsing.add_files(parser)
    parser.add_argument(
        "--magic",
        type=int,
        action="append",
        choices=tuple(MAGICS),
        help="a message format of Kafka; may be repeated; default: all",
    )
    parser.add_argument(
        "--experimental-magic3",
        action="store_true",
        help="also measure magic 3, a proposal that Kafka discarded and only this package reads",
    )
    parser.add_argument(
        "--compression",
        action="append",
        metavar="CODEC[:LEVEL,...]",
        help="a codec, with or without levels, or none; may be repeated; without a level, Kafka's default "
        f"level; default: {' '.join(_DEFAULT)}",
    )
    parser.add_argument(
        "--batch-size",
        action="append",
        default=[],
        metavar="BYTES",
        help="also put the records into batches of at most this many bytes, as a producer's batch.size "
        "does; may have a unit, as in 64k; may be repeated",
    )
    parser.add_argument("--whole", action="store_true", help="read everything, however large it is")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random sample; default: 0")
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="seconds for listing and sample; default: 3, or less if the result is precise earlier",
    )
    parser.add_argument(
        "--sample", metavar="BYTES", help="read a sample of this many bytes, however long it takes"
    )
    parsing.add_format(parser, "csv")
    parsing.add_named_options(parser)
    add_progress_option(parser)
    parsing.add_examples(
        parser,
        ("sizes /data1/orders-3 --compression zstd:3,19", "the size of a partition with zstd"),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    from kafka_segments.cli.size_lines import report_csv, report_lines
    from kafka_segments.sizes import measure_sizes

    started = time.monotonic()
    forms = _forms(arguments)
    places = places_of(arguments)
    files, status = _data_files(places, arguments.files)
    if not files:
        return status
    num_data = sum(file.num_data for file in files)
    limits = _limits(arguments, num_data, time.monotonic() - started)
    findings = _Findings()
    with ExitStack() as stack:
        if "seconds" in limits:
            stack.enter_context(console.waiting("measuring a sample"))
            progress = _ignore
        else:
            progress = JobProgress(stack, "the encoders", draw=is_drawn(arguments), verb="sizes").show
        report = measure_sizes(
            files, forms, **limits, seed=arguments.seed, on_finding=findings, progress=progress
        )
    findings.say_rest()
    with console.printing():
        if arguments.format == "csv":
            console.write(report_csv(report).encode())
        else:
            print_lines(report_lines(report, arguments.seed), arguments.format)
    return max(status, console.FINDINGS if report.tally.num_damaged else console.CLEAN)


class _Findings:
    """Printer of the first damaged places on standard error."""

    def __init__(self) -> None:
        self._num = 0

    def __call__(self, found: Damage) -> None:
        self._num += 1
        if self._num <= _NUM_SHOWN:
            console.say(
                f"{found.path}, position {found.position} to {found.end_position}: {found.error.detail}"
            )

    def say_rest(self) -> None:
        """Say how many places were not printed."""
        if self._num > _NUM_SHOWN:
            console.say(f"{self._num - _NUM_SHOWN} more damaged places are not printed; `dump` prints all")


def _ignore(done: int, total: int) -> None:
    """Show no progress: the time is short."""


def _forms(arguments: argparse.Namespace) -> list[Form]:
    """The forms that the arguments ask for, of each format those that Kafka has."""
    from kafka_segments.sizes import Form, is_possible

    sizes = [None, *(_to_bytes("--batch-size", text) for text in arguments.batch_size)]
    magics = sorted(set(arguments.magic or MAGICS))
    if arguments.experimental_magic3:
        magics += sorted(set(EXPERIMENTAL_MAGICS) - set(MAGICS))
    codecs = list(dict.fromkeys(one for text in arguments.compression or _DEFAULT for one in _levels(text)))
    forms = [
        Form(magic, codec, level, size)
        for size in sizes
        for magic in magics
        for codec, level in codecs
        # Messages of the old formats are in no batch unless they are compressed.
        if size is None or magic >= 2 or codec != "none"
    ]
    possible = list(dict.fromkeys(form for form in forms if is_possible(form)))
    if not possible:
        raise OptionError("Kafka has none of these combinations: zstd needs magic 2")
    return possible


def _levels(compression: str) -> Iterator[tuple[str, int | None]]:
    """Iterate over the codec and the levels of a text such as `zstd:1,3,9`; a default level is None."""
    name, colon, levels = compression.partition(":")
    if name == "none" and not colon:
        yield name, None
        return
    if name not in CODEC_NAMES:
        known = ", ".join(("none", *CODEC_NAMES))
        raise OptionError(f"compression {compression!r}: give one of {known}, and levels as in zstd:1,3,9")
    for level in levels.split(",") if colon else ["default"]:
        if not level:
            raise OptionError(f"compression {compression!r}: a level is missing; give them as in zstd:1,3,9")
        if colon and not level.lstrip("-").isdecimal():
            raise OptionError(
                f"compression {compression!r}: {level!r} is not a level; levels are numbers, as in gzip:9"
            )
        number = int(level) if colon else None
        yield name, None if check_level(name, number) == check_level(name, None) else number


def _limits(arguments: argparse.Namespace, num_data: int, elapsed: float) -> dict[str, Any]:
    """The limits of a sample; none to read everything. By default `elapsed` seconds are part of its time."""
    given = [name for name in ("seconds", "sample") if getattr(arguments, name) is not None]
    if arguments.whole and given:
        raise OptionError(f"--whole reads everything, and --{given[0]} limits a sample: give one of them")
    if len(given) > 1:
        raise OptionError("--seconds and --sample both limit the sample: give one of them")
    if arguments.sample is not None:
        return {"num_bytes": _to_bytes("--sample", arguments.sample)}
    if arguments.seconds is not None and not 0 < arguments.seconds < float("inf"):
        raise OptionError(f"--seconds {arguments.seconds}: give a time above 0")
    if arguments.whole or (not given and num_data <= _LARGEST_WHOLE):
        return {}
    return {"seconds": arguments.seconds or max(_SECONDS - elapsed, _SECONDS / 2)}


def _data_files(places: Places, given: Sequence[str]) -> tuple[list[MeasuredFile], int]:
    """Open each file once; return those that are logs, and the exit status of the others."""
    from kafka_segments.sizes import data_file

    found: list[MeasuredFile] = []
    status = console.CLEAN
    with console.waiting("listing and opening segments"):
        for one in files_of(places, given):
            try:
                if isinstance(one, KafkaFormatError):
                    raise one
                _refuse(one)
                found.append(data_file(one.path, partial(one.open, places, only_files=True)))
            except KafkaFormatError as error:
                console.say(str(error))
                status = max(status, console.status_of(error))
    if not found and not status:
        console.say("no segment was found: give .log files, or directories that contain some")
        status = console.NOT_OPENED
    return found, status


def _refuse(file: GivenFile) -> None:
    if file.path == "-":
        raise OptionError("standard input cannot be sampled in several places: give a file")
    if file.segment is None:
        refuse_other_file(file.path)
