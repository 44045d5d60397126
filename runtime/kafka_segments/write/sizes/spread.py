"""Random choice of numbers that are spread evenly, however many are taken.

Strategy: all numbers are divided into equal cells, and one is chosen in each, the cells in random order. Then
each cell is halved, and one is chosen in each half without any, and so on (as Owen scrambles nets: Monte
Carlo Variance of Scrambled Net Quadrature, 1997). Each number has the same chance at any time; nothing
periodic in the numbers is in step with the choice, because the place in a cell is random.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

__all__ = ["cells_of", "iter_spread"]

_NUM_CELLS = 64


def iter_spread(num_all: int, random: Random) -> Iterator[int]:
    """Iterate over all numbers below `num_all`, each once, spread evenly at any time."""
    num_cells, chosen = min(_NUM_CELLS, num_all), set[int]()
    while len(chosen) < num_all:
        if num_cells > num_all:  # cells of a number or two: what is left of them
            rest = [number for number in range(num_all) if number not in chosen]
            random.shuffle(rest)
            yield from rest
            return
        taken = {_cell(number, num_cells, num_all) for number in chosen}
        free = [cell for cell in range(num_cells) if cell not in taken]
        random.shuffle(free)
        for cell in free:
            number = random.randrange(cell * num_all // num_cells, (cell + 1) * num_all // num_cells)
            chosen.add(number)
            yield number
        num_cells *= 2


def cells_of(numbers: Any, num_all: int) -> tuple[Any, Any]:
    """Return the cell of each number, and how many numbers each of these cells has.

    Args:
        numbers: int64, the first ones of `iter_spread`, in any order.
        num_all: how many numbers there are.
    """
    num_cells = min(_NUM_CELLS, num_all)
    if len(numbers) < num_cells:
        return np.zeros(len(numbers), np.int64), np.full(len(numbers), num_all)
    while 2 * num_cells <= min(len(numbers), num_all):
        num_cells *= 2
    cells = _cell(np.asarray(numbers), num_cells, num_all)
    return cells, (cells + 1) * num_all // num_cells - cells * num_all // num_cells


def _cell(number: Any, num_cells: int, num_all: int) -> Any:
    """The cell that begins at or before a number: cell `c` begins at `c * num_all // num_cells`."""
    return ((number + 1) * num_cells - 1) // num_all
