"""The time of one training step: compute, exposed communication, bubble, optimizer; told for the slowest stage."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.calculator import communication as comm
from app.calculator.cluster import Cluster
from app.calculator.collectives import Number
from app.calculator.compute import LayerSeconds, embedding_s, gemm_rates, head_s, layer_parameters, layer_s
from app.calculator.constants import Constants
from app.calculator.layout import Column
from app.calculator.model import Model
from app.calculator.training import Training
from app.calculator.work import LayerKind, Work, work_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisColumns:
    """One axis of parallelism over one step, for one device of the slowest stage."""

    group_size: Column
    between_nodes: Column  # 1 where the group crosses nodes
    bytes_per_step: Column  # sent by one device
    operations_per_step: Column
    time_s: Column
    exposed_s: Column  # the part that the step waits for


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeColumns:
    """Seconds of one step, part by part, of the slowest stage; the parts sum to `step_s`."""

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
    slowest_stage: Column
    stage_s: Column  # one micro-batch, forward and backward, on the slowest stage
    axes: dict[str, AxisColumns]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """One layer, one micro-batch, by part."""

    compute_s: Number
    recompute_s: Number
    tensor_s: Number
    context_s: Number
    expert_s: Number
    data_s: Number
    floor_s: Number
    deferrable_s: Number  # weight gradients, which a zero-bubble schedule moves
    tensor: comm.Traffic
    context: comm.Traffic
    expert: comm.Traffic
    data: comm.Traffic
    dense: Number
    expert_weights: Number

    @property
    def total_s(self) -> Number:
        """Seconds of the layer, all parts."""
        return (
            self.compute_s
            + self.recompute_s
            + self.tensor_s
            + self.context_s
            + self.expert_s
            + self.data_s
            + self.floor_s
        )


def layer_cost(work: Work, kind: LayerKind) -> LayerCost:
    """Everything one layer costs on one device for one micro-batch."""
    own = layer_s(work, kind)
    tensor, again = comm.tensor_layer(work, kind)
    expert, expert_again = comm.expert_layer(work, kind)
    context = comm.context_layer(work, kind)
    kept = np.where(work.overlap_tensor > 0, work.rates.exposed_tensor_fraction, 1.0)
    tensor_s = kept * (tensor.time_s + again.time_s)
    expert_s = expert.time_s + expert_again.time_s
    context_s = _context_exposed(work, own, context)
    dense, weights = layer_parameters(work, kind)
    forward, backward = comm.fsdp_layer(work, dense, weights)
    forward_busy = own.forward_s + own.floor_forward_s + kept * 0.5 * tensor.time_s + 0.5 * expert.time_s
    backward_busy = (
        own.backward_s
        + own.recompute_s
        + own.floor_backward_s
        + kept * (0.5 * tensor.time_s + again.time_s)
        + 0.5 * expert.time_s
        + expert_again.time_s
    )
    kappa = work.rates.overlap_cost
    data_s = np.where(
        work.zero_stage >= 2,
        comm.exposed_beside(forward_busy, forward.time_s, kappa)
        + comm.exposed_beside(backward_busy, backward.time_s, kappa),
        0.0,
    )
    return LayerCost(
        compute_s=own.forward_s + own.backward_s,
        recompute_s=own.recompute_s,
        tensor_s=tensor_s,
        context_s=context_s,
        expert_s=expert_s,
        data_s=data_s,
        floor_s=own.floor_forward_s + own.floor_backward_s,
        deferrable_s=own.weight_grad_s,
        tensor=comm.plus(tensor, again),
        context=context,
        expert=comm.plus(expert, expert_again),
        data=comm.plus(forward, backward),
        dense=dense,
        expert_weights=weights,
    )


def _context_exposed(work: Work, own: LayerSeconds, context: comm.Traffic) -> Number:
    """The ring's transfers run beside the attention of the block before: forward a third, backward two thirds."""
    kappa = work.rates.overlap_cost
    attention_s = 3.5 * own.attention_forward_s
    return np.where(work.context > 1, comm.exposed_beside(attention_s, context.time_s, kappa), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one pipeline stage holds."""

    early: Number  # layers of each kind
    late: Number
    has_embedding: Number
    has_head: Number
    sends: Number  # 1 in the middle, 1/2 at an end, 0 alone


def stages(work: Work) -> tuple[Stage, ...]:
    """The stages one of which is slowest: the first, the second, the last but one, the last.

    Layers of the early kind come first, so a middle stage's time is monotone in its place: its extremes are here.
    """
    alone = np.where(work.pipeline > 1, 0.0, 1.0)
    half = np.where(work.pipeline > 1, 0.5, 0.0)
    first, middle, last = work.layers_first, work.layers_middle, work.layers_last
    before_last = work.num_layers - last
    has_middle = np.where(work.pipeline > 2, 1.0, 0.0)

    def stage(count: Number, before: Number, embedding: Number, head: Number, sends: Number) -> Stage:
        early = np.maximum(0.0, np.minimum(count, work.early_layers - before))
        return Stage(early=early, late=count - early, has_embedding=embedding, has_head=head, sends=sends)

    held = middle * has_middle
    return (
        stage(first, 0.0, 1.0, alone, half),
        stage(held, first, 0.0, 0.0, has_middle),
        stage(held, np.maximum(0.0, before_last - middle), 0.0, 0.0, has_middle),
        stage(last, np.where(alone > 0, 0.0, before_last), alone, 1.0, half),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Costs outside the layers, per micro-batch."""

    embedding_s: Number
    head_s: Number
    sends: comm.Traffic
    accumulate_s_per_weight: Number
    embedding_weights: Number


def _ends(work: Work) -> Ends:
    forward, backward = head_s(work)
    _, bytes_per_s = gemm_rates(work)
    accumulates = np.where((work.zero_stage < 2) & (work.micro_batches > 1), 1.0, 0.0)
    return Ends(
        embedding_s=embedding_s(work),
        head_s=forward + backward,
        sends=comm.pipeline_micro_batch(work),
        accumulate_s_per_weight=accumulates * (2 + 2 * work.grad_bytes) / bytes_per_s,
        embedding_weights=work.vocab_size * work.hidden_size / work.tensor,
    )


def stage_weights(stage: Stage, early: LayerCost, late: LayerCost, ends: Ends) -> tuple[Number, Number]:
    """(dense, expert) weights one device of the stage holds."""
    held = np.maximum(stage.has_embedding, stage.has_head)
    dense = stage.early * early.dense + stage.late * late.dense + held * ends.embedding_weights
    return dense, stage.early * early.expert_weights + stage.late * late.expert_weights


def stage_s(stage: Stage, early: LayerCost, late: LayerCost, ends: Ends) -> Number:
    """Seconds of one micro-batch, forward and backward, on a stage."""
    dense, expert = stage_weights(stage, early, late, ends)
    return (
        stage.early * early.total_s
        + stage.late * late.total_s
        + stage.has_embedding * ends.embedding_s
        + stage.has_head * ends.head_s
        + stage.sends * ends.sends.time_s
        + (dense + expert) * ends.accumulate_s_per_weight
    )


def _pick(condition: Any, one: Stage, other: Stage) -> Stage:
    return Stage(
        early=np.where(condition, one.early, other.early),
        late=np.where(condition, one.late, other.late),
        has_embedding=np.where(condition, one.has_embedding, other.has_embedding),
        has_head=np.where(condition, one.has_head, other.has_head),
        sends=np.where(condition, one.sends, other.sends),
    )


def log2_between(count: Number) -> Number:
    """log₂, exact at powers of two and linear between them: the same to the last bit for one value and for many."""
    mantissa, exponent = np.frexp(count)
    return exponent - 1.0 + (2 * mantissa - 1.0)


def step_time(
    model: Model, cluster: Cluster, training: Training, layouts: Any, constants: Constants
) -> TimeColumns:
    """Time of one step for every layout. `layouts`: float64 columns named as in `Layout`."""
    return step_time_of(work_of(model, cluster, training, layouts, constants))


def step_time_of(work: Work) -> TimeColumns:
    """Time of one step from resolved numbers."""
    late = layer_cost(work, work.late)
    early = late if work.early is work.late else layer_cost(work, work.early)
    ends = _ends(work)
    candidates = stages(work)
    times = [stage_s(stage, early, late, ends) for stage in candidates]
    slowest, slow_s, index = candidates[0], times[0], 0.0 * times[0]
    places = (0.0 * work.pipeline, 1.0 + 0 * work.pipeline, work.pipeline - 2.0, work.pipeline - 1.0)
    for place, stage, seconds in zip(places[1:], candidates[1:], times[1:], strict=True):
        longer = seconds > slow_s
        slowest = _pick(longer, stage, slowest)
        slow_s = np.where(longer, seconds, slow_s)
        index = np.where(longer, place, index)
    return _assemble(work, early, late, ends, slowest, slow_s, index, times)


def _all_stages_s(
    work: Work, early: LayerCost, late: LayerCost, ends: Ends, first_s: Number, last_s: Number
) -> Number:
    """Seconds of one micro-batch summed over all stages."""
    first, _, _, last = stages(work)
    between = np.where(work.pipeline > 1, 1.0, 0.0)
    early_left = work.early_layers - first.early - last.early
    late_left = work.num_layers - work.early_layers - first.late - last.late
    accumulated = early_left * (early.dense + early.expert_weights) + late_left * (
        late.dense + late.expert_weights
    )
    middle = (
        early_left * early.total_s
        + late_left * late.total_s
        + (work.pipeline - 2) * ends.sends.time_s
        + accumulated * ends.accumulate_s_per_weight
    )
    return first_s + between * (last_s + middle)


def _assemble(
    work: Work,
    early: LayerCost,
    late: LayerCost,
    ends: Ends,
    slowest: Stage,
    slow_s: Number,
    index: Number,
    times: list[Number],
) -> TimeColumns:
    m = work.micro_batches
    rates = work.rates

    def of(part: str) -> Number:
        return m * (slowest.early * getattr(early, part) + slowest.late * getattr(late, part))

    all_s = _all_stages_s(work, early, late, ends, times[0], times[-1])
    deferred = work.zero_bubble * (
        (work.early_layers - slowest.early) * early.deferrable_s
        + (work.num_layers - work.early_layers - slowest.late) * late.deferrable_s
    )
    # Weight gradients fill the bubble twice over: once moved out of the way, once used as the filling.
    bubble_s = np.maximum(0.0, all_s - slow_s - 2 * deferred) / work.chunks
    dense, expert = stage_weights(slowest, early, late, ends)
    sync = comm.gradient_sync(work, dense, expert)
    window = rates.data_parallel_window * slow_s
    beside = np.maximum(0.0, sync.time_s - window) + rates.overlap_cost * np.minimum(sync.time_s, window)
    tied = comm.tied_embedding_sync(work)
    sync_s = np.where(work.overlap_data > 0, beside, sync.time_s) + tied.time_s
    _, bytes_per_s = gemm_rates(work)
    shards = np.where(work.zero_stage >= 1, work.shard_group, 1.0)
    optimizer_s = (dense + expert) * (rates.optimizer_bytes / shards + rates.unsharded_bytes) / bytes_per_s
    compute_s = (
        of("compute_s")
        + m * slowest.has_embedding * ends.embedding_s
        + m * slowest.has_head * ends.head_s
        + m * (dense + expert) * ends.accumulate_s_per_weight
    )
    recompute_s, tensor_s, context_s = of("recompute_s"), of("tensor_s"), of("context_s")
    expert_s, p2p_s = of("expert_s"), m * slowest.sends * ends.sends.time_s
    data_s = of("data_s") + sync_s
    calm_s = (
        compute_s + recompute_s + tensor_s + context_s + expert_s + p2p_s + bubble_s + data_s + optimizer_s
    )
    floor_s = of("floor_s") + rates.step_fixed_s
    nodes = np.ceil(work.tensor * work.pipeline * work.data * work.context / work.gpus_per_node)
    other_s = floor_s + (calm_s + floor_s) * rates.straggler_fraction * log2_between(nodes)
    step_s = calm_s + other_s
    p, v = work.pipeline, work.chunks
    mean_s = all_s / p
    columns = {
        "compute_s": compute_s,
        "recompute_s": recompute_s,
        "tensor_parallel_s": tensor_s,
        "context_parallel_s": context_s,
        "expert_parallel_s": expert_s,
        "pipeline_p2p_s": p2p_s,
        "bubble_s": bubble_s,
        "data_parallel_s": data_s,
        "optimizer_s": optimizer_s,
        "other_s": other_s,
        "step_s": step_s,
        "bubble_fraction": _bubble_fraction(work, late),
        "bubble_over_ideal": (p - 1) / (v * m),
        "imbalance_s_per_step": m * (slow_s - mean_s),
        "mean_idle_fraction": 1 - m * mean_s / (m * slow_s + bubble_s),
        "slowest_stage": index,
        "stage_s": slow_s,
    }
    shape = np.broadcast(*columns.values()).shape
    filled = {name: np.broadcast_to(value, shape) for name, value in columns.items()}
    traffic = _axes(work, early, late, ends, slowest, comm.plus(sync, tied), filled, shape)
    return TimeColumns(axes=traffic, **filled)


def _bubble_fraction(work: Work, layer: LayerCost) -> Number:
    """The schedule's own bubble for equal stages: (p−1)/(vm+p−1).

    zb-h1: (p−1)(F+B−W)/(m(F+B+W)+(p−1)(F+B−W)), B without W. Source: Narayanan et al. 2021 §2.2; Qi et al. 2023.
    """
    p, m, v = work.pipeline, work.micro_batches, work.chunks
    plain = (p - 1) / (v * m + p - 1)
    whole = layer.compute_s + layer.recompute_s
    left = np.maximum(0.0, whole - 2 * layer.deferrable_s)
    zero_bubble = (p - 1) * left / (m * whole + (p - 1) * left)
    return np.where(work.zero_bubble > 0, zero_bubble, plain)


def _axes(
    work: Work,
    early: LayerCost,
    late: LayerCost,
    ends: Ends,
    slowest: Stage,
    sync: comm.Traffic,
    parts: dict[str, Column],
    shape: tuple[int, ...],
) -> dict[str, AxisColumns]:
    m = work.micro_batches

    def layers(axis: str) -> comm.Traffic:
        one, other = getattr(early, axis), getattr(late, axis)
        return comm.Traffic(
            sent_bytes=m * (slowest.early * one.sent_bytes + slowest.late * other.sent_bytes),
            operations=m * (slowest.early * one.operations + slowest.late * other.operations),
            time_s=m * (slowest.early * one.time_s + slowest.late * other.time_s),
        )

    sends = comm.Traffic(
        sent_bytes=m * slowest.sends * ends.sends.sent_bytes,
        operations=m * slowest.sends * ends.sends.operations,
        time_s=m * slowest.sends * ends.sends.time_s,
    )
    axes = {
        "tensor_parallel": (work.tensor, work.tensor_stride, layers("tensor"), "tensor_parallel_s"),
        "context_parallel": (work.context, work.context_stride, layers("context"), "context_parallel_s"),
        "pipeline_parallel": (work.pipeline, work.pipeline_stride, sends, "pipeline_p2p_s"),
        "data_parallel": (
            work.data * work.context,
            work.data_stride,
            comm.plus(layers("data"), sync),
            "data_parallel_s",
        ),
        "expert_parallel": (work.expert, work.data_stride, layers("expert"), "expert_parallel_s"),
    }
    result = {}
    for name, (size, stride, traffic, part) in axes.items():
        columns = {
            "group_size": size,
            "between_nodes": comm.group(work, size, stride).between_nodes,
            "bytes_per_step": traffic.sent_bytes,
            "operations_per_step": traffic.operations,
            "time_s": traffic.time_s,
            "exposed_s": parts[part],
        }
        result[name] = AxisColumns(
            **{
                key: np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
                for key, value in columns.items()
            }
        )
    return result
