"""Seconds of one layer's, the embedding's and the head's own work on one device, without communication."""

from dataclasses import dataclass

import numpy as np

from app.calculator.collectives import Number
from app.calculator.work import FULL, SELECTIVE, Attention, LayerKind, Linear, Work, tokens

SCORE_BYTES_FORWARD = 9.0  # softmax reads and writes 2 each; dropout reads 2, writes 2 and a mask byte
SCORE_BYTES_BACKWARD = 11.0  # dropout 2 + 1 + 2, softmax 2 + 2 + 2
FLASH_BACKWARD = 2.5  # five products instead of two. Source: Dao et al. 2022
CPU_BACKWARD = 1.2  # launches of a backward pass against those of a forward pass
CPU_ATTENTION = 0.3  # launches of an attention core against those of a forward pass


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSeconds:
    """One layer and one micro-batch on one device."""

    forward_s: Number
    backward_s: Number  # with weight gradients, without recompute
    weight_grad_s: Number
    recompute_s: Number
    attention_forward_s: Number
    floor_forward_s: Number  # the least that the CPU needs to launch the kernels
    floor_backward_s: Number


def gemm_s(rows: Number, inner: Number, columns: Number, rates: tuple[Number, Number]) -> Number:
    """Seconds of a matrix product: max(2MNK/R, 2(MK + KN + MN)/W), `rates` = (R, W).

    Source: roofline model, Williams et al. 2009. Assumes: two bytes an element.
    """
    flop_s = 2 * rows * inner * columns / rates[0]
    bytes_s = 2 * (rows * inner + inner * columns + rows * columns) / rates[1]
    return np.maximum(flop_s, bytes_s)


def gemm_rates(work: Work) -> tuple[Number, Number]:
    """(FLOP/s that large matrix products reach, effective bytes/s of memory)."""
    return (
        work.peak_flop_per_s * work.rates.gemm_fraction,
        work.memory_bytes_per_s * work.rates.memory_fraction,
    )


def linear_s(work: Work, linear: Linear, token_count: Number) -> Number:
    """Forward seconds of a linear layer. Its backward pass is two products of the same size."""
    share = np.where(linear.split > 0, work.tensor, 1.0)
    inner = np.where(linear.split_inputs > 0, linear.inputs / share, linear.inputs)
    columns = np.where(linear.split_inputs > 0, linear.outputs, linear.outputs / share)
    copies = np.where(linear.experts > 0, np.maximum(1.0, linear.experts / work.expert), 1.0)
    rows = token_count * linear.rows_per_token / copies
    return copies * gemm_s(rows, inner, columns, gemm_rates(work))


def attention_s(work: Work, attention: Attention, queries: Number) -> tuple[Number, Number]:
    """(forward, backward) seconds of an attention core; `queries`: tokens per sequence on this device.

    Unfused: the products over all scores A, and softmax and dropout over A: q + 9A/W, 2q + 11A/W. A head
    width that is not a multiple of 8 misses the tensor cores. Flash: 2A(d_k + d_v)·visible/(peak·e), and
    2.5 times that. Source: Korthikanti et al. 2022, section 4; Dao et al. 2022; NVIDIA guide to alignment.
    """
    peak = work.peak_16bit_flop_per_s
    _, bytes_per_s = gemm_rates(work)
    scores = work.micro_batch * attention.heads / work.tensor * queries * attention.keys
    width = attention.score_dim + attention.value_dim
    aligned = np.floor(attention.score_dim / 8) * 8 == attention.score_dim
    fraction = np.where(aligned, work.rates.gemm_fraction_16bit, work.rates.unaligned_fraction)
    products = 2 * np.maximum(scores * width / (peak * fraction), 2 * scores / bytes_per_s)
    flash = 2 * scores * width * attention.visible_fraction / (peak * work.rates.flash_fraction)
    scores_s = scores / bytes_per_s
    forward = np.where(work.flash > 0, flash, products + SCORE_BYTES_FORWARD * scores_s)
    backward = np.where(
        work.flash > 0, FLASH_BACKWARD * flash, 2 * products + SCORE_BYTES_BACKWARD * scores_s
    )
    return forward, backward


