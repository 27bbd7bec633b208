"""Model → the kinds of layers it is made of, as linear layers and attention cores."""

import numpy as np

from app.calculator.collectives import Number
from app.calculator.model import Model
from app.calculator.training import Training
from app.calculator.work import Attention, LayerKind, Linear


def layer_kinds(
    model: Model, training: Training, tensor: Number
) -> tuple[LayerKind, LayerKind, float, float]:
    """(early kind, late kind, layers of the early kind, all layers).

    Dense before mixture of experts; encoder before decoder. A model of one kind gives the same object twice.
    """
    seq = float(training.seq_length)
    encoder_seq = float(training.encoder_seq_length or training.seq_length)
    total = float(model.encoder_layers + model.num_layers)
    if model.encoder_layers:
        early = _kind(model, tensor, seq=encoder_seq, causal=False)
        late = _kind(model, tensor, seq=seq, moe=model.num_experts > 0, cross=encoder_seq)
        return early, late, float(model.encoder_layers), total
    late = _kind(model, tensor, seq=seq, moe=model.num_experts > 0)
    if not model.num_experts or not model.num_dense_layers:
        return late, late, 0.0, total
    return _kind(model, tensor, seq=seq), late, float(min(model.num_dense_layers, model.num_layers)), total


def _kind(
    model: Model, tensor: Number, *, seq: float, moe: bool = False, causal: bool = True, cross: float = 0.0
) -> LayerKind:
    h, width = float(model.hidden_size), float(model.ffn_hidden_size)
    attention = _attention(model, seq, causal)
    attentions, linears = [attention], _attention_linears(model, tensor)
    # Experts of a capacity above an even share work through padding too.
    routed = float(model.experts_per_token) * max(1.0, float(model.expert_capacity_factor)) if moe else 0.0
    if cross:
        queries, keys = attention.heads * attention.score_dim, float(model.num_kv_heads * model.head_dim)
        linears.append(Linear(inputs=h, outputs=queries))
        linears.append(Linear(inputs=h, outputs=2 * keys, rows_per_token=cross / seq))
        linears.append(Linear(inputs=queries, outputs=h, split_inputs=1.0))
        attentions.append(_attention(model, cross, causal=False))
    if moe:
        expert, shared = float(model.moe_ffn_hidden_size), float(model.num_shared_experts)
        linears.append(Linear(inputs=h, outputs=float(model.num_experts), split=0.0))
        linears += _mlp(h, expert, model.gated_mlp, routed, float(model.num_experts))
        if shared:
            linears += _mlp(h, expert * shared, model.gated_mlp)
        width = expert * (routed + shared)
    else:
        linears += _mlp(h, width, model.gated_mlp)
    return LayerKind(
        seq_length=seq,
        blocks=float(len(attentions) + 1),
        linears=tuple(linears),
        attentions=tuple(attentions),
        qkv_width=attention.heads * attention.score_dim + attention.kv_width,
        context_width=attention.heads * attention.value_dim,
        activation_width=width,
        routed_per_token=routed,
    )


def _mlp(h: float, width: float, gated: bool, rows: float = 1.0, experts: float = 0.0) -> list[Linear]:
    up = width * (2.0 if gated else 1.0)
    return [
        Linear(inputs=h, outputs=up, rows_per_token=rows, experts=experts),
        Linear(inputs=width, outputs=h, split_inputs=1.0, rows_per_token=rows, experts=experts),
    ]


def _attention_linears(model: Model, tensor: Number) -> list[Linear]:
    if model.attention == "mla":
        return _latent_linears(model)
    h, queries = float(model.hidden_size), float(model.num_attention_heads * model.head_dim)
    # A rank holds at least one key-value head: with fewer heads than ranks they are copied.
    keys = np.maximum(float(model.num_kv_heads), tensor) * model.head_dim
    return [
        Linear(inputs=h, outputs=queries + 2 * keys),
        Linear(inputs=queries, outputs=h, split_inputs=1.0),
    ]


def _latent_linears(model: Model) -> list[Linear]:
    """Latent attention: every rank has whole down-projections. Source: DeepSeek-V2, section 2.1."""
    heads, h = float(model.num_attention_heads), float(model.hidden_size)
    query = float(model.qk_nope_head_dim + model.qk_rope_head_dim)
    q_rank, kv_rank, value = float(model.q_lora_rank), float(model.kv_lora_rank), float(model.v_head_dim)
    down = [Linear(inputs=h, outputs=q_rank, split=0.0)] if q_rank else []
    return [
        *down,
        Linear(inputs=q_rank or h, outputs=heads * query),
        Linear(inputs=h, outputs=kv_rank + model.qk_rope_head_dim, split=0.0),
        Linear(inputs=kv_rank, outputs=heads * (model.qk_nope_head_dim + value)),
        Linear(inputs=heads * value, outputs=h, split_inputs=1.0),
    ]


def _attention(model: Model, keys: float, causal: bool) -> Attention:
    latent = model.attention == "mla"
    heads = float(model.num_attention_heads)
    score = float(model.qk_nope_head_dim + model.qk_rope_head_dim) if latent else float(model.head_dim)
    value = float(model.v_head_dim) if latent else float(model.head_dim)
    visible, counted = _visible(model, keys, causal)
    return Attention(
        heads=heads,
        score_dim=score,
        value_dim=value,
        keys=keys,
        visible_fraction=visible,
        counted_keys=counted,
        kv_width=(heads if latent else float(model.num_kv_heads)) * (score + value),
    )


def _visible(model: Model, keys: float, causal: bool) -> tuple[float, float]:
    """(share of the scores the mask leaves, keys per query in the FLOP convention), mean of the layers."""
    window = float(model.sliding_window)
    full = 0.5 if causal else 1.0
    if window <= 0 or window >= keys:
        return full, keys
    full_share = 1.0 / model.full_attention_every if model.full_attention_every else 0.0
    windowed = (window * keys - 0.5 * window * window) / (keys * keys)
    return full_share * full + (1 - full_share) * windowed, full_share * keys + (1 - full_share) * window
