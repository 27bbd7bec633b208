"""Placement: every order of ranks, which groups of it cross nodes, and what that costs."""

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from app.calculator.estimate import evaluate, legal_mask
from app.calculator.layout import Layouts
from app.catalog.constants import load_constants
from app.services.inputs import Inputs

AXES = ("tensor", "context", "data", "pipeline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One order of ranks, innermost first: the axes whose groups cross nodes, and the step."""

    rank_order: tuple[str, ...]
    crossing: tuple[str, ...]
    step_s: float
    exposed_s: dict[str, float]  # waiting of each axis


def placements(inputs: Inputs) -> list[Placement]:
    """Every order that differs, the fastest first; none where the layout is not legal. No rule hangs on it.

    Axes of one rank stand anywhere: their place changes nothing, so they are put outermost.
    """
    columns = Layouts.of(inputs.layout)
    if not legal_mask(inputs.model, inputs.cluster, inputs.training, columns)[0]:
        return []
    found = [_placed(inputs, order) for order in orders(inputs)]
    return sorted(found, key=lambda one: (one.step_s, one.rank_order != inputs.layout.rank_order))


def orders(inputs: Inputs) -> list[tuple[str, ...]]:
    """The orders of the axes with more than one rank; the layout's own as it is written."""
    layout = inputs.layout
    size = {name: getattr(layout, f"{name}_parallel") for name in AXES}
    active = [name for name in AXES if size[name] > 1]
    idle = [name for name in AXES if size[name] == 1]
    own = tuple(name for name in layout.rank_order if size[name] > 1)
    return [layout.rank_order if order == own else (*order, *idle) for order in permutations(active)]


def _placed(inputs: Inputs, order: tuple[str, ...]) -> Placement:
    columns = Layouts.of(replace(inputs.layout, rank_order=order))
    told = evaluate(
        inputs.model,
        inputs.cluster,
        inputs.training,
        columns,
        load_constants(),
        peak=np.zeros(1),
    )
    axes = told.time.axes
    return Placement(
        rank_order=order,
        crossing=tuple(
            name for name in axes if axes[name].group_size[0] > 1 and axes[name].between_nodes[0] > 0
        ),
        step_s=float(told.time.step_s[0]),
        exposed_s={name: float(axis.exposed_s[0]) for name, axis in axes.items()},
    )
