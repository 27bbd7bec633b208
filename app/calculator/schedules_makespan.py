"""How long a pipeline of unequal ends takes, in closed form over columns.

The first and the last stage carry the embedding and the head; the stages between are alike. Transfers
count inside the stages' times. `schedules_simulation.simulate` is what these formulas are held to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.calculator.layout import Column, Schedule
from app.calculator.schedules import Numbers, chunks_per_device, column


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTimes:
    """Seconds one stage needs for one micro-batch, all its chunks together; numbers or columns."""

    forward_s: Numbers
    backward_s: Numbers  # without the weight gradient
    weight_grad_s: Numbers = 0.0


@dataclass(frozen=True, slots=True)
class _Stage:
    f: Column
    b: Column  # for schedules that do not split the backward: B + W
    w: Column
    t: Column  # F + B + W
    count: Column  # how many stages are like this


def makespan_s(
    schedule: Numbers,
    pipeline_parallel: Numbers,
    num_micro_batches: Numbers,
    virtual_pipeline_stages: Numbers = 1,
    *,
    first: StageTimes,
    middle: StageTimes,
    last: StageTimes,
) -> Column:
    """Seconds from the first forward to the end of the last backward. With one stage, `last` is that stage.

    - GPipe: sum of all F and B + (m − 1)(max F + max B). Exact.
    - 1F1B: the longest of the paths that stay on one stage (first, last but one, last) and leave it
      only while it would wait. Exact if no stage's F is more than 1.5 times another's and no B either,
      with B + W from F/2 to 2F; a lower bound always.
    - Interleaved: m·slowest + (sum − slowest)/v. ZB-H1: m·slowest + what the others cannot fill.
      Both exact for equal stages; for stages that differ by a common factor of F, B and W an upper
      bound, at most 20 % (interleaved) or 25 % (ZB-H1) above for ends of 0.7 to 1.5 times the middle;
      a few per cent with many micro-batches.

    Source: Huang et al. 2018; Narayanan et al. 2021, section 2.2; Qi et al. 2023, Table 2; the paths by
    our own derivation, held to the simulation by tests/property/test_schedules.py.
    """
    kind, p, m = column(schedule), column(pipeline_parallel), column(num_micro_batches)
    v = chunks_per_device(schedule, virtual_pipeline_stages)
    stages = (
        _stage(first, np.where(p > 1.0, 1.0, 0.0)),
        _stage(middle, np.maximum(p - 2.0, 0.0)),
        _stage(last, np.ones_like(p)),
    )
    told = _one_f_one_b_s(stages, m)
    # A search mostly asks for one or two schedules: the others need not be worked out.
    is_gpipe, is_chunked, is_split = kind == Schedule.GPIPE, v > 1.0, kind == Schedule.ZB_H1
    if is_gpipe.any():
        told = np.where(is_gpipe, _gpipe_s(stages, m), told)
    if is_chunked.any():
        told = np.where(is_chunked, _interleaved_s(stages, m, v), told)
    if is_split.any():
        told = np.where(is_split, _zero_bubble_s(stages, p, m), told)
    shape = np.broadcast_shapes(told.shape, v.shape)
    return told if told.shape == shape else np.broadcast_to(told, shape)


def makespan_of_stages_s(
    schedule: Numbers,
    num_micro_batches: Numbers,
    virtual_pipeline_stages: Numbers,
    stages: Sequence[StageTimes],
) -> Column:
    """The same for stages that all differ, one by one: what a stated split of layers makes of them.

    1F1B: the longest of the paths that stay on one stage. Bounds of the other schedules as in `makespan_s`.
    """
    kind, m = column(schedule), column(num_micro_batches)
    v = chunks_per_device(schedule, virtual_pipeline_stages)
    each = [_stage(times, np.ones(1)) for times in stages]
    total: Column = np.zeros(1)
    forward = backward = slowest = unfilled_of_slowest = idle = path = np.zeros(1)
    filled_share = (np.minimum(float(len(each)), m) - 1.0) / max(len(each) - 1.0, 1.0)
    for stage in each:
        total = total + stage.t
    before: Column = np.zeros(1)
    for place, stage in enumerate(each):
        after = np.maximum(0.0, total - before - stage.t)
        path = np.maximum(path, before + m * stage.t + _away_s(stage, len(each) - 1.0 - place, after, m))
        before = before + stage.t
        forward, backward = np.maximum(forward, stage.f), np.maximum(backward, stage.b + stage.w)
        unfilled = stage.f + stage.b - filled_share * np.minimum(np.minimum(stage.f, stage.b), stage.w)
        idle = idle + unfilled
        unfilled_of_slowest = np.where(stage.t > slowest, unfilled, unfilled_of_slowest)
        slowest = np.maximum(slowest, stage.t)
    told = np.where(kind == Schedule.GPIPE, total + (m - 1.0) * (forward + backward), path)
    told = np.where(v > 1.0, m * slowest + (total - slowest) / v, told)
    return np.where(kind == Schedule.ZB_H1, m * slowest + idle - unfilled_of_slowest, told)


def _stage(times: StageTimes, count: Column) -> _Stage:
    f, b, w = column(times.forward_s), column(times.backward_s), column(times.weight_grad_s)
    return _Stage(f=f, b=b, w=w, t=f + (b + w), count=count)


def _slowest(stages: tuple[_Stage, _Stage, _Stage], name: str) -> Column:
    """The largest value of a field over the kinds of stage that there are."""
    present = [np.where(stage.count > 0.0, getattr(stage, name), 0.0) for stage in stages]
    return np.maximum(np.maximum(present[0], present[1]), present[2])


def _sum(stages: tuple[_Stage, _Stage, _Stage], name: str) -> Column:
    first, middle, last = (stage.count * getattr(stage, name) for stage in stages)
    total: Column = first + middle + last
    return total


def _gpipe_s(stages: tuple[_Stage, _Stage, _Stage], m: Column) -> Column:
    whole = tuple(_Stage(f=s.f, b=s.b + s.w, w=s.w, t=s.t, count=s.count) for s in stages)
    slowest = _slowest((whole[0], whole[1], whole[2]), "f") + _slowest((whole[0], whole[1], whole[2]), "b")
    return _sum(stages, "t") + (m - 1.0) * slowest


def _one_f_one_b_s(stages: tuple[_Stage, _Stage, _Stage], m: Column) -> Column:
    """The longest path; of the middle stages the last one decides, it has the longest way to it."""
    first, middle, last = stages
    after_middle = last.t
    after_first = middle.count * middle.t + last.t
    before_last = first.count * first.t + middle.count * middle.t
    before_middle = first.count * first.t + (middle.count - 1.0) * middle.t
    through_first = m * first.t + _away_s(first, middle.count + 1.0, after_first, m)
    through_middle = before_middle + m * middle.t + _away_s(middle, 1.0, after_middle, m)
    path = np.maximum(before_last + m * last.t, np.where(first.count > 0.0, through_first, 0.0))
    return np.maximum(path, np.where(middle.count > 0.0, through_middle, 0.0))


def _away_s(stage: _Stage, below: Numbers, trip_s: Column, m: Column) -> Column:
    """What a path gains by following a micro-batch down the `below` stages and back (`trip_s`).

    The first micro-batch is away while the stage runs `below` forwards, the last while it runs as many
    backwards; with few micro-batches (m ≤ below + 1) only one of the two can be taken.
    """
    n, b = column(below), stage.b + stage.w
    both = np.maximum(0.0, trip_s - n * stage.f) + np.maximum(0.0, trip_s - n * b)
    one = np.maximum(0.0, trip_s - (m - 1.0) * np.minimum(stage.f, b))
    return np.where(m >= n + 2.0, both, one)


def _interleaved_s(stages: tuple[_Stage, _Stage, _Stage], m: Column, v: Column) -> Column:
    slowest = _slowest(stages, "t")
    return m * slowest + (_sum(stages, "t") - slowest) / v


def _zero_bubble_s(stages: tuple[_Stage, _Stage, _Stage], p: Column, m: Column) -> Column:
    """The slowest stage's work, and of every other stage F + B less what late weight gradients fill."""
    slowest = _slowest(stages, "t")
    filled_share = (np.minimum(p, m) - 1.0) / np.maximum(p - 1.0, 1.0)
    unfilled = [s.f + s.b - filled_share * np.minimum(np.minimum(s.f, s.b), s.w) for s in stages]
    idle = stages[0].count * unfilled[0] + stages[1].count * unfilled[1] + stages[2].count * unfilled[2]
    of_slowest = np.where(
        (stages[0].t == slowest) & (stages[0].count > 0.0),
        unfilled[0],
        np.where((stages[1].t == slowest) & (stages[1].count > 0.0), unfilled[1], unfilled[2]),
    )
    return m * slowest + idle - of_slowest
