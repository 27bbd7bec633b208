"""What somebody wrote → model, cluster, training and layout, or every problem with it.

One language for the API's nested objects, lesson presets, forms and query strings: a path
("layout.tensor_parallel") or a bare key ("tensor_parallel") names the same field of `app.calculator.fields`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.calculator.cluster import Cluster
from app.calculator.layout import Layout
from app.calculator.model import Model
from app.calculator.serving import Serving
from app.calculator.training import Training
from app.catalog import Catalog
from app.services.input_build import build
from app.services.input_flatten import flatten
from app.services.input_values import InputProblem, read_values

__all__ = ["InputProblem", "InputProblems", "Inputs", "parse_inputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """A well-formed question: it can still be illegal, or not fit."""

    model: Model
    cluster: Cluster
    training: Training
    layout: Layout
    model_id: str = ""  # the catalog id the model started from, if any
    serving: Serving | None = None  # of the serve verb, whose training says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class InputProblems:
    """Everything that is wrong with what somebody wrote."""

    problems: tuple[InputProblem, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """In the words of the API's 422 answer."""
        return {"problems": [{"field": p.field, "message": p.message} for p in self.problems]}


def parse_inputs(raw: object, catalog: Catalog, verb: str = "estimate") -> Inputs | InputProblems:
    """Read nested objects, flat mappings or query strings; report all problems, never only the first.

    `verb`: "estimate" (model, cluster, layout, training) or "serve" (model, cluster, layout, serving).
    """
    if not isinstance(raw, Mapping):
        return InputProblems(
            problems=(
                InputProblem(
                    field="", message="Expected an object with model, cluster, layout and training."
                ),
            )
        )
    written, problems = flatten(raw, verb)
    values, more = read_values(written)
    problems += more
    parts = build(values, problems, catalog, verb)
    if problems or parts is None:
        return InputProblems(problems=tuple(problems))
    return Inputs(
        model=parts.model,
        cluster=parts.cluster,
        training=parts.training,
        layout=parts.layout,
        model_id=parts.model_id,
        serving=parts.serving,
    )
