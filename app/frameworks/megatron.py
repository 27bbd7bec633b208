"""Megatron-LM: a layout as the flags of its training script. Source: its argument parser (arguments.py)."""

from app.calculator.layout import Layout, Recompute, Schedule
from app.calculator.model import Model
from app.calculator.training import Training


def write_flags(model: Model, training: Training, layout: Layout) -> tuple[list[str], list[str]]:
    """Flags, one per line, and what this layout asks for that they cannot say."""
    flags = [*_model(model), *_parallel(model, layout), *_training(training, layout)]
    return flags, _beyond(model, training, layout)


def _model(model: Model) -> list[str]:
    flags = [
        f"--num-layers {model.num_layers}",
        f"--hidden-size {model.hidden_size}",
        f"--num-attention-heads {model.num_attention_heads}",
        f"--ffn-hidden-size {model.ffn_hidden_size}",
    ]
    if model.num_kv_heads != model.num_attention_heads and model.attention == "mha":
        flags += ["--group-query-attention", f"--num-query-groups {model.num_kv_heads}"]
    if model.head_dim * model.num_attention_heads != model.hidden_size and model.attention == "mha":
        flags.append(f"--kv-channels {model.head_dim}")
    if model.gated_mlp:
        flags.append("--swiglu")
    if not model.tied_embeddings:
        flags.append("--untie-embeddings-and-output-weights")
    if not model.linear_bias:
        flags.append("--disable-bias-linear")
    if model.normalization == "rmsnorm":
        flags.append("--normalization RMSNorm")
    if model.position_embeddings == "rope":
        flags.append("--position-embedding-type rope")
    if model.num_experts:
        flags += [f"--num-experts {model.num_experts}", f"--moe-router-topk {model.experts_per_token}"]
        flags.append(f"--moe-ffn-hidden-size {model.moe_ffn_hidden_size}")
    return flags


def _parallel(model: Model, layout: Layout) -> list[str]:
    flags = [
        f"--tensor-model-parallel-size {layout.tensor_parallel}",
        f"--pipeline-model-parallel-size {layout.pipeline_parallel}",
    ]
    if layout.context_parallel > 1:
        flags.append(f"--context-parallel-size {layout.context_parallel}")
    if layout.expert_parallel > 1:
        flags.append(f"--expert-model-parallel-size {layout.expert_parallel}")
    if layout.virtual_pipeline_stages > 1:
        chunks = layout.pipeline_parallel * layout.virtual_pipeline_stages
        flags.append(f"--num-layers-per-virtual-pipeline-stage {model.num_layers // chunks}")
    if layout.sequence_parallel:
        flags.append("--sequence-parallel")
    if layout.zero_stage >= 1:
        flags.append("--use-distributed-optimizer")
    if layout.overlap_data_parallel:
        flags.append("--overlap-grad-reduce")
    if layout.overlap_data_parallel and layout.zero_stage >= 1:
        flags.append("--overlap-param-gather")
    if layout.overlap_tensor_parallel:
        flags.append("--tp-comm-overlap")
    return flags


def _training(training: Training, layout: Layout) -> list[str]:
    flags = [
        f"--micro-batch-size {layout.micro_batch_size}",
        f"--global-batch-size {training.global_batch_size}",
        f"--seq-length {training.seq_length}",
    ]
    if layout.recompute == Recompute.SELECTIVE:
        flags.append("--recompute-activations")
    if layout.recompute == Recompute.FULL:
        flags += ["--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"]
    flags.append({"fp16": "--fp16", "bf16": "--bf16"}.get(training.compute_dtype, "--bf16"))
    if training.compute_dtype == "fp8":
        flags.append("--fp8-format hybrid")
    if training.flash_attention:
        flags.append("--use-flash-attn")
    return flags


def _beyond(model: Model, training: Training, layout: Layout) -> list[str]:
    said = []
    if layout.schedule in (Schedule.GPIPE, Schedule.ZB_H1):
        name = "GPipe" if layout.schedule == Schedule.GPIPE else "ZB-H1"
        said.append(f"the {name} schedule: Megatron-LM runs 1F1B, interleaved or not")
    if layout.zero_stage >= 2:
        said.append(f"ZeRO stage {layout.zero_stage}: the distributed optimizer is stage 1")
    if layout.layers_per_stage is not None:
        said.append("a free choice of layers for each stage")
    if layout.rank_order[0] != "tensor":
        said.append("a rank order that does not start with the tensor group")
    if model.attention == "mla" or model.encoder_layers or model.vision:
        said.append("the rest of this model's shape")
    if training.optimizer not in ("adam", "sgd"):
        said.append(f"the optimizer's number types ({training.optimizer})")
    return said
