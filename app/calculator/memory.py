"""Bytes on one device of each pipeline stage: weights, gradients, optimizer, activations, logits, buffers,
overhead.

The parts of a stage sum to its total. `stage_memory` broadcasts a stage number against the layouts, so one
layout with all its stages and a block of layouts with one stage each are the same arithmetic.
"""

from dataclasses import dataclass, fields

import numpy as np

from app.calculator import activations as act
from app.calculator import states
from app.calculator.cluster import Cluster
from app.calculator.layout import Column, Layouts, Recompute
from app.calculator.model import Model
from app.calculator.schedules import in_flight_micro_batches
from app.calculator.stage_layers import StageLayers, stage_layers
from app.calculator.training import Training
from app.calculator.units import GB

CONTEXT_BYTES = 2.0 * GB  # CUDA context, kernels and cuBLAS workspace
GROUP_BYTES = 0.6 * GB  # NCCL channels and buffers, for each kind of group a rank is in
FRAGMENTATION = 0.05  # share of all tensors that the allocator holds and cannot use
LOGITS_BYTES = {
    "fused": 6.0,  # 16-bit logits and a 32-bit copy that becomes softmax, then gradient (Megatron-LM)
    "transformer-engine": 4.0,  # the 32-bit copy in blocks: fused cross-entropy
    "compiled": 10.0,  # 16-bit logits, 32-bit copy and its gradient: loss in plain PyTorch
    "eager": 6.0,  # 16-bit logits, 32-bit softmax: the fused cross-entropy kernels of eager trainers
}
BUCKET_BYTES = 2.0 * GB  # two reduce buckets of 5e8 16-bit elements: DeepSpeed's default, ZeRO 1 and 2
BORDERLINE_FRACTION = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMemory:
    """Bytes on one device of a stage, part by part, and what it holds."""

    weights_bytes: Column
    gradients_bytes: Column
    optimizer_bytes: Column
    activations_bytes: Column
    logits_bytes: Column
    buffers_bytes: Column
    overhead_bytes: Column
    in_flight_micro_batches: Column
    num_layers: Column
    parameters: Column

    @property
    def total_bytes(self) -> Column:
        """The sum of the parts."""
        total = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes + self.activations_bytes
        return total + self.logits_bytes + self.buffers_bytes + self.overhead_bytes


PARTS = tuple(field.name for field in fields(StageMemory) if field.name.endswith("_bytes"))


def stage_memory(
    model: Model, cluster: Cluster, training: Training, layouts: Layouts, stage: Column
) -> StageMemory:
    """Memory of stage number `stage` (0-based) of every layout."""
    held = stage_layers(model, layouts, stage)
    dense, experts = states.stage_parameters(model, training, layouts, held)
    sharded = states.state_bytes(training, layouts, dense, experts)
    flight = _in_flight(training, layouts, stage)
    kept, working = _activations(model, training, layouts, held, flight)
    logits = _logits_bytes(model, training, layouts) * held.has_head
    buffers = working + _buffers_bytes(model, training, layouts, held)
    buffers = buffers + states.accumulator_bytes(training, layouts, dense, experts)
    scratch = states.step_scratch_bytes(training, layouts, dense, experts)
    buffers = buffers + np.maximum(0.0, scratch - (kept + logits + working))
    tensors = (
        sharded.weights_bytes + sharded.gradients_bytes + sharded.optimizer_bytes + kept + logits + buffers
    )
    return StageMemory(
        weights_bytes=sharded.weights_bytes,
        gradients_bytes=sharded.gradients_bytes,
        optimizer_bytes=sharded.optimizer_bytes,
        activations_bytes=kept,
        logits_bytes=logits,
        buffers_bytes=buffers,
        overhead_bytes=_overhead_bytes(layouts, tensors),
        in_flight_micro_batches=flight,
        num_layers=held.total,
        parameters=dense + experts,
    )


def _in_flight(training: Training, layouts: Layouts, stage: Column) -> Column:
    return in_flight_micro_batches(
        layouts.schedule,
        layouts.pipeline_parallel,
        layouts.num_micro_batches(training.global_batch_size),
        layouts.virtual_pipeline_stages,
        stage,
    )


