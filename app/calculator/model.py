"""The transformer's shape."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Vision:
    """A vision tower in front of the language model: its own layers, width and heads."""

    num_layers: int
    hidden_size: int
    num_attention_heads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A transformer, by the numbers that decide its size and its cost.

    Names follow Hugging Face configurations and Megatron: see docs/architecture.md, vocabulary.
    `encoder_layers` > 0 makes it an encoder-decoder whose decoder has `num_layers`.
    `num_experts` > 0 makes every layer after the first `num_dense_layers` a mixture of experts.
    With `attention` "mla", `head_dim` is the whole query head (with and without position).
    """

    name: str = "custom"
    num_layers: int
    hidden_size: int
    num_attention_heads: int
    num_kv_heads: int
    head_dim: int
    ffn_hidden_size: int
    vocab_size: int
    seq_length: int = 2048  # the length the model was trained at; Training.seq_length decides
    gated_mlp: bool = False
    tied_embeddings: bool = True
    position_embeddings: str = "learned"  # learned | rope | alibi | relative | none
    normalization: str = "layernorm"  # layernorm | rmsnorm
    linear_bias: bool = True
    sliding_window: int = 0  # 0: every layer attends to everything
    full_attention_every: int = 1  # with a sliding window: one layer in this many attends to everything
    num_experts: int = 0
    experts_per_token: int = 0
    moe_ffn_hidden_size: int = 0
    num_shared_experts: int = 0
    num_dense_layers: int = 0
    expert_capacity_factor: float = 1.0
    attention: str = "mha"  # mha (with any number of KV heads) | mla
    kv_lora_rank: int = 0
    q_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    qk_nope_head_dim: int = 0
    v_head_dim: int = 0
    encoder_layers: int = 0
    num_mtp_layers: int = 0
    vision: Vision | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """A model from the values somebody wrote, with the rest derived.

        Left out: as many KV heads as query heads, head_dim = hidden_size / heads (latent attention: both
        parts of a head), ffn_hidden_size = 4 · hidden_size, experts as wide as the dense MLP.
        """
        given = dict(values)
        heads, hidden = given["num_attention_heads"], given["hidden_size"]
        given.setdefault("num_kv_heads", heads)
        if given.get("attention") == "mla":
            given.setdefault("head_dim", given.get("qk_nope_head_dim", 0) + given.get("qk_rope_head_dim", 0))
        given.setdefault("head_dim", hidden // heads)
        given.setdefault("ffn_hidden_size", 4 * hidden)
        if given.get("num_experts") and not given.get("moe_ffn_hidden_size"):
            given["moe_ffn_hidden_size"] = given["ffn_hidden_size"]
        if isinstance(given.get("vision"), Mapping):
            given["vision"] = Vision(**given["vision"])
        return cls(**given)

    @property
    def is_moe(self) -> bool:
        """Whether some layers are mixtures of experts."""
        return self.num_experts > 0

    @property
    def total_layers(self) -> int:
        """Layers that a pipeline cuts: encoder and decoder together."""
        return self.encoder_layers + self.num_layers

    @property
    def num_moe_layers(self) -> int:
        """Layers that are mixtures of experts."""
        return max(0, self.num_layers - self.num_dense_layers) if self.is_moe else 0
