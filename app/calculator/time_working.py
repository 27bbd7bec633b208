"""The working of the step's seconds and of each axis' traffic, told for the slowest stage.

Every part is micro-batches times what the layers of that stage add, and every layer's share is opened once
more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.calculator import communication as comm
from app.calculator.compute import LayerSeconds, gemm_rates, layer_s
from app.calculator.estimate import Estimates
from app.calculator.explain import Line, line
from app.calculator.layer_cost import LayerCost
from app.calculator.stages import Costs, Pipeline, weights
from app.calculator.step_time import TimeColumns
from app.calculator.work import LayerKind, Work

MODEL_SOURCE = "docs/accuracy.md, constants from /method"
RING_SOURCE = "ring collectives with an α–β cost: Thakur et al. 2005"
SLOWEST = "layers of the slowest stage"
_LAYER_PARTS = {
    "recompute_s": "recompute_s",
    "tensor_parallel_s": "tensor_s",
    "context_parallel_s": "context_s",
    "expert_parallel_s": "expert_s",
}
_SOURCES = {
    "recompute_s": "Korthikanti et al. 2022, section 5: what the backward pass runs again",
    "tensor_parallel_s": "Shoeybi et al. 2019, section 3: the collectives a layer waits for",
    "context_parallel_s": "Liu et al. 2023, ring attention: what does not hide behind attention",
    "expert_parallel_s": "Lepikhin et al. 2020: dispatch and combine",
}
_AXES = {
    "tensor_parallel": "tensor",
    "context_parallel": "context",
    "data_parallel": "data",
    "expert_parallel": "expert",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One layout's step, resolved to plain numbers."""

    work: Work
    cost: Costs
    line: Pipeline
    early: float  # layers of the slowest stage
    late: float
    micro_batches: float


def time_working(estimates: Estimates) -> list[Line]:
    """Lines for estimates of one layout."""
    work, cost, found, time = estimates.work, estimates.cost, estimates.line, estimates.time
    step = _Step(
        work=work,
        cost=cost,
        line=found,
        early=_number(found.slowest.early),
        late=_number(found.slowest.late),
        micro_batches=_number(work.micro_batches),
    )
    lines = _layer_lines("late", work.late, cost.late, step)
    if cost.early is not cost.late:
        lines += _layer_lines("early", work.early, cost.early, step)
    return [*lines, *_part_lines(step, time), *_pipeline_lines(step, time), *_axis_lines(step, time)]


def _number(value: Any) -> float:
    """The only value of a column, or a number."""
    return float(np.asarray(value, dtype=np.float64).reshape(-1)[0])


def _seconds(key: str, formula: str, values: Mapping[str, float], value: float, source: str) -> Line:
    return line(key, formula, values, value, unit="s", source=source)


def _layer_lines(name: str, kind: LayerKind, cost: LayerCost, step: _Step) -> list[Line]:
    """One layer and micro-batch: its own work, and its tensor-parallel collectives."""
    own: LayerSeconds = layer_s(step.work, kind)
    rate, _ = gemm_rates(step.work)
    matrices, core = _number(own.weight_grad_s), _number(own.attention_forward_s)
    forward, backward = _number(own.forward_s), _number(own.backward_s)
    values = {
        "matrices": matrices,
        "attention": core,
        "elementwise": forward - matrices - core,
        "backward": backward,
        "forward": forward,
        "rate": _number(rate),
    }
    lines = [
        _seconds(
            f"time.{name}_layer_forward_s",
            "matrices + attention + elementwise",
            values,
            forward,
            "matrix products at the fitted share of peak, attention and memory-bound work apart",
        ),
        _seconds(
            f"time.{name}_layer_compute_s",
            "forward + backward",
            values,
            _number(cost.compute_s),
            "backward: two products for each forward one, and the attention's own backward pass",
        ),
    ]
    return lines + _tensor_lines(name, kind, cost, step)


