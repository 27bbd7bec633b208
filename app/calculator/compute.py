"""Seconds and FLOP of one layer's, the embedding's and the head's own work on one device."""

from dataclasses import dataclass

import numpy as np

from app.calculator.collectives import Number
from app.calculator.work import FULL, SELECTIVE, Attention, LayerKind, Linear, Work

SCORE_BYTES_FORWARD = 9.0  # softmax reads and writes 2 each, dropout reads 2, writes 2 and a mask byte
SCORE_BYTES_BACKWARD = 11.0  # dropout 2 + 1 + 2, softmax 2 + 2 + 2
FLASH_BACKWARD = 2.5  # five products instead of two. Source: Dao et al. 2022
CPU_BACKWARD = 1.2  # launches of a backward pass against a forward pass


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSeconds:
    """One layer and one micro-batch on one device, without communication."""

    forward_s: Number
    backward_s: Number  # without recompute
    weight_grad_s: Number  # the part of backward_s that computes weight gradients
    recompute_s: Number
    attention_forward_s: Number
    floor_forward_s: Number  # seconds by which the CPU floor exceeds the work
    floor_backward_s: Number


def tokens(work: Work, kind: LayerKind) -> Number:
    """Tokens of one micro-batch on one device: b·s/c."""
    return work.micro_batch * kind.seq_length / work.context


def gemm_s(rows: Number, inner: Number, columns: Number, flop_per_s: Number, bytes_per_s: Number) -> Number:
    """Seconds of a matrix product: max(2MNK/R, 2(MK + KN + MN)/W). Source: roofline (Williams et al. 2009)."""
    flop_s = 2 * rows * inner * columns / flop_per_s
    bytes_s = 2 * (rows * inner + inner * columns + rows * columns) / bytes_per_s
    return np.maximum(flop_s, bytes_s)


def gemm_rates(work: Work) -> tuple[Number, Number]:
    """(FLOP/s of matrix products, effective bytes/s of memory)."""
    return (
        work.peak_flop_per_s * work.rates.gemm_fraction,
        work.memory_bytes_per_s * work.rates.memory_fraction,
    )


def linear_s(work: Work, linear: Linear, token_count: Number) -> Number:
    """Forward seconds of a linear layer; its backward pass is two products of the same size."""
    flop_per_s, bytes_per_s = gemm_rates(work)
    share = np.where(linear.split > 0, work.tensor, 1.0)
    inner = np.where(linear.split_inputs > 0, linear.inputs / share, linear.inputs)
    columns = np.where(linear.split_inputs > 0, linear.outputs, linear.outputs / share)
    copies = np.where(linear.experts > 0, np.maximum(1.0, linear.experts / work.expert), 1.0)
    rows = token_count * linear.rows_per_token / copies
    return copies * gemm_s(rows, inner, columns, flop_per_s, bytes_per_s)


def attention_s(work: Work, attention: Attention, queries: Number) -> tuple[Number, Number]:
    """(forward, backward) seconds of an attention core.

    Unfused: two products over all scores A and their softmax and dropout traffic: 2q + 9A/W, 4q + 11A/W; products
    of a head width that is not a multiple of 8 miss the tensor cores. Flash: 2A(d_k + d_v)·visible/(peak·e), 2.5 ×.
    `queries`: tokens per sequence on this device. Source: Korthikanti et al. 2022 §4; Dao et al. 2022.
    """
    flop_per_s = work.peak_16bit_flop_per_s * work.rates.gemm_fraction
    _, bytes_per_s = gemm_rates(work)
    scores = work.micro_batch * attention.heads / work.tensor * queries * attention.keys
    width = attention.score_dim + attention.value_dim
    aligned = np.floor(attention.score_dim / 8) * 8 == attention.score_dim
    slow = work.peak_16bit_flop_per_s * work.rates.unaligned_fraction
    products = 2 * np.maximum(scores * width / np.where(aligned, flop_per_s, slow), 2 * scores / bytes_per_s)
    flash = (
        2
        * scores
        * width
        * attention.visible_fraction
        / (work.peak_16bit_flop_per_s * work.rates.flash_fraction)
    )
    forward = np.where(work.flash > 0, flash, products + SCORE_BYTES_FORWARD * scores / bytes_per_s)
    backward = np.where(
        work.flash > 0, FLASH_BACKWARD * flash, 2 * products + SCORE_BYTES_BACKWARD * scores / bytes_per_s
    )
    return forward, backward


