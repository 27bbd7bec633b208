"""The `estimate` verb: inputs → the whole answer, in the words of the API."""

from collections.abc import Mapping
from typing import Any

from app.calculator.answer import answer_of
from app.catalog import Catalog, load_catalog
from app.catalog.constants import load_constants
from app.services.inputs import InputProblems, Inputs, parse_inputs

__all__ = ["estimate", "estimate_inputs"]


def estimate(raw: object, catalog: Catalog | None = None) -> dict[str, Any] | InputProblems:
    """The answer for what somebody wrote, or everything that is wrong with it."""
    inputs = parse_inputs(raw, catalog or load_catalog())
    return inputs if isinstance(inputs, InputProblems) else estimate_inputs(inputs)


def estimate_inputs(inputs: Inputs, *, working: bool = True) -> dict[str, Any]:
    """The answer for well-formed inputs; illegal ones get their violations and no numbers."""
    return answer_of(
        inputs.model, inputs.cluster, inputs.training, inputs.layout, load_constants(), working=working
    )


def is_problem(result: Mapping[str, Any] | InputProblems) -> bool:
    """Whether the inputs could not be used."""
    return isinstance(result, InputProblems)
