"""The transformer's shape."""

from dataclasses import dataclass


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
