"""Which layers each pipeline stage holds."""

from dataclasses import dataclass

import numpy as np

from app.calculator.activations import layer_kinds_boundary
from app.calculator.layout import Column, Layouts
from app.calculator.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLayers:
    """Layers of a stage by kind, and whether it holds the embedding and the head (1 or 0)."""

    early: Column
    late: Column
    has_embedding: Column
    has_head: Column

    @property
    def total(self) -> Column:
        """Layers of both kinds."""
        return self.early + self.late


def stage_layers(model: Model, layouts: Layouts, stage: Column) -> StageLayers:
    """The layers of stage number `stage`: L/p each, in v chunks that go round the stages; or as stated."""
    p = layouts.pipeline_parallel
    boundary = float(layer_kinds_boundary(model))
    if layouts.layers_per_stage is None:
        chunks = layouts.model_chunks
        each = model.total_layers / (p * chunks)
        total = each * chunks
        early = _early_layers(boundary, each, p, chunks, stage)
    else:
        total, early = _stated(layouts.layers_per_stage, boundary, p, stage)
    return StageLayers(
        early=early,
        late=total - early,
        has_embedding=np.where(stage == 0, 1.0, 0.0),
        has_head=np.where(stage == p - 1.0, 1.0, 0.0),
    )


def _early_layers(boundary: float, each: Column, p: Column, chunks: Column, stage: Column) -> Column:
    """Layers of the early kind: whole chunks below the boundary, and the one it falls into.

    Chunk number g = c·p + stage holds the layers from g·each on.
    """
    if not boundary:
        return np.zeros_like(p)
    whole = np.floor(boundary / each)  # chunks that are early all through
    part = boundary - whole * each
    mine = np.minimum(np.maximum(np.ceil((whole - stage) / p), 0.0), chunks)
    holds_part = whole - np.floor(whole / p) * p == stage
    inside = whole < p * chunks
    return mine * each + np.where(holds_part & inside, part, 0.0)


def _stated(split: tuple[int, ...], boundary: float, p: Column, stage: Column) -> tuple[Column, Column]:
    """(all, early) layers of a stage where the split is stated, for stages or for chunks (chunk c·p +
    stage).
    """
    counts = np.array(split, dtype=np.float64)
    ends = np.cumsum(counts)
    early_counts = np.minimum(counts, np.maximum(boundary - (ends - counts), 0.0))
    total, early = np.zeros_like(p), np.zeros_like(p)
    index = np.broadcast_to(stage, p.shape).copy()
    while np.any(index < len(split)):
        valid = index < len(split)
        place = np.where(valid, index, 0.0).astype(np.int64)
        total = total + np.where(valid, counts[place], 0.0)
        early = early + np.where(valid, early_counts[place], 0.0)
        index = index + p
    return total, early
