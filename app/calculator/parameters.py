"""Parameter counts: what each part of a model holds, and how it divides over devices.

Letters: h hidden_size, q = heads · head_dim, k = KV heads · head_dim, f MLP width, V vocabulary.
Source: counted from the layers; for GPT the sum is 12Lh²(1 + 13/(12h) + (V + s)/(12Lh)) + 2h, which is
Narayanan et al. 2021, eq. 2, and the final normalization that the equation leaves out.
"""

from dataclasses import dataclass

from app.calculator.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerParameters:
    """Parameters of one layer, by how they divide over devices."""

    sharded: float  # matrices and column biases, over the tensor group
    kv: float  # key and value projections: over the tensor group, but no finer than one head
    experts: float  # routed experts, over expert and tensor groups
    replicated: float  # normalization, router, row biases, latent down-projections: a copy on every device

    @property
    def total(self) -> float:
        """Parameters of the whole layer."""
        return self.sharded + self.kv + self.experts + self.replicated


def query_width(model: Model) -> int:
    """q: width of all query heads together."""
    return model.num_attention_heads * model.head_dim


def kv_width(model: Model) -> int:
    """k: width of all key heads (or value heads) together."""
    return model.num_kv_heads * model.head_dim


def _norm(model: Model, width: int) -> int:
    """One normalization: weight, and bias with LayerNorm."""
    return width * (2 if model.normalization == "layernorm" else 1)


def _bias(model: Model, width: int) -> int:
    return width if model.linear_bias else 0


def _mlp(model: Model, width: int) -> LayerParameters:
    """Two matrices, or three when gated; the biases of the first divide with it."""
    h, first = model.hidden_size, width * (2 if model.gated_mlp else 1)
    return LayerParameters(
        sharded=h * first + width * h + _bias(model, first), kv=0, experts=0, replicated=_bias(model, h)
    )


def _attention(model: Model) -> LayerParameters:
    """hq + 2hk + qh with biases; latent attention by its own down- and up-projections."""
    if model.attention == "mla":
        return _latent_attention(model)
    h, q, k = model.hidden_size, query_width(model), kv_width(model)
    return LayerParameters(
        sharded=2 * h * q + _bias(model, q),
        kv=2 * (h * k + _bias(model, k)),
        experts=0,
        replicated=_bias(model, h),
    )


def _latent_attention(model: Model) -> LayerParameters:
    """Multi-head latent attention. Source: DeepSeek-AI 2024a (DeepSeek-V2), section 2.1 and appendix C."""
    h, a = model.hidden_size, model.num_attention_heads
    score_dim = model.qk_nope_head_dim + model.qk_rope_head_dim
    q_rank, kv_rank = model.q_lora_rank, model.kv_lora_rank
    queries = a * score_dim * (q_rank or h)
    up = kv_rank * a * (model.qk_nope_head_dim + model.v_head_dim)
    down = h * (kv_rank + model.qk_rope_head_dim) + h * q_rank
    norms = _norm(model, kv_rank) + (_norm(model, q_rank) if q_rank else 0)
    return LayerParameters(
        sharded=queries + up + a * model.v_head_dim * h, kv=0, experts=0, replicated=down + norms
    )


def _sum(*parts: LayerParameters, norms: int) -> LayerParameters:
    return LayerParameters(
        sharded=sum(p.sharded for p in parts),
        kv=sum(p.kv for p in parts),
        experts=sum(p.experts for p in parts),
        replicated=sum(p.replicated for p in parts) + norms,
    )


def dense_layer(model: Model) -> LayerParameters:
    """Attention, MLP and two normalizations."""
    return _sum(
        _attention(model), _mlp(model, model.ffn_hidden_size), norms=2 * _norm(model, model.hidden_size)
    )


def decoder_layer(model: Model) -> LayerParameters:
    """A decoder layer of an encoder-decoder: a second attention looks at the encoder's output."""
    return _sum(
        _attention(model),
        _attention(model),
        _mlp(model, model.ffn_hidden_size),
        norms=3 * _norm(model, model.hidden_size),
    )


def moe_layer(model: Model) -> LayerParameters:
    """Attention, router, routed and shared experts, two normalizations. The router is replicated."""
    if not model.is_moe:
        return LayerParameters(sharded=0, kv=0, experts=0, replicated=0)
    expert = _mlp(model, model.moe_ffn_hidden_size)
    shared = _mlp(model, model.moe_ffn_hidden_size * model.num_shared_experts)
    routed = LayerParameters(
        sharded=0,
        kv=0,
        experts=model.num_experts * expert.total,
        replicated=model.hidden_size * model.num_experts,
    )
    parts = [_attention(model), routed, *([shared] if model.num_shared_experts else [])]
    return _sum(*parts, norms=2 * _norm(model, model.hidden_size))


def layer_of_decoder(model: Model) -> LayerParameters:
    """The dense kind of layer of the decoder, with cross-attention where there is an encoder."""
    return decoder_layer(model) if model.encoder_layers else dense_layer(model)


def positions(model: Model) -> int:
    """Learned position embeddings: s·h."""
    return model.seq_length * model.hidden_size if model.position_embeddings == "learned" else 0


def final_norm(model: Model) -> int:
    """The normalization before the head; one more after an encoder."""
    return _norm(model, model.hidden_size) * (2 if model.encoder_layers else 1)


def vision_parameters(model: Model) -> float:
    """A vision tower: 12h² + 13h per layer (biases and LayerNorm), without its patch embedding."""
    if model.vision is None:
        return 0.0
    h = model.vision.hidden_size
    return float(model.vision.num_layers * (12 * h * h + 13 * h))


def mtp_layer(model: Model) -> LayerParameters:
    """One multi-token-prediction module: a layer of the last kind, a 2h×h projection and two normalizations.

    Source: DeepSeek-AI 2024b (DeepSeek-V3), section 2.2: embedding and head are shared with the main model.
    """
    layer = moe_layer(model) if model.is_moe else dense_layer(model)
    h = model.hidden_size
    extra = LayerParameters(sharded=0, kv=0, experts=0, replicated=2 * h * h)
    return _sum(layer, extra, norms=3 * _norm(model, h))


def embedding(model: Model, vocab_size: float | None = None) -> float:
    """V·h; `vocab_size` for a padded vocabulary."""
    return (model.vocab_size if vocab_size is None else vocab_size) * model.hidden_size


def _all_layers(model: Model) -> float:
    dense = model.num_layers - model.num_moe_layers
    total = model.encoder_layers * dense_layer(model).total
    total += dense * layer_of_decoder(model).total
    return total + model.num_moe_layers * moe_layer(model).total


def total_parameters(model: Model) -> float:
    """All weights, without vocabulary padding and without multi-token-prediction modules."""
    ends = embedding(model) * (1 if model.tied_embeddings else 2) + positions(model) + final_norm(model)
    return _all_layers(model) + ends + vision_parameters(model)


def active_parameters(model: Model) -> float:
    """Weights that one token meets: of the routed experts only those it is sent to."""
    if not model.is_moe:
        return total_parameters(model)
    idle_share = 1 - model.experts_per_token / model.num_experts
    return total_parameters(model) - model.num_moe_layers * moe_layer(model).experts * idle_share
