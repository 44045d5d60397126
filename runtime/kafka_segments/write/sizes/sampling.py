"""A stratified random sample of stretches, and what is measured in each.

Strategy: all stretches are divided into strata of equal size, in the order of files and positions. A round
takes one at random from each stratum, the strata in random order, so that a round that is cut short is a
sample of all, too. How long stretches are depends on the entries: a few entries each, since what is learned
depends on the number of stretches, and what it costs on the number of entries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from kafka_segments.io.storage import Source
from kafka_segments.write.sizes.estimate import Estimate, Sampled, ratio_of, total_of
from kafka_segments.write.sizes.forms import Form
from kafka_segments.write.sizes.frame import Frame, MeasuredFile
from kafka_segments.write.sizes.measuring import Gauge
from kafka_segments.write.sizes.stretches import Stretch, read_stretch
from kafka_segments.write.sizes.tally import FormTally, Tally

__all__ = ["Sample", "SampleLimits", "sample_files"]

_NUM_STRATA = 64
_NUM_PILOT = 16
_LEN_PILOT = 64 << 10
_NUM_ENTRIES = 4  # of a stretch
_SMALLEST, _LARGEST = 4 << 10, 64 << 10
_NUM_BATCHES = 3  # of a given size, that a stretch should fill
_SHARE_WITH_HOLES = 0.6  # of the time; the rest is for the lengths of entries
_NUM_LENGTHS = 8  # stretches for each that is measured, if a number of bytes ends the sample
_ENOUGH = 0.01
"""Half of a 95 % interval, as a share of the bytes, that ends the sampling if all forms have it."""


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """SampleLimits of a sample.

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
        num_strata: number of strata.
        strata: of each stretch that was measured.
        tallies: counts of each of them.
        lengths: of stretches of which headers alone were read: the stratum, and bytes of entries.
        is_exact: whether nothing but entries is in the files, as far as that was seen.
        is_precise: whether it ended because its intervals are narrow.
    """

    len_stretch: int
    num_stretches: int
    num_strata: int
    strata: list[int] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    lengths: list[tuple[int, int]] = field(default_factory=list)
    is_exact: bool = True
    is_precise: bool = False

    _framed: list[tuple[int, int]] = field(default_factory=list)

    def add(self, stratum: int, stretch: Stretch, tally: Tally) -> None:
        """Add a stretch that was measured."""
        self.strata.append(stratum)
        self.tallies.append(tally)
        self._framed.append((stratum, stretch.num_bytes))

    @property
    def num_bytes(self) -> int:
        """Bytes of the entries that were measured."""
        return sum(tally.num_bytes for tally in self.tallies)

    def bytes_there(self) -> Estimate:
        """Estimate the bytes of all sound entries; those of damaged ones are in their lengths alone."""
        sampled = [Sampled(stratum, 0.0, size) for stratum, size in (*self._framed, *self.lengths)]
        total = total_of(sampled, self.num_strata, self.num_stretches)
        num_framed = sum(size for _stratum, size in self._framed)
        share = self.num_bytes / num_framed if num_framed else 0.0
        return Estimate(share * total.value, share * total.half_width)

    def ratio(self, form: Form) -> Estimate:
        """Estimate the ratio of the bytes in a form to those that are there."""
        tallies = [tally.forms.get(form, FormTally()) for tally in self.tallies]
        pairs = [(tally.num_source_bytes, float(tally.num_bytes)) for tally in tallies]
        return ratio_of(self._sampled(pairs), self.num_strata)

    def _sampled(self, pairs: Sequence[tuple[float, float]]) -> list[Sampled]:
        return [Sampled(stratum, *pair) for stratum, pair in zip(self.strata, pairs, strict=True)]


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
    sample = Sample(len_stretch, len(frame), min(_NUM_STRATA, len(frame)))
    sample.is_exact = not any(file.has_holes for file in files)
    deadline = started + limits.seconds * (1.0 if sample.is_exact else _SHARE_WITH_HOLES)
    for source, stratum, stretch in _chosen(frame, sample, random):
        tally = gauge.measure(source, stretch, is_whole=False)
        sample.add(stratum, stretch, tally)
        sample.is_exact = sample.is_exact and not gauge.num_findings and not tally.num_refused
        if _is_over(sample, limits, deadline, progress) or _is_enough(sample, forms, limits):
            break
    if not sample.is_exact:
        _measure_lengths(frame, sample, random, limits, started + limits.seconds)
    gauge.decoding.finish()
    return sample


def _chosen(frame: Frame, sample: Sample, random: Random) -> Iterator[tuple[Source, int, Stretch]]:
    """Yield one stretch of each stratum, round after round, with its file and stratum."""
    while True:
        for stratum in random.sample(range(sample.num_strata), sample.num_strata):
            first, end = (at * len(frame) // sample.num_strata for at in (stratum, stratum + 1))
            with _opened(frame, random.randrange(first, end)) as (source, stretch):
                yield source, stratum, stretch


def _measure_lengths(
    frame: Frame, sample: Sample, random: Random, limits: SampleLimits, deadline: float
) -> None:
    """Find how many bytes are entries, by their prefixes alone, in more stretches."""
    num_more = _NUM_LENGTHS * len(sample.strata)
    for number, (_source, stratum, stretch) in enumerate(_chosen(frame, sample, random), 1):
        sample.lengths.append((stratum, stretch.num_bytes))
        is_round = number % sample.num_strata == 0
        if limits.num_bytes is not None:
            if number >= num_more:
                return
        elif time.monotonic() >= deadline or (is_round and sample.bytes_there().relative <= _ENOUGH / 2):
            return


def _is_over(
    sample: Sample, limits: SampleLimits, deadline: float, progress: Callable[[int, int], None]
) -> bool:
    if limits.num_bytes is not None:
        done = min(sample.num_bytes, limits.num_bytes)
        progress(done, limits.num_bytes)
        # As many stretches without any entry say that there is nothing to read.
        return done == limits.num_bytes or (not done and len(sample.strata) >= 16 * sample.num_strata)
    return time.monotonic() >= deadline


def _is_enough(sample: Sample, forms: Sequence[Form], limits: SampleLimits) -> bool:
    num, rest = divmod(len(sample.strata), sample.num_strata)
    if limits.num_bytes is None and num > 1 and rest == 0:
        sample.is_precise = all(sample.ratio(form).relative <= _ENOUGH for form in forms)
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
    return max(size, *(_NUM_BATCHES * (form.batch_size or 0) for form in forms))


@contextmanager
def _opened(frame: Frame, number: int) -> Iterator[tuple[Source, Stretch]]:
    file, parts = frame.stretch(number)
    source = file.file.open()
    try:
        yield source, read_stretch(source, parts, file.end)
    finally:
        source.close()
