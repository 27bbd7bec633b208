"""The `estimate` verb: inputs → the whole answer, in the words of the API."""

from collections.abc import Mapping
from typing import Any

from app.calculator.answer import answer_of
from app.calculator.fields import AXES
from app.catalog import Catalog, load_catalog
from app.catalog.constants import load_constants
from app.services.inputs import InputProblems, Inputs, parse_inputs
from app.services.neighbours import neighbours

__all__ = ["estimate", "estimate_inputs"]


def estimate(raw: object, catalog: Catalog | None = None) -> dict[str, Any] | InputProblems:
    """The answer for what somebody wrote, or everything that is wrong with it."""
    inputs = parse_inputs(raw, catalog or load_catalog())
    if isinstance(inputs, InputProblems):
        return inputs
    answer = estimate_inputs(inputs)
    return answer if answer["legal"] else answer | {"nearest_layouts": nearest_layouts(inputs)}


def nearest_layouts(inputs: Inputs) -> list[dict[str, Any]]:
    """Whole legal layouts near one that breaks rules, each worked out."""
    return [
        {
            **{f"{axis}_parallel": getattr(one.layout, f"{axis}_parallel") for axis in AXES},
            "layers_per_stage": list(one.layout.layers_per_stage) if one.layout.layers_per_stage else None,
            "global_batch_size": one.global_batch_size,
            "num_gpus": one.num_gpus,
            "peak_bytes": one.peak_bytes,
            "fits": one.fits,
            "step_s": one.step_s,
        }
        for one in neighbours(inputs)
    ]


def estimate_inputs(inputs: Inputs, *, working: bool = True) -> dict[str, Any]:
    """The answer for well-formed inputs; illegal ones get their violations and no numbers."""
    return answer_of(
        inputs.model, inputs.cluster, inputs.training, inputs.layout, load_constants(), working=working
    )


def is_problem(result: Mapping[str, Any] | InputProblems) -> bool:
    """Whether the inputs could not be used."""
    return isinstance(result, InputProblems)