def _tensor_lines(name: str, kind: LayerKind, cost: LayerCost, step: _Step) -> list[Line]:
    """Bytes of a layer's tensor-parallel collectives: as many messages as there are operations."""
    work = step.work
    if _number(work.tensor) <= 1:
        return []
    split = _number(work.sequence_parallel) > 0
    values = {
        "operations": _number(cost.tensor.operations),
        "passes": comm.GATHERS if split else comm.ALL_REDUCE,
        "ranks": _number(work.tensor),
        "micro_batch": _number(work.micro_batch),
        "tokens": _number(kind.seq_length),
        "context": _number(work.context),
        "hidden": _number(work.hidden_size),
    }
    formula = "operations * passes * (ranks - 1) / ranks * 2 * micro_batch * tokens / context * hidden"
    return [
        line(
            f"communication.tensor_parallel.{name}_layer_bytes",
            formula,
            values,
            _number(cost.tensor.sent_bytes),
            unit="bytes",
            source="Narayanan et al. 2021, section 3.2; a pass is half an all-reduce",
        )
    ]


def _per_layer(step: _Step, part: str) -> dict[str, float]:
    return {
        "micro_batches": step.micro_batches,
        "early_layers": step.early,
        "early_layer": _number(getattr(step.cost.early, part)),
        "late_layers": step.late,
        "late_layer": _number(getattr(step.cost.late, part)),
    }


LAYERS = "micro_batches * (early_layers * early_layer + late_layers * late_layer)"


def _part_lines(step: _Step, time: TimeColumns) -> list[Line]:
    """The parts of the step that layers, ends and gradients add."""
    cost, stage = step.cost, step.line.slowest
    dense, expert = weights(stage, cost)
    held = _number(dense) + _number(expert)
    ends = {
        "embedding": _number(stage.embedding) * sum(_number(s) for s in cost.embedding_s),
        "head": _number(stage.head) * sum(_number(s) for s in cost.head_s),
        "weights": held,
        "accumulate": _number(cost.accumulate_s_per_weight),
    }
    formula = (
        "micro_batches * (early_layers * early_layer + late_layers * late_layer"
        " + embedding + head + weights * accumulate)"
    )
    lines = [
        _seconds(
            "time.compute_s",
            formula,
            _per_layer(step, "compute_s") | ends,
            time.compute_s[0].item(),
            f"{SLOWEST}, its ends, and adding gradients to their sums",
        )
    ]
    for key, part in _LAYER_PARTS.items():
        value = getattr(time, key)[0].item()
        lines.append(_seconds(f"time.{key}", LAYERS, _per_layer(step, part), value, _SOURCES[key]))
    sends = {
        "micro_batches": step.micro_batches,
        "share": _number(stage.sends),
        "sends": _number(cost.sends.time_s),
    }
    lines.append(
        _seconds(
            "time.pipeline_p2p_s",
            "micro_batches * share * sends",
            sends,
            time.pipeline_p2p_s[0].item(),
            "Narayanan et al. 2021, section 4.1; an end stage has a neighbour on one side only",
        )
    )
    return [*lines, *_remaining_lines(step, time, held)]


