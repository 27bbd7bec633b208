"""The `advise` verb: the decision procedure walked, its result beside the best of the search."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.calculator.advisor import Advice, advise
from app.calculator.break_even import Asked
from app.calculator.break_even_tensor import unaffordable
from app.calculator.fields import LAYOUT_FIELDS, TRAINING_FIELDS
from app.calculator.layout import Recompute, Schedule
from app.calculator.sensitivity import LABELS, sensitivity
from app.catalog import Catalog, load_catalog
from app.services.advising_inputs import AdviceInputs, parse_advice, with_layout
from app.services.advising_search import compared, smallest_for
from app.services.estimation import estimate_inputs
from app.services.input_write import input_value, to_query
from app.services.inputs import InputProblems, Inputs

# Parts of the answer that there are only with a layout.
OF_A_LAYOUT = (
    "layout", "training", "summary", "url", "layout_binding", "compared", "unaffordable", "sensitivity",
)  # fmt: skip


def advise_on(raw: object, catalog: Catalog | None = None) -> dict[str, Any] | InputProblems:
    """The answer of `POST /api/v1/advise`, or everything that is wrong with the question."""
    catalog = catalog or load_catalog()
    asked = parse_advice(raw, catalog)
    return asked if isinstance(asked, InputProblems) else answer(asked, advise(asked.situation), catalog)


def answer(asked: AdviceInputs, advice: Advice, catalog: Catalog) -> dict[str, Any]:
    """The whole answer, in the words of the API."""
    told = steps_of(asked, advice)
    option = advice.option
    if option is None:
        return told | dict.fromkeys(OF_A_LAYOUT) | {"smallest_cluster": smallest_for(asked)}
    inputs = with_layout(asked, option.layout, option.global_batch_size)
    full = estimate_of(inputs)
    in_detail = Asked(
        model=inputs.model,
        cluster=inputs.cluster,
        training=inputs.training,
        layout=inputs.layout,
        constants=asked.situation.constants,
    )
    return told | {
        "layout": written(inputs, LAYOUT_FIELDS),
        "training": written(inputs, TRAINING_FIELDS),
        "summary": option.to_json(),
        "url": f"/calculator?{to_query(inputs, catalog)}",
        "layout_binding": full["binding"],
        "compared": compared(asked, inputs, catalog),
        "unaffordable": {name: found.to_json() for name, found in unaffordable(in_detail).items()},
        "sensitivity": [gain.to_json() | {"label": LABELS[gain.resource]} for gain in sensitivity(in_detail)],
        "smallest_cluster": None,
    }


def steps_of(asked: AdviceInputs, advice: Advice) -> dict[str, Any]:
    """The steps alone, with what binds before any of them: what a page needs that asks one question."""
    batches = asked.situation.batches
    return {
        "feasible": advice.feasible,
        "binding": binding_at_start(asked) or _binding_of_end(asked, advice),
        "batch_range": [batches.least, None if batches.free else int(batches.most)],
        "ignored": list(asked.ignored),
        "steps": [step.to_json() for step in advice.steps],
    }


def binding_at_start(asked: AdviceInputs) -> Mapping[str, Any] | None:
    """The resource that binds plain copies of the model: what makes decisions necessary."""
    situation = asked.situation
    copies = situation.copies(1, 1)
    if not copies:
        return None
    layout = replace(
        situation.base,
        tensor_parallel=1,
        pipeline_parallel=1,
        data_parallel=copies,
        expert_parallel=1,
        virtual_pipeline_stages=1,
        schedule=Schedule.ONE_F_ONE_B,
        micro_batch_size=1,
        sequence_parallel=False,
        zero_stage=0,
        recompute=Recompute.NONE,
        layers_per_stage=None,
    )
    batch = situation.batches.batch(copies, copies) or copies
    binding: Mapping[str, Any] | None = estimate_of(with_layout(asked, layout, batch))["binding"]
    return binding


def _binding_of_end(asked: AdviceInputs, advice: Advice) -> Mapping[str, Any] | None:
    if advice.option is None:
        return None
    inputs = with_layout(asked, advice.option.layout, advice.option.global_batch_size)
    binding: Mapping[str, Any] | None = estimate_of(inputs)["binding"]
    return binding


def estimate_of(inputs: Inputs) -> dict[str, Any]:
    """The estimate of these inputs, without its working."""
    return estimate_inputs(inputs, working=False)


def written(inputs: Inputs, fields: Any) -> dict[str, Any]:
    """These fields of the inputs as somebody would write them."""
    values = {field.key: input_value(inputs, field.path) for field in fields}
    silent = ("encoder_seq_length", "total_tokens")  # 0: not stated
    return {
        key: (None if key in silent and not value else list(value) if isinstance(value, tuple) else value)
        for key, value in values.items()
    }
