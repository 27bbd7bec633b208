"""What would help a layout that does not fit: single changes, then pairs, each worked out by the engine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from app.calculator.estimate import Estimates, evaluate, fit_of, legal_mask
from app.calculator.layout import Layout, Layouts, Recompute
from app.catalog.constants import load_constants
from app.services.inputs import Inputs

MOST = 4
PAIR = "pair"  # the axis of two changes at once
Change = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Changed fields by path, and what they lead to."""

    says: str  # an order: "Turn on sequence parallelism"
    changes: Mapping[str, Any]
    peak_bytes: float
    headroom_bytes: float
    fits: str
    step_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    says: str
    axis: str  # two candidates of one axis are not combined
    changes: Change


def remedies(inputs: Inputs, most: int = MOST) -> list[Remedy]:
    """Legal layouts near this one that fit, the fastest first; borderline ones only where nothing fits."""
    singles = list(_candidates(inputs))
    # Columns cost next to nothing beside a call: the pairs are worked out with the single changes.
    worked = _worked_out(inputs, [*singles, *_pairs(singles)])
    found = [remedy for candidate, remedy in worked if candidate.axis != PAIR]
    if not any(remedy.fits == "yes" for remedy in found):
        found = [remedy for _, remedy in worked]
    sure = [remedy for remedy in found if remedy.fits == "yes"]
    chosen = sure or [remedy for remedy in found if remedy.fits == "borderline"]
    return sorted(chosen, key=lambda remedy: remedy.step_s)[:most]


def _candidates(inputs: Inputs) -> Iterable[_Candidate]:
    layout, cluster = inputs.layout, inputs.cluster
    if layout.tensor_parallel > 1 and not layout.sequence_parallel:
        yield _Candidate(
            says="Turn on sequence parallelism", axis="sequence", changes={"sequence_parallel": True}
        )
    if layout.recompute == Recompute.NONE:
        yield _Candidate(
            says="Recompute attention", axis="recompute", changes={"recompute": Recompute.SELECTIVE}
        )
    if layout.recompute != Recompute.FULL:
        yield _Candidate(
            says="Recompute every layer", axis="recompute", changes={"recompute": Recompute.FULL}
        )
    for stage in range(layout.zero_stage + 1, 4):
        if layout.data_parallel * layout.context_parallel > 1 and (
            stage < 2 or layout.pipeline_parallel == 1
        ):
            yield _Candidate(says=f"Shard with ZeRO {stage}", axis="zero", changes={"zero_stage": stage})
    if layout.micro_batch_size % 2 == 0:
        half = layout.micro_batch_size // 2
        yield _Candidate(
            says=f"Halve the micro-batch to {half}", axis="batch", changes={"micro_batch_size": half}
        )
    if layout.data_parallel % 2 == 0:
        half = layout.data_parallel // 2
        wider, deeper = layout.tensor_parallel * 2, layout.pipeline_parallel * 2
        if wider <= cluster.gpus_per_node:
            yield _Candidate(
                says=f"Widen the tensor group to {wider}",
                axis="degrees",
                changes={"tensor_parallel": wider, "data_parallel": half},
            )
        if layout.layers_per_stage is None:
            yield _Candidate(
                says=f"Deepen the pipeline to {deeper}",
                axis="degrees",
                changes={"pipeline_parallel": deeper, "data_parallel": half},
            )


def _pairs(singles: list[_Candidate]) -> Iterable[_Candidate]:
    for first, second in combinations(singles, 2):
        if first.axis != second.axis:
            says = f"{first.says} and {second.says[0].lower()}{second.says[1:]}"
            yield _Candidate(says=says, axis=PAIR, changes={**first.changes, **second.changes})


def _worked_out(inputs: Inputs, candidates: list[_Candidate]) -> list[tuple[_Candidate, Remedy]]:
    """The candidates that keep every rule, in their order, each with what it leads to."""
    if not candidates:
        return []
    layouts = Layouts.of(*(_changed(inputs.layout, candidate.changes) for candidate in candidates))
    holds = np.flatnonzero(legal_mask(inputs.model, inputs.cluster, inputs.training, layouts))
    if not len(holds):
        return []
    legal = layouts.take(holds)
    estimates = evaluate(inputs.model, inputs.cluster, inputs.training, legal, load_constants())
    return [
        (candidates[int(index)], _remedy(candidates[int(index)], estimates, row))
        for row, index in enumerate(holds)
    ]


def _remedy(candidate: _Candidate, estimates: Estimates, row: int) -> Remedy:
    peak = float(estimates.peak_bytes[row])
    return Remedy(
        says=candidate.says,
        changes={f"layout.{key}": _plain(value) for key, value in candidate.changes.items()},
        peak_bytes=peak,
        headroom_bytes=float(estimates.usable_bytes) - peak,
        fits=fit_of(peak, float(estimates.usable_bytes)),
        step_s=float(estimates.time.step_s[row]),
    )


def _changed(layout: Layout, changes: Change) -> Layout:
    return replace(layout, **changes)


def _plain(value: Any) -> Any:
    return value.name.lower() if isinstance(value, Recompute) else value
