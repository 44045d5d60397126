"""What segments take in other forms, by all of their entries or by a random sample: `measure_sizes`.

Strategy: stretches are drawn one by one, each with the same probability, until the intervals are narrow or
the time is up. Bytes in another form are estimated by their ratio to the bytes that are there, because the
latter are known, or vary with the former (Cochran, Sampling Techniques, chapter 6). The interval is a
symmetric bootstrap-t (Hall, The Bootstrap and Edgeworth Expansion, section 3.6): where few stretches differ
from all the others, an interval by the normal distribution or by percentiles misses the truth far too often.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

from kafka_segments.core.formats.entries import Damage
from kafka_segments.sizes.measuring import Gauge, Tally
from kafka_segments.sizes.recoding import Form
from kafka_segments.sizes.stretches import MAX_OF_ENTRY, Frame, MeasuredFile

__all__ = ["Estimate", "FormSize", "Sample", "SizeReport", "draw", "measure_sizes", "ratio_of"]

_LEN_STRETCH = 16 << 10
_NUM_BATCHES = 3  # of a given size, that a stretch should fill
_SHARE_OF_SAMPLE = 0.9  # of the time; the rest is for decoding what waits for it
_FEWEST, _MOST_TIMES = 32, 2  # stretches that are measured in any case, up to so many times the given time
_LEAST = 256
"""Stretches before the sampling may end early: of fewer, something rare may be in none."""
_ENOUGH = 0.01
"""Half of a 99 % interval, as a share of the bytes, that ends the sampling if all forms have it."""
_NUM_RESAMPLES, _MOST_GROUPS, _INSIDE = 1000, 2048, 0.99


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated number, and half of its 99 % interval; both may be infinite for lack of data."""

    value: float
    half_width: float

    @property
    def relative(self) -> float:
        """Half of the interval as a share of the value."""
        return self.half_width / self.value if self.value else math.inf


@dataclass(frozen=True, slots=True)
class FormSize:
    """What segments take in one form.

    Attributes:
        form: the form.
        num_bytes: bytes of all entries; its interval is 0 if all were read.
        ratio: the same as a share of the bytes that are there.
        records_per_batch: mean number of records in an entry; NaN without any.
        encode_seconds: CPU time of encoding all records on this machine.
        decode_seconds: CPU time of verifying and reading them as Arrow columns.
    """

    form: Form
    num_bytes: Estimate
    ratio: Estimate
    records_per_batch: float
    encode_seconds: float
    decode_seconds: float


