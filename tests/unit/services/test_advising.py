"""The advise verb: what it takes, what it says, and that its layout is what the other verbs say it is."""

import json
from typing import Any

import pytest

from app.services.advising import OF_A_LAYOUT, advise_on
from app.services.estimation import estimate
from app.services.inputs import InputProblems
from app.services.searching import search

ASKED: dict[str, Any] = {
    "model": "gpt-76.1b",
    "cluster": {"gpu": "a100-80gb", "num_nodes": 8},
    "batch_range": [64, 256],
    "fixed": {"zero_stage": 0},
}


def advised(**changes: Any) -> dict[str, Any]:
    found = advise_on({**ASKED, **changes})
    assert isinstance(found, dict), found
    json.dumps(found, allow_nan=False)
    return found


def problems(raw: object) -> dict[str, str]:
    found = advise_on(raw)
    assert isinstance(found, InputProblems)
    return {problem.field: problem.message for problem in found.problems}


def test_the_steps_come_in_order_each_with_question_reason_and_numbers() -> None:
    found = advised()
    assert [step["id"] for step in found["steps"]] == [
        "sharding_first", "tensor_width", "pipeline_depth", "micro_batches", "global_batch", "balance",
    ]  # fmt: skip
    for step in found["steps"]:
        assert step["question"].endswith("?")
        assert step["decision"]
        assert step["because"].endswith(".")
        assert isinstance(step["numbers"], dict)
        assert step["decided_by"] in ("you", "procedure")


def test_the_binding_resource_is_named_before_anything_is_decided() -> None:
    found = advised()
    assert found["binding"]["resource"] == "memory"
    assert "TiB" in found["binding"]["because"]
    assert found["layout_binding"]["resource"] != "memory"


def test_its_layout_sent_to_estimate_gives_the_same_numbers() -> None:
    found = advised()
    answer = estimate(
        {key: ASKED[key] for key in ("model", "cluster")}
        | {"layout": found["layout"], "training": found["training"]}
    )
    assert isinstance(answer, dict)
    assert answer["legal"]
    assert answer["time"]["step_s"] == found["summary"]["step_s"]
    assert answer["memory"]["peak_bytes"] == found["summary"]["peak_bytes"]
    assert 64 <= answer["batch"]["global_batch_size"] <= 256


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"fixed": {}},
        {"model": "llama3-405b", "cluster": {"gpu": "h100-80gb", "num_nodes": 64}, "fixed": {}},
        {"model": "llama2-7b", "cluster": {"num_gpus": 6}, "fixed": {}},
        {"fixed": {"tensor_parallel": 2, "recompute": "full"}},
    ],
)
def test_the_best_of_the_search_is_never_worse_and_the_difference_is_told(changes: dict[str, Any]) -> None:
    compared = advised(**changes)["compared"]
    assert compared["searched"]
    assert compared["slower_fraction"] >= 0
    assert compared["why"]
    for departure in compared["departures"]:
        assert departure["ours"] != departure["best"]
        assert departure["because"]


def test_the_best_beside_it_is_the_searches_own() -> None:
    found = advised(batch_range=[128, 128], fixed={})
    own = search(
        {
            "model": "gpt-76.1b",
            "cluster": ASKED["cluster"],
            "training": {"global_batch_size": 128},
            "top": 1,
        }
    )
    assert isinstance(own, dict)
    assert found["compared"]["best"]["summary"]["step_s"] == own["best"][0]["summary"]["step_s"]


def test_a_global_batch_is_a_range_of_one() -> None:
    found = advised(batch_range=None, training={"global_batch_size": 144})
    assert found["batch_range"] == [144, 144]
    assert found["training"]["global_batch_size"] == 144
    assert found["steps"][4]["decided_by"] == "you"


