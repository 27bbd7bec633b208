"""The order in which each stage of a pipeline works through its cells.

A cell is one pass of one micro-batch through one model chunk on one stage: F forward, B backward
(the input gradient only where the schedule splits it), W weight gradient. Chunk c of stage i is
virtual stage c·p + i; a micro-batch visits the virtual stages in rising order, and back.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from app.calculator.layout import Schedule

Kind = Literal["F", "B", "W"]


class Cell(NamedTuple):
    """One piece of work on one stage; chunk and micro-batch are 0-based."""

    kind: Kind
    chunk: int
    micro_batch: int


Order = tuple[Cell, ...]


def stage_orders(schedule: Schedule, p: int, m: int, v: int) -> tuple[Order, ...]:
    """The order of every stage. Interleaved needs m divisible by p; v counts for it (and 1F1B) only."""
    if schedule == Schedule.GPIPE:
        return (_gpipe(m),) * p
    if schedule == Schedule.ZB_H1:
        return tuple(tuple(_zero_bubble_h1(p, m, stage)) for stage in range(p))
    if v > 1:
        forwards, backwards = _interleaved(p, m, v)
        warm_ups = [2 * (p - stage - 1) + (v - 1) * p for stage in range(p)]
    else:
        forwards, backwards = [Cell("F", 0, k) for k in range(m)], [Cell("B", 0, k) for k in range(m)]
        warm_ups = [p - stage - 1 for stage in range(p)]
    return tuple(_one_forward_one_backward(forwards, backwards, warm_up) for warm_up in warm_ups)


def _gpipe(m: int) -> Order:
    """All forwards, then all backwards. Source: Huang et al. 2018, section 2.3."""
    return (*(Cell("F", 0, k) for k in range(m)), *(Cell("B", 0, k) for k in range(m)))


def _one_forward_one_backward(forwards: list[Cell], backwards: list[Cell], warm_up: int) -> Order:
    """Some forwards to fill the pipeline, then one forward and one backward in turn, then the rest."""
    warm_up = min(warm_up, len(forwards))
    steady = [cell for pair in zip(forwards[warm_up:], backwards, strict=False) for cell in pair]
    return (*forwards[:warm_up], *steady, *backwards[len(forwards) - warm_up :])


def _interleaved(p: int, m: int, v: int) -> tuple[list[Cell], list[Cell]]:
    """Forwards and backwards of interleaved 1F1B, the same on every stage but for the warm-up.

    p micro-batches pass chunk 0, the same p pass chunk 1, …, then the next p come; backwards the same
    from the last chunk down. Warm-up: 2(p − i − 1) + (v − 1)p chunk passes.

    Source: Narayanan et al. 2021, section 2.2.2; the counts as in Megatron-LM's interleaved schedule.
    """
    visits = [
        (chunk, first + k) for first in range(0, m, p) for chunk in range(v) for k in range(min(p, m - first))
    ]
    return [Cell("F", chunk, k) for chunk, k in visits], [Cell("B", v - 1 - chunk, k) for chunk, k in visits]


def _zero_bubble_h1(p: int, m: int, stage: int) -> Iterator[Cell]:
    """1F1B whose weight gradients run `stage` micro-batches late, so that they fill the drain.

    Every stage then holds at most p micro-batches, counting those whose weight gradient is due.

    Source: Qi et al. 2023, section 2.3 (ZB-H1).
    """
    warm_up = min(p - stage - 1, m)
    yield from (Cell("F", 0, k) for k in range(warm_up))
    for k in range(m):
        if warm_up + k < m:
            yield Cell("F", 0, warm_up + k)
        yield Cell("B", 0, k)
        if k >= stage:
            yield Cell("W", 0, k - stage)
    yield from (Cell("W", 0, k) for k in range(max(0, m - stage), m))
