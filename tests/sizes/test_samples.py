"""Samples of `sizes`: each entry in one stretch, and estimates that are as near to the truth as they say."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests import forms
from tests.made.samples import RECORDED
from tests.made.segments import some_segment
from tests.sizes import sparse_logs

from kafka_segments import open_segment
from kafka_segments.core.formats.entries import Batch
from kafka_segments.core.io.storage import open_source
from kafka_segments.sizes import Form, MeasuredFile, SizeReport, data_file, measure_sizes, size_report
from kafka_segments.sizes.size_report import draw, ratio_of
from kafka_segments.sizes.stretches import EntryFinder, Frame
from kafka_segments.write.convert import down_convert

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EVERY_FORM = [
    Form(magic, codec) for magic in (0, 1, 2, 3) for codec in CODECS if magic > 1 or codec != "zstd"
]
FORMS = (Form(1), Form(1, "gzip", 1), Form(2), Form(2, "zstd"), Form(2, "lz4", 1), Form(3, "zstd"))


def opened(path: Path) -> MeasuredFile:
    return data_file(str(path), partial(open_source, str(path)))


def measured(files: Sequence[MeasuredFile], tried: Sequence[Form] = FORMS, **limits: Any) -> SizeReport:
    return measure_sizes(
        files, tried, **limits, on_finding=lambda _found: None, progress=lambda _done, _of: None
    )


@pytest.mark.parametrize("len_stretch", [997, 4096, 30_000, 1 << 20])
@pytest.mark.parametrize(
    "make",
    [
        lambda: some_segment(200),
        lambda: down_convert(some_segment(200), 1).to_bytes(),
        lambda: sparse_logs.batches(Random(3), 200_000, codecs=("none", "lz4", "zstd")),
    ],
    ids=["shapes", "magic 1", "batches"],
)
def test_each_entry_is_in_one_stretch(tmp_path: Path, make: Callable[[], bytes], len_stretch: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(data := make())
    with open_segment(data) as segment:
        starts = [entry.position for entry in segment.iter_entries() if isinstance(entry, Batch)]
    frame = Frame([opened(path)], len_stretch)
    found: list[int] = []
    for file, start, stop in map(frame.stretch, range(len(frame))):
        for run in EntryFinder(open_source(data), file.end).runs(start, stop):
            assert isinstance(run, tuple)
            found += [at for at in starts if run[0] <= at < run[1]]
            assert start <= run[0] and (run[1] in starts or run[1] == len(data))
    assert found == starts


def test_holes_are_in_no_stretch(tmp_path: Path) -> None:
    path = tmp_path / "log"
    sparse_logs.spread(path, 64 << 20)
    found = opened(path)
    if len(found.extents) == 1:
        pytest.skip("this file system has no holes")
    assert len(found.extents) == 64 // 16 and found.num_data < 1 << 20 < found.end
    whole = measured([found])
    assert whole.tally.num_damaged == 0, "the zeros between the last batch and a hole are no damage"
    assert whole.num_bytes.value == sum(
        len(sparse_logs.batches(random, sparse_logs.LEN_RUN, offset))
        for random in [Random(0)]
        for offset in range(0, 4 * 100_000, 100_000)
    )


def test_zeros_at_the_end_are_no_data(tmp_path: Path) -> None:
    path = tmp_path / "log"
    sparse_logs.preallocated(path, 100_000, 8 << 20)
    found, report = opened(path), measured([opened(path)])
    there = len(sparse_logs.batches(Random(0), 100_000))
    assert found.size == 8 << 20
    assert report.num_bytes.value == found.end == found.num_data == there and report.tally.num_damaged == 0


def test_each_number_is_drawn_once_and_as_likely_as_any_other() -> None:
    assert all(sorted(draw(num_all, Random(num_all))) == list(range(num_all)) for num_all in (1, 2, 3, 1000))
    counts = Counter(number for seed in range(3000) for number in islice(draw(20, Random(seed)), 5))
    assert len(counts) == 20 and max(counts.values()) < 1.2 * 750 and min(counts.values()) > 0.8 * 750


def test_all_stretches_leave_no_doubt_unless_their_ends_cut_batches() -> None:
    x = np.full(100, 10.0)
    y = x * np.linspace(0.2, 0.4, 100)
    whole, cut = (ratio_of(x, y, 100, is_cut=is_cut) for is_cut in (False, True))
    assert whole.value == cut.value == pytest.approx(0.3)
    assert whole.half_width == 0 < cut.half_width
    assert ratio_of(x[:1], y[:1], 100).half_width == math.inf
    assert ratio_of(x, 2 * x, 1000).half_width == 0


def test_an_interval_is_wide_where_one_stretch_differs_from_all_others() -> None:
    """Many resamples are without it, and say nothing of how far off the others may be."""
    x = np.full(64, 10.0)
    y = np.where(np.arange(64) == 5, 10.0, 1.0)
    assert ratio_of(x, y, 10_000).half_width == math.inf
    many = ratio_of(np.tile(x, 2000), np.tile(y, 2000), 1 << 30)
    assert many.relative < 0.05, "of many stretches, groups are drawn"


def populations() -> dict[str, tuple[Any, Any]]:
    """Bytes there and in another form of 20,000 stretches, by how codecs and sizes change along a log."""
    random, num = np.random.default_rng(5), 20_000
    sizes = random.exponential(1000, num) * (random.random(num) < 0.8)
    ratios = np.array([0.2, 0.3, 0.9, 1.4])
    codecs = {
        "long runs": np.repeat(random.integers(0, 4, 40), 500),
        "short runs": np.repeat(random.integers(0, 4, 2000), 10),
        "periods": np.tile(np.repeat(np.arange(4), 50), 100),
    }
    found = {name: (sizes, sizes * ratios[one]) for name, one in codecs.items()}
    skewed = random.lognormal(0, 1.5, num)
    large = (random.random(num) < 0.25) * random.lognormal(0, 0.5, num)
    return {name: (x, y * random.normal(1, 0.1, num)) for name, (x, y) in found.items()} | {
        "skewed sizes": (skewed, skewed * np.where(random.random(num) < 0.5, 0.3, 0.9)),
        "few entries": (large, large * random.normal(0.4, 0.1, num)),
        "a tenth is other": (
            sizes,
            sizes * np.where(random.random(num) < 0.1, 1, random.normal(0.2, 0.01, num)),
        ),
    }


@pytest.mark.long
@pytest.mark.parametrize("num_drawn", [64, 256])
@pytest.mark.parametrize("name", populations())
def test_intervals_hold_the_truth_as_often_as_the_page_says(
    name: str, num_drawn: int, print_at_end: Callable[[str, list[str]], None]
) -> None:
    x, y = populations()[name]
    truth, num, outside = y.sum() / x.sum(), forms.pick(100, 600), 0
    for seed in range(num):
        some = np.array(list(islice(draw(len(x), Random(seed)), num_drawn)))
        estimate = ratio_of(x[some], y[some], len(x))
        outside += abs(estimate.value - truth) > estimate.half_width
    print_at_end(
        "intervals of samples", [f"{name}, {num_drawn} stretches: {outside / num:.2%} miss the truth"]
    )
    # Of 100 intervals of 97 %, nine or more miss the truth in four of a thousand times.
    assert outside <= forms.pick(0.08, 0.035) * num


@pytest.mark.long
@pytest.mark.parametrize("kind", ["recorded", "short runs", "long runs"])
def test_intervals_of_logs_hold_the_truth_as_often_as_the_page_says(
    tmp_path: Path,
    kind: str,
    print_at_end: Callable[[str, list[str]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All stretches are measured once; some of them are a sample of any seed.

    In the recorded logs, a few entries have 9 % of all bytes each.
    """
    if kind == "recorded":
        monkeypatch.setattr(size_report, "_LEN_STRETCH", 1024)
        files = [opened(path) for path in sorted((RECORDED / "kafka-4.3/clean").rglob("*.log"))]
    else:
        len_run = 8 << 10 if kind == "short runs" else 256 << 10
        data = sparse_logs.mixed(Random(4), forms.pick(8 << 20, 32 << 20), len_run)
        (tmp_path / "log").write_bytes(data)
        files = [opened(tmp_path / "log")]
    tried = (Form(1), Form(2), Form(2, "zstd"))
    whole = measured(files, tried, num_bytes=1 << 40).sample
    assert whole is not None and len(whole.found) == len(whole.frame)
    x, y = np.moveaxis(np.array(whole.found)[:, 1:], 2, 0)
    truth = [size.ratio.value for size in measured(files, tried).sizes]
    assert (y.sum(0) / x.sum(0)).tolist() == pytest.approx(truth)
    num, num_drawn, outside = forms.pick(100, 600), min(256, len(x) // 4), np.zeros(len(tried))
    for seed in range(num):
        some = np.array(list(islice(draw(len(x), Random(seed)), num_drawn)))
        found = [ratio_of(x[some, at], y[some, at], len(x)) for at in range(len(tried))]
        outside += [abs(one.value - true) > one.half_width for one, true in zip(found, truth, strict=True)]
    shares = ", ".join(f"{share:.2%}" for share in outside / num)
    print_at_end(
        "intervals of samples", [f"{kind}, {num_drawn} of {len(x)} stretches: {shares} miss the truth"]
    )
    assert outside.max() <= (0.12 if kind == "recorded" else forms.pick(0.08, 0.035)) * num


def test_the_same_seed_reads_the_same(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(sparse_logs.batches(Random(1), 1 << 20, codecs=("none", "lz4")))
    reports = [measured([opened(tmp_path / "log")], seed=4, num_bytes=200_000) for _ in range(2)]
    values = [[(size.num_bytes, size.records_per_batch) for size in report.sizes] for report in reports]
    assert values[0] == values[1]


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", ["spread", pytest.param("mixed", marks=pytest.mark.long(short=False)), "preallocated"]
)
def test_a_hundred_gigabytes_in_seconds(
    tmp_path: Path,
    kind: str,
    print_at_end: Callable[[str, list[str]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A GiB of real batches and holes, under a hundred names: its truth times a hundred is that of all.

    By a clock that moves on by five thousandths of a second with each stretch.
    """
    one = tmp_path / "one"
    if kind == "preallocated":
        sparse_logs.preallocated(one, 6 << 20)
    else:
        sparse_logs.spread(one, is_mixed=kind == "mixed")
    if one.stat().st_blocks * 512 > sparse_logs.GIB // 2:
        pytest.skip("this file system has no holes")
    tried = forms.pick(FORMS[2:4], EVERY_FORM)
    truth = measured([opened(one)], tried)
    files = [opened(path) for path in sparse_logs.links(one, tmp_path / "logs", 100)]
    looks, started = count(), time.process_time()
    monkeypatch.setattr(size_report, "time", SimpleNamespace(monotonic=lambda: next(looks) / 200))
    report = measured(files, tried, seconds=3.0)
    used = time.process_time() - started
    assert report.num_file_bytes == 100 * sparse_logs.GIB and report.sample is not None
    assert 256 <= len(report.sample.found) <= 540  # nine tenths of the time, or precise before
    assert report.tally.num_damaged == 0
    errors, widths = [], []
    for size, true in zip(report.sizes, truth.sizes, strict=True):
        errors.append(abs(size.num_bytes.value / (100 * true.num_bytes.value) - 1))
        widths.append(size.num_bytes.relative)
    assert all(error <= width for error, width in zip(errors, widths, strict=True))
    line = (
        f"100 GiB, {kind}, {len(tried)} forms: {max(errors):.2%} off at most, interval {max(widths):.2%}, "
        f"{report.tally.num_bytes} bytes read, {used:.1f} s of CPU"
    )
    print_at_end("sizes by samples", [line])
    assert max(errors) < (0.1 if kind == "mixed" else 0.02)