def _activations(
    model: Model, training: Training, layouts: Layouts, held: StageLayers, flight: Column
) -> tuple[Column, Column]:
    """(kept for the backward pass, of the one layer that is being recomputed)."""
    kinds = act.layer_kinds(model, training)
    early = act.layer_bytes(model, kinds.early, layouts, training, kinds.early_seq_length)
    late = act.layer_bytes(model, kinds.late, layouts, training, kinds.late_seq_length)
    token_count = act.tokens(layouts, kinds.late_seq_length)
    hidden = token_count * model.hidden_size / act.split_divisor(layouts)
    ends = held.has_head * 4.0 * hidden
    if act.has_dropout(model, training):
        ends = ends + held.has_embedding * hidden * flight
    kept = flight * (held.early * early + held.late * late) + ends
    kv = float(model.num_kv_heads)
    whole_early = act.whole_layer_bytes(kinds.early, kv, layouts, training, seq_length=kinds.early_seq_length)
    whole_late = act.whole_layer_bytes(kinds.late, kv, layouts, training, seq_length=kinds.late_seq_length)
    one = np.maximum(np.where(held.early > 0, whole_early, 0.0), np.where(held.late > 0, whole_late, 0.0))
    return kept, np.where(layouts.recompute == Recompute.FULL, one, 0.0)


def first_stage_activation_bytes(model: Model, training: Training, layouts: Layouts) -> Column:
    """What the layers of stage 0 keep: layers · micro-batches in flight · bytes of a layer.

    Source: Korthikanti et al. 2022, section 4.2.3: L/p layers · p micro-batches, whatever p is.
    """
    stage = np.zeros(len(layouts))
    held = stage_layers(model, layouts, stage)
    kinds = act.layer_kinds(model, training)
    early = act.layer_bytes(model, kinds.early, layouts, training, kinds.early_seq_length)
    late = act.layer_bytes(model, kinds.late, layouts, training, kinds.late_seq_length)
    return _in_flight(training, layouts, stage) * (held.early * early + held.late * late)


def logits_bytes_per_token(model: Model, training: Training, layouts: Layouts) -> Column:
    """Bytes per token of the logits on the last stage: 32-bit copy and the 16-bit ones they come from, V/t
    wide.
    """
    vocab = states.padded_vocab(model, training, layouts.tensor_parallel)
    return LOGITS_BYTES[training.kernels] * vocab / layouts.tensor_parallel


def _logits_bytes(model: Model, training: Training, layouts: Layouts) -> Column:
    heads = 1.0 + model.num_mtp_layers
    per_token = logits_bytes_per_token(model, training, layouts)
    return heads * act.tokens(layouts, float(training.seq_length)) * per_token


def _buffers_bytes(model: Model, training: Training, layouts: Layouts, held: StageLayers) -> Column:
    """Communication buffers: gathered weights (ZeRO-3), the gathered sequence, and sends to the next
    stage.
    """
    hidden = 2.0 * model.hidden_size * act.tokens(layouts, float(training.seq_length))
    several = layouts.tensor_parallel > 1
    gathered = np.where(several & (layouts.sequence_parallel > 0), hidden, 0.0)
    sends = np.where(layouts.pipeline_parallel > 1, 2.0 * hidden / act.split_divisor(layouts), 0.0)
    bucketed = training.kernels in ("fused", "compiled")
    buckets = np.where(bucketed & (layouts.zero_stage >= 1) & (layouts.zero_stage <= 2), BUCKET_BYTES, 0.0)
    return gathered + sends + buckets + states.gather_bytes(model, training, layouts, held)


def _overhead_bytes(layouts: Layouts, tensors: Column) -> Column:
    groups = (
        np.where(layouts.tensor_parallel > 1, 1.0, 0.0)
        + np.where(layouts.pipeline_parallel > 1, 1.0, 0.0)
        + np.where(layouts.replicas > 1, 1.0, 0.0)
    )
    return CONTEXT_BYTES + GROUP_BYTES * groups + FRAGMENTATION * tensors


def candidate_stages(model: Model, layouts: Layouts) -> list[Column]:
    """Stages one of which has the peak, for every layout: the first two, the last, and where the layer kind
    changes.

    With equal stages memory falls from stage to stage except at these places; a stated split has all its
    stages.
    """
    last = layouts.pipeline_parallel - 1.0
    zero = np.zeros_like(last)
    if layouts.layers_per_stage is not None:
        count = int(np.max(layouts.pipeline_parallel)) if len(last) else 0
        return [np.minimum(zero + i, last) for i in range(count)]
    places = [zero, last]
    kinds = act.layer_kinds_boundary(model)
    if kinds:
        per_stage = model.total_layers / layouts.pipeline_parallel
        change = np.floor(kinds / per_stage)
        places += [np.minimum(change, last), np.minimum(change + 1.0, last), np.minimum(zero + 1.0, last)]
    return places


def peak_bytes(model: Model, cluster: Cluster, training: Training, layouts: Layouts) -> Column:
    """The largest total over the stages of each layout."""
    peak = np.zeros(len(layouts))
    for stage in candidate_stages(model, layouts):
        peak = np.maximum(peak, stage_memory(model, cluster, training, layouts, stage).total_bytes)
    return peak
