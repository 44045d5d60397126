"""A random sample of stretches, and what is measured in each.

Strategy: stretches are drawn one by one, each with the same chance. How long they are depends on the entries:
a few entries each, since what is learned depends on the number of stretches, and what it costs on the number
of entries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from random import Random

import numpy as np

from kafka_segments.core.io.storage import Source
from kafka_segments.write.sizes.entry_pieces import MAX_OF_ENTRY
from kafka_segments.write.sizes.estimate import Estimate, ratio_of, total_of
from kafka_segments.write.sizes.forms import Form
from kafka_segments.write.sizes.frame import Frame, MeasuredFile
from kafka_segments.write.sizes.measuring import Gauge
from kafka_segments.write.sizes.stretches import Stretch, read_stretch
from kafka_segments.write.sizes.tally import FormTally, Tally

__all__ = ["Sample", "SampleLimits", "draw", "sample_files"]

_NUM_PILOT = 16
_LEN_PILOT = 64 << 10
_NUM_ENTRIES = 4  # of a stretch
_SMALLEST, _LARGEST = 4 << 10, 64 << 10
_NUM_BATCHES = 3  # of a given size, that a stretch should fill
_SHARE_OF_SAMPLE = 0.9  # of the time; the rest is for decoding what waits for it
_FEWEST, _MOST_TIMES = 32, 2  # stretches that are measured in any case, up to so many times the given time
_LEAST = 256
"""Stretches before the sampling may end early: of fewer, something rare may be in none."""
_OFTEN = 64  # stretches between looks at the intervals
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
        tallies: counts of each of those that were measured.
        is_exact: whether nothing but entries is in the files, as far as that was seen.
        is_precise: whether it ended because its intervals are narrow.
    """

    len_stretch: int
    num_stretches: int
    tallies: list[Tally] = field(default_factory=list)
    is_exact: bool = True
    is_precise: bool = False

    @property
    def num_bytes(self) -> int:
        """Bytes of the entries that were measured."""
        return sum(tally.num_bytes for tally in self.tallies)

    def bytes_there(self) -> Estimate:
        """Estimate the bytes of all sound entries."""
        return total_of(np.array([tally.num_bytes for tally in self.tallies], np.float64), self.num_stretches)

    def ratio(self, form: Form) -> Estimate:
        """Estimate the ratio of the bytes in a form to those that are there."""
        tallies = [tally.forms.get(form, FormTally()) for tally in self.tallies]
        x = np.array([tally.num_source_bytes for tally in tallies], np.float64)
        y = np.array([tally.num_bytes for tally in tallies], np.float64)
        return ratio_of(x, y, self.num_stretches, is_cut=form.batch_size is not None)


def draw(num_all: int, random: Random) -> Iterator[int]:
    """Draw all numbers below `num_all`, each once."""
    drawn = set[int]()
    while 2 * len(drawn) < num_all:
        number = random.randrange(num_all)
        if number not in drawn:
            drawn.add(number)
            yield number
    rest = [number for number in range(num_all) if number not in drawn]
    random.shuffle(rest)
    yield from rest


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
    frame = Frame(files, _length_for(files, forms, random))
    sample = Sample(frame.len_stretch, len(frame), is_exact=not any(file.has_holes for file in files))
    for number in draw(len(frame), random):
        with _opened(frame, number) as (source, stretch):
            tally = gauge.measure(source, stretch, is_whole=False)
        sample.tallies.append(tally)
        sample.is_exact = sample.is_exact and not gauge.num_findings and not tally.num_refused
        times = _MOST_TIMES if len(sample.tallies) < _FEWEST else _SHARE_OF_SAMPLE
        deadline = started + times * limits.seconds
        if _is_over(sample, limits, deadline, progress) or _is_enough(sample, forms, limits):
            break
    gauge.decoding.finish()
    return sample


def _is_over(
    sample: Sample, limits: SampleLimits, deadline: float, progress: Callable[[int, int], None]
) -> bool:
    if limits.num_bytes is not None:
        done = min(sample.num_bytes, limits.num_bytes)
        progress(done, limits.num_bytes)
        # As many stretches without any entry say that there is nothing to read.
        return done == limits.num_bytes or (not done and len(sample.tallies) >= 4 * _LEAST)
    return time.monotonic() >= deadline


def _is_enough(sample: Sample, forms: Sequence[Form], limits: SampleLimits) -> bool:
    num = len(sample.tallies)
    if limits.num_bytes is None and num >= _LEAST and num % _OFTEN == 0:
        estimates = [sample.ratio(form) for form in forms]
        estimates += () if sample.is_exact else (sample.bytes_there(),)
        sample.is_precise = all(one.relative <= _ENOUGH for one in estimates)
    return sample.is_precise


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
    with closing(file.file.open()) as source:
        yield source, read_stretch(source, parts, file.end)
