"""An even random sample of stretches, and what is measured in each.

Strategy: stretches are chosen one by one so that they are spread evenly over all data at any time (`spread`).
How long they are depends on the entries: a few entries each, since what is learned depends on the number of
stretches, and what it costs on the number of entries. Where codecs are mixed or holes are between batches, a
part of the time goes into stretches of which headers alone are read: many more of them can be, and they show
how much there is of each codec.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from kafka_segments.io.storage import Source
from kafka_segments.segment.columnar.entry_records import entry_heads
from kafka_segments.segment.columnar.entry_table import EntryTable
from kafka_segments.write.sizes.entry_pieces import MAX_OF_ENTRY
from kafka_segments.write.sizes.estimate import Estimate, Measured, ratio_by_class, ratio_of, total_of
from kafka_segments.write.sizes.forms import Form
from kafka_segments.write.sizes.frame import Frame, MeasuredFile
from kafka_segments.write.sizes.measuring import Gauge
from kafka_segments.write.sizes.spread import iter_spread
from kafka_segments.write.sizes.stretches import Stretch, read_stretch
from kafka_segments.write.sizes.tally import FormTally, Tally, bytes_by_codec
from kafka_segments_generated.columns import kafka_log_segment

__all__ = ["Sample", "SampleLimits", "sample_files"]

_NUM_PILOT = 16
_LEN_PILOT = 64 << 10
_NUM_ENTRIES = 4  # of a stretch
_SMALLEST, _LARGEST = 4 << 10, 64 << 10
_NUM_BATCHES = 3  # of a given size, that a stretch should fill
_SHARE_OF_MEASURING = 0.7  # of the time, if headers are to be read, too
_SHARE_OF_SAMPLE = 0.9  # of the time; the rest is for decoding what waits for it
_NUM_HEADERS = 4  # stretches of headers for each that is measured, if a number of bytes ends the sample
_FEWEST, _MOST_TIMES = 32, 2  # stretches that are measured in any case, up to so many times the given time
_LEAST = 256
"""Stretches before the sampling may end early: of fewer, something rare may be in none."""
_OFTEN = 64  # stretches between looks at the intervals
_FEWEST_OF_CLASS = 12  # stretches that a codec has to be in, to have a ratio of its own
_ENOUGH = 0.01
"""Half of a 99 % interval, as a share of the bytes, that ends the sampling if all forms have it."""


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """Limits of a sample.

    Attributes:
        seed: of the random choice.
        seconds: time for it.
        num_bytes: bytes of entries to read in place of both time and precision; None for these.
    """

    seed: int = 0
    seconds: float = 3.0
    num_bytes: int | None = None


@dataclass(slots=True)
class Sample:
    """Stretches that were measured.

    Attributes:
        len_stretch: bytes of data in a stretch.
        num_stretches: number of all stretches.
        numbers: of the stretches that were measured.
        tallies: counts of each of them.
        framed: bytes of entries in each, by their lengths.
        more_numbers: of the stretches of which headers alone were read.
        more_framed: bytes of entries in each.
        more_codecs: the same by codec.
        is_exact: whether nothing but entries is in the files, as far as that was seen.
        is_precise: whether it ended because its intervals are narrow.
    """

    len_stretch: int
    num_stretches: int
    numbers: list[int] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    framed: list[int] = field(default_factory=list)
    more_numbers: list[int] = field(default_factory=list)
    more_framed: list[int] = field(default_factory=list)
    more_codecs: list[Counter[int]] = field(default_factory=list)
    is_exact: bool = True
    is_precise: bool = False

    def add(self, number: int, stretch: Stretch, tally: Tally) -> None:
        """Add a stretch that was measured."""
        self.numbers.append(number)
        self.tallies.append(tally)
        self.framed.append(stretch.num_bytes)

    def add_headers(self, number: int, stretch: Stretch, codecs: Counter[int]) -> None:
        """Add a stretch of which headers were read."""
        self.more_numbers.append(number)
        self.more_framed.append(stretch.num_bytes)
        self.more_codecs.append(codecs)

    @property
    def num_bytes(self) -> int:
        """Bytes of the entries that were measured."""
        return sum(tally.num_bytes for tally in self.tallies)

    @property
    def needs_headers(self) -> bool:
        """Whether more headers make the estimates better."""
        return not self.is_exact or len({codec for one in self.tallies for codec in one.bytes_by_codec}) > 1

    def bytes_there(self) -> Estimate:
        """Estimate the bytes of all sound entries; those of damaged ones are in their lengths alone."""
        numbers = np.array([*self.numbers, *self.more_numbers], np.int64)
        sizes = np.array([*self.framed, *self.more_framed], np.float64)
        total = total_of(numbers, sizes, self.num_stretches)
        num_framed = sum(self.framed)
        share = self.num_bytes / num_framed if num_framed else 0.0
        return Estimate(share * total.value, share * total.half_width)

    def ratio(self, form: Form) -> Estimate:
        """Estimate the ratio of the bytes in a form to those that are there."""
        numbers = np.array(self.numbers, np.int64)
        tallies = [tally.forms.get(form, FormTally()) for tally in self.tallies]
        classes = self._classes() if form.batch_size is None and self.more_numbers else []
        if len(classes) < 2:
            x = np.array([tally.num_source_bytes for tally in tallies], np.float64)
            y = np.array([tally.num_bytes for tally in tallies], np.float64)
            is_cut = form.batch_size is not None
            return ratio_of(Measured(numbers, x, y, is_cut), self.num_stretches)
        x = _columns([tally.bytes_by_codec for tally in self.tallies], classes)
        y = _columns([tally.bytes_by_codec for tally in tallies], classes)
        more = np.array(self.more_numbers, np.int64)
        more_x = _columns(self.more_codecs, classes)
        return ratio_by_class(Measured(numbers, x, y), more, more_x, self.num_stretches)

    def _classes(self) -> list[int]:
        """The codecs with a ratio of their own; the others go with the last one of these."""
        counts = Counter(codec for one in self.tallies for codec in one.bytes_by_codec)
        return [codec for codec, count in counts.most_common() if count >= _FEWEST_OF_CLASS]


def _columns(counts: Sequence[Counter[int]], classes: Sequence[int]) -> Any:
    """Sums by class: a row for each stretch; what is of no class goes into the last one."""
    places = {codec: at for at, codec in enumerate(classes)}
    found = np.zeros((len(counts), len(classes)), np.float64)
    for row, one in enumerate(counts):
        for codec, size in one.items():
            found[row, places.get(codec, -1)] += size
    return found


def sample_files(
    files: Sequence[MeasuredFile],
    forms: Sequence[Form],
    gauge: Gauge,
    limits: SampleLimits,
    progress: Callable[[int, int], None],
) -> Sample:
    """Measure a sample of the entries of some files.

    Args:
        files: the files, which hold data.
        forms: what the gauge measures.
        gauge: measures.
        limits: end the sampling.
        progress: called with how much is done, and of how much.
    """
    started = time.monotonic()
    random = Random(limits.seed)
    len_stretch = _length_for(files, forms, random)
    frame = Frame(files, len_stretch)
    sample = Sample(len_stretch, len(frame), is_exact=not any(file.has_holes for file in files))
    seconds = limits.seconds * _SHARE_OF_SAMPLE
    chosen = iter_spread(len(frame), random)
    for number in chosen:
        with _opened(frame, number) as (source, stretch):
            tally = gauge.measure(source, stretch, is_whole=False)
        sample.add(number, stretch, tally)
        sample.is_exact = sample.is_exact and not gauge.num_findings and not tally.num_refused
        share = _SHARE_OF_MEASURING if sample.needs_headers else 1.0
        times = _MOST_TIMES if len(sample.numbers) < _FEWEST else share
        if _is_over(sample, limits, started + times * seconds, progress) or _is_enough(sample, forms, limits):
            break
    if sample.needs_headers and not (sample.is_exact and sample.is_precise):
        for done, _number in enumerate(_read_headers(frame, sample, chosen), 1):
            if _is_headers_enough(sample, forms, limits, done, started + seconds):
                break
    gauge.decoding.finish()
    return sample


def _read_headers(frame: Frame, sample: Sample, chosen: Iterator[int]) -> Iterator[int]:
    """Find how many bytes are entries, and of which codec, by the headers alone; yield after each stretch."""
    for number in chosen:
        codecs = Counter[int]()
        with _opened(frame, number) as (source, stretch):
            for start, end in stretch.runs:
                if end - start > MAX_OF_ENTRY:  # of a codec that is not known
                    continue
                heads = entry_heads(source.read(start, end - start))
                codecs += bytes_by_codec(EntryTable(heads, kafka_log_segment))
        sample.add_headers(number, stretch, codecs)
        yield number


def _is_headers_enough(
    sample: Sample, forms: Sequence[Form], limits: SampleLimits, done: int, deadline: float
) -> bool:
    if limits.num_bytes is not None:
        return done >= _NUM_HEADERS * len(sample.numbers)
    is_late = time.monotonic() >= deadline
    if is_late or done % _LEAST == 0:
        is_known = sample.is_exact or sample.bytes_there().relative <= _ENOUGH / 2
        sample.is_precise = is_known and _is_precise(sample, forms)
    return is_late or sample.is_precise


def _is_over(
    sample: Sample, limits: SampleLimits, deadline: float, progress: Callable[[int, int], None]
) -> bool:
    if limits.num_bytes is not None:
        done = min(sample.num_bytes, limits.num_bytes)
        progress(done, limits.num_bytes)
        # As many stretches without any entry say that there is nothing to read.
        return done == limits.num_bytes or (not done and len(sample.numbers) >= 4 * _LEAST)
    return time.monotonic() >= deadline


def _is_enough(sample: Sample, forms: Sequence[Form], limits: SampleLimits) -> bool:
    num = len(sample.numbers)
    if limits.num_bytes is None and num >= _LEAST and num % _OFTEN == 0:
        sample.is_precise = _is_precise(sample, forms)
    return sample.is_precise


def _is_precise(sample: Sample, forms: Sequence[Form]) -> bool:
    return all(sample.ratio(form).relative <= _ENOUGH for form in forms)


def _length_for(files: Sequence[MeasuredFile], forms: Sequence[Form], random: Random) -> int:
    """Choose the length of a stretch by the entries in a few."""
    frame = Frame(files, _LEN_PILOT)
    num_bytes = num_entries = 0
    for _ in range(_NUM_PILOT):
        with _opened(frame, random.randrange(len(frame))) as (_source, stretch):
            num_bytes += stretch.num_bytes
            num_entries += stretch.num_entries
    size = min(max(_NUM_ENTRIES * num_bytes // max(num_entries, 1), _SMALLEST), _LARGEST)
    size = max(size, *(_NUM_BATCHES * (form.batch_size or 0) for form in forms))
    return min(size, MAX_OF_ENTRY // 2)


@contextmanager
def _opened(frame: Frame, number: int) -> Iterator[tuple[Source, Stretch]]:
    file, parts = frame.stretch(number)
    source = file.file.open()
    try:
        yield source, read_stretch(source, parts, file.end)
    finally:
        source.close()