def _remaining_lines(step: _Step, time: TimeColumns, held: float) -> list[Line]:
    """Gradient traffic that is waited for, the optimizer, and everything that is not a device's work."""
    work = step.work
    data_s, optimizer_s = time.data_parallel_s[0].item(), time.optimizer_s[0].item()
    sharded = _number(work.micro_batches) * (
        step.early * _number(step.cost.early.data_s) + step.late * _number(step.cost.late.data_s)
    )
    _, rate = gemm_rates(work)
    optimizer = {
        "weights": held,
        "sharded_bytes": _number(work.rates.optimizer_bytes),
        "ranks": _number(work.shard_group) if _number(work.zero_stage) >= 1 else 1.0,
        "whole_bytes": _number(work.rates.unsharded_bytes),
        "bytes_per_s": _number(rate),
    }
    floor = step.micro_batches * (
        step.early * _number(step.cost.early.floor_s) + step.late * _number(step.cost.late.floor_s)
    )
    other_s = time.other_s[0].item()
    fixed = floor + _number(work.rates.step_fixed_s)
    return [
        _seconds(
            "time.data_parallel_s",
            "waited_in_layers + waited_at_the_end",
            {"waited_in_layers": sharded, "waited_at_the_end": data_s - sharded},
            data_s,
            "sharded weights by layer; gradients after the last backward pass, less what hides behind it",
        ),
        _seconds(
            "time.optimizer_s",
            "weights * (sharded_bytes / ranks + whole_bytes) / bytes_per_s",
            optimizer,
            optimizer_s,
            "memory traffic of the update, counted",
        ),
        _seconds(
            "time.other_s",
            "cpu_floor + fixed + stragglers",
            {
                "cpu_floor": floor,
                "fixed": _number(work.rates.step_fixed_s),
                "stragglers": other_s - fixed,
            },
            other_s,
            f"{MODEL_SOURCE}: launch floor, fixed time, and waiting that grows with the nodes",
        ),
    ]


def _pipeline_lines(step: _Step, time: TimeColumns) -> list[Line]:
    """The bubble and what unequal stages cost."""
    m, slowest, stages = step.micro_batches, _number(step.line.slowest_s), _number(step.work.pipeline)
    values = {
        "stages": stages,
        "makespan": _number(step.line.makespan_s),
        "micro_batches": m,
        "slowest": slowest,
        "mean": _number(step.line.all_s) / stages,
        "bubble": time.bubble_s[0].item(),
    }
    source = "closed form of the schedule; Narayanan et al. 2021, section 2.2"
    return [
        _seconds(
            "time.bubble_s",
            "max(0, makespan - micro_batches * slowest)" if stages > 1 else "stages - 1",
            values,
            time.bubble_s[0].item(),
            source,
        ),
        _seconds(
            "time.imbalance_s_per_step",
            "max(0, micro_batches * (slowest - mean))" if stages > 1 else "stages - 1",
            values,
            time.imbalance_s_per_step[0].item(),
            "the slowest stage against the mean of all",
        ),
        line(
            "time.mean_idle_fraction",
            (
                "max(0, 1 - micro_batches * mean / (micro_batches * slowest + bubble))"
                if stages > 1
                else "stages - 1"
            ),
            values,
            time.mean_idle_fraction[0].item(),
            unit="fraction",
            source="mean over the devices of the pipeline",
        ),
    ]


def _axis_lines(step: _Step, time: TimeColumns) -> list[Line]:
    """Bytes, operations and seconds of each axis: the layers' share, and for gradients what comes after
    them.
    """
    lines: list[Line] = []
    for axis, attribute in _AXES.items():
        columns = time.axes[axis]
        if columns.group_size[0] <= 1:
            continue
        early, late = getattr(step.cost.early, attribute), getattr(step.cost.late, attribute)
        for key, part, unit in (
            ("bytes_per_step", "sent_bytes", "bytes"),
            ("operations_per_step", "operations", "operations"),
            ("time_s", "time_s", "s"),
        ):
            value = getattr(columns, key)[0].item()
            values = {
                "micro_batches": step.micro_batches,
                "early_layers": step.early,
                "early_layer": _number(getattr(early, part)),
                "late_layers": step.late,
                "late_layer": _number(getattr(late, part)),
            }
            layers = step.micro_batches * (
                step.early * values["early_layer"] + step.late * values["late_layer"]
            )
            formula = LAYERS
            if axis == "data_parallel":
                values["after_the_layers"] = value - layers
                formula += " + after_the_layers"
            lines.append(
                line(f"communication.{axis}.{key}", formula, values, value, unit=unit, source=RING_SOURCE)
            )
    return lines