def elementwise_s(work: Work, kind: LayerKind, token_count: Number) -> tuple[Number, Number]:
    """(forward, backward) seconds of norms, residuals, activation, transposes, routing: bytes over bandwidth.

    T·(w·h/sp + a·f/t + x·qkv/t + 4·context/t), times the eager factor when nothing is fused.
    Assumes: two bytes an element; transposes (x = 4) around unfused attention only.
    """
    _, bytes_per_s = gemm_rates(work)
    shard = np.where(work.sequence_parallel > 0, work.tensor, 1.0)
    factor = np.where(work.eager > 0, work.rates.eager_factor, 1.0)
    transposes = np.where(work.flash > 0, 0.0, 4.0) * kind.qkv_width
    routing = 8.0 * kind.routed_per_token * work.hidden_size
    moved = (transposes + 4.0 * kind.context_width + routing) / work.tensor
    width, hidden = kind.activation_width / work.tensor, work.hidden_size / shard
    forward = work.norm_forward_bytes * hidden + work.activation_forward_bytes * width + moved
    backward = work.norm_backward_bytes * hidden + work.activation_backward_bytes * width + moved
    scale = factor * token_count / bytes_per_s
    return scale * forward, scale * backward


def layer_s(work: Work, kind: LayerKind) -> LayerSeconds:
    """Seconds of one layer and one micro-batch.

    Recompute: full runs the forward pass again, selective the attention core or a stated share of the pass.
    """
    token_count = tokens(work, kind)
    linears: Number = 0.0
    for linear in kind.linears:
        linears = linears + linear_s(work, linear, token_count)
    core_forward: Number = 0.0
    core_backward: Number = 0.0
    for attention in kind.attentions:
        one_forward, one_backward = attention_s(work, attention, kind.seq_length / work.context)
        core_forward, core_backward = core_forward + one_forward, core_backward + one_backward
    other_forward, other_backward = elementwise_s(work, kind, token_count)
    forward = linears + core_forward + other_forward
    selective = np.where(work.recompute == SELECTIVE, 1.0, 0.0)
    again = np.where(work.recompute == FULL, 1.0, selective * work.recomputed_fraction)
    core_again = selective * np.where(work.recomputed_fraction > 0, 0.0, 1.0)
    floor = work.rates.cpu_floor_s
    return LayerSeconds(
        forward_s=forward,
        backward_s=2 * linears + core_backward + other_backward,
        weight_grad_s=linears,
        recompute_s=again * forward + core_again * core_forward,
        attention_forward_s=core_forward,
        floor_forward_s=floor,
        floor_backward_s=floor * (CPU_BACKWARD + again + CPU_ATTENTION * core_again),
    )


def head_s(work: Work) -> tuple[Number, Number]:
    """(forward, backward) seconds of output head and loss on the last stage: never recomputed."""
    token_count = work.micro_batch * work.head_seq_length / work.context
    _, bytes_per_s = gemm_rates(work)
    product = linear_s(work, Linear(inputs=work.hidden_size, outputs=work.vocab_size), token_count)
    loss = work.rates.logits_bytes * token_count * work.vocab_size / work.tensor / bytes_per_s
    heads = 1.0 + work.num_mtp_layers
    return heads * (product + 0.4 * loss), heads * (2 * product + 0.6 * loss)


def embedding_s(work: Work) -> tuple[Number, Number]:
    """(forward, backward) seconds of the embedding's look-up and its scatter, by memory traffic."""
    _, bytes_per_s = gemm_rates(work)
    whole = work.rates.embedding_bytes * tokens(work, work.early) * work.hidden_size / bytes_per_s
    return 0.3 * whole, 0.7 * whole


def layer_parameters(work: Work, kind: LayerKind) -> tuple[Number, Number]:
    """(dense, expert) weights of one layer's matrices on one device."""
    dense: Number = 0.0
    expert: Number = 0.0
    for linear in kind.linears:
        weights = linear.inputs * linear.outputs / np.where(linear.split > 0, work.tensor, 1.0)
        dense = dense + np.where(linear.experts > 0, 0.0, weights)
        expert = expert + np.where(linear.experts > 0, weights * linear.experts / work.expert, 0.0)
    return dense, expert
