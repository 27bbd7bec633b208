"""What would help, and what is legal nearby: every proposal holds when it is asked about on its own."""

from dataclasses import replace

import pytest

from app.calculator.layout import RECOMPUTE_NAMES
from app.catalog import load_catalog
from app.services.estimation import estimate_inputs
from app.services.inputs import Inputs, parse_inputs
from app.services.neighbours import neighbours
from app.services.remedies import remedies


def asked(**fields: object) -> Inputs:
    inputs = parse_inputs({"model": "gpt3-175b", "gpu": "a100-80gb", **fields}, load_catalog())
    assert isinstance(inputs, Inputs), inputs
    return inputs


OVER = {
    "num_nodes": 32, "tensor_parallel": 8, "pipeline_parallel": 4, "data_parallel": 8, "micro_batch_size": 2,
    "global_batch_size": 128, "zero_stage": 1, "recompute": "selective",
}  # fmt: skip


def applied(inputs: Inputs, changes: dict[str, object]) -> Inputs:
    values = {path.removeprefix("layout."): value for path, value in changes.items()}
    if "recompute" in values:
        values["recompute"] = RECOMPUTE_NAMES[str(values["recompute"])]
    return replace(inputs, layout=replace(inputs.layout, **values))


@pytest.mark.parametrize(
    "fields",
    [OVER, {**OVER, "tensor_parallel": 2, "data_parallel": 32}, {**OVER, "zero_stage": 0}],
)  # fmt: skip
def test_each_remedy_does_what_it_says(fields: dict[str, object]) -> None:
    inputs = asked(**fields)
    assert estimate_inputs(inputs)["memory"]["fits"] != "yes"
    for remedy in remedies(inputs):
        answer = estimate_inputs(applied(inputs, dict(remedy.changes)))
        assert answer["legal"]
        assert answer["memory"]["fits"] == remedy.fits
        assert answer["memory"]["peak_bytes"] == remedy.peak_bytes
        assert answer["time"]["step_s"] == remedy.step_s


def test_remedies_that_surely_fit_come_alone_and_fastest_first() -> None:
    found = remedies(asked(**OVER))
    assert found
    assert {remedy.fits for remedy in found} == {"yes"}
    assert [remedy.step_s for remedy in found] == sorted(remedy.step_s for remedy in found)


def test_no_remedy_is_better_than_a_wrong_one() -> None:
    assert remedies(asked(num_nodes=1, tensor_parallel=1, pipeline_parallel=1, global_batch_size=8)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {**OVER, "tensor_parallel": 7},
        {**OVER, "pipeline_parallel": 5},
        {**OVER, "global_batch_size": 100},
        {**OVER, "layers_per_stage": [10, 20]},
        {**OVER, "num_nodes": 33},
        {**OVER, "virtual_pipeline_stages": 5, "schedule": "interleaved"},
    ],
)
def test_neighbours_are_legal(fields: dict[str, object]) -> None:
    inputs = asked(**fields)
    assert not estimate_inputs(inputs)["legal"]
    for near in neighbours(inputs):
        training = replace(inputs.training, global_batch_size=near.global_batch_size)
        cluster = replace(inputs.cluster, num_gpus=near.num_gpus)
        answer = estimate_inputs(replace(inputs, layout=near.layout, training=training, cluster=cluster))
        assert answer["legal"], answer["violations"]
        assert answer["memory"]["peak_bytes"] == near.peak_bytes
        assert answer["memory"]["fits"] == near.fits


def test_the_nearest_comes_first() -> None:
    near = neighbours(asked(**{**OVER, "tensor_parallel": 7}))
    assert (near[0].layout.tensor_parallel, near[0].layout.pipeline_parallel) == (8, 4)
