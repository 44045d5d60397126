"""Estimates of totals from a stratified random sample of stretches.

Strategy: the strata are equal parts of all stretches in the order of files and positions. Bytes in another
form are estimated by their ratio to the bytes that are there, because the latter are known, or vary with the
former (ratio estimator; Cochran, Sampling Techniques, chapter 6). Its variance is that of the residuals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Estimate", "Sampled", "ratio_of", "total_of"]

_QUANTILE = 1.96  # of a 95 % interval, for large samples
_FOR_SMALL = 2.4  # over the degrees of freedom: within 1 % of Student's quantile from 8 of them on


@dataclass(frozen=True, slots=True)
class Sampled:
    """One stretch of the sample.

    Attributes:
        stratum: its number.
        x: bytes of entries that are there.
        y: bytes of the same entries in another form.
    """

    stratum: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated number, and half of its 95 % interval; both may be infinite for lack of data."""

    value: float
    half_width: float

    @property
    def relative(self) -> float:
        """Half of the interval as a share of the value."""
        return self.half_width / self.value if self.value else math.inf


def ratio_of(sample: Sequence[Sampled], num_strata: int) -> Estimate:
    """Estimate the ratio of all `y` to all `x`.

    Args:
        sample: stretches, of each stratum those that were chosen at random.
        num_strata: number of strata, of equal size.
    """
    groups = _groups(sample, num_strata)
    x = sum(_mean([one.x for one in group]) for group in groups)
    if not x:
        return Estimate(math.nan, math.inf)
    ratio = sum(_mean([one.y for one in group]) for group in groups) / x
    residuals = [[one.y - ratio * one.x for one in group] for group in groups]
    return Estimate(ratio, _half_width(residuals) / x)


def total_of(sample: Sequence[Sampled], num_strata: int, num_stretches: int) -> Estimate:
    """Estimate the sum of `y` over all stretches; arguments as for `ratio_of`."""
    groups = [[one.y for one in group] for group in _groups(sample, num_strata)]
    scale = num_stretches / len(groups)
    return Estimate(scale * sum(map(_mean, groups)), scale * _half_width(groups))


def _groups(sample: Sequence[Sampled], num_strata: int) -> list[list[Sampled]]:
    """Divide a sample by stratum; one group if a stratum has fewer than two, as without strata."""
    groups: list[list[Sampled]] = [[] for _ in range(num_strata)]
    for one in sample:
        groups[one.stratum].append(one)
    return groups if min(map(len, groups)) > 1 else [list(sample)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _half_width(groups: Sequence[Sequence[float]]) -> float:
    """Half of the 95 % interval of the sum of the groups' means."""
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < 1:
        return math.inf
    variance = 0.0
    for group in groups:
        mean = _mean(group)
        variance += sum((value - mean) ** 2 for value in group) / (len(group) - 1) / len(group)
    return (_QUANTILE + _FOR_SMALL / freedom) * math.sqrt(variance)
