"""Estimates of totals from stretches that are spread evenly, and at random, over all data.

Strategy: bytes in another form are estimated by their ratio to the bytes that are there, because the latter
are known, or vary with the former (ratio estimator; Cochran, Sampling Techniques, chapter 6); of entries of
several codecs by a ratio for each, since what another form makes of them differs most between codecs
(chapters 5A and 12: the shares of the codecs come from more stretches, of which headers alone are read).
A stretch stands for those of its cell (`spread`). How much chance there is in that follows from neighbours:
half of the squared difference of each two (Wolter, Introduction to Variance Estimation, chapter 8). In a log
that changes slowly they are alike, and then an even sample is near the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_segments.write.sizes.spread import cells_of

__all__ = ["Estimate", "Measured", "ratio_by_class", "ratio_of", "total_of"]

# Student's quantile for a 99 % interval, by the normal one and the degrees of freedom (Fisher and Cornish).
_QUANTILE, _FOR_SMALL, _FOR_SMALLEST = 2.576, 4.92, 8.83
_FREEDOM = 2 / 3  # for each difference of neighbours: each value is in two of them


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
class Measured:
    """Stretches that were measured.

    Attributes:
        numbers: int64, of the stretches, each once.
        x: float, bytes that are there: of each stretch, or a column for each class of entries.
        y: bytes in another form, likewise.
        is_cut: whether ends of stretches cut `y`, so that all of them do not give all of it.
    """

    numbers: Any
    x: Any
    y: Any
    is_cut: bool = False


def ratio_of(measured: Measured, num_all: int) -> Estimate:
    """Estimate the ratio of all `y` to all `x`, both without classes, of so many stretches in all."""
    weights = _weights(measured.numbers, num_all)
    total = float(weights @ measured.x)
    if not total:
        return Estimate(math.nan, math.inf)
    ratio = float(weights @ measured.y) / total
    residuals = measured.y - ratio * measured.x
    parts = [(measured.numbers, residuals)]
    return Estimate(ratio, _half_width(parts, num_all, is_cut=measured.is_cut) / total)


def ratio_by_class(measured: Measured, more_numbers: Any, more_x: Any, num_all: int) -> Estimate:
    """Estimate the ratio of all `y` to all `x` by that in each class of entries.

    Args:
        measured: stretches; each class is in some of them.
        more_numbers: of other stretches, whose `x` alone is known.
        more_x: of these.
        num_all: number of all stretches.
    """
    numbers, x = measured.numbers, measured.x
    all_numbers, all_x = np.concatenate([numbers, more_numbers]), np.concatenate([x, more_x])
    totals = _weights(all_numbers, num_all) @ all_x
    weights = _weights(numbers, num_all)
    in_sample = weights @ x
    ratios = (weights @ measured.y) / in_sample
    total = float(totals.sum())
    ratio = float(totals @ ratios) / total
    within = (measured.y - x * ratios) @ (totals / in_sample)
    between = all_x @ (ratios - ratio)
    return Estimate(ratio, _half_width([(numbers, within), (all_numbers, between)], num_all) / total)


def total_of(numbers: Any, y: Any, num_all: int) -> Estimate:
    """Estimate the sum of `y` over all stretches by that of the stretches with some numbers."""
    return Estimate(float(_weights(numbers, num_all) @ y), _half_width([(numbers, y)], num_all))


def _weights(numbers: Any, num_all: int) -> Any:
    """How many stretches each stands for: those of its cell, among those that were chosen from it."""
    cells, sizes = cells_of(numbers, num_all)
    return sizes / np.bincount(cells)[cells]


def _half_width(parts: list[tuple[Any, Any]], num_all: int, *, is_cut: bool = False) -> float:
    """Half of the 99 % interval of the sum of some weighted sums, of stretches' numbers and values."""
    variance, fewest = 0.0, math.inf
    for numbers, values in parts:
        num = len(numbers)
        if num < 2:
            return math.inf
        order = np.argsort(numbers)
        weights = _weights(numbers, num_all)[order]
        squares = np.diff(values[order]) ** 2 / 2
        # Of each, the mean of those with the neighbours before and after it.
        of_each = (np.append(squares, squares[-1]) + np.append(squares[0], squares)) / 2
        share_left = 1.0 if is_cut else 1 - num / num_all
        variance += float(weights**2 @ of_each) * share_left
        fewest = min(fewest, num)
    freedom = _FREEDOM * (fewest - 1)
    quantile = _QUANTILE + _FOR_SMALL / freedom + _FOR_SMALLEST / freedom**2
    return quantile * math.sqrt(variance)
