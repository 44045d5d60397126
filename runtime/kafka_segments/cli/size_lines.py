"""Output of `sizes`: as text, as JSON lines or as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from kafka_segments.cli import jsonl
from kafka_segments.cli.jobs import size_words
from kafka_segments.cli.output import table_lines
from kafka_segments.cli.text import counted
from kafka_segments.write.convert import LOSSES
from kafka_segments.write.sizes import FormSize, SizeReport

__all__ = ["report_lines"]

_KEYS: tuple[str, ...] = (
    "magic",
    "compression",
    "level",
    "batch_size",
    "num_bytes",
    "num_bytes_half_width",
    "ratio",
    "ratio_half_width",
    "records_per_batch",
    "encode_seconds",
    "decode_seconds",
)
_TITLES = ("format", "bytes", "ratio", "records a batch", "encode s", "decode s")


def report_lines(report: SizeReport, form: str, *, seed: int) -> Iterator[bytes]:
    """Yield what is printed of a report.

    Args:
        report: the report.
        form: "text", "jsonl" or "csv".
        seed: of the sample.
    """
    if form == "jsonl":
        yield from map(jsonl.encode, _objects(report, seed))
    elif form == "csv":
        yield _csv(report).encode()
    else:
        yield from (f"{line}\n".encode() for line in _lines(report, seed))


def _objects(report: SizeReport, seed: int) -> Iterator[dict[str, Any]]:
    tally, sample = report.tally, report.sample
    yield {
        "type": "source",
        "num_files": report.num_files,
        "num_file_bytes": report.num_file_bytes,
        "num_bytes": _whole(report.num_bytes.value),
        "num_bytes_half_width": _whole(report.num_bytes.half_width),
        "num_batches": round(tally.num_batches * report.scale),
        "num_single_record_batches": round(tally.num_single * report.scale),
        "num_records": round(tally.num_records * report.scale),
        "batches_by_compression": _scaled(report, tally.codecs),
        "batches_by_magic": _scaled(report, tally.magics),
        "num_damaged_places_read": report.num_findings,
        "num_refused_batches": round(tally.num_refused * report.scale),
    }
    if sample is not None:
        yield {
            "type": "sample",
            "num_bytes": sample.num_bytes,
            "num_stretches": len(sample.tallies),
            "num_all_stretches": sample.num_stretches,
            "len_stretch": sample.len_stretch,
            "seed": seed,
            "is_precise": sample.is_precise,
        }
    for size in report.sizes:
        yield {"type": "size"} | _values(size)
    for magic in sorted({size.form.magic for size in report.sizes}):
        losses = report.losses(magic)
        for what in filter(losses.get, LOSSES):
            yield {"type": "loss", "magic": magic, "what": what, "num": losses[what]}


def _scaled(report: SizeReport, counts: Any) -> dict[str, int]:
    return {str(name): round(count * report.scale) for name, count in sorted(counts.items())}


def _values(size: FormSize) -> dict[str, Any]:
    form = size.form
    values = (
        form.magic,
        form.compression,
        form.used_level,
        form.batch_size,
        _whole(size.num_bytes.value),
        _whole(size.num_bytes.half_width),
        _rounded(size.ratio.value),
        _rounded(size.ratio.half_width),
        _rounded(size.records_per_batch),
        _rounded(size.encode_seconds),
        _rounded(size.decode_seconds),
    )
    return dict(zip(_KEYS, values, strict=True))


def _whole(value: float) -> int | None:
    return round(value) if math.isfinite(value) else None


def _rounded(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _csv(report: SizeReport) -> str:
    text = io.StringIO()
    is_sample = report.sample is not None
    writer = csv.DictWriter(text, (*_KEYS, "num_source_bytes", "is_sample"), lineterminator="\n")
    writer.writeheader()
    there = _whole(report.num_bytes.value)
    for size in report.sizes:
        writer.writerow(_values(size) | {"num_source_bytes": there, "is_sample": int(is_sample)})
    return text.getvalue()


def _lines(report: SizeReport, seed: int) -> Iterator[str]:
    tally = report.tally
    about = "about " if report.num_bytes.half_width else ""
    depth = tally.num_records / tally.num_batches if tally.num_batches else 0.0
    single = tally.num_single / tally.num_batches if tally.num_batches else 0.0
    yield (
        f"{counted(report.num_files, 'segment')} of {report.num_file_bytes} bytes, {about}"
        f"{_whole(report.num_bytes.value)} of them in batches: {depth:.4g} records a batch, "
        f"{single:.1%} of batches hold one record"
    )
    codecs = ", ".join(f"{name} {count}" for name, count in _scaled(report, tally.codecs).items())
    magics = ", ".join(f"magic {name} {count}" for name, count in _scaled(report, tally.magics).items())
    yield f"batches, messages and wrappers: {codecs or 'none'}; {magics or 'no magic'}"
    yield from _sample_lines(report, seed)
    yield ""
    is_sample = report.sample is not None
    yield from table_lines(_TITLES, [_row(size, is_sample=is_sample) for size in report.sizes])
    yield ""
    yield from _loss_lines(report)


def _sample_lines(report: SizeReport, seed: int) -> Iterator[str]:
    sample = report.sample
    if sample is None:
        yield "everything was read: numbers of bytes are exact"
        return
    share = sample.num_bytes / report.num_bytes.value if report.num_bytes.value else 0.0
    why = "" if sample.is_precise else "; more time (--seconds) makes it more precise"
    yield (
        f"a SAMPLE was read, {size_words(sample.num_bytes)} ({share:.2%}) in {len(sample.tallies)} of "
        f"{sample.num_stretches} stretches of {sample.len_stretch} bytes, seed {seed}: all numbers are "
        f"estimates, ± is half of a 99 % interval{why}; --whole reads everything"
    )


def _row(size: FormSize, *, is_sample: bool) -> tuple[str, ...]:
    form = size.form
    level = "" if form.level is None else f":{form.level}"
    batches = "" if form.batch_size is None else f", batches of {form.batch_size}"
    interval = f" ± {size.num_bytes.relative:.1%}" if is_sample else ""
    return (
        f"magic {form.magic}, {form.compression}{level}{batches}",
        f"{_whole(size.num_bytes.value)}{interval}",
        f"{size.ratio.value:.3f}",
        f"{size.records_per_batch:.4g}",
        f"{size.encode_seconds:.4g}",
        f"{size.decode_seconds:.4g}",
    )


def _loss_lines(report: SizeReport) -> Iterator[str]:
    for magic in sorted({size.form.magic for size in report.sizes}):
        losses = report.losses(magic)
        for what in filter(losses.get, LOSSES):
            yield f"magic {magic} would lose {losses[what]} {what}: {LOSSES[what]}"
    if report.tally.num_refused:
        number = round(report.tally.num_refused * report.scale)
        yield f"batches left out because Kafka would refuse to write them again: {number}"
