"""Output of `sizes`: as text, as JSON lines or as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from kafka_segments.cli.jobs import size_words
from kafka_segments.cli.output import Line, csv_text, table_lines
from kafka_segments.cli.text import counted
from kafka_segments.sizes import FormSize, SizeReport
from kafka_segments.write.convert import LOSSES

__all__ = ["report_csv", "report_lines"]

_TITLES = ("format", "bytes", "ratio", "records a batch", "encode s", "decode s")


def report_csv(report: SizeReport) -> str:
    """Return the sizes as CSV."""
    more = {"num_source_bytes": _whole(report.num_bytes.value), "is_sample": int(report.sample is not None)}
    rows = [_values(size) | more for size in report.sizes]
    return csv_text(list(rows[0]), (list(row.values()) for row in rows))


def report_lines(report: SizeReport, seed: int) -> Iterator[Line]:
    """Yield what is printed of a report.

    Args:
        report: the report, of at least one form.
        seed: of the sample.
    """
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
