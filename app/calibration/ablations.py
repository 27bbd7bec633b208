"""What each ingredient is worth: take it out, fit again, and see which sources suffer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.calculator.work import Work
from app.calibration.sample import Transform
from app.services.inputs import Inputs


def _same(inputs: Inputs) -> Inputs:
    return inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """One ingredient removed: from the resolved numbers, from the question itself, or a part of the step."""

    name: str
    transform: Transform | None = None
    change: Callable[[Inputs], Inputs] = _same
    part: str = ""


def _rates(**values: float) -> Transform:
    def transform(work: Work) -> Work:
        columns: dict[str, Any] = {
            name: np.full_like(work.rates.gemm_fraction, value) for name, value in values.items()
        }
        return replace(work, rates=replace(work.rates, **columns))

    return transform


def _work(**values: float) -> Transform:
    def transform(work: Work) -> Work:
        columns: dict[str, Any] = {name: 0 * work.tensor + value for name, value in values.items()}
        return replace(work, **columns)

    return transform


def _one_nic(work: Work) -> Work:
    """Every data-parallel group as if one device of a node carried its traffic."""
    return replace(work, data_stride=work.gpus_per_node)


def _plain_attention(work: Work) -> Work:
    """Attention as two more matrix products over full scores, without softmax traffic."""
    half = 0.5 * work.rates.gemm_fraction_16bit
    return replace(work, flash=0 * work.tensor + 1, rates=replace(work.rates, flash_fraction=half))


def _aligned(work: Work) -> Work:
    return replace(work, rates=replace(work.rates, unaligned_fraction=work.rates.gemm_fraction_16bit))


def _no_tensor_traffic(work: Work) -> Work:
    return _rates(exposed_tensor_fraction=0.0)(replace(work, overlap_tensor=0 * work.tensor + 1))


def _no_data_traffic(work: Work) -> Work:
    """Gradients of no bytes and weights that need no gathering."""
    return replace(work, zero_stage=0 * work.tensor, grad_bytes=0 * work.tensor)


def _no_elementwise(work: Work) -> Work:
    names = (
        "norm_forward_bytes",
        "norm_backward_bytes",
        "activation_forward_bytes",
        "activation_backward_bytes",
    )
    nothing: dict[str, Any] = dict.fromkeys(names, 0 * work.tensor)
    return replace(work, **nothing)


def _no_latency(work: Work) -> Work:
    quiet = _rates(
        collective_latency_s=0.0,
        collective_rank_latency_s=0.0,
        collective_hop_latency_s=0.0,
        p2p_latency_s=0.0,
    )(work)
    return replace(quiet, intra_latency_s=0 * work.tensor, inter_latency_s=0 * work.tensor)


def _even_stages(work: Work) -> Work:
    even = work.num_layers / work.pipeline
    return replace(
        work,
        layers_first=even,
        layers_middle=even,
        layers_last=even,
        vocab_size=np.where(work.pipeline > 1, 1.0, work.vocab_size),
    )


def _same_memory(work: Work) -> Work:
    """One memory bandwidth for every card of a peak: the 80 GB A100's and the 700 W H100's."""
    card = np.where(work.peak_16bit_flop_per_s < 500e12, 2.039e12, 3.35e12)
    return replace(work, memory_bytes_per_s=np.where(work.memory_bytes_per_s < 1e12, 0.9e12, card))


def _no_gate(inputs: Inputs) -> Inputs:
    return replace(inputs, model=replace(inputs.model, gated_mlp=False))


def _no_groups(inputs: Inputs) -> Inputs:
    return replace(inputs, model=replace(inputs.model, num_kv_heads=inputs.model.num_attention_heads))


def _twelve_links(inputs: Inputs) -> Inputs:
    """The board with switches everywhere."""
    link = inputs.cluster.intra_node
    if link.bandwidth_bytes_per_s != 100e9:
        return inputs
    return replace(
        inputs, cluster=replace(inputs.cluster, intra_node=replace(link, bandwidth_bytes_per_s=300e9))
    )


def _first_flash(inputs: Inputs) -> Inputs:
    """No classes of flash kernels: everybody runs the first one."""
    if inputs.training.kernels == "eager" or not inputs.training.flash_attention:
        return inputs
    eager = replace(inputs.training, kernels="eager")
    return replace(inputs, training=eager)


ABLATIONS = (
    Ablation(name="one NIC a node for data-parallel groups", transform=_one_nic),
    Ablation(name="attention as its own cost", transform=_plain_attention),
    Ablation(name="recompute", transform=_work(recompute=0.0)),
    Ablation(name="elementwise memory traffic", transform=_no_elementwise),
    Ablation(name="eager code against fused", transform=_work(eager=0.0)),
    Ablation(name="overlap as max (else sum)", transform=_rates(overlap_cost=1.0)),
    Ablation(name="cost of overlap κ", transform=_rates(overlap_cost=0.0)),
    Ablation(name="pipeline bubble", part="bubble_s"),
    Ablation(name="tensor-parallel collectives", transform=_no_tensor_traffic),
    Ablation(name="data-parallel traffic", transform=_no_data_traffic),
    Ablation(name="CPU floor", transform=_rates(cpu_floor_s=0.0)),
    Ablation(name="head width that misses the tensor cores", transform=_aligned),
    Ablation(name="third matrix of a gated MLP", change=_no_gate),
    Ablation(name="grouped-query attention", change=_no_groups),
    Ablation(name="memory bandwidth by card", transform=_same_memory),
    Ablation(name="four links between Jean Zay's devices (else twelve)", change=_twelve_links),
    Ablation(name="logits and loss traffic", transform=_rates(logits_bytes=0.0)),
    Ablation(name="uneven ends of the pipeline", transform=_even_stages),
    Ablation(name="stragglers", transform=_rates(straggler_fraction=0.0)),
    Ablation(name="overlapped tensor traffic as a class", transform=_rates(exposed_tensor_fraction=1.0)),
    Ablation(name="latencies", transform=_no_latency),
    Ablation(name="optimizer traffic", transform=_rates(optimizer_bytes=0.0, unsharded_bytes=0.0)),
    Ablation(name="fixed time of a step", transform=_rates(step_fixed_s=0.0)),
)
