"""Bytes on one device of each pipeline stage: states, activations, logits, buffers, overhead.

The parts of a stage sum to its total. `stage_memory` broadcasts a stage number against the layouts, so one
layout with all its stages and a block of layouts with one stage each are the same arithmetic.
"""

from dataclasses import dataclass

import numpy as np

from app.calculator import activations as act
from app.calculator import buffers as buf
from app.calculator import states
from app.calculator.layout import Column, Layouts
from app.calculator.model import Model
from app.calculator.schedules import in_flight_micro_batches
from app.calculator.stage_layers import StageLayers, stage_layers
from app.calculator.training import Training

BORDERLINE_FRACTION = 0.05
PARTS = (
    "weights_bytes",
    "gradients_bytes",
    "optimizer_bytes",
    "activations_bytes",
    "logits_bytes",
    "buffers_bytes",
    "overhead_bytes",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMemory:
    """Bytes on one device of a stage, part by part, and what it holds."""

    states: states.States
    activations_bytes: Column
    end_activations_bytes: Column  # of them: outside the layers, on the first and the last stage
    logits_bytes: Column
    buffers: buf.Buffers
    buffers_bytes: Column
    overhead_bytes: Column
    tensors_bytes: Column  # everything but the overhead
    in_flight_micro_batches: Column
    layers: StageLayers
    dense_parameters: Column
    expert_parameters: Column

    @property
    def weights_bytes(self) -> Column:
        """Weights used in the computation."""
        return self.states.weights_bytes

    @property
    def gradients_bytes(self) -> Column:
        """Gradients."""
        return self.states.gradients_bytes

    @property
    def optimizer_bytes(self) -> Column:
        """Moments and the 32-bit copy of the weights: they appear at the first optimizer step."""
        return self.states.optimizer_bytes

    @property
    def num_layers(self) -> Column:
        """Layers of all kinds."""
        return self.layers.total

    @property
    def parameters(self) -> Column:
        """Parameters on the device, before any sharding over copies."""
        return self.dense_parameters + self.expert_parameters

    @property
    def total_bytes(self) -> Column:
        """The sum of the parts."""
        return self.tensors_bytes + self.overhead_bytes


def stage_memory(model: Model, training: Training, layouts: Layouts, stage: Column) -> StageMemory:
    """Memory of stage number `stage` (0-based) of every layout."""
    layers = stage_layers(model, layouts, stage)
    dense, experts = states.stage_parameters(model, training, layouts, layers)
    sharded = states.state_bytes(training, layouts, dense, experts)
    flight = in_flight(training, layouts, stage)
    ends = _end_activations(model, training, layouts, layers, flight)
    kept = flight * _layers_bytes(model, training, layouts, layers) + ends
    logits = buf.logits_bytes(model, training, layouts) * layers.has_head
    held = buf.Held(layers=layers, dense=dense, experts=experts, leaves_free=kept + logits)
    buffers = buf.buffers_of(model, training, layouts, held)
    buffers_bytes = buffers.total
    tensors = sharded.weights_bytes + sharded.gradients_bytes + sharded.optimizer_bytes
    tensors = tensors + kept + logits + buffers_bytes
    return StageMemory(
        states=sharded,
        activations_bytes=kept,
        end_activations_bytes=ends,
        logits_bytes=logits,
        buffers=buffers,
        buffers_bytes=buffers_bytes,
        overhead_bytes=buf.overhead_bytes(layouts, tensors),
        tensors_bytes=tensors,
        in_flight_micro_batches=flight,
        layers=layers,
        dense_parameters=dense,
        expert_parameters=experts,
    )


def in_flight(training: Training, layouts: Layouts, stage: Column) -> Column:
    """Micro-batches whose activations a stage holds at once."""
    return in_flight_micro_batches(
        layouts.schedule,
        layouts.pipeline_parallel,
        layouts.num_micro_batches(training.global_batch_size),
        layouts.virtual_pipeline_stages,
        stage,
    )


def _layers_bytes(model: Model, training: Training, layouts: Layouts, layers: StageLayers) -> Column:
    """What the layers of a stage keep of one micro-batch."""
    kinds = act.layer_kinds(model, training)
    early = act.layer_bytes(model, kinds.early, layouts, training, kinds.early_seq_length)
    if kinds.early is kinds.late:
        return layers.total * early
    late = act.layer_bytes(model, kinds.late, layouts, training, kinds.late_seq_length)
    return layers.early * early + layers.late * late


def _end_activations(
    model: Model, training: Training, layouts: Layouts, layers: StageLayers, flight: Column
) -> Column:
    """Final normalization and head inputs (4sbh) on the last stage, the embedding's dropout mask on the
    first.

    Source: Korthikanti et al. 2022, section 4.3: sbhp/t and 4sbh/t.
    """
    kinds = act.layer_kinds(model, training)
    hidden = act.tokens(layouts, kinds.late_seq_length) * model.hidden_size / act.split_divisor(layouts)
    ends = layers.has_head * 4.0 * hidden
    if act.has_dropout(model, training):
        ends = ends + layers.has_embedding * hidden * flight
    return ends


def first_stage_activation_bytes(model: Model, training: Training, layouts: Layouts) -> Column:
    """What the layers of stage 0 keep: layers · micro-batches in flight · bytes of a layer.

    Source: Korthikanti et al. 2022, section 4.2.3: L/p layers · p micro-batches, whatever p is.
    """
    stage = np.zeros(len(layouts))
    layers = stage_layers(model, layouts, stage)
    return in_flight(training, layouts, stage) * _layers_bytes(model, training, layouts, layers)


def candidate_stages(model: Model, layouts: Layouts) -> list[Column]:
    """Stages one of which has the peak, for every layout.

    Stages with the same layers and no end hold less from one to the next, because fewer micro-batches are in
    flight. With equal stages the layers change at the ends, and twice where the kind of layer changes: chunk
    number floor(boundary / layers of a chunk) falls on a stage that holds some of both kinds, and the stages
    before it hold one chunk more of the early kind than those after. A stated split has all its stages.
    """
    last = layouts.pipeline_parallel - 1.0
    zero = np.zeros_like(last)
    if layouts.layers_per_stage is not None:
        count = int(np.max(layouts.pipeline_parallel)) if last.size else 0
        return [np.minimum(zero + i, last) for i in range(count)]
    places = [zero, last]
    boundary = act.layer_kinds_boundary(model)
    if boundary:
        p = layouts.pipeline_parallel
        chunk = np.floor(boundary / (model.total_layers / (p * layouts.model_chunks)))
        change = chunk - np.floor(chunk / p) * p
        places += [change, np.minimum(change + 1.0, last), np.minimum(zero + 1.0, last)]
    return places


def peak_bytes(model: Model, training: Training, layouts: Layouts) -> Column:
    """The largest total over the stages of each layout."""
    peak = np.zeros(1)
    for stage in candidate_stages(model, layouts):
        peak = np.maximum(peak, stage_memory(model, training, layouts, stage).total_bytes)
    return peak
