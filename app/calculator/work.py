"""The step's work in plain numbers: what the formulas of time need, from the objects that people fill in.

Every field is a float or a column, so one formula serves one layout, a million layouts, or (in the calibration)
hundreds of published runs at once.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from app.calculator.cluster import Cluster
from app.calculator.collectives import Number
from app.calculator.constants import Constants, Rates, rates
from app.calculator.layout import Column, Recompute, Schedule
from app.calculator.model import Model
from app.calculator.training import Training

# Bytes moved per token and unit of width by memory-bound kernels, (forward, backward), two bytes an element.
# fused, with dropout and bias: 2 norms (4) + 2 bias-dropout-add (2+2+2+1 mask) = 22; backward reads the same again
# and writes the gradients: 38. Without dropout and with fused residual and norm (compiled, Transformer Engine): 14, 24.
NORM_BYTES_DROPOUT = (22.0, 38.0)
NORM_BYTES = (14.0, 24.0)
GELU_BYTES = (4.0, 6.0)  # read and write f; backward reads gradient and input, writes gradient
SWIGLU_BYTES = (6.0, 10.0)  # two inputs, one output; backward three reads, two writes


class LayoutColumns(Protocol):
    """Layouts as float64 columns, named as in `Layout`."""

    tensor_parallel: Column
    pipeline_parallel: Column
    data_parallel: Column
    context_parallel: Column
    expert_parallel: Column
    virtual_pipeline_stages: Column
    schedule: Column
    micro_batch_size: Column
    sequence_parallel: Column
    zero_stage: Column
    zero_group: Column
    recompute: Column
    overlap_data_parallel: Column
    overlap_tensor_parallel: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A linear layer: `inputs` × `outputs` weights, one of them divided over the tensor-parallel group (or none)."""

    inputs: Number
    outputs: Number
    split: Number = 1.0  # 1: divided by t; 0: every rank computes all of it
    split_inputs: Number = 0.0  # 1: the inputs are divided (row parallel); 0: the outputs (column parallel)
    rows_per_token: Number = 1.0
    experts: Number = (
        0.0  # > 0: this many copies over the expert-parallel group, each with its share of the rows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """One attention core: scores between `queries` own tokens per sequence and `keys` tokens."""

    heads: Number
    score_dim: Number  # of a query and a key
    value_dim: Number
    keys: Number
    visible_fraction: Number  # share of the scores that the mask leaves: 1/2 when causal
    counted_keys: Number  # keys per query in the FLOP convention: full attention, a window when there is one
    kv_width: Number  # K and V elements per token, for the context-parallel ring


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind:
    """One kind of layer of a model: dense or mixture of experts, encoder or decoder."""

    seq_length: Number
    linears: tuple[Linear, ...]
    attentions: tuple[Attention, ...]
    qkv_width: Number  # outputs of the projections before attention
    context_width: Number  # heads · value_dim
    activation_width: Number  # inputs of the second MLP matrix, over all experts a token visits
    routed_per_token: Number  # experts a token is sent to; 0 for a dense layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One training step, resolved. Layer kinds: the first `early_layers` are `early`, the rest `late`."""

    early: LayerKind
    late: LayerKind
    early_layers: Number
    num_layers: Number  # all of them
    hidden_size: Number
    vocab_size: Number  # padded
    tied_embeddings: Number
    num_mtp_layers: Number
    head_seq_length: Number
    norm_forward_bytes: Number
    norm_backward_bytes: Number
    activation_forward_bytes: Number
    activation_backward_bytes: Number
    # recipe
    global_batch_size: Number
    grad_bytes: Number
    flash: Number
    eager: Number
    recomputed_fraction: Number
    # devices and links
    peak_flop_per_s: Number
    peak_16bit_flop_per_s: Number
    memory_bytes_per_s: Number
    gpus_per_node: Number
    intra_bytes_per_s: Number
    inter_bytes_per_s: Number
    intra_latency_s: Number
    inter_latency_s: Number
    # layout
    tensor: Number
    pipeline: Number
    data: Number
    context: Number
    expert: Number
    chunks: Number
    micro_batch: Number
    micro_batches: Number
    sequence_parallel: Number
    zero_stage: Number
    shard_group: Number
    recompute: Number
    overlap_data: Number
    overlap_tensor: Number
    zero_bubble: Number
    layers_first: Number
    layers_middle: Number
    layers_last: Number
    tensor_stride: Number
    context_stride: Number
    data_stride: Number
    pipeline_stride: Number
    rates: Rates


def padded_vocab(vocab_size: Number, multiple: Number, tensor: Number) -> Number:
    """Vocabulary rows after padding to a multiple of `multiple`·t. Source: Megatron-LM, tokenizer padding."""
    unit = np.maximum(1.0, multiple) * tensor
    return np.ceil(vocab_size / unit) * unit


def _mla_linears(model: Model) -> list[Linear]:
    heads, h = float(model.num_attention_heads), float(model.hidden_size)
    query = float(model.qk_nope_head_dim + model.qk_rope_head_dim)
    q_rank, kv_rank = float(model.q_lora_rank), float(model.kv_lora_rank)
    queries = (
        [Linear(inputs=h, outputs=q_rank, split=0.0), Linear(inputs=q_rank, outputs=heads * query)]
        if q_rank
        else [Linear(inputs=h, outputs=heads * query)]
    )
    return [
        *queries,
        Linear(inputs=h, outputs=kv_rank + model.qk_rope_head_dim, split=0.0),
        Linear(inputs=kv_rank, outputs=heads * float(model.qk_nope_head_dim + model.v_head_dim)),
        Linear(inputs=heads * float(model.v_head_dim), outputs=h, split_inputs=1.0),
    ]


def _attention_linears(model: Model, tensor: Number) -> list[Linear]:
    if model.attention == "mla":
        return _mla_linears(model)
    h, queries = float(model.hidden_size), float(model.num_attention_heads * model.head_dim)
    # A rank holds at least one key-value head: with fewer heads than ranks they are replicated.
    keys = np.maximum(float(model.num_kv_heads), tensor) * model.head_dim
    return [
        Linear(inputs=h, outputs=queries + 2 * keys),
        Linear(inputs=queries, outputs=h, split_inputs=1.0),
    ]


def _mlp_linears(
    h: float, width: float, gated: bool, rows: float = 1.0, experts: float = 0.0
) -> list[Linear]:
    up = width * (2.0 if gated else 1.0)
    return [
        Linear(inputs=h, outputs=up, rows_per_token=rows, experts=experts),
        Linear(inputs=width, outputs=h, split_inputs=1.0, rows_per_token=rows, experts=experts),
    ]


def _visible(model: Model, keys: float, causal: bool) -> tuple[float, float]:
    """(share of the scores left by the mask, keys per query that the FLOP convention counts), mean over layers."""
    every = float(max(1, model.full_attention_every))
    window = float(model.sliding_window)
    full_share = 1.0 if window <= 0 or window >= keys else 1.0 / every
    full = 0.5 if causal else 1.0
    windowed = full if full_share == 1.0 else (window * keys - 0.5 * window * window) / (keys * keys)
    visible = full_share * full + (1 - full_share) * windowed
    counted = full_share * keys + (1 - full_share) * min(keys, window if window > 0 else keys)
    return visible, counted


def _attention(model: Model, keys: float, causal: bool) -> Attention:
    mla = model.attention == "mla"
    heads = float(model.num_attention_heads)
    score = float(model.qk_nope_head_dim + model.qk_rope_head_dim) if mla else float(model.head_dim)
    value = float(model.v_head_dim) if mla else float(model.head_dim)
    kv_heads = heads if mla else float(model.num_kv_heads)
    visible, counted = _visible(model, keys, causal)
    return Attention(
        heads=heads,
        score_dim=score,
        value_dim=value,
        keys=keys,
        visible_fraction=visible,
        counted_keys=counted,
        kv_width=kv_heads * (score + value),
    )


def _layer_kind(
    model: Model, tensor: Number, seq: float, *, moe: bool, causal: bool, cross: float
) -> LayerKind:
    h = float(model.hidden_size)
    attention = _attention(model, seq, causal)
    linears = _attention_linears(model, tensor)
    width = float(model.ffn_hidden_size)
    attentions = [attention]
    if moe:
        expert, shared = float(model.moe_ffn_hidden_size or width), float(model.num_shared_experts)
        routed = float(model.experts_per_token)
        linears.append(Linear(inputs=h, outputs=float(model.num_experts), split=0.0))
        linears += _mlp_linears(h, expert, model.gated_mlp, routed, float(model.num_experts))
        if shared:
            linears += _mlp_linears(h, expert * shared, model.gated_mlp)
        width = expert * (routed + shared)
    else:
        linears += _mlp_linears(h, width, model.gated_mlp)
    if cross:
        queries, keys = attention.heads * attention.score_dim, float(model.num_kv_heads * model.head_dim)
        linears.append(Linear(inputs=h, outputs=queries))
        linears.append(Linear(inputs=h, outputs=2 * keys, rows_per_token=cross / seq))
        linears.append(Linear(inputs=queries, outputs=h, split_inputs=1.0))
        attentions.append(_attention(model, cross, causal=False))
    return LayerKind(
        seq_length=seq,
        linears=tuple(linears),
        attentions=tuple(attentions),
        qkv_width=attention.heads * attention.score_dim + attention.kv_width,
        context_width=attention.heads * attention.value_dim,
        activation_width=width,
        routed_per_token=float(model.experts_per_token) if moe else 0.0,
    )


def _kinds(model: Model, training: Training, tensor: Number) -> tuple[LayerKind, LayerKind, float, float]:
    seq = float(training.seq_length)
    encoder_seq = float(training.encoder_seq_length or training.seq_length)
    moe = model.num_experts > 0
    if model.encoder_layers:
        early = _layer_kind(model, tensor, encoder_seq, moe=False, causal=False, cross=0.0)
        late = _layer_kind(model, tensor, seq, moe=moe, causal=True, cross=encoder_seq)
        return early, late, float(model.encoder_layers), float(model.encoder_layers + model.num_layers)
    late = _layer_kind(model, tensor, seq, moe=moe, causal=True, cross=0.0)
    if not moe:
        return late, late, 0.0, float(model.num_layers)
    early = _layer_kind(model, tensor, seq, moe=False, causal=True, cross=0.0)
    return early, late, float(min(model.num_dense_layers, model.num_layers)), float(model.num_layers)


def strides(rank_order: tuple[str, ...], sizes: dict[str, Number]) -> dict[str, Number]:
    """How far apart the ranks of each axis' groups sit: the product of the sizes inside it in the rank order."""
    inner: Number = 1.0
    result: dict[str, Number] = {}
    for axis in rank_order:
        result[axis] = inner
        inner = inner * sizes[axis]
    return result


def work_of(model: Model, cluster: Cluster, training: Training, layouts: Any, constants: Constants) -> Work:
    """Resolve one model, cluster and recipe with columns of layouts into the numbers of the formulas."""
    found = rates(constants, cluster, training)
    t, p, d, c = (
        layouts.tensor_parallel,
        layouts.pipeline_parallel,
        layouts.data_parallel,
        layouts.context_parallel,
    )
    early, late, early_layers, num_layers = _kinds(model, training, t)
    place = strides(layouts.rank_order, {"tensor": t, "context": c, "data": d, "pipeline": p})
    fused = training.kernels == "fused" or not training.flash_attention
    norm = NORM_BYTES_DROPOUT if fused else NORM_BYTES
    activation = SWIGLU_BYTES if model.gated_mlp else GELU_BYTES
    first, middle, last = stage_layers(layouts, num_layers)
    fp8 = training.compute_dtype == "fp8" and cluster.device.peak_flops_fp8 > 0
    return Work(
        early=early,
        late=late,
        early_layers=early_layers,
        num_layers=num_layers,
        hidden_size=float(model.hidden_size),
        vocab_size=padded_vocab(float(model.vocab_size), float(training.vocab_pad_multiple), t),
        tied_embeddings=float(model.tied_embeddings),
        num_mtp_layers=float(model.num_mtp_layers),
        head_seq_length=float(training.seq_length),
        norm_forward_bytes=norm[0],
        norm_backward_bytes=norm[1],
        activation_forward_bytes=activation[0],
        activation_backward_bytes=activation[1],
        global_batch_size=float(training.global_batch_size),
        grad_bytes=float(training.grad_bytes),
        flash=float(training.flash_attention),
        eager=float(training.kernels == "eager"),
        recomputed_fraction=float(training.recomputed_fraction),
        peak_flop_per_s=float(cluster.device.peak_flops_fp8 if fp8 else cluster.device.peak_flops_bf16),
        peak_16bit_flop_per_s=float(cluster.device.peak_flops_bf16),
        memory_bytes_per_s=float(cluster.device.memory_bandwidth_bytes_per_s),
        gpus_per_node=float(cluster.gpus_per_node),
        intra_bytes_per_s=float(cluster.intra_node.bandwidth_bytes_per_s),
        inter_bytes_per_s=float(cluster.inter_node.bandwidth_bytes_per_s),
        intra_latency_s=float(cluster.intra_node.latency_s),
        inter_latency_s=float(cluster.inter_node.latency_s),
        tensor=t,
        pipeline=p,
        data=d,
        context=c,
        expert=layouts.expert_parallel,
        chunks=layouts.virtual_pipeline_stages,
        micro_batch=layouts.micro_batch_size,
        micro_batches=float(training.global_batch_size) / (layouts.micro_batch_size * d),
        sequence_parallel=layouts.sequence_parallel,
        zero_stage=layouts.zero_stage,
        shard_group=np.where(layouts.zero_group > 0, np.minimum(layouts.zero_group, d * c), d * c),
        recompute=layouts.recompute,
        overlap_data=layouts.overlap_data_parallel,
        overlap_tensor=layouts.overlap_tensor_parallel,
        zero_bubble=np.where(layouts.schedule == float(Schedule.ZB_H1), 1.0, 0.0),
        layers_first=first,
        layers_middle=middle,
        layers_last=last,
        tensor_stride=place["tensor"],
        context_stride=place["context"],
        data_stride=np.minimum(place["data"], place["context"]),
        pipeline_stride=place["pipeline"],
        rates=found,
    )


def stage_layers(layouts: Any, num_layers: float) -> tuple[Number, Number, Number]:
    """Layers of the first, the fullest middle and the last stage: as stated, else L/p each."""
    stated = getattr(layouts, "layers_per_stage", None)
    even = num_layers / layouts.pipeline_parallel
    if stated is None:
        return even, even, even
    middle = max(stated[1:-1], default=0)
    return even * 0 + stated[0], even * 0 + middle, even * 0 + stated[-1]


FULL = float(Recompute.FULL)
SELECTIVE = float(Recompute.SELECTIVE)
