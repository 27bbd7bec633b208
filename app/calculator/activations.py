"""Bytes a layer keeps for its backward pass, per micro-batch and device.

Counted tensor by tensor in 16 bits: s tokens, b sequences, h hidden_size, a heads, t tensor_parallel, with
T = s·b / context_parallel tokens on a device. For a GPT block the sum is Korthikanti et al. 2022, eq. 1–4:
sbh(10 + 24/t + 5as/(ht)), with sequence parallelism sbh(34/t + 5as/(ht)); eq. 6 (selective) drops the 5as/h
term. Assumes: dropout masks (one byte) in GPT recipes, see `has_dropout`; with flash attention no scores are
kept; with fp8 the inputs of linear layers are kept in 8 bits.
"""

from dataclasses import dataclass

import numpy as np

from app.calculator.layout import Column, Layouts, Recompute
from app.calculator.model import Model
from app.calculator.training import Training

Number = Column | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Bytes per token that one layer keeps, by how they divide.

    `split`: over t only with sequence parallelism · `sharded`: over t always · `kv`: over t up to the KV
    heads · `scores`: per token and key, over t, and not kept with flash attention or selective recompute.
    """

    split: float
    sharded: float
    kv: float = 0.0
    scores: float = 0.0
    gathered: float = 0.0  # whole on every device, even with sequence parallelism

    def plus(self, other: "Kept") -> "Kept":
        """Both."""
        return Kept(
            split=self.split + other.split,
            sharded=self.sharded + other.sharded,
            kv=self.kv + other.kv,
            scores=self.scores + other.scores,
            gathered=self.gathered + other.gathered,
        )


def has_dropout(model: Model, training: Training) -> bool:
    """Whether dropout masks are kept: GPT recipes of Megatron-LM (no gated MLP, fused kernels or stored
    scores).
    """
    return not model.gated_mlp and (training.kernels == "fused" or not training.flash_attention)


def _dropout(model: Model, training: Training) -> float:
    return 1.0 if has_dropout(model, training) else 0.0


def _input_bytes(training: Training) -> float:
    """Bytes of a linear layer's kept input."""
    return 1.0 if training.compute_dtype == "fp8" else 2.0


def attention_kept(model: Model, training: Training, keys: float) -> Kept:
    """Normalization input, linear input, Q, K, V and output; scores: softmax 2, its dropout mask 1 and
    output 2.
    """
    h, a, drop = float(model.hidden_size), float(model.num_attention_heads), _dropout(model, training)
    x = _input_bytes(training)
    scores = a * keys * (2.0 + 3.0 * drop)
    if model.attention == "mla":
        score_dim = float(model.qk_nope_head_dim + model.qk_rope_head_dim)
        latent = 4.0 * (model.q_lora_rank + model.kv_lora_rank) + 2.0 * model.qk_rope_head_dim
        sharded = a * (4.0 * score_dim + (2.0 + x) * model.v_head_dim)
        return Kept(split=(2.0 + x + drop) * h + latent, sharded=sharded, scores=scores)
    q, k = a * model.head_dim, float(model.num_kv_heads * model.head_dim)
    return Kept(split=(2.0 + x + drop) * h, sharded=(2.0 + x) * q, kv=4.0 * k, scores=scores)


def _mlp_inner(model: Model, training: Training, width: float) -> float:
    """Inputs of the activation and of the second matrix; eager code also keeps a gate's activation."""
    x = _input_bytes(training)
    if model.gated_mlp:
        return (4.0 + x + (2.0 if training.kernels == "eager" else 0.0)) * width
    return (2.0 + x) * width


def mlp_kept(model: Model, training: Training) -> Kept:
    """Normalization input, linear input, dropout mask, and the inner width."""
    h, x = float(model.hidden_size), _input_bytes(training)
    inner = _mlp_inner(model, training, float(model.ffn_hidden_size))
    return Kept(split=(2.0 + x + _dropout(model, training)) * h, sharded=inner)