class Sample:
    """A random sample of the stretches of files, which hold data.

    Args:
        files: the files.
        gauge: measures the stretches.

    Attributes:
        frame: all stretches.
        found: what `Gauge.measure_stretch` returned of each that was measured.
    """

    def __init__(self, files: Sequence[MeasuredFile], gauge: Gauge) -> None:
        self._files, self._gauge = files, gauge
        largest = _NUM_BATCHES * max(one.form.batch_size or 0 for one in gauge.recoders)
        self.frame = Frame(files, min(max(_LEN_STRETCH, largest), MAX_OF_ENTRY // 2))
        self.found: list[Any] = []

    def measure(
        self, seconds: float, num_bytes: int | None, seed: int, progress: Callable[[int, int], None]
    ) -> None:
        """Measure stretches; see `measure_sizes`."""
        started, tally = time.monotonic(), self._gauge.tally
        for number in draw(len(self.frame), Random(seed)):
            self.found.append(self._gauge.measure_stretch(*self.frame.stretch(number)))
            num, done = len(self.found), tally.num_bytes
            if num_bytes is not None:
                progress(min(done, num_bytes), num_bytes)
                # As many stretches without any entry say that there is nothing to read.
                if done >= num_bytes or (not done and num >= 4 * _LEAST):
                    break
                continue
            times = _MOST_TIMES if num < _FEWEST else _SHARE_OF_SAMPLE
            is_looked_at = num >= _LEAST and num & (num - 1) == 0
            if time.monotonic() >= started + times * seconds or (is_looked_at and self.is_precise):
                break

    @property
    def is_precise(self) -> bool:
        """Whether all intervals are narrow."""
        there, *ratios = self.estimates()
        return all(one.relative <= _ENOUGH for one in ([there] if there.half_width else []) + ratios)

    def estimates(self) -> list[Estimate]:
        """Return the bytes of all sound entries, then their ratio in each form."""
        x, y = np.moveaxis(np.array(self.found), 2, 0)
        tally, recoders, num_all = self._gauge.tally, self._gauge.recoders, len(self.frame)
        is_cut = [False, *(one.form.batch_size is not None for one in recoders)]
        share, *ratios = (ratio_of(x[:, at], y[:, at], num_all, is_cut=cut) for at, cut in enumerate(is_cut))
        num_data = sum(file.num_data for file in self._files)
        there = Estimate(num_data * share.value, num_data * share.half_width)
        has_holes = any(file.num_data != file.end for file in self._files)
        if not (has_holes or tally.num_damaged or tally.num_refused):  # nothing but entries is in the files
            there = Estimate(float(num_data), 0.0)
        return [there, *ratios]


def draw(num_all: int, random: Random) -> Iterator[int]:
    """Draw all numbers below `num_all`, each once."""
    drawn = set[int]()
    while len(drawn) < num_all:
        number = random.randrange(num_all)
        if number not in drawn:
            drawn.add(number)
            yield number


@dataclass(frozen=True, slots=True)
class SizeReport:
    """Result of a measurement.

    Attributes:
        num_files: segments.
        num_file_bytes: their bytes, with holes and the zeros at their ends.
        num_bytes: bytes of the sound entries in them.
        tally: counts of the entries that were read.
        sizes: what they take in each form, in the order of the forms.
        sample: how the entries were chosen; None if all were read.
    """

    num_files: int
    num_file_bytes: int
    num_bytes: Estimate
    tally: Tally
    sizes: tuple[FormSize, ...]
    sample: Sample | None

    @property
    def scale(self) -> float:
        """All entries, as a multiple of those that were read."""
        return self.num_bytes.value / self.tally.num_bytes if self.tally.num_bytes else 1.0

    def losses(self, magic: int) -> Counter[str]:
        """Return what a format does not carry, of all entries; names are those of `convert.LOSSES`."""
        lost = self.tally.losses.items()
        return Counter({name: round(count * self.scale) for (one, name), count in lost if one == magic})


def measure_sizes(
    files: Sequence[MeasuredFile],
    forms: Sequence[Form],
    *,
    seconds: float | None = None,
    num_bytes: int | None = None,
    seed: int = 0,
    on_finding: Callable[[Damage], None],
    progress: Callable[[int, int], None],
) -> SizeReport:
    """Measure what segments take in other forms, by all of their entries or by a sample.

    Args:
        files: the segments.
        forms: the forms.
        seconds: time for a sample, which ends earlier if it is precise. Without it and `num_bytes` all is
            read.
        num_bytes: bytes of entries in a sample, however long that takes.
        seed: of the random choice.
        on_finding: called with each place that is damaged, or left out.
        progress: called with how much is done, and of how much.

    Raises:
        OptionError: a form that Kafka does not have.
        MissingCodecError: the package of a codec is not installed.
        KafkaFormatError: a file that cannot be read.
    """
    is_sample = (seconds is not None or num_bytes is not None) and any(file.num_data for file in files)
    sample: Sample | None = None
    with Gauge(forms, on_finding, is_whole=not is_sample) as gauge:
        if is_sample:
            sample = Sample(files, gauge)
            sample.measure(seconds or 0.0, num_bytes, seed, progress)
            there, *ratios = sample.estimates()
        else:
            gauge.measure_whole(files, progress)
            there = Estimate(float(gauge.tally.num_bytes), 0.0)
            found = [one.num_bytes / there.value if there.value else math.nan for one in gauge.recoders]
            ratios = [Estimate(one, 0.0) for one in found]
        gauge.decode_waiting()
    sizes = []
    for one, ratio in zip(gauge.recoders, ratios, strict=True):
        total = there.value * ratio.value if there.value else 0.0
        relative = math.hypot(ratio.relative, there.relative) if total else 0.0
        depth = one.num_records / one.num_batches if one.num_batches else math.nan
        sizes.append(
            FormSize(one.form, Estimate(total, total * relative), ratio, depth, *one.seconds(there.value))
        )
    num_file_bytes = sum(file.size for file in files)
    return SizeReport(len(files), num_file_bytes, there, gauge.tally, tuple(sizes), sample)


def ratio_of(x: Any, y: Any, num_all: int, *, is_cut: bool = False) -> Estimate:
    """Estimate the ratio of all `y` to all `x`.

    Args:
        x: float64, bytes that are there, of each stretch that was drawn.
        y: float64, bytes in another form, likewise.
        num_all: number of all stretches.
        is_cut: whether ends of stretches cut `y`, so that all of them do not give all of it.
    """
    num, ratio = len(x), float(y.sum() / x.sum()) if x.any() else math.nan
    if num < 2 or math.isnan(ratio):
        return Estimate(ratio, math.inf)
    together = -(-num // _MOST_GROUPS)
    x, rest = (np.add.reduceat(one, range(0, num, together)) for one in (x, y - ratio * x))
    sums = _resamples(len(x)) @ np.stack([x, rest, x * x, x * rest, rest * rest], 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = sums[:, 1] / sums[:, 0]
        squares = sums[:, 4] - 2 * off * sums[:, 3] + off**2 * sums[:, 2]
        errors = np.sqrt(np.maximum(squares, 0)) / sums[:, 0]
        scores = np.where(off == 0, 0.0, np.nan_to_num(np.abs(off) / errors, nan=math.inf, posinf=math.inf))
    quantile = float(np.quantile(scores[1:], _INSIDE, method="higher"))
    share_left = 1.0 if is_cut else 1 - num / num_all
    half_width = quantile * float(errors[0]) * math.sqrt(share_left) if quantile < math.inf else math.inf
    return Estimate(ratio, half_width)


@lru_cache(1)
def _resamples(num: int) -> Any:
    """How often each of `num` stretches is in the sample, which is once, and in each resample of it."""
    counts = np.random.default_rng(0).multinomial(num, np.full(num, 1 / num), _NUM_RESAMPLES)
    return np.vstack([np.ones(num), counts])
