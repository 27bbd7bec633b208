"""Pipeline schedules in closed form, over columns: micro-batches in flight, bubble, makespan.

Letters, as in the papers: p stages, m micro-batches, v model chunks per device; F, B and W are the
seconds one stage needs for the forward pass, the input gradient and the weight gradient of one
micro-batch. B excludes W everywhere in this package: only zero-bubble schedules split the two, the
others run them as one backward pass of B + W.

Every function takes numbers or arrays and broadcasts them. Sources: N21 is Narayanan et al. 2021
(Megatron-LM), K22 Korthikanti et al. 2022, ZB Qi et al. 2023 (Zero Bubble Pipeline Parallelism).
`schedules_simulation.simulate` plays the same schedules out cell by cell.
"""

import numpy as np
import numpy.typing as npt

from app.calculator.layout import Column, Schedule

Numbers = npt.ArrayLike


def column(values: Numbers) -> Column:
    """The values as float64, so that no product of sizes can wrap."""
    return np.asarray(values, dtype=np.float64)


def chunks_per_device(schedule: Numbers, virtual_pipeline_stages: Numbers) -> Column:
    """v as the schedule uses it: more than one chunk turns 1F1B into interleaved 1F1B; others ignore it.

    Interleaved with one chunk is plain 1F1B, as in Megatron-LM.
    """
    kind, v = column(schedule), column(virtual_pipeline_stages)
    chunked = (kind == Schedule.ONE_F_ONE_B) | (kind == Schedule.INTERLEAVED)
    return np.where(chunked, np.maximum(v, 1.0), 1.0)


def in_flight_micro_batches(
    schedule: Numbers,
    pipeline_parallel: Numbers,
    num_micro_batches: Numbers,
    virtual_pipeline_stages: Numbers,
    stage: Numbers,
) -> Column:
    """Peak number of micro-batches whose activations a stage holds at once (0-based stage).

    GPipe m · 1F1B min(m, p − i) · interleaved min(m, (p·(v − 1) + 2·(p − i − 1) + 1) / v), a fraction
    because one chunk is 1/v of the stage; p·(1 + (p − 1)/(p·v)) on stage 0 · ZB-H1 min(m, p) on every
    stage: stage i holds p − i forwards that wait for their backward and i whose weight gradient waits.

    Source: N21 section 2.2; K22 section 4.2.3 for interleaving; ZB section 2.3.
    """
    kind, i = column(schedule), column(stage)
    p, m = column(pipeline_parallel), column(num_micro_batches)
    v = chunks_per_device(schedule, virtual_pipeline_stages)
    held_1f1b = p - i
    held_interleaved = (p * (v - 1.0) + 2.0 * (p - i - 1.0) + 1.0) / v
    held = np.where(v > 1.0, held_interleaved, held_1f1b)
    held = np.where(kind == Schedule.ZB_H1, p, held)
    return np.where(kind == Schedule.GPIPE, m, np.minimum(m, held))


def bubble_over_ideal(
    schedule: Numbers,
    pipeline_parallel: Numbers,
    num_micro_batches: Numbers,
    virtual_pipeline_stages: Numbers = 1,
    *,
    forward_s: Numbers = 1.0,
    backward_s: Numbers = 1.0,
    weight_grad_s: Numbers = 1.0,
) -> Column:
    """Idle time of a device over its work, for equal stages and free transfers, 0 or more.

    (p − 1)/(v·m); zb-h1: (p − 1)(F + B − W) / (m(F + B + W)), for W ≤ F, W ≤ B and m ≥ p. Beyond that
    less is filled: a hole is as long as F on one end of the pipeline and as B on the other, and only
    min(m, p) − 1 weight gradients are late, so (p − 1)(F + B) − (min(m, p) − 1)·min(F, B, W) stays.
    F, B, W matter to zb-h1 only, by their ratios.

    Source: N21 section 2.2; ZB Table 2. Assumes: equal stages, transfers hidden or inside F and B.
    """
    p, m = column(pipeline_parallel), column(num_micro_batches)
    v = chunks_per_device(schedule, virtual_pipeline_stages)
    idle, work = _zero_bubble_idle_and_work(p, m, forward_s, backward_s, weight_grad_s)
    return np.where(column(schedule) == Schedule.ZB_H1, idle / work, (p - 1.0) / (v * m))


def bubble_fraction(
    schedule: Numbers,
    pipeline_parallel: Numbers,
    num_micro_batches: Numbers,
    virtual_pipeline_stages: Numbers = 1,
    *,
    forward_s: Numbers = 1.0,
    backward_s: Numbers = 1.0,
    weight_grad_s: Numbers = 1.0,
) -> Column:
    """Idle share of the pipeline's time, for equal stages and free transfers, 0..1.

    (p − 1)/(v·m + p − 1); zb-h1: (p − 1)(F + B − W) / (m(F + B + W) + (p − 1)(F + B − W)), within the
    same limits as `bubble_over_ideal`, and with its idle time beyond them.

    Source: N21 section 2.2; ZB Table 2. Assumes: equal stages, transfers hidden or inside F and B.
    """
    p, m = column(pipeline_parallel), column(num_micro_batches)
    v = chunks_per_device(schedule, virtual_pipeline_stages)
    idle, work = _zero_bubble_idle_and_work(p, m, forward_s, backward_s, weight_grad_s)
    return np.where(column(schedule) == Schedule.ZB_H1, idle / (work + idle), (p - 1.0) / (v * m + p - 1.0))


def _zero_bubble_idle_and_work(
    p: Column, m: Column, forward_s: Numbers, backward_s: Numbers, weight_grad_s: Numbers
) -> tuple[Column, Column]:
    """Seconds a device idles and works under ZB-H1 with equal stages."""
    f, b, w = column(forward_s), column(backward_s), column(weight_grad_s)
    filled = (np.minimum(p, m) - 1.0) * np.minimum(np.minimum(f, b), w)
    return (p - 1.0) * (f + b) - filled, m * (f + b + w)