def test_an_open_end_and_what_plays_no_part() -> None:
    found = advised(batch_range=[32, None], training={"global_batch_size": 7}, layout={"data_parallel": 3})
    assert found["batch_range"] == [32, None]
    assert found["ignored"] == ["layout.data_parallel", "training.global_batch_size"]


def test_fixed_fields_may_stand_anywhere() -> None:
    by_fixed = advised()["layout"]
    bare = {key: value for key, value in ASKED.items() if key != "fixed"} | {"zero_stage": 0}
    found = advise_on(bare)
    assert isinstance(found, dict)
    assert found["layout"] == by_fixed
    assert found["steps"][0]["decided_by"] == "you"


def test_without_a_layout_everything_of_it_is_null() -> None:
    found = advised(model="gpt3-175b", cluster={"num_nodes": 1}, fixed={})
    assert found["feasible"] is False
    assert all(found[name] is None for name in OF_A_LAYOUT)


def test_all_problems_at_once() -> None:
    told = problems(
        {
            "model": "nothing",
            "cluster": {"gpu": "h1000"},
            "batch_range": [5, 2],
            "fixed": {"tensor": 3, "zero_stage": 9},
            "budget": 1,
        }
    )
    assert {"model", "cluster.gpu", "batch_range", "fixed.tensor", "fixed.zero_stage", "budget"} == set(told)
    assert "5 to 2" in told["batch_range"]


@pytest.mark.parametrize("raw", [None, 3, "x", [], [{}]])
def test_only_an_object_is_a_question(raw: object) -> None:
    assert "" in problems(raw)


@pytest.mark.parametrize("pair", [[0, 5], [1.5, 2], ["a", 2], [1], [1, 2, 3], {"from": 1}, [1, 10**12], True])
def test_a_range_is_two_whole_numbers(pair: object) -> None:
    assert "batch_range" in problems({**ASKED, "batch_range": pair})


def test_break_even_values_are_in_the_answer() -> None:
    found = advised()
    assert set(found["unaffordable"]) == {
        "tensor_across_nodes", "micro_batches_for_bubble", "batch_that_hides_gradients",
        "memory_for_fewer_stages",
    }  # fmt: skip
    assert found["unaffordable"]["micro_batches_for_bubble"]["value"] == 28  # 9 · 3 + 1
    assert {gain["resource"] for gain in found["sensitivity"]} >= {"peak", "memory", "inter_node_link"}


def test_chunks_need_a_pipeline() -> None:
    found = advised(model="gpt-18.4b", fixed={"virtual_pipeline_stages": 2}, batch_range=[64, 256])
    assert found["steps"][0]["decision"] == "You cut the model"
    assert found["layout"]["virtual_pipeline_stages"] == 2
    assert found["layout"]["pipeline_parallel"] >= 2


def test_a_split_says_how_many_stages_there_are() -> None:
    split = [14, 16, 16, 14]
    found = advised(fixed={"layers_per_stage": split})
    assert found["layout"]["pipeline_parallel"] == 4
    assert found["layout"]["layers_per_stage"] == split
    assert found["steps"][5]["decided_by"] == "you"


def test_decisions_that_cannot_go_together_are_no_layout() -> None:
    found = advised(fixed={"virtual_pipeline_stages": 2, "schedule": "gpipe"})
    assert found["feasible"] is False
    assert "cannot go together" in found["steps"][3]["because"]


def test_where_nothing_fits_the_smallest_cluster_that_would_is_named() -> None:
    asked = {"model": "gpt3-175b", "gpu": "a100-80gb", "num_nodes": 1, "global_batch_size": 64}
    answer = advise_on(asked)
    assert isinstance(answer, dict)
    assert not answer["feasible"]
    found = answer["smallest_cluster"]
    assert found["global_batch_size"] == 64
    for nodes, fits in ((found["num_nodes"], True), (found["num_nodes"] - 1, False)):
        searched = search({**asked, "num_nodes": nodes, "top": 1})
        assert isinstance(searched, dict)
        assert bool(searched["best"]) is fits
