"""Samples of `sizes`: each entry in one stretch, and estimates that are as near to the truth as they say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from tests import forms
from tests.builders.segments import some_segment
from tests.write import sparse_logs

from kafka_segments.io.storage import open_source
from kafka_segments.segment.columnar.entry_records import read_entry_records
from kafka_segments.write.convert import down_convert
from kafka_segments.write.sizes import (
    FileToMeasure,
    Form,
    MeasuredFile,
    SampleLimits,
    SizeReport,
    data_file,
    measure_sizes,
)
from kafka_segments.write.sizes.estimate import Sampled, ratio_of, total_of
from kafka_segments.write.sizes.extents import extents_of
from kafka_segments.write.sizes.frame import Frame
from kafka_segments.write.sizes.stretches import read_stretch

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


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A population with a trend, of which 2,000 samples are taken."""
    random = Random(5)
    xs = [random.expovariate(1 / 1000) for _ in range(20_000)]
    ys = [x * (0.2 + 0.3 * at / 20_000 + random.gauss(0, 0.05)) for at, x in enumerate(xs)]
    truth, num_strata = sum(ys) / sum(xs), 32
    inside = inside_total = 0
    for _ in range(2000):
        chosen = [
            (stratum, random.randrange(stratum * 625, (stratum + 1) * 625))
            for _round in range(4)
            for stratum in range(num_strata)
        ]
        sample = [Sampled(stratum, xs[at], ys[at]) for stratum, at in chosen]
        ratio, total = ratio_of(sample, num_strata), total_of(sample, num_strata, len(xs))
        inside += abs(ratio.value - truth) <= ratio.half_width
        inside_total += abs(total.value - sum(ys)) <= total.half_width
    assert 0.93 <= inside / 2000 <= 0.97
    assert 0.92 <= inside_total / 2000 <= 0.97


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


def test_the_same_seed_reads_the_same(log: MeasuredFile) -> None:
    reports = [measured([log], SampleLimits(4, num_bytes=200_000), FORMS[2:4]) for _ in range(2)]
    values = [[(size.num_bytes, size.records_per_batch) for size in report.sizes] for report in reports]
    assert values[0] == values[1]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["spread", "preallocated"])
def test_a_hundred_gigabytes_within_two_percent(
    tmp_path: Path, kind: str, print_at_end: Callable[[str, list[str]], None]
) -> None:
    """A GiB of real batches and holes, under a hundred names: its truth times a hundred is that of all."""
    one = tmp_path / "one"
    if kind == "spread":
        sparse_logs.spread(one)
    else:
        sparse_logs.preallocated(one, 6 << 20)
    if one.stat().st_blocks * 512 > sparse_logs.GIB // 2:
        pytest.skip("this file system has no holes")
    truth = measured([opened(one)], None)
    paths = sparse_logs.links(one, tmp_path / "logs", 100)
    started, used = time.monotonic(), time.process_time()
    report = measured([opened(path) for path in paths], SampleLimits())
    elapsed, used = time.monotonic() - started, time.process_time() - used
    assert report.num_file_bytes == 100 * sparse_logs.GIB and report.sample is not None
    errors = [
        abs(size.num_bytes.value / (100 * true.num_bytes.value) - 1)
        for size, true in zip(report.sizes, truth.sizes, strict=True)
    ]
    line = (
        f"100 GiB, {kind}: {max(errors):.2%} off at most, {report.sample.num_bytes} bytes read, "
        f"{elapsed:.1f} s, {used:.1f} s of CPU"
    )
    print_at_end("sizes by samples", [line])
    assert max(errors) < 0.02
    assert elapsed < forms.pick(60, 5)  # a short run shares the machine with others
