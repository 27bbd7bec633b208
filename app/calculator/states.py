"""Model states on one device: weights, gradients and optimizer states, sharded by ZeRO.

Source: Rajbhandari et al. 2020 (ZeRO), sections 3.1 and 5: with Ψ parameters, 2Ψ + 2Ψ + 12Ψ bytes; stage 1
divides the last term by the group, stage 2 the last two, stage 3 all.
"""

from dataclasses import dataclass

import numpy as np

from app.calculator import parameters as par
from app.calculator.layout import Column, Layouts
from app.calculator.model import Model
from app.calculator.stage_layers import StageLayers
from app.calculator.training import Training

Number = Column | float

MOMENT_BYTES = {"adam": 8.0, "adam-bf16": 4.0, "adam-8bit": 2.0, "sgd": 4.0}  # both moments; sgd: momentum


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """Bytes of model states on one device."""

    weights_bytes: Column
    gradients_bytes: Column
    optimizer_bytes: Column


def optimizer_bytes_per_parameter(optimizer: str, master_weights: bool, param_bytes: float) -> float:
    """Moments, and a 32-bit copy of weights that are kept in fewer bits. Adam with a copy: K = 12."""
    return MOMENT_BYTES[optimizer] + (4.0 if master_weights and param_bytes < 4 else 0.0)


def padded_vocab(model: Model, training: Training, tensor_parallel: Number) -> Column:
    """Vocabulary padded to a multiple of vocab_pad_multiple · t. Source: Megatron-LM, tokenizer padding."""
    unit = np.maximum(training.vocab_pad_multiple * np.asarray(tensor_parallel), 1.0)
    padded: Column = np.ceil(model.vocab_size / unit) * unit
    return padded


def _layer_on_device(layer: par.LayerParameters, model: Model, layouts: Layouts) -> tuple[Column, Column]:
    """(dense, expert) parameters of one layer on one device."""
    t = layouts.tensor_parallel
    kv = layer.kv / np.minimum(t, float(model.num_kv_heads))
    dense = layer.sharded / t + kv + layer.replicated
    return dense, layer.experts / (t * layouts.expert_parallel)


def stage_parameters(
    model: Model, training: Training, layouts: Layouts, held: StageLayers
) -> tuple[Column, Column]:
    """(dense, expert) parameters on one device of a stage, before any sharding over data-parallel ranks.

    The head has its own copy on the last stage; tied weights are shared only where one stage holds both ends.
    """
    t = layouts.tensor_parallel
    early = par.dense_layer(model)
    late = par.moe_layer(model) if model.is_moe else par.layer_of_decoder(model)
    dense, experts = _layer_on_device(late, model, layouts)
    early_dense, _ = _layer_on_device(early, model, layouts)
    table = padded_vocab(model, training, t) * model.hidden_size / t
    both_ends = held.has_embedding * held.has_head * float(model.tied_embeddings)
    ends = (held.has_embedding + held.has_head - both_ends) * table
    ends = ends + held.has_embedding * (par.positions(model) + par.vision_parameters(model) / t)
    ends = ends + held.has_head * par.final_norm(model)
    mtp_dense, mtp_experts = _layer_on_device(par.mtp_layer(model), model, layouts)
    extra = held.has_head * float(model.num_mtp_layers)
    dense_total = held.early * early_dense + held.late * dense + ends + extra * mtp_dense
    return dense_total, held.late * experts + extra * mtp_experts


def state_bytes(training: Training, layouts: Layouts, dense: Column, experts: Column) -> States:
    """Weights, gradients and optimizer states after ZeRO's sharding.

    Dense weights are sharded over c·d ranks (or `zero_group` of them), experts over their own copies, c·d/e.
    """
    k = optimizer_bytes_per_parameter(training.optimizer, training.master_weights, training.param_bytes)
    return States(
        weights_bytes=training.param_bytes * _held(layouts, dense, experts, 3),
        gradients_bytes=training.grad_bytes * _held(layouts, dense, experts, 2),
        optimizer_bytes=k * _held(layouts, dense, experts, 1),
    )


def _held(layouts: Layouts, dense: Column, experts: Column, from_stage: int) -> Column:
    """Parameters of which one device holds a state that ZeRO shards from this stage on."""
    ranks = layouts.zero_ranks
    expert_ranks = np.minimum(ranks, np.maximum(layouts.replicas / layouts.expert_parallel, 1.0))
    sharded = layouts.zero_stage >= from_stage
    return dense / np.where(sharded, ranks, 1.0) + experts / np.where(sharded, expert_ranks, 1.0)


def _mixed_with_16_bit_gradients(training: Training) -> bool:
    """A 32-bit optimizer fed by 16-bit gradients."""
    return training.master_weights and training.grad_bytes < 4


def accumulator_bytes(training: Training, layouts: Layouts, dense: Column, experts: Column) -> Column:
    """32-bit sums beside 16-bit gradients, where compiled PyTorch trainers accumulate: 4 bytes per parameter.

    Source: Nanotron and InternEvo; Megatron-LM adds into 32-bit gradients instead (`grad_bytes` 4).
    """
    each = 4.0 if training.kernels == "compiled" and _mixed_with_16_bit_gradients(training) else 0.0
    return each * _held(layouts, dense, experts, 2)


def step_scratch_bytes(training: Training, layouts: Layouts, dense: Column, experts: Column) -> Column:
    """What the optimizer step needs for a moment, when the activations are gone.

    16-bit gradients of a 32-bit optimizer: a flat 16-bit copy (2) and, without accumulators, a 32-bit one
    (4). PyTorch's multi-tensor Adam also makes its denominator (4); eager trainers step tensor by tensor and
    need none. Source: the optimizers of DeepSpeed, PyTorch and llm-foundry; counted.
    """
    mixed = _mixed_with_16_bit_gradients(training)
    per_parameter = {
        "fused": 6.0 if mixed else 0.0,
        "transformer-engine": 6.0 if mixed else 0.0,
        "compiled": 4.0 + (2.0 if mixed else 0.0),
        "eager": 0.0,
    }[training.kernels]
    return per_parameter * _held(layouts, dense, experts, 1)


def gather_bytes(model: Model, training: Training, layouts: Layouts, held: StageLayers) -> Column:
    """ZeRO-3 / FSDP: the weights of two layers (the running one and the next), and the gradients of one.

    Gathered in at most 16 bits. Source: Zhao et al. 2023 (FSDP), section 3.3, limited prefetching.
    """
    late = par.moe_layer(model) if model.is_moe else par.layer_of_decoder(model)
    dense, experts = _layer_on_device(late, model, layouts)
    per_layer = dense + experts
    width = min(float(training.param_bytes), 2.0)
    live = (2.0 * width + training.grad_bytes) * per_layer
    sharded = (layouts.zero_stage >= 3) & (layouts.zero_ranks > 1) & (held.total > 0)
    return np.where(sharded, live, 0.0)
