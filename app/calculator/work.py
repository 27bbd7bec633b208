"""The step's work in plain numbers: what the formulas of time need, from the objects that people fill in.

Every field is a float or a column, so one formula serves one layout, a million layouts, or (in the
calibration) hundreds of published runs at once.
"""

from dataclasses import dataclass

from app.calculator.collectives import Number
from app.calculator.constants import Rates
from app.calculator.layout import Recompute

FULL = float(Recompute.FULL)
SELECTIVE = float(Recompute.SELECTIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A linear layer of `inputs` × `outputs` weights, one side divided over the tensor-parallel group."""

    inputs: Number
    outputs: Number
    split: Number = 1.0  # 1: divided by t; 0: every rank computes all of it
    split_inputs: Number = 0.0  # 1: the inputs are divided (row parallel); 0: the outputs
    rows_per_token: Number = 1.0
    experts: Number = 0.0  # > 0: so many copies over the expert-parallel group, rows shared among them


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """One attention core: scores between a sequence's own tokens and `keys` tokens."""

    heads: Number
    score_dim: Number  # of a query and a key
    value_dim: Number
    keys: Number
    visible_fraction: Number  # share of the scores that the mask leaves: 1/2 when causal
    counted_keys: Number  # keys per query in the FLOP convention: all of them, or the window
    kv_width: Number  # K and V elements per token, for the context-parallel ring


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind:
    """One kind of layer of a model: dense or mixture of experts, encoder or decoder."""

    seq_length: Number
    blocks: Number  # blocks that end in a tensor-parallel reduction: attention(s) and MLP
    linears: tuple[Linear, ...]
    attentions: tuple[Attention, ...]
    qkv_width: Number  # outputs of the projections before attention
    context_width: Number  # heads · value_dim
    activation_width: Number  # inputs of the second MLP matrix, over all experts a token visits
    routed_per_token: Number  # experts a token is sent to; 0 for a dense layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One training step, resolved. The first `early_layers` layers are `early`, the rest `late`."""

    early: LayerKind
    late: LayerKind
    early_layers: Number
    num_layers: Number  # all of them, encoder and decoder
    hidden_size: Number
    vocab_size: Number  # padded
    tied_embeddings: Number
    num_mtp_layers: Number
    head_seq_length: Number
    boundary_seq_length: Number  # tokens that cross a stage boundary: a decoder also hands on its encoder's
    # software: bytes moved per token and unit of width by memory-bound kernels
    norm_forward_bytes: Number
    norm_backward_bytes: Number
    activation_forward_bytes: Number
    activation_backward_bytes: Number
    flash: Number
    eager: Number
    recomputed_fraction: Number
    # recipe
    global_batch_size: Number
    grad_bytes: Number
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
    schedule: Number
    micro_batch: Number
    micro_batches: Number
    sequence_parallel: Number
    zero_stage: Number
    shard_group: Number
    recompute: Number
    overlap_data: Number
    overlap_tensor: Number
    layers_first: Number
    layers_middle: Number  # of a stage between the ends; of the fullest where the split is stated
    middle_index: Number  # that stage's place, the first such …
    middle_before: Number  # … and the layers before it
    last_middle_index: Number  # the same for the last such stage
    last_middle_before: Number
    layers_last: Number
    tensor_stride: Number
    context_stride: Number
    data_stride: Number  # of the c·d ranks that share gradients: a node's devices over how many sit in it
    pipeline_stride: Number
    rates: Rates
    stated_layers: tuple[tuple[float, float], ...] = ()  # (early, late) of each stage of a stated split


def tokens(work: Work, kind: LayerKind) -> Number:
    """Tokens of one micro-batch on one device: b·s/c."""
    return work.micro_batch * kind.seq_length / work.context
