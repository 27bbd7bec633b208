"""Layouts that no other beats in two things at once."""

import numpy as np
import numpy.typing as npt

from app.calculator.layout import Column

Places = npt.NDArray[np.int64]


def front(cost: Column, gain: Column) -> Places:
    """Places of the rows that no other row beats: nothing gains as much for less, or more for as much.

    By rising cost, and so by rising gain; of equal rows the first.
    """
    order = np.lexsort((-gain, cost))
    best_before = np.maximum.accumulate(np.concatenate(([-np.inf], gain[order])))[:-1]
    return order[gain[order] > best_before]


def above_front(front_cost: Column, front_gain: Column, cost: Column, gain: Column) -> Places:
    """Places of the rows that a front (by rising cost) does not beat or equal: all that may change it."""
    if not len(front_cost):
        return np.arange(len(cost))
    cheaper = np.searchsorted(front_cost, cost, side="right")
    reached = np.concatenate(([-np.inf], front_gain))[cheaper]
    return np.flatnonzero(gain > reached)
