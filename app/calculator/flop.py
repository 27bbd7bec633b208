"""Floating-point operations of one step, in the conventions of published rates.

Model FLOP: every matrix product once forward and twice backward, full (non-causal) attention, no recompute.
Hardware FLOP: what is run again is counted again. For a GPT with full recompute that is Narayanan et al.
2021, eq. 3: 96BsLh²(1 + s/(6h) + V/(16Lh)); without recompute Korthikanti et al. 2022, eq. 7: 72BLsh²(1 +
s/(6h) + V/(12hL)).
"""

from dataclasses import dataclass

import numpy as np

from app.calculator.layout import Column, Layouts, Recompute
from app.calculator.model import Model
from app.calculator.training import Training


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardFlop:
    """FLOP of one forward pass of one sequence: all layers, the attention cores among them, and the head."""

    layers: float
    cores: float
    head: float


def _attention_weights(model: Model) -> float:
    """Weights of the attention's matrices."""
    h, a = float(model.hidden_size), float(model.num_attention_heads)
    if model.attention != "mla":
        return 2.0 * h * a * model.head_dim + 2.0 * h * model.num_kv_heads * model.head_dim
    score_dim = model.qk_nope_head_dim + model.qk_rope_head_dim
    queries = h * model.q_lora_rank + (model.q_lora_rank or h) * a * score_dim
    down = h * (model.kv_lora_rank + model.qk_rope_head_dim)
    up = model.kv_lora_rank * a * (model.qk_nope_head_dim + model.v_head_dim)
    return queries + down + up + a * model.v_head_dim * h


def _mlp_weights(model: Model, width: float) -> float:
    return model.hidden_size * width * (3.0 if model.gated_mlp else 2.0)


def _moe_weights(model: Model) -> float:
    """Weights that one token meets: router, its experts, the shared ones."""
    visited = model.experts_per_token + model.num_shared_experts
    return model.hidden_size * model.num_experts + visited * _mlp_weights(model, model.moe_ffn_hidden_size)


def _core(model: Model, queries: float, keys: float) -> float:
    """Scores and their product with the values: 2·s·k·a·(d_k + d_v); 4s²h for a GPT."""
    mla = model.attention == "mla"
    width = model.qk_nope_head_dim + model.qk_rope_head_dim + model.v_head_dim if mla else 2 * model.head_dim
    return 2.0 * queries * keys * model.num_attention_heads * width


def _mean_keys(model: Model, seq: float) -> float:
    """Keys per query, a mean over the layers: all of them, or a window's."""
    if not 0 < model.sliding_window < seq:
        return seq
    full = 1.0 / model.full_attention_every if model.full_attention_every else 0.0
    return full * seq + (1.0 - full) * model.sliding_window


def forward_flop(model: Model, training: Training) -> ForwardFlop:
    """Forward FLOP of one sequence through the whole model."""
    seq = float(training.seq_length)
    encoder_seq = float(training.encoder_seq_length or training.seq_length)
    attention, dense = _attention_weights(model), _mlp_weights(model, model.ffn_hidden_size)
    core = _core(model, seq, _mean_keys(model, seq))
    moe = float(model.num_moe_layers)
    weights = model.num_layers * attention + (model.num_layers - moe) * dense
    weights += moe * _moe_weights(model) if moe else 0.0
    layers, cores = 2.0 * seq * weights, model.num_layers * core
    if model.encoder_layers:
        h, a = float(model.hidden_size), float(model.num_attention_heads)
        cross_own, cross_other = 2.0 * h * a * model.head_dim, 2.0 * h * model.num_kv_heads * model.head_dim
        layers += model.num_layers * 2.0 * (seq * cross_own + encoder_seq * cross_other)
        cores += model.num_layers * _core(model, seq, encoder_seq)
        layers += model.encoder_layers * 2.0 * encoder_seq * (attention + dense)
        cores += model.encoder_layers * _core(model, encoder_seq, encoder_seq)
    head = 2.0 * seq * model.hidden_size * model.vocab_size
    return ForwardFlop(layers=layers + cores, cores=cores, head=head)


def model_flop(model: Model, training: Training) -> float:
    """FLOP of one step without recompute: three forward passes' worth for every sequence."""
    forward = forward_flop(model, training)
    return 3.0 * training.global_batch_size * (forward.layers + forward.head)


def hardware_flop(model: Model, training: Training, layouts: Layouts) -> Column:
    """FLOP of one step with what each layout's recompute runs again: all layers, or the attention cores."""
    forward = forward_flop(model, training)
    some = training.recomputed_fraction
    selective = some * forward.layers if some else (0.0 if training.flash_attention else forward.cores)
    again = np.where(layouts.recompute == Recompute.SELECTIVE, selective, some * forward.layers)
    again = np.where(layouts.recompute == Recompute.FULL, forward.layers, again)
    return model_flop(model, training) + training.global_batch_size * again