def moe_kept(model: Model, training: Training) -> Kept:
    """Router, routed tokens (k copies, times the capacity factor) and shared experts.

    A routed token is kept as the expert's input and output, both whole on every rank of the tensor group.
    """
    h, x = float(model.hidden_size), _input_bytes(training)
    routed = model.experts_per_token * max(1.0, model.expert_capacity_factor)
    inner = _mlp_inner(model, training, float(model.moe_ffn_hidden_size))
    return Kept(
        split=4.0 * h + 8.0 * model.num_experts,
        sharded=(routed + model.num_shared_experts) * inner,
        gathered=(2.0 + x) * routed * h,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKinds:
    """Bytes per token of the kinds of layer that a model has, with the tokens per sequence that each sees."""

    early: Kept  # dense layers before the experts, or the encoder's
    late: Kept
    early_seq_length: float
    late_seq_length: float
    early_layers: int  # how many layers are of the early kind: they come first


def layer_kinds(model: Model, training: Training) -> LayerKinds:
    """Early and late layers: encoder and decoder, or dense and mixture of experts, or all the same."""
    seq = float(training.seq_length)
    encoder_seq = float(training.encoder_seq_length or training.seq_length)
    dense = attention_kept(model, training, seq).plus(mlp_kept(model, training))
    if model.encoder_layers:
        encoder = attention_kept(model, training, encoder_seq).plus(mlp_kept(model, training))
        cross = dense.plus(attention_kept(model, training, encoder_seq))
        return LayerKinds(
            early=encoder,
            late=cross,
            early_seq_length=encoder_seq,
            late_seq_length=seq,
            early_layers=model.encoder_layers,
        )
    if model.is_moe:
        late = attention_kept(model, training, seq).plus(moe_kept(model, training))
        early_layers = min(model.num_dense_layers, model.num_layers)
        return LayerKinds(
            early=dense, late=late, early_seq_length=seq, late_seq_length=seq, early_layers=early_layers
        )
    return LayerKinds(early=dense, late=dense, early_seq_length=seq, late_seq_length=seq, early_layers=0)


def tokens(layouts: Layouts, seq_length: float) -> Column:
    """T: tokens of one micro-batch on one device."""
    return layouts.micro_batch_size * seq_length / layouts.context_parallel


def split_divisor(layouts: Layouts) -> Column:
    """What sequence parallelism divides by: t, or 1 without it."""
    return np.where(layouts.sequence_parallel > 0, layouts.tensor_parallel, 1.0)


def whole_layer_bytes(
    kept: Kept,
    num_kv_heads: float,
    layouts: Layouts,
    training: Training,
    *,
    seq_length: float,
    scores: bool = True,
) -> Column:
    """Bytes of one layer and micro-batch without recompute; `scores` False leaves the attention core out."""
    t = layouts.tensor_parallel
    per_token = kept.split / split_divisor(layouts) + kept.sharded / t + kept.gathered
    per_token = per_token + kept.kv / np.minimum(t, num_kv_heads)
    if scores and not training.flash_attention:
        per_token = per_token + kept.scores / t
    return tokens(layouts, seq_length) * per_token


def layer_bytes(model: Model, kept: Kept, layouts: Layouts, training: Training, seq_length: float) -> Column:
    """Bytes of one layer and micro-batch under each layout's recompute.

    none: everything · selective: all but the attention core · full: the layer's 16-bit input, 2sbh (2sbh/t
    with sequence parallelism). A recomputed fraction of the layers keeps only its inputs.
    """
    kv = float(model.num_kv_heads)
    whole = whole_layer_bytes(kept, kv, layouts, training, seq_length=seq_length)
    without_core = whole_layer_bytes(kept, kv, layouts, training, seq_length=seq_length, scores=False)
    inputs = 2.0 * model.hidden_size * tokens(layouts, seq_length) / split_divisor(layouts)
    some = training.recomputed_fraction
    partly = whole * (1.0 - some) + inputs * some
    kept_bytes = np.where(layouts.recompute == Recompute.SELECTIVE, np.minimum(without_core, partly), partly)
    return np.where(layouts.recompute == Recompute.FULL, inputs, kept_bytes)


def layer_kinds_boundary(model: Model) -> int:
    """The layer at which the kind changes; 0 where all layers are of one kind."""
    if model.encoder_layers:
        return model.encoder_layers
    return min(model.num_dense_layers, model.num_layers) if model.is_moe else 0
