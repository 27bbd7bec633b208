"""What is trained, and how: everything that is neither the model's shape nor the layout."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The recipe's numbers that memory and time depend on."""

    global_batch_size: int  # sequences per optimizer step
    seq_length: int  # tokens per sequence
    encoder_seq_length: int = 0  # 0: as seq_length
    compute_dtype: str = "bf16"  # bf16 | fp16 | fp8
    param_bytes: float = 2
    grad_bytes: float = 4
    optimizer: str = "adam"  # adam | adam-bf16 | adam-8bit | sgd
    master_weights: bool = True
    flash_attention: bool = True
    kernels: str = "fused"  # eager | fused | compiled | transformer-engine
    vocab_pad_multiple: int = 128
    total_tokens: float = 0  # 0: not stated
    recomputed_fraction: float = 0.0  # selective recompute: share of a forward pass run again; 0: the core
