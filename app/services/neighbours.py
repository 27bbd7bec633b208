"""Legal layouts near one that breaks rules: other widths and depths, the replicas filling the cluster."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from app.calculator.estimate import evaluate, fit_of, legal_mask
from app.calculator.layout import Layout, Layouts
from app.catalog.constants import load_constants
from app.services.inputs import Inputs

MOST = 3
_WIDEST, _DEEPEST = 64, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A legal layout, its batch, and what it comes to."""

    layout: Layout
    global_batch_size: int
    peak_bytes: float
    headroom_bytes: float
    fits: str
    step_s: float


def neighbours(inputs: Inputs, most: int = MOST) -> list[Neighbour]:
    """The nearest legal layouts, by how often t and p must be doubled or halved to get there."""
    near = sorted(_candidates(inputs), key=lambda layout: _distance(layout, inputs.layout))
    for asked in (inputs, _whole_batch(inputs, near)):
        found = _legal(asked, near, most)
        if found:
            return found
    return []


def _candidates(inputs: Inputs) -> Iterable[Layout]:
    """Widths and depths that leave a whole number of replicas."""
    devices, layout = inputs.cluster.num_gpus, inputs.layout
    splits = {layout.layers_per_stage, None}
    for t in _around(layout.tensor_parallel, _WIDEST, inputs.model.num_attention_heads):
        for p in _around(layout.pipeline_parallel, _DEEPEST, inputs.model.num_layers):
            rest, left_over = divmod(devices, t * p * layout.context_parallel)
            if left_over or not rest:
                continue
            for split in splits:
                yield replace(
                    layout, tensor_parallel=t, pipeline_parallel=p, data_parallel=rest, layers_per_stage=split
                )


def _around(value: int, most: int, whole: int) -> list[int]:
    """The divisors of `whole` up to `most`, and the value itself."""
    return sorted({value, *(size for size in range(1, min(most, whole) + 1) if whole % size == 0)})


def _distance(layout: Layout, wanted: Layout) -> tuple[float, bool]:
    steps = abs(math.log2(layout.tensor_parallel / wanted.tensor_parallel))
    steps += abs(math.log2(layout.pipeline_parallel / wanted.pipeline_parallel))
    return round(steps, 6), layout.layers_per_stage != wanted.layers_per_stage


def _whole_batch(inputs: Inputs, near: list[Layout]) -> Inputs:
    """The same question with the batch rounded to what the nearest layout can divide."""
    if not near:
        return inputs
    layout = near[0]
    rounds = layout.pipeline_parallel if layout.virtual_pipeline_stages > 1 else 1
    step = layout.micro_batch_size * layout.data_parallel * rounds
    batch = max(step, round(inputs.training.global_batch_size / step) * step)
    return replace(inputs, training=replace(inputs.training, global_batch_size=batch))


def _legal(inputs: Inputs, near: list[Layout], most: int) -> list[Neighbour]:
    found: list[Neighbour] = []
    for split in dict.fromkeys(layout.layers_per_stage for layout in near):
        block = [layout for layout in near if layout.layers_per_stage == split]
        layouts = Layouts.of(*block)
        holds = np.flatnonzero(legal_mask(inputs.model, inputs.cluster, inputs.training, layouts))[:most]
        if len(holds):
            found += _worked_out(inputs, [block[int(index)] for index in holds])
    return sorted(found, key=lambda one: _distance(one.layout, inputs.layout))[:most]


def _worked_out(inputs: Inputs, layouts: list[Layout]) -> list[Neighbour]:
    told = evaluate(inputs.model, inputs.cluster, inputs.training, Layouts.of(*layouts), load_constants())
    return [
        Neighbour(
            layout=layout,
            global_batch_size=inputs.training.global_batch_size,
            peak_bytes=float(told.peak_bytes[row]),
            headroom_bytes=float(told.headroom_bytes[row]),
            fits=fit_of(float(told.peak_bytes[row]), float(told.usable_bytes)),
            step_s=float(told.time.step_s[row]),
        )
        for row, layout in enumerate(layouts)
    ]