def elementwise_s(work: Work, kind: LayerKind, token_count: Number) -> tuple[Number, Number]:
    """(forward, backward) seconds of norms, residuals, activation and transposes: bytes over memory bandwidth.

    T·(w·h/sp + a·f/t + x·qkv/t + 4·context/t), times the eager factor when nothing is fused.
    Assumes: two bytes an element; transposes around unfused attention only (x = 4).
    """
    _, bytes_per_s = gemm_rates(work)
    shard = np.where(work.sequence_parallel > 0, work.tensor, 1.0)
    factor = np.where(work.eager > 0, work.rates.eager_factor, 1.0)
    moved = (
        np.where(work.flash > 0, 0.0, 4.0) * kind.qkv_width
        + 4.0 * kind.context_width
        + 8.0 * kind.routed_per_token * work.hidden_size
    ) / work.tensor
    width, hidden = kind.activation_width / work.tensor, work.hidden_size / shard
    forward = work.norm_forward_bytes * hidden + work.activation_forward_bytes * width + moved
    backward = work.norm_backward_bytes * hidden + work.activation_backward_bytes * width + moved
    scale = factor * token_count / bytes_per_s
    return scale * forward, scale * backward


def layer_s(work: Work, kind: LayerKind) -> LayerSeconds:
    """Seconds of one layer and one micro-batch."""
    token_count = tokens(work, kind)
    linears: Number = 0.0
    for linear in kind.linears:
        linears = linears + linear_s(work, linear, token_count)
    attention_forward: Number = 0.0
    attention_backward: Number = 0.0
    for attention in kind.attentions:
        forward, backward = attention_s(work, attention, kind.seq_length / work.context)
        attention_forward = attention_forward + forward
        attention_backward = attention_backward + backward
    other_forward, other_backward = elementwise_s(work, kind, token_count)
    forward = linears + attention_forward + other_forward
    backward = 2 * linears + attention_backward + other_backward
    full = np.where(work.recompute == FULL, 1.0, 0.0)
    selective = np.where(work.recompute == SELECTIVE, 1.0, 0.0)
    per_block = selective * work.recomputed_fraction
    core = selective * np.where(work.recomputed_fraction > 0, 0.0, 1.0)
    recompute = (full + per_block) * forward + core * attention_forward
    floor = work.rates.cpu_floor_s
    floor_backward = floor * (CPU_BACKWARD + full + 0.3 * core + per_block)
    return LayerSeconds(
        forward_s=forward,
        backward_s=backward,
        weight_grad_s=linears,
        recompute_s=recompute,
        attention_forward_s=attention_forward,
        floor_forward_s=np.maximum(0.0, floor - forward),
        floor_backward_s=np.maximum(0.0, floor_backward - (backward + recompute)),
    )


def head_s(work: Work) -> tuple[Number, Number]:
    """(forward, backward) seconds of output head and loss on the last stage: never recomputed."""
    token_count = work.micro_batch * work.head_seq_length / work.context
    _, bytes_per_s = gemm_rates(work)
    product = linear_s(work, Linear(inputs=work.hidden_size, outputs=work.vocab_size), token_count)
    loss = work.rates.logits_bytes * token_count * work.vocab_size / work.tensor / bytes_per_s
    heads = 1.0 + work.num_mtp_layers
    return heads * (product + 0.4 * loss), heads * (2 * product + 0.6 * loss)


def embedding_s(work: Work) -> Number:
    """Seconds of the embedding's look-up and its backward scatter, per micro-batch, by memory traffic."""
    _, bytes_per_s = gemm_rates(work)
    token_count = work.micro_batch * work.early.seq_length / work.context
    return work.rates.embedding_bytes * token_count * work.hidden_size / bytes_per_s


def layer_parameters(work: Work, kind: LayerKind) -> tuple[Number, Number]:
    """(dense, expert) weights of one layer on one device."""
    dense: Number = 0.0
    expert: Number = 0.0
    for linear in kind.linears:
        share = np.where(linear.split > 0, work.tensor, 1.0)
        weights = linear.inputs * linear.outputs / share
        dense = dense + np.where(linear.experts > 0, 0.0, weights)
        expert = expert + np.where(linear.experts > 0, weights * linear.experts / work.expert, 0.0)
    return dense, expert


def layer_flop(work: Work, kind: LayerKind) -> tuple[Number, Number]:
    """(all, attention core only) forward FLOP of one layer for one sequence, on all devices together.

    2·weights·tokens + 2·s·k·heads·(d_k + d_v): full (non-causal) attention. Source: Narayanan et al. 2021, appendix.
    """
    weights: Number = 0.0
    for linear in kind.linears:
        weights = weights + linear.inputs * linear.outputs * linear.rows_per_token
    core: Number = 0.0
    for attention in kind.attentions:
        width = attention.heads * (attention.score_dim + attention.value_dim)
        core = core + 2 * kind.seq_length * attention.counted_keys * width
    return 2 * kind.seq_length * weights + core, core
