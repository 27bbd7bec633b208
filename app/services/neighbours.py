"""Legal layouts near one that breaks rules: other widths and depths, the replicas filling the cluster.

Where the layers do not divide by a depth, the stages are as equal as they can be. With a number of devices
that suits nothing, also what fewer of them could do, the rest standing still.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from app.calculator.balancing import even_split
from app.calculator.enumeration import divisors
from app.calculator.estimate import evaluate, fit_of, legal_mask
from app.calculator.layout import Layout, Layouts
from app.catalog.constants import load_constants
from app.services.inputs import Inputs

MOST = 3
_WIDEST, _DEEPEST = 64, 128
_AT_ONCE = 24  # candidates that are checked together


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A legal layout, its batch, and what it comes to."""

    layout: Layout
    global_batch_size: int
    peak_bytes: float
    headroom_bytes: float
    fits: str
    step_s: float
    num_gpus: int


def neighbours(inputs: Inputs, most: int = MOST) -> list[Neighbour]:
    """The nearest legal layouts, by how often t and p must be doubled or halved to get there."""
    found = _nearest(inputs, most)
    fewer = _on_fewer_devices(inputs)
    if fewer is not None:
        kept = [one for one in _nearest(fewer, 1) if _is_close(one, inputs)]
        found = found[: most - len(kept)] + kept
    return found


def _nearest(inputs: Inputs, most: int) -> list[Neighbour]:
    near = sorted(_candidates(inputs), key=lambda layout: _distance(layout, inputs.layout))
    found = _legal(inputs, near, most)
    rounded = _whole_batch(inputs, near)
    if not found or rounded.training == inputs.training:
        return found or _legal(rounded, near, most)
    other = _legal(rounded, near[:1], 1)
    same_cut = other and other[0].layout == found[0].layout
    return found if not other or same_cut else [other[0], *found[: most - 1]]


def _is_close(one: Neighbour, inputs: Inputs) -> bool:
    """Whether a layout keeps the width and the depth."""
    sizes = ("tensor_parallel", "pipeline_parallel")
    return all(getattr(one.layout, name) == getattr(inputs.layout, name) for name in sizes)


def _on_fewer_devices(inputs: Inputs) -> Inputs | None:
    """The question for as many devices as whole copies of this width and depth take."""
    layout, cluster = inputs.layout, inputs.cluster
    inner = layout.tensor_parallel * layout.context_parallel * layout.pipeline_parallel
    used = cluster.num_gpus // inner * inner
    if not 0 < used < cluster.num_gpus:
        return None
    nodes = math.ceil(used / cluster.gpus_per_node)
    return replace(inputs, cluster=replace(cluster, num_gpus=used, num_nodes=nodes))


def _candidates(inputs: Inputs) -> Iterable[Layout]:
    """Widths and depths that leave a whole number of replicas."""
    devices, layout = inputs.cluster.num_gpus, inputs.layout
    layers = inputs.model.total_layers
    depths = sorted({*divisors(devices, min(layers, _DEEPEST)), layout.pipeline_parallel})
    for t in _around(layout.tensor_parallel, _WIDEST, inputs.model.num_attention_heads):
        for p in depths:
            rest, left_over = divmod(devices, t * p * layout.context_parallel)
            if left_over or not rest:
                continue
            for split in {layout.layers_per_stage, _split(layers, p, layout)}:
                yield replace(
                    layout, tensor_parallel=t, pipeline_parallel=p, data_parallel=rest, layers_per_stage=split
                )


def _split(layers: int, stages: int, layout: Layout) -> tuple[int, ...] | None:
    """Equal stages, or as equal as the layers allow."""
    chunks = stages * layout.virtual_pipeline_stages
    return even_split(layers, chunks) if layers % chunks and layers >= chunks else None


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
    """The first legal ones, a few candidates at a time: mostly they are among the nearest."""
    chosen: list[Layout] = []
    for start in range(0, len(near), _AT_ONCE):
        part = near[start : start + _AT_ONCE]
        holds: set[int] = set()
        for split in dict.fromkeys(layout.layers_per_stage for layout in part):
            places = [place for place, layout in enumerate(part) if layout.layers_per_stage == split]
            layouts = Layouts.of(*(part[place] for place in places))
            mask = legal_mask(inputs.model, inputs.cluster, inputs.training, layouts)
            holds |= {places[int(index)] for index in np.flatnonzero(mask)}
        chosen += [part[place] for place in sorted(holds)]
        if len(chosen) >= most:
            break
    found: list[Neighbour] = []
    for split in dict.fromkeys(layout.layers_per_stage for layout in chosen[:most]):
        found += _worked_out(inputs, [one for one in chosen[:most] if one.layers_per_stage == split])
    return sorted(found, key=lambda one: _distance(one.layout, inputs.layout))


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
            num_gpus=inputs.cluster.num_gpus,
        )
        for row, layout in enumerate(layouts)
    ]
