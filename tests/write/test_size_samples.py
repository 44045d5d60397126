"""Samples of `sizes`: each entry in one stretch, and estimates that are as near to the truth as they say."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests import forms
from tests.made.segments import some_segment
from tests.write import sparse_logs

from kafka_segments.core.io.storage import open_source
from kafka_segments.write.convert import down_convert
from kafka_segments.write.entry_records import read_entry_records
from kafka_segments.write.sizes import (
    FileToMeasure,
    Form,
    MeasuredFile,
    SampleLimits,
    SizeReport,
    data_file,
    is_possible,
    iter_levels,
    measure_sizes,
    sampling,
)
from kafka_segments.write.sizes.estimate import ratio_of, total_of
from kafka_segments.write.sizes.extents import extents_of
from kafka_segments.write.sizes.frame import Frame
from kafka_segments.write.sizes.sampling import Sample, draw
from kafka_segments.write.sizes.stretches import read_stretch

EVERY_FORM = [
    form
    for magic in (0, 1, 2, 3)
    for name in ("none", "gzip", "gzip:1", "snappy", "lz4", "lz4:1", "zstd", "zstd:1", "zstd:9")
    for codec, level in iter_levels(name)
    if is_possible(form := Form(magic, codec, level))
]
FORMS = (Form(1), Form(1, "gzip", 1), Form(2), Form(2, "zstd"), Form(2, "lz4", 1), Form(3, "zstd"))


def opened(path: Path) -> MeasuredFile:
    return data_file(FileToMeasure(str(path), lambda: open_source(str(path))))


def measured(
    files: Sequence[MeasuredFile], limits: SampleLimits | None, tried: Sequence[Form] = FORMS
) -> SizeReport:
    return measure_sizes(
        files, tried, limits=limits, on_finding=lambda _found: None, progress=lambda _done, _of: None
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
    data = make()
    path = tmp_path / "log"
    path.write_bytes(data)
    table = read_entry_records(data).table
    there = set(zip(table.column("position").tolist(), table.column("end_position").tolist(), strict=True))
    frame = Frame([opened(path)], len_stretch)
    found: list[tuple[int, int]] = []
    for number in range(len(frame)):
        file, parts = frame.stretch(number)
        stretch = read_stretch(open_source(data), parts, file.end)
        assert not stretch.gaps
        for start, end in stretch.runs:
            inner = read_entry_records(data[start:end]).table
            positions = zip(inner.column("position"), inner.column("end_position"), strict=True)
            found += [(start + int(first), start + int(last)) for first, last in positions]
    assert len(found) == len(set(found))
    assert set(found) == there


def test_holes_are_in_no_stretch(tmp_path: Path) -> None:
    path = tmp_path / "log"
    sparse_logs.spread(path, 64 << 20)
    source = open_source(str(path))
    extents = extents_of(source)
    if len(extents) == 1:
        pytest.skip("this file system has no holes")
    assert len(extents) == 64 // 16
    assert all(not any(source.read(end, 4096)) for _start, end in extents[:-1])
    found = opened(path)
    assert found.has_holes and found.num_data < 1 << 20
    whole = measured([found], None)
    assert whole.num_findings == 0, "the zeros between the last batch and a hole are no damage"
    assert whole.num_bytes.value == sum(
        len(sparse_logs.batches(random, sparse_logs.LEN_RUN, offset))
        for random in [Random(0)]
        for offset in range(0, 4 * 100_000, 100_000)
    )


def test_zeros_at_the_end_are_no_data(tmp_path: Path) -> None:
    path = tmp_path / "log"
    sparse_logs.preallocated(path, 100_000, 8 << 20)
    found = opened(path)
    assert not found.has_holes and found.size == 8 << 20
    report = measured([found], None)
    there = len(sparse_logs.batches(Random(0), 100_000))
    assert report.num_bytes.value == found.end == there and report.num_findings == 0


@pytest.mark.parametrize("num_all", [1, 2, 3, 1000])
def test_each_number_is_drawn_once(num_all: int) -> None:
    assert sorted(draw(num_all, Random(num_all))) == list(range(num_all))


def test_each_number_is_as_likely_as_any_other() -> None:
    counts = Counter(number for seed in range(3000) for number in islice(draw(20, Random(seed)), 5))
    assert len(counts) == 20 and max(counts.values()) < 1.2 * 750 and min(counts.values()) > 0.8 * 750


def test_all_stretches_leave_no_doubt_unless_their_ends_cut_batches() -> None:
    x = np.full(100, 10.0)
    y = x * np.linspace(0.2, 0.4, 100)
    whole, cut = (ratio_of(x, y, 100, is_cut=is_cut) for is_cut in (False, True))
    assert whole.value == cut.value == pytest.approx(0.3)
    assert whole.half_width == 0 < cut.half_width
    assert ratio_of(x[:1], y[:1], 100).half_width == math.inf


CODECS = 4
RATIOS = np.array([0.2, 0.3, 0.9, 1.4])


def populations() -> dict[str, Any]:
    """The codec of each of 20,000 stretches, by the way in which codecs change along a log."""
    random = np.random.default_rng(5)
    return {
        "long runs": np.repeat(random.integers(0, CODECS, 40), 500),
        "short runs": np.repeat(random.integers(0, CODECS, 2000), 10),
        "periods": np.tile(np.repeat(np.arange(CODECS), 50), 100),
        "anywhere": random.integers(0, CODECS, 20_000),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", populations())
def test_intervals_hold_the_truth_as_often_as_they_promise(name: str) -> None:
    """A sample of 250 stretches; intervals are of 99 %."""
    random, codecs = np.random.default_rng(6), populations()[name]
    xs = random.exponential(1000, len(codecs)) * (random.random(len(codecs)) < 0.8)
    ys = xs * RATIOS[codecs] * random.normal(1, 0.1, len(codecs))
    truth, num_all, num = ys.sum() / xs.sum(), len(xs), forms.pick(40, 1500)
    outside: Counter[str] = Counter()
    for seed in range(num):
        some = np.array(list(islice(draw(num_all, Random(seed)), 250)))
        found = {
            "ratio": (ratio_of(xs[some], ys[some], num_all), truth),
            "total": (total_of(xs[some], num_all), xs.sum()),
        }
        for kind, (estimate, true) in found.items():
            outside[kind] += abs(estimate.value - true) > estimate.half_width
    assert all(count <= forms.pick(2, 0.02 * num) for count in outside.values()), outside


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> MeasuredFile:
    path = tmp_path_factory.mktemp("sizes") / "log"
    path.write_bytes(sparse_logs.batches(Random(1), forms.pick(6 << 20, 64 << 20), codecs=("none", "lz4")))
    return opened(path)


@pytest.mark.long
def test_estimates_are_near_the_truth(
    log: MeasuredFile, print_at_end: Callable[[str, list[str]], None]
) -> None:
    truth = measured([log], None)
    outside = count = 0
    worst = 0.0
    for seed in range(forms.pick(3, 40)):
        report = measured([log], SampleLimits(seed, num_bytes=forms.pick(1 << 20, 8 << 20)))
        assert report.sample is not None and report.num_bytes == truth.num_bytes
        for size, true in zip(report.sizes, truth.sizes, strict=True):
            error = abs(size.num_bytes.value - true.num_bytes.value)
            outside += error > size.num_bytes.half_width
            count += 1
            worst = max(worst, error / true.num_bytes.value)
    line = f"{count} estimates, {outside} outside of their intervals, the worst {worst:.2%} off"
    print_at_end("sizes by samples", [line])
    assert worst < forms.pick(0.10, 0.04)
    assert outside / count <= 0.2


@pytest.mark.long
@pytest.mark.parametrize("len_run", [8 << 10, 256 << 10])
def test_intervals_of_mixed_logs_hold_the_truth_as_often_as_they_promise(
    tmp_path: Path, len_run: int, print_at_end: Callable[[str, list[str]], None]
) -> None:
    """All stretches are measured once; an eighth of them is a sample of any seed."""
    path = tmp_path / "log"
    path.write_bytes(sparse_logs.mixed(Random(4), forms.pick(8 << 20, 32 << 20), len_run))
    tried = (Form(1), *FORMS[2:4])
    whole = measured([opened(path)], SampleLimits(num_bytes=1 << 40), tried).sample
    assert whole is not None and len(whole.tallies) == whole.num_stretches
    truth = [whole.ratio(form).value for form in tried]
    num, outside = forms.pick(100, 600), Counter[int]()
    for seed in range(num):
        chosen = islice(draw(whole.num_stretches, Random(seed)), whole.num_stretches // 8)
        part = Sample(whole.len_stretch, whole.num_stretches, [whole.tallies[at] for at in chosen])
        for at, form in enumerate(tried):
            ratio = part.ratio(form)
            outside[at] += abs(ratio.value - truth[at]) > ratio.half_width
    shares = [f"{count / num:.2%}" for count in outside.values()]
    print_at_end("intervals of mixed logs", [f"runs of {len_run}: {', '.join(shares)} miss the truth"])
    # Of 100 intervals of 99 %, four or more miss the truth twice in a hundred times.
    assert max(outside.values()) <= forms.pick(3, 0.02 * num)


@pytest.mark.long
@pytest.mark.parametrize("len_run", [8 << 10, 256 << 10])
def test_mixed_logs_are_as_far_off_as_the_interval_allows(
    tmp_path: Path, len_run: int, print_at_end: Callable[[str, list[str]], None]
) -> None:
    """Runs of different codecs and contents; the truth is that of all entries."""
    path = tmp_path / "log"
    path.write_bytes(sparse_logs.mixed(Random(4), forms.pick(4 << 20, 64 << 20), len_run))
    log, tried = opened(path), forms.pick(FORMS[2:4], FORMS)
    truth = measured([log], None, tried)
    errors, widths, outside = [], [], Counter[int]()
    for seed in range(forms.pick(3, 20)):
        report = measured([log], SampleLimits(seed, num_bytes=forms.pick(1 << 20, 8 << 20)), tried)
        assert report.sample is not None
        for form, (size, true) in enumerate(zip(report.sizes, truth.sizes, strict=True)):
            errors.append(abs(size.num_bytes.value / true.num_bytes.value - 1))
            widths.append(size.num_bytes.relative)
            outside[form] += errors[-1] > widths[-1]
    line = f"runs of {len_run}: {max(errors):.2%} off, interval {max(widths):.2%}, {outside.total()} outside"
    print_at_end("sizes by samples of mixed logs", [line])
    # Forms of one sample stray together, so each is counted alone. Of 20 intervals of 99 %, three or more
    # miss the truth once in a thousand times.
    assert max(outside.values()) <= forms.pick(0, 2)
    assert max(errors) < forms.pick(0.08, 0.04)


def test_the_same_seed_reads_the_same(log: MeasuredFile) -> None:
    reports = [measured([log], SampleLimits(4, num_bytes=200_000), FORMS[2:4]) for _ in range(2)]
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

    A sample of limited time reads less where other tests run beside it. So the full form takes two: one by
    the clock, which is over in time, and one by the time of this process, which comes so close.
    """
    one = tmp_path / "one"
    if kind == "preallocated":
        sparse_logs.preallocated(one, 6 << 20)
    else:
        sparse_logs.spread(one, is_mixed=kind == "mixed")
    if one.stat().st_blocks * 512 > sparse_logs.GIB // 2:
        pytest.skip("this file system has no holes")
    tried = forms.pick(FORMS[2:4], EVERY_FORM)
    truth = measured([opened(one)], None, tried)
    paths = sparse_logs.links(one, tmp_path / "logs", 100)
    limits = forms.pick(SampleLimits(num_bytes=6 << 20), SampleLimits())
    for clock in forms.pick((time.monotonic,), (time.monotonic, time.process_time)):
        monkeypatch.setattr(sampling, "time", SimpleNamespace(monotonic=clock))
        started, used = clock(), time.process_time()
        report = measured([opened(path) for path in paths], limits, tried)
        elapsed, used = clock() - started, time.process_time() - used
        assert elapsed < forms.pick(120, 4)  # the command needs a second to start
        assert report.num_file_bytes == 100 * sparse_logs.GIB and report.sample is not None
        assert report.num_findings == 0
        errors, widths = [], []
        for size, true in zip(report.sizes, truth.sizes, strict=True):
            errors.append(abs(size.num_bytes.value / (100 * true.num_bytes.value) - 1))
            widths.append(size.num_bytes.relative)
        assert all(error <= width for error, width in zip(errors, widths, strict=True))
    line = (
        f"100 GiB, {kind}, {len(tried)} forms: {max(errors):.2%} off at most, interval {max(widths):.2%}, "
        f"{report.sample.num_bytes} bytes read, {elapsed:.1f} s, {used:.1f} s of CPU"
    )
    print_at_end("sizes by samples", [line])
    assert max(errors) < (0.08 if kind == "mixed" else 0.02)
