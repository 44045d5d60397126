"""Subcommand `sizes`: measure segments in other formats, with other codecs and batch sizes."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_segments.cli import console, parsing
from kafka_segments.cli.input_check import refuse_other_file
from kafka_segments.cli.jobs import add_progress_option, shown_progress, size_words
from kafka_segments.cli.output import Line, csv_text, print_lines, table_lines
from kafka_segments.cli.sources import GivenFile, files_of, places_of
from kafka_segments.cli.text import counted
from kafka_segments.core.codecs import CODEC_NAMES, check_level
from kafka_segments.core.formats import EXPERIMENTAL_MAGICS, MAGICS
from kafka_segments.core.formats.entries import Damage
from kafka_segments.core.io.filesystems import Places
from kafka_segments.errors import KafkaFormatError, OptionError
from kafka_segments.query.option_values import size_from

if TYPE_CHECKING:
    from kafka_segments.core.io.jobs import Progress
    from kafka_segments.sizes import Form, FormSize, MeasuredFile, SizeReport

__all__ = ["add_parser", "run"]

_DEFAULT = ("none", "gzip", "gzip:1", "snappy", "lz4", "lz4:1", "zstd", "zstd:1", "zstd:9")
_LARGEST_WHOLE = 16 << 20
_SECONDS = 3.0  # with those of opening the segments
_NUM_SHOWN = 10  # damaged places
_to_bytes = size_from(1)
_TITLES = ("format", "bytes", "ratio", "records a batch", "encode s", "decode s")


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
            progress: Progress = _ignore
        else:
            progress = stack.enter_context(shown_progress(arguments, "the encoders"))
        report = measure_sizes(
            files, forms, **limits, seed=arguments.seed, on_finding=findings, progress=progress
        )
    findings.say_rest()
    with console.printing():
        if arguments.format == "csv":
            console.write(_csv(report).encode())
        else:
            print_lines(_lines(report, arguments.seed), arguments.format)
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


def _csv(report: SizeReport) -> str:
    """Return the sizes as CSV."""
    more = {"num_source_bytes": _whole(report.num_bytes.value), "is_sample": int(report.sample is not None)}
    rows = [_values(size) | more for size in report.sizes]
    return csv_text(list(rows[0]), (list(row.values()) for row in rows))


def _lines(report: SizeReport, seed: int) -> Iterator[Line]:
    """Yield what is printed of a report.

    Args:
        report: the report, of at least one form.
        seed: of the sample.
    """
    from kafka_segments.write.convert import LOSSES

    yield from _source_lines(report)
    yield from _sample_lines(report, seed)
    yield Line(None, "")
    head, rule, *rows = table_lines(_TITLES, [_row(size, report) for size in report.sizes])
    yield from (Line(None, words) for words in (head, rule))
    for size, words in zip(report.sizes, rows, strict=True):
        yield Line({"type": "size"} | _values(size), words)
    yield Line(None, "")
    for magic in sorted({size.form.magic for size in report.sizes}):
        losses = report.losses(magic)
        for what in filter(losses.get, LOSSES):
            words = f"magic {magic} would lose {losses[what]} {what}: {LOSSES[what]}"
            yield Line({"type": "loss", "magic": magic, "what": what, "num": losses[what]}, words)
    if report.tally.num_refused:
        number = round(report.tally.num_refused * report.scale)
        yield Line(None, f"batches left out because Kafka would refuse to write them again: {number}")


def _source_lines(report: SizeReport) -> Iterator[Line]:
    tally, num_bytes = report.tally, report.num_bytes
    codecs, magics = (
        {str(name): round(count * report.scale) for name, count in sorted(counts.items())}
        for counts in (tally.codecs, tally.magics)
    )
    values = {
        "type": "source",
        "num_files": report.num_files,
        "num_file_bytes": report.num_file_bytes,
        "num_bytes": _whole(num_bytes.value),
        "num_bytes_half_width": _whole(num_bytes.half_width),
        "num_batches": round(tally.num_batches * report.scale),
        "num_single_record_batches": round(tally.num_single * report.scale),
        "num_records": round(tally.num_records * report.scale),
        "batches_by_compression": codecs,
        "batches_by_magic": magics,
        "num_damaged_places_read": tally.num_damaged,
        "num_refused_batches": round(tally.num_refused * report.scale),
    }
    yield Line(
        values,
        f"{counted(report.num_files, 'segment')} of {report.num_file_bytes} bytes, "
        f"{'about ' if num_bytes.half_width else ''}{_whole(num_bytes.value)} of them in batches: "
        f"{tally.num_records / max(tally.num_batches, 1):.4g} records a batch, "
        f"{tally.num_single / max(tally.num_batches, 1):.1%} of batches hold one record",
    )
    by_codec = ", ".join(f"{name} {count}" for name, count in codecs.items())
    by_magic = ", ".join(f"magic {name} {count}" for name, count in magics.items())
    yield Line(None, f"batches, messages and wrappers: {by_codec or 'none'}; {by_magic or 'no magic'}")


def _sample_lines(report: SizeReport, seed: int) -> Iterator[Line]:
    sample, num_read = report.sample, report.tally.num_bytes
    if sample is None:
        yield Line(None, "everything was read: numbers of bytes are exact")
        return
    values = {
        "type": "sample",
        "num_bytes": num_read,
        "num_stretches": len(sample.found),
        "num_all_stretches": len(sample.frame),
        "len_stretch": sample.frame.len_stretch,
        "seed": seed,
        "is_precise": sample.is_precise,
    }
    share = num_read / report.num_bytes.value if report.num_bytes.value else 0.0
    why = "" if sample.is_precise else "; more time (--seconds) makes it more precise"
    yield Line(
        values,
        f"a SAMPLE was read, {size_words(num_read)} ({share:.2%}) in {len(sample.found)} of "
        f"{len(sample.frame)} stretches of {sample.frame.len_stretch} bytes, seed {seed}: all numbers are "
        f"estimates, ± is half of a 99 % interval{why}; --whole reads everything",
    )


def _values(size: FormSize) -> dict[str, Any]:
    form = size.form
    return {
        "magic": form.magic,
        "compression": form.compression,
        "level": form.used_level,
        "batch_size": form.batch_size,
        "num_bytes": _whole(size.num_bytes.value),
        "num_bytes_half_width": _whole(size.num_bytes.half_width),
        "ratio": _rounded(size.ratio.value),
        "ratio_half_width": _rounded(size.ratio.half_width),
        "records_per_batch": _rounded(size.records_per_batch),
        "encode_seconds": _rounded(size.encode_seconds),
        "decode_seconds": _rounded(size.decode_seconds),
    }


def _whole(value: float) -> int | None:
    return round(value) if math.isfinite(value) else None


def _rounded(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _row(size: FormSize, report: SizeReport) -> tuple[str, ...]:
    form, relative = size.form, size.num_bytes.relative
    level = "" if form.level is None else f":{form.level}"
    batches = "" if form.batch_size is None else f", batches of {form.batch_size}"
    interval = f" ± {relative:.1%}" if relative <= 1 else " ± over 100%"
    return (
        f"magic {form.magic}, {form.compression}{level}{batches}",
        f"{_whole(size.num_bytes.value)}{interval if report.sample else ''}",
        f"{size.ratio.value:.3f}",
        f"{size.records_per_batch:.4g}",
        f"{size.encode_seconds:.4g}",
        f"{size.decode_seconds:.4g}",
    )
