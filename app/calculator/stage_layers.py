"""Which layers each pipeline stage holds."""

from dataclasses import dataclass
from functools import lru_cache

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
        total, early = _stated(layouts.layers_per_stage, boundary, p, layouts.model_chunks, stage)
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


def _stated(
    split: tuple[int, ...], boundary: float, p: Column, chunks: Column, stage: Column
) -> tuple[Column, Column]:
    """(all, early) layers of a stage where the split is stated, for stages or for chunks."""
    numbers = np.broadcast_arrays(p, chunks, stage)
    early, late = np.zeros(numbers[0].size), np.zeros(numbers[0].size)
    for row, (stages, each, place) in enumerate(zip(*(n.ravel().tolist() for n in numbers), strict=True)):
        held = stated_layers(split, boundary, int(stages), int(each))
        if place < len(held):
            early[row], late[row] = held[int(place)]
    shape = numbers[0].shape
    return (early + late).reshape(shape), early.reshape(shape)


@lru_cache(maxsize=256)
def stated_layers(
    split: tuple[int, ...], early_layers: float, stages: int, chunks: int
) -> tuple[tuple[float, float], ...]:
    """(early, late) layers of each stage of a stated split, its chunks (number c·p + stage) added up.

    A stage's own number is cut into equal chunks, which go round the stages like any others.
    """
    each: list[float] = list(split)
    if len(split) == stages and chunks > 1:
        each = [count / chunks for count in split] * chunks
    held, before = [[0.0, 0.0] for _ in range(stages)], 0.0
    for place, count in enumerate(each):
        early = min(count, max(0.0, early_layers - before))
        held[place % stages][0] += early
        held[place % stages][1] += count - early
        before += count
    return tuple((early, late) for early, late in held)
