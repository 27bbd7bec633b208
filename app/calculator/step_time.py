"""The time of one training step, part by part, told for the slowest stage."""

from dataclasses import dataclass

import numpy as np

from app.calculator import communication as comm
from app.calculator.cluster import Cluster
from app.calculator.collectives import Number
from app.calculator.compute import gemm_rates
from app.calculator.constants import Constants
from app.calculator.layout import Column, Layouts, filled_to
from app.calculator.model import Model
from app.calculator.schedules import bubble_fraction, bubble_over_ideal
from app.calculator.stages import Costs, Pipeline, Stage, costs, pipeline, vocabularies, weights
from app.calculator.step_axes import Axes
from app.calculator.training import Training
from app.calculator.work import Work
from app.calculator.work_build import work_of

PARTS = (
    "compute_s",
    "recompute_s",
    "tensor_parallel_s",
    "context_parallel_s",
    "expert_parallel_s",
    "pipeline_p2p_s",
    "bubble_s",
    "data_parallel_s",
    "optimizer_s",
    "other_s",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeColumns:
    """Seconds of one step, part by part, of the slowest stage; the parts, in this order, sum to `step_s`."""

    compute_s: Column
    recompute_s: Column
    tensor_parallel_s: Column
    context_parallel_s: Column
    expert_parallel_s: Column
    pipeline_p2p_s: Column
    bubble_s: Column
    data_parallel_s: Column
    optimizer_s: Column
    other_s: Column  # CPU floor, fixed time and stragglers
    step_s: Column
    bubble_fraction: Column
    bubble_over_ideal: Column
    imbalance_s_per_step: Column
    mean_idle_fraction: Column
    slowest_stage: Column  # its index
    stage_s: Column  # one micro-batch, forward and backward, on the slowest stage
    axes: Axes


def step_time(
    model: Model, cluster: Cluster, training: Training, layouts: Layouts, constants: Constants
) -> TimeColumns:
    """Time of one step for every layout, whether or not the layout is legal or fits."""
    return step_time_of(work_of(model, cluster, training, layouts, constants))


def step_time_of(work: Work) -> TimeColumns:
    """Time of one step from resolved numbers."""
    cost = costs(work)
    return time_of(work, cost, pipeline(work, cost))


def time_of(work: Work, cost: Costs, line: Pipeline) -> TimeColumns:
    """Time of one step whose layers and stages are priced already."""
    stage, m = line.slowest, work.micro_batches
    sync = comm.plus(comm.gradient_sync(work, *weights(stage, cost)), comm.tied_embedding_sync(work))
    bubble_s = np.maximum(0.0, line.makespan_s - m * line.slowest_s)
    parts = {
        "compute_s": _compute_s(work, cost, stage),
        "recompute_s": _layers_s(work, cost, stage, "recompute_s"),
        "tensor_parallel_s": _layers_s(work, cost, stage, "tensor_s"),
        "context_parallel_s": _layers_s(work, cost, stage, "context_s"),
        "expert_parallel_s": _layers_s(work, cost, stage, "expert_s"),
        "pipeline_p2p_s": m * stage.sends * cost.sends.time_s,
        "bubble_s": bubble_s,
        "data_parallel_s": _data_s(work, cost, stage) + _sync_s(work, sync, line.slowest_s),
        "optimizer_s": _optimizer_s(work, *weights(stage, cost)),
    }
    parts["other_s"] = _other_s(work, parts, _layers_s(work, cost, stage, "floor_s"))
    step_s: Number = 0.0
    for name in PARTS:
        step_s = step_s + parts[name]
    columns = parts | {"step_s": step_s} | _pipeline_columns(work, cost, line, bubble_s)
    shape = np.broadcast_shapes(*(np.shape(value) for value in columns.values()))
    filled = {name: filled_to(value, shape) for name, value in columns.items()}
    return TimeColumns(axes=Axes(work, cost, stage, sync, filled), **filled)


def _layers_s(work: Work, cost: Costs, stage: Stage, part: str) -> Number:
    one: Number = getattr(cost.early, part)
    other: Number = getattr(cost.late, part)
    return work.micro_batches * (stage.early * one + stage.late * other)


def _compute_s(work: Work, cost: Costs, stage: Stage) -> Number:
    dense, expert = weights(stage, cost)
    ends = stage.embedding * (cost.embedding_s[0] + cost.embedding_s[1]) + stage.head * (
        cost.head_s[0] + cost.head_s[1]
    )
    accumulate = (dense + expert) * cost.accumulate_s_per_weight
    layers: Number = _layers_s(work, cost, stage, "compute_s")
    return layers + work.micro_batches * (ends + accumulate)


def _data_s(work: Work, cost: Costs, stage: Stage) -> Number:
    """What the gathers and scatters of fully sharded layers and vocabularies add, over all micro-batches."""
    tables = vocabularies(stage, cost) * (cost.vocabulary_data_s[0] + cost.vocabulary_data_s[1])
    return _layers_s(work, cost, stage, "data_s") + work.micro_batches * tables


def _sync_s(work: Work, sync: comm.Traffic, slowest_s: Number) -> Number:
    """Gradient synchronization the step waits for: all of it, or what the last backward pass leaves."""
    window = work.rates.data_parallel_window * slowest_s
    beside = np.maximum(0.0, sync.time_s - window) + work.rates.overlap_cost * np.minimum(sync.time_s, window)
    return np.where(work.overlap_data > 0, beside, sync.time_s)


def _optimizer_s(work: Work, dense: Number, expert: Number) -> Number:
    """The optimizer's memory traffic: sharded states over their group, and what every rank touches whole."""
    _, bytes_per_s = gemm_rates(work)
    shards = np.where(work.zero_stage >= 1, work.shard_group, 1.0)
    per_weight = work.rates.optimizer_bytes / shards + work.rates.unsharded_bytes
    return (dense + expert) * per_weight / bytes_per_s


def _other_s(work: Work, parts: dict[str, Number], floor_s: Number) -> Number:
    """CPU floor, fixed time and stragglers: everything grows with each doubling of the nodes."""
    busy_s: Number = floor_s + work.rates.step_fixed_s
    fixed_s = busy_s
    for seconds in parts.values():
        busy_s = busy_s + seconds
    world = work.tensor * work.pipeline * work.data * work.context
    nodes: Number = np.ceil(world / work.gpus_per_node)
    return fixed_s + busy_s * work.rates.straggler_fraction * log2_between(nodes)


def log2_between(count: Number) -> Number:
    """log₂, exact at powers of two and linear between them.

    NumPy's log2 may differ in the last bit between one value and many; this cannot.
    """
    mantissa, exponent = np.frexp(np.asarray(count, dtype=np.float64))
    between: Column = exponent - 1.0 + (2 * mantissa - 1.0)
    return between


def _pipeline_columns(work: Work, cost: Costs, line: Pipeline, bubble_s: Number) -> dict[str, Number]:
    layer, m, p = cost.late, work.micro_batches, work.pipeline
    shape = (work.schedule, p, m, work.chunks)
    mean_s = line.all_s / p
    times = {
        "forward_s": layer.forward_s,
        "backward_s": layer.backward_s - layer.weight_grad_s,
        "weight_grad_s": layer.weight_grad_s,
    }
    return {
        "bubble_fraction": bubble_fraction(*shape, **times),
        "bubble_over_ideal": bubble_over_ideal(*shape, **times),
        "imbalance_s_per_step": np.maximum(0.0, m * (line.slowest_s - mean_s)),
        "mean_idle_fraction": np.maximum(0.0, 1 - m * mean_s / (m * line.slowest_s + bubble_s)),
        "slowest_stage": line.slowest_index,
        "stage_s": line.slowest_s,
    }
