"""One layer, one micro-batch: its own work beside the communication it waits for or hides."""

from dataclasses import dataclass

import numpy as np

from app.calculator import communication as comm
from app.calculator.collectives import Number
from app.calculator.compute import LayerSeconds, layer_parameters, layer_s
from app.calculator.work import LayerKind, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """Seconds of one layer and micro-batch by part, its traffic, and the weights it holds on one device."""

    compute_s: Number
    recompute_s: Number
    tensor_s: Number
    context_s: Number
    expert_s: Number
    data_s: Number  # what gathers and scatters of a fully sharded layer add
    floor_s: Number  # what the CPU floor adds
    forward_s: Number  # all parts
    backward_s: Number
    weight_grad_s: Number  # the part of backward_s that a zero-bubble schedule may move
    tensor: comm.Traffic
    context: comm.Traffic
    expert: comm.Traffic
    data: comm.Traffic
    dense_weights: Number
    expert_weights: Number


def layer_cost(work: Work, kind: LayerKind) -> LayerCost:
    """Everything one layer costs on one device for one micro-batch.

    A pass takes its own work, at least the CPU floor, and the collectives it waits for; gathers and scatters
    of sharded weights run beside all of it (max plus κ·min).
    """
    own = layer_s(work, kind)
    tensor, tensor_again = comm.tensor_layer(work, kind)
    expert, expert_again = comm.expert_layer(work, kind)
    ring = comm.context_layer(work, kind)
    ring_forward, ring_backward = _ring_exposed(work, own, ring)
    kept = np.where(work.overlap_tensor > 0, work.rates.exposed_tensor_fraction, 1.0)
    waited_forward = kept * 0.5 * tensor.time_s + 0.5 * expert.time_s + ring_forward
    waited_backward = (
        kept * (0.5 * tensor.time_s + tensor_again.time_s)
        + (0.5 * expert.time_s + expert_again.time_s)
        + ring_backward
    )
    forward = np.maximum(own.forward_s, own.floor_forward_s)
    backward = np.maximum(own.backward_s + own.recompute_s, own.floor_backward_s)
    forward_busy, backward_busy = forward + waited_forward, backward + waited_backward
    dense, weights = layer_parameters(work, kind)
    gather, scatter = comm.fsdp_layer(work, dense, weights)
    kappa = work.rates.overlap_cost
    data_forward = comm.exposed_beside(forward_busy, gather.time_s, kappa)
    data_backward = comm.exposed_beside(backward_busy, scatter.time_s, kappa)
    return LayerCost(
        compute_s=own.forward_s + own.backward_s,
        recompute_s=own.recompute_s,
        tensor_s=kept * (tensor.time_s + tensor_again.time_s),
        context_s=ring_forward + ring_backward,
        expert_s=expert.time_s + expert_again.time_s,
        data_s=data_forward + data_backward,
        floor_s=(forward - own.forward_s) + (backward - (own.backward_s + own.recompute_s)),
        forward_s=forward_busy + data_forward,
        backward_s=backward_busy + data_backward,
        weight_grad_s=own.weight_grad_s,
        tensor=comm.plus(tensor, tensor_again),
        context=ring,
        expert=comm.plus(expert, expert_again),
        data=comm.plus(gather, scatter),
        dense_weights=dense,
        expert_weights=weights,
    )


def _ring_exposed(work: Work, own: LayerSeconds, ring: comm.Traffic) -> tuple[Number, Number]:
    """Ring attention passes blocks on beside the attention of the block before: a third forward."""
    kappa = work.rates.overlap_cost
    forward = comm.exposed_beside(own.attention_forward_s, ring.time_s / 3, kappa)
    backward = comm.exposed_beside(2.5 * own.attention_forward_s, 2 * ring.time_s / 3, kappa)
    return forward, backward
