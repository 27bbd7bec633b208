"""Which part of a long pipeline is drawn: both ends in time, the outer stages, never too many cells."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.calculator.schedules_simulation import Event, Simulation

CELLS_IN_FULL = 1_500
CELLS_CUT = 2_200  # both ends together: 2p micro-batches at each end of 16 stages
ROWS_SHOWN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time that is drawn, with the cells that overlap it."""

    start_s: float
    end_s: float
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What is drawn of a pipeline: one window, or two with micro-batches left out between them."""

    stages: tuple[int | None, ...]  # None stands for those left out
    windows: tuple[Window, ...]
    left_out: int = 0  # micro-batches of which no cell is drawn


def cut(simulation: Simulation, num_micro_batches: int) -> Cut:
    """Everything, or the first and the last 2p micro-batches of the outer stages."""
    p = len(simulation.busy_s)
    stages = _stages(p)
    shown = [event for event in simulation.events if event.stage in stages]
    whole = Window(start_s=0.0, end_s=simulation.makespan_s, events=tuple(shown))
    if len(shown) <= CELLS_IN_FULL or (num_micro_batches <= 4 * p and len(shown) <= CELLS_CUT):
        return Cut(stages=stages, windows=(whole,))
    first_s, last_s = _ends(shown, p, num_micro_batches)
    if first_s >= last_s:
        return Cut(stages=stages, windows=(whole,))
    head = _window(shown, 0.0, first_s)
    tail = _window(shown, last_s, simulation.makespan_s)
    drawn = {event.micro_batch for window in (head, tail) for event in window.events}
    return Cut(stages=stages, windows=(head, tail), left_out=num_micro_batches - len(drawn))


def _stages(p: int) -> tuple[int | None, ...]:
    if p <= ROWS_SHOWN:
        return tuple(range(p))
    half = ROWS_SHOWN // 2
    return (*range(half), None, *range(p - half, p))


def _ends(shown: Sequence[Event], p: int, m: int) -> tuple[float, float]:
    """When, on the last stage, forward 2p ends and the 2p-th last backward begins; nearer for many cells."""
    through = [event for event in shown if event.stage == p - 1]
    kept = min(2 * p, m // 2)
    first_s = max(event.end_s for event in through if event.kind == "F" and event.micro_batch < kept)
    last_s = min(event.start_s for event in through if event.kind == "B" and event.micro_batch >= m - kept)
    starts = sorted(event.start_s for event in shown)
    ends = sorted(event.end_s for event in shown)
    return min(first_s, starts[CELLS_CUT // 2]), max(last_s, ends[-CELLS_CUT // 2])


def _window(shown: Sequence[Event], start_s: float, end_s: float) -> Window:
    inside = tuple(event for event in shown if event.start_s < end_s and event.end_s > start_s)
    return Window(start_s=start_s, end_s=end_s, events=inside)
