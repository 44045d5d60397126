"""Estimates from stretches that were drawn at random.

Strategy: bytes in another form are estimated by their ratio to the bytes that are there, because the latter
are known, or vary with the former (ratio estimator; Cochran, Sampling Techniques, chapter 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Estimate", "ratio_of", "total_of"]

# Student's quantile for a 99 % interval, by the normal one and the degrees of freedom (Fisher and Cornish).
_QUANTILE, _FOR_SMALL, _FOR_SMALLEST = 2.576, 4.92, 8.83


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated number, and half of its 99 % interval; both may be infinite for lack of data."""

    value: float
    half_width: float

    @property
    def relative(self) -> float:
        """Half of the interval as a share of the value."""
        return self.half_width / self.value if self.value else math.inf


def ratio_of(x: Any, y: Any, num_all: int, *, is_cut: bool = False) -> Estimate:
    """Estimate the ratio of all `y` to all `x`.

    Args:
        x: float, bytes that are there, of each stretch that was drawn.
        y: float, bytes in another form, likewise.
        num_all: number of all stretches.
        is_cut: whether ends of stretches cut `y`, so that all of them do not give all of it.
    """
    total = float(x.sum())
    if not total:
        return Estimate(math.nan, math.inf)
    ratio = float(y.sum()) / total
    return Estimate(ratio, _half_width(y - ratio * x, num_all, is_cut=is_cut) * len(x) / total)


def total_of(y: Any, num_all: int) -> Estimate:
    """Estimate the sum of `y` over all stretches by its values in those that were drawn."""
    return Estimate(num_all * float(y.mean()), num_all * _half_width(y, num_all))


def _half_width(values: Any, num_all: int, *, is_cut: bool = False) -> float:
    """Half of the 99 % interval of the mean over all stretches."""
    num = len(values)
    if num < 2:
        return math.inf
    freedom = num - 1
    quantile = _QUANTILE + _FOR_SMALL / freedom + _FOR_SMALLEST / freedom**2
    share_left = 1.0 if is_cut else 1 - num / num_all
    return quantile * math.sqrt(share_left * float(values.var(ddof=1)) / num)
