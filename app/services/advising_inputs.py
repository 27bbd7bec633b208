"""What somebody wrote for the advisor → a situation, or every problem with it.

Beside model, cluster and training: `batch_range` ([least, most] sequences that the recipe accepts, null for
open) and `fixed` (a layout's fields that are decided already; under `layout` or bare they mean the same).
A global batch in `training` is a range of one number.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.calculator.advisor_options import BatchRange, Situation
from app.calculator.fields import BY_PATH, LAYOUT_FIELDS
from app.catalog import Catalog
from app.catalog.constants import load_constants
from app.services.input_flatten import flatten
from app.services.input_values import InputProblem, did_you_mean, number_of, shown
from app.services.inputs import InputProblems, Inputs, parse_inputs

OWN = ("fixed", "batch_range")
BATCH = "training.global_batch_size"
FOLLOWS = "layout.data_parallel"  # what is left of the cluster: it is never decided
_KEYS = {field.key: field.path for field in LAYOUT_FIELDS}
# Fields of the layout that are settings of the software and no decisions of the procedure.
_SETTINGS = ("rank_order", "overlap_data_parallel", "overlap_tensor_parallel", "zero_group")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceInputs:
    """A well-formed question for the advisor. `ignored`: what was written and plays no part."""

    inputs: Inputs
    situation: Situation
    ignored: tuple[str, ...] = ()


def parse_advice(raw: object, catalog: Catalog) -> AdviceInputs | InputProblems:
    """Read the verb's object; report all problems, never only the first."""
    if not isinstance(raw, Mapping):
        message = "Expected an object with model, cluster, training, and a batch_range where there is one."
        return InputProblems(problems=(InputProblem(field="", message=message),))
    written, problems = flatten({key: value for key, value in raw.items() if key not in OWN})
    decided = _fixed(raw.get("fixed"), problems)
    written |= decided
    ignored = [path for path in (FOLLOWS,) if written.pop(path, None) not in (None, "")]
    batches = _range(raw.get("batch_range"), problems)
    inputs = parse_inputs(written, catalog)
    if isinstance(inputs, InputProblems):
        problems += [_named(problem, decided) for problem in inputs.problems]
    if problems or isinstance(inputs, InputProblems):
        return InputProblems(problems=tuple(dict.fromkeys(problems)))
    said = {path for path, value in written.items() if value not in (None, "")}
    if BATCH in said and batches is not None:
        ignored.append(BATCH)
    elif BATCH in said:
        batches = BatchRange(least=inputs.training.global_batch_size, most=inputs.training.global_batch_size)
    keys = {path.partition(".")[2] for path in said if path.startswith("layout.")}
    base = inputs.layout
    if base.layers_per_stage and "pipeline_parallel" not in keys:
        chunks = base.virtual_pipeline_stages
        base = replace(base, pipeline_parallel=max(1, len(base.layers_per_stage) // chunks))
        keys.add("pipeline_parallel")
    fixed = frozenset(keys - {*_SETTINGS} | ({BATCH} if batches and batches.fixed else set()))
    situation = Situation(
        model=inputs.model,
        cluster=inputs.cluster,
        training=inputs.training,
        base=base,
        batches=batches or BatchRange(),
        constants=load_constants(),
        fixed=fixed,
    )
    return AdviceInputs(inputs=inputs, situation=situation, ignored=tuple(ignored))


def with_layout(asked: AdviceInputs, layout: Any, batch: int) -> Inputs:
    """The question's inputs with a layout and its batch."""
    training = replace(asked.inputs.training, global_batch_size=batch)
    return replace(asked.inputs, layout=layout, training=training)


def _fixed(raw: object, problems: list[InputProblem]) -> dict[str, Any]:
    """Path of a layout's field → its value as written."""
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        problems.append(InputProblem(field="fixed", message=f"{shown(raw)} is not an object of fields."))
        return {}
    found = {}
    for key, value in raw.items():
        path = _KEYS.get(str(key).removeprefix("layout."))
        if path is None:
            hint = did_you_mean(str(key), list(_KEYS))
            message = f"a layout has no field of this name.{hint}"
            problems.append(InputProblem(field=f"fixed.{str(key)[:80]}", message=message))
        elif value is not None:
            found[path] = value
    return found


def _named(problem: InputProblem, decided: Mapping[str, Any]) -> InputProblem:
    """The problem at the place where the value was written."""
    if problem.field not in decided:
        return problem
    return replace(problem, field=f"fixed.{problem.field.partition('.')[2]}")


def _range(raw: object, problems: list[InputProblem]) -> BatchRange | None:
    if raw is None:
        return None
    largest = int(BY_PATH[BATCH].maximum or 0)
    pair = list(raw) if isinstance(raw, list | tuple) else []
    if len(pair) == 2:
        low = 1 if pair[0] in (None, "") else number_of(pair[0])
        high = math.inf if pair[1] in (None, "") else number_of(pair[1])
        whole = low is not None and high is not None and low == int(low)
        if whole and low and high and 1 <= low <= high and low <= largest:
            if math.isinf(high):
                return BatchRange(least=int(low))
            if high <= largest and high == int(high):
                return BatchRange(least=int(low), most=int(high))
    told = " to ".join(shown(value) for value in pair) if len(pair) == 2 else shown(raw)
    message = f"{told} is no range. Write [least, most] in sequences, from 1 to {largest:,}; null is open."
    problems.append(InputProblem(field="batch_range", message=message))
    return None
