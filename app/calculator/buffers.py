"""Memory beside states and activations: logits, communication buffers, scratch, and what the runtime takes.

The constants are counted from the software's own code where the comment names it; context, groups and
fragmentation are set to published runs that report their memory (docs/accuracy.md has the comparison).
"""

from dataclasses import dataclass, fields

import numpy as np

from app.calculator import activations as act
from app.calculator import states
from app.calculator.layout import Column, Layouts, Recompute
from app.calculator.model import Model
from app.calculator.stage_layers import StageLayers
from app.calculator.training import Training
from app.calculator.units import GB

CONTEXT_BYTES = 2.3 * GB  # CUDA context, kernels, cuBLAS and cuDNN workspaces
GROUP_BYTES = 0.6 * GB  # NCCL channels and buffers, for each kind of group a rank is in
FRAGMENTATION = 0.05  # share of all tensors that the allocator holds and cannot use
LOGITS_BYTES = {
    "fused": 6.0,  # 16-bit logits and a 32-bit copy that becomes softmax, then gradient (Megatron-LM)
    "transformer-engine": 4.0,  # the 32-bit copy in blocks: fused cross-entropy
    "compiled": 10.0,  # 16-bit logits, 32-bit copy and its gradient: loss in plain PyTorch
    "eager": 6.0,  # 16-bit logits, 32-bit softmax: the fused cross-entropy kernels of eager trainers
}
BUCKET_BYTES = 2.0 * GB  # two reduce buckets of 5e8 16-bit elements: DeepSpeed's default, ZeRO 1 and 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffers:
    """Bytes that are neither states nor kept activations, by what they are for."""

    recomputed_layer: Column  # the one layer whose activations are being made again
    gathered_sequence: Column  # a layer's input gathered from the tensor group
    sends: Column  # to and from the neighbouring stages
    buckets: Column  # gradients on their way to the shards
    gathered_weights: Column  # ZeRO-3: the layers in use and the next
    accumulators: Column  # 32-bit sums beside 16-bit gradients
    step_scratch: Column  # what the optimizer step needs beyond what the activations leave free

    @property
    def total(self) -> Column:
        """All of them."""
        total = self.recomputed_layer + self.gathered_sequence + self.sends + self.buckets
        return total + self.gathered_weights + self.accumulators + self.step_scratch


BUFFER_NAMES = tuple(field.name for field in fields(Buffers))


def logits_bytes(model: Model, training: Training, layouts: Layouts) -> Column:
    """Logits of one micro-batch on the last stage: bytes per logit · T · V/t, once more for each extra
    head.
    """
    vocab = states.padded_vocab(model, training, layouts.tensor_parallel)
    heads = 1.0 + model.num_mtp_layers
    token_count = act.tokens(layouts, float(training.seq_length))
    return heads * token_count * LOGITS_BYTES[training.kernels] * vocab / layouts.tensor_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a stage holds, as the buffers need it."""

    layers: StageLayers
    dense: Column  # parameters on the device
    experts: Column
    leaves_free: Column  # activations and logits, gone when the optimizer steps


def buffers_of(model: Model, training: Training, layouts: Layouts, held: Held) -> Buffers:
    """Every buffer of a stage."""
    hidden = 2.0 * model.hidden_size * act.tokens(layouts, float(training.seq_length))
    gathers = (layouts.tensor_parallel > 1) & (layouts.sequence_parallel > 0)
    bucketed = training.kernels in ("fused", "compiled")
    buckets = bucketed & (layouts.zero_stage >= 1) & (layouts.zero_stage <= 2)
    working = recomputed_layer_bytes(model, training, layouts, held.layers)
    scratch = states.step_scratch_bytes(training, layouts, held.dense, held.experts)
    return Buffers(
        recomputed_layer=working,
        gathered_sequence=np.where(gathers, hidden, 0.0),
        sends=np.where(layouts.pipeline_parallel > 1, 2.0 * hidden / act.split_divisor(layouts), 0.0),
        buckets=np.where(buckets, BUCKET_BYTES, 0.0),
        gathered_weights=states.gather_bytes(model, training, layouts, held.layers),
        accumulators=states.accumulator_bytes(training, layouts, held.dense, held.experts),
        step_scratch=np.maximum(0.0, scratch - (held.leaves_free + working)),
    )


def recomputed_layer_bytes(model: Model, training: Training, layouts: Layouts, held: StageLayers) -> Column:
    """With full recompute: all activations of the largest layer of the stage, which lives once."""
    kinds = act.layer_kinds(model, training)
    kv = float(model.num_kv_heads)
    early = act.whole_layer_bytes(kinds.early, kv, layouts, training, seq_length=kinds.early_seq_length)
    late = act.whole_layer_bytes(kinds.late, kv, layouts, training, seq_length=kinds.late_seq_length)
    one = np.maximum(np.where(held.early > 0, early, 0.0), np.where(held.late > 0, late, 0.0))
    return np.where(layouts.recompute == Recompute.FULL, one, 0.0)


def groups_of(layouts: Layouts) -> Column:
    """Kinds of communication group that a rank is in: tensor, pipeline, and its copies."""
    return (
        np.where(layouts.tensor_parallel > 1, 1.0, 0.0)
        + np.where(layouts.pipeline_parallel > 1, 1.0, 0.0)
        + np.where(layouts.replicas > 1, 1.0, 0.0)
    )


def overhead_bytes(layouts: Layouts, tensors: Column) -> Column:
    """Context, communication groups, and the share of all tensors that fragmentation wastes."""
    return CONTEXT_BYTES + GROUP_BYTES * groups_of(layouts) + FRAGMENTATION * tensors
