"""Orders of ranks: which groups cross nodes, what that costs, and that the page's order is the engine's."""

from dataclasses import replace
from typing import Any

from app.catalog import load_catalog
from app.services.estimation import estimate_inputs
from app.services.inputs import Inputs, parse_inputs
from app.services.placing import orders, placements


def asked(**fields: Any) -> Inputs:
    found = parse_inputs(
        {"model": "gpt3-175b", "gpu": "a100-80gb", "num_nodes": 32, "tensor_parallel": 8,
         "pipeline_parallel": 4, "recompute": "full", **fields},
        load_catalog(),
    )  # fmt: skip
    assert isinstance(found, Inputs), found
    return found


def test_every_order_gives_what_estimate_gives() -> None:
    inputs = asked()
    found = placements(inputs)
    assert len(found) == 6
    for one in found:
        answer = estimate_inputs(replace(inputs, layout=replace(inputs.layout, rank_order=one.rank_order)))
        assert answer["time"]["step_s"] == one.step_s
        crossing = {axis for axis, told in answer["communication"].items() if told["link"] == "inter_node"}
        assert crossing == set(one.crossing)


def test_tensor_innermost_is_fastest_and_stays_in_the_node() -> None:
    found = placements(asked())
    assert found[0].rank_order[0] == "tensor"
    assert "tensor_parallel" not in found[0].crossing
    assert found[0].step_s < found[-1].step_s
    assert "tensor_parallel" in found[-1].crossing


def test_axes_of_one_rank_are_not_permuted() -> None:
    assert len(orders(asked(pipeline_parallel=1))) == 2
    assert orders(asked(num_nodes=1, pipeline_parallel=1)) == [("tensor", "context", "data", "pipeline")]


def test_no_order_of_an_illegal_layout() -> None:
    assert placements(asked(tensor_parallel=7)) == []
