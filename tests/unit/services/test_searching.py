"""The search verb, the smallest cluster, and how far a puzzle's answer is from the best."""

from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.catalog import load_catalog
from app.curriculum.blocks import Item, ItemKind
from app.services import best_step as puzzle
from app.services import search_nearest
from app.services.engine import CalculatorEngine
from app.services.estimation import estimate
from app.services.feedback import feedback_on
from app.services.inputs import InputProblems, Inputs, parse_inputs
from app.services.search_inputs import parse_search, round_batches
from app.services.searching import MOST_LAYOUTS, search
from app.services.smallest_cluster import smallest_cluster

AXES = ["tensor", "context", "data", "pipeline"]
ASKED = {"model": "gpt-18.4b", "gpu": "a100-80gb", "num_nodes": 4, "global_batch_size": 128}


def found(verb=search, **more):
    answer = verb({**ASKED, **more})
    assert isinstance(answer, dict), answer
    return answer


def problems(**more):
    answer = parse_search({**ASKED, **more}, load_catalog())
    assert isinstance(answer, InputProblems), answer
    return {problem.field: problem.message for problem in answer.problems}


def test_nested_flat_and_fixed_say_the_same():
    nested = {
        "model": "gpt-18.4b",
        "cluster": {"gpu": "a100-80gb", "num_nodes": 4},
        "training": {"global_batch_size": 128, "micro_batch_size": 2},
        "layout": {"tensor_parallel": [2, 4]},
        "fixed": {"zero_stage": "1", "layout.recompute": "full"},
    }
    flat = {**ASKED, "tensor_parallel": "2,4", "micro_batch_size": 2, "zero_stage": 1, "recompute": "full"}
    one, other = search(nested), search(flat)
    assert one | {"elapsed_s": 0} == other | {"elapsed_s": 0}
    layouts = [row["layout"] for row in one["best"]]
    assert layouts
    assert all(
        layout["tensor_parallel"] in (2, 4)
        and layout["micro_batch_size"] == 2
        and layout["zero_stage"] == 1
        and layout["recompute"] == "full"
        for layout in layouts
    )


def test_every_problem_is_told_at_once():
    told = problems(
        model="gpt4",
        fixed={"tensor": 1, "zero_stage": [0, 9], "recompute": "some", "pipeline_parallel": []},
        limits={"speed": [0, 1], "mfu": [1, 0], "step_s": "fast"},
        objective="fastest",
        top=0,
        batch_range=[8, 4],
        num_nodes=0,
    )
    assert set(told) >= {
        "fixed.tensor", "fixed.zero_stage", "fixed.recompute", "fixed.pipeline_parallel", "limits.speed",
        "limits.mfu", "limits.step_s", "objective", "top", "batch_range", "cluster.num_nodes",
    }  # fmt: skip
    assert "Did you mean" in problems(fixed={"tensor_paralel": 1})["fixed.tensor_paralel"]


@pytest.mark.parametrize("raw", [None, [], "x", 7])
def test_no_object_is_a_problem(raw):
    assert isinstance(search(raw), InputProblems)


def test_too_many_combinations_are_refused():
    many = list(range(1, 257))
    told = problems(fixed={"tensor_parallel": many, "pipeline_parallel": many, "micro_batch_size": many})
    assert "combinations" in told["fixed"]
    assert MOST_LAYOUTS >= 10**7


def test_addresses_lead_to_the_same_inputs():
    for row in found(batch_range=[64, 256], memory_bytes=64e9, kernels="compiled", top=5)["best"]:
        query = dict(parse_qsl(urlsplit(row["url"]).query))
        inputs = parse_inputs(query, load_catalog())
        assert isinstance(inputs, Inputs), inputs
        told = estimate(query)
        assert told["time"]["step_s"] == row["summary"]["step_s"]
        assert told["memory"]["peak_bytes"] == row["summary"]["peak_bytes"]
        assert inputs.training.global_batch_size == row["training"]["global_batch_size"]


def test_rows_are_ranked_and_each_says_why():
    rows = found(top=30)["best"]
    steps = [row["summary"]["step_s"] for row in rows]
    assert steps == sorted(steps)
    assert all(row["why"].endswith(".") for row in rows)
    assert "layers' own work" in rows[0]["why"]
    for before, row in pairwise(rows):
        changed = {
            key for key in row["layout"] if row["layout"][key] != before["layout"][key]
        }  # what differs is named first
        assert changed
        assert "→" in row["why"]


def test_the_objective_changes_the_order():
    rows = found(objective="headroom_bytes", top=10)["best"]
    spare = [row["summary"]["headroom_bytes"] for row in rows]
    assert spare == sorted(spare, reverse=True)
    assert spare[0] > found(top=1)["best"][0]["summary"]["headroom_bytes"]


def test_cost_needs_a_price_to_be_told_and_none_to_be_ranked():
    row = found(objective="cost", price_per_gpu_hour=2.0, total_tokens=1e9, top=1)["best"][0]["summary"]
    assert row["cost_per_billion_tokens"] == pytest.approx(2.0 * row["gpu_hours_per_billion_tokens"])
    assert row["days"] == pytest.approx(1e9 / row["tokens_per_s"] / 86_400)
    assert found(objective="cost", top=1)["best"][0]["summary"]["cost_per_billion_tokens"] is None


def test_limits_take_short_and_long_names_and_open_ends():
    for name in ("bubble_fraction", "time.bubble_fraction"):
        rows = found(limits={name: [None, 0.05]}, top=100)["best"]
        assert rows
        assert all(row["summary"]["bubble_fraction"] <= 0.05 for row in rows)
    only = found(limits={"data_parallel": 8}, top=100)["best"]
    assert {row["layout"]["data_parallel"] for row in only} == {8}


def test_a_range_of_batches_ranks_by_tokens():
    answer = found(batch_range=[64, 512])
    assert answer["objective"] == "tokens_per_s"
    batches = [row["training"]["global_batch_size"] for row in answer["pareto"] if row["front"] == "batch"]
    assert batches == sorted(batches)
    assert set(batches) <= set(round_batches(64, 512)) == {64, 96, 128, 192, 256, 384, 512}


def test_several_splits_and_orders_are_tried():
    answer = found(
        fixed={
            "pipeline_parallel": 4,
            "layers_per_stage": [[9, 10, 11, 10], None],
            "rank_order": [AXES, ["data", "tensor", "context", "pipeline"]],
        },
        top=1000,
    )  # fmt: skip
    splits = {str(row["layout"]["layers_per_stage"]) for row in answer["best"]}
    assert splits == {"[9, 10, 11, 10]", "None"}
    assert len({tuple(row["layout"]["rank_order"]) for row in answer["best"]}) == 2


# ---------------------------------------------------------------- the smallest cluster


@pytest.mark.parametrize(
    ("model", "gpu", "batch"),
    [("llama2-7b", "a100-80gb", 64), ("llama3-70b", "h100-80gb", 256), ("gpt-18.4b", "v100-32gb", 64)],
)
def test_nothing_smaller_would_do(model, gpu, batch):
    answer = smallest_cluster({"model": model, "gpu": gpu, "training": {"global_batch_size": batch}})
    assert isinstance(answer, dict), answer
    gpus, per_node = answer["num_gpus"], answer["gpus_per_node"]
    assert answer["summary"]["headroom_bytes"] >= 0
    told = estimate(
        {
            "model": model,
            "cluster": {"gpu": gpu, "num_nodes": answer["num_nodes"], "num_gpus": gpus},
            "layout": answer["layout"],
            "training": answer["training"],
        }
    )
    assert told["time"]["step_s"] == answer["summary"]["step_s"]
    smaller = range(1, gpus) if gpus <= per_node else [*range(1, per_node), *range(per_node, gpus, per_node)]
    for fewer in smaller:
        assert not search({"model": model, "gpu": gpu, "num_gpus": fewer, "global_batch_size": batch})["best"]


def test_the_smallest_cluster_keeps_limits():
    free = smallest_cluster({"model": "gpt3-175b", "gpu": "a100-80gb", "global_batch_size": 1536})
    bound = smallest_cluster(
        {"model": "gpt3-175b", "gpu": "a100-80gb", "global_batch_size": 1536, "limits": {"step_s": [0, 100]}}
    )
    assert bound["num_gpus"] > free["num_gpus"]
    assert bound["summary"]["step_s"] <= 100


def test_the_smallest_cluster_may_not_exist():
    answer = smallest_cluster(
        {"model": "gpt3-175b", "gpu": "a100-80gb", "global_batch_size": 1, "fixed": {"zero_stage": 0}}
    )
    assert isinstance(answer, dict)
    assert answer["num_nodes"] or answer["because"]


@pytest.mark.parametrize(("gpus", "batch"), [(7, 256), (11, 256), (20, 64), (13, 1), (5, 3)])
def test_the_nearest_batch_and_devices_are_legal_and_nothing_nearer_is(gpus, batch):
    asked = {"model": "gpt-1.7b", "global_batch_size": batch}
    near = search({**asked, "num_gpus": gpus})["nearest"]
    assert near is not None

    def legal(**more):
        return search({**asked, "num_gpus": gpus, "top": 1, **more})["legal"] > 0

    for value in near["global_batch_size"]:
        between = range(min(value, batch) + 1, max(value, batch))
        assert legal(global_batch_size=value)
        assert not any(legal(global_batch_size=other) for other in between)
    for value in near["num_gpus"]:
        assert legal(num_gpus=value)
        assert not any(legal(num_gpus=other) for other in range(min(value, gpus) + 1, max(value, gpus)))


def test_what_is_found_needs_nothing_near():
    assert found()["nearest"] is None
    assert found(limits={"step_s": [0, 1e-9]})["nearest"] is None


# ---------------------------------------------------------------- after the guess

PUZZLE = {
    "model": "gpt-18.4b", "gpu": "a100-80gb", "num_nodes": 4, "tensor_parallel": 8, "pipeline_parallel": 1,
    "data_parallel": 4, "micro_batch_size": 1, "global_batch_size": 128, "recompute": "full",
    "sequence_parallel": True, "zero_stage": 1,
}  # fmt: skip
LOCKED = ["model", "cluster", "recompute", "sequence_parallel", "zero_stage", "global_batch_size"]
WANTED = ["fits == yes", "layout.tensor_parallel <= 8", "time.bubble_fraction <= 0.2"]


def test_the_best_of_a_puzzle_keeps_its_locks_and_meets_its_words():
    engine = CalculatorEngine()
    best = puzzle.best_step(PUZZLE, LOCKED, WANTED, engine)
    assert best is not None
    kept = {key: value for key, value in PUZZLE.items() if f"layout.{key}" not in best.layout}
    told = engine.answer("estimate", {**kept, **best.layout})
    assert told["legal"]
    assert told["memory"]["fits"] == "yes"
    assert told["time"]["bubble_fraction"] <= 0.2
    assert told["time"]["step_s"] == best.step_s
    assert best.step_s <= engine.answer("estimate", PUZZLE)["time"]["step_s"]


def test_the_standing_of_the_best_is_that_none_is_faster():
    engine = CalculatorEngine()
    best = puzzle.best_step(PUZZLE, LOCKED, WANTED, engine)
    solved = {key: value for key, value in PUZZLE.items() if f"layout.{key}" not in best.layout} | best.layout
    locked = [*LOCKED, "schedule"]
    assert "none" in puzzle.standing(solved, locked, WANTED, engine)
    slow = {**PUZZLE, "tensor_parallel": 1, "data_parallel": 32}
    assert "faster" in puzzle.standing(slow, LOCKED, WANTED, engine)


def test_a_puzzle_that_nothing_solves_has_no_best():
    assert puzzle.best_step(PUZZLE, LOCKED, [*WANTED, "step_s <= 1e-6"], CalculatorEngine()) is None


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"tensor_parallel": 8, "data_parallel": 4}, True),
        ({"tensor_parallel": 16, "data_parallel": 2}, False),  # breaks a requirement: no word of the best
    ],
)
def test_a_solved_puzzle_is_told_how_far_it_is_from_the_best(answer, told):
    item = Item(
        id="p",
        section="Practice",
        number=1,
        kind=ItemKind.CALCULATOR,
        prompt_html="",
        prompt_text="",
        line=1,
        preset=PUZZLE,
        locked=tuple(LOCKED),
        require=tuple(WANTED),
    )
    said = feedback_on(item, {"layout": answer}, 0, CalculatorEngine())
    assert (said.verdict == "right") is told
    assert ("by search" in said.html or "the search finds none" in said.html) is told


def test_the_smallest_cluster_gives_up_in_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search_nearest, "PATIENCE_S", 0.0)
    answer = smallest_cluster(
        {"model": "llama2-7b", "gpu": "h100-80gb", "limits": {"mfu": [2, 3]}, "global_batch_size": 64}
    )
    assert not isinstance(answer, InputProblems)
    assert answer["num_nodes"] is None
    assert "larger ones were not tried" in answer["because"]


def test_the_next_power_of_two_is_named_where_nothing_close_by_is_legal():
    asked = {"num_gpus": 100, "num_nodes": 13, "global_batch_size": 64}
    answer = search({"model": "llama2-7b", "gpu": "a100-80gb", **asked})
    assert not isinstance(answer, InputProblems)
    assert answer["legal"] == 0
    assert answer["nearest"]["num_gpus"] == [64, 128]


@pytest.mark.parametrize(
    ("field", "asked"),
    [
        ("limits.bubble_fraction", {"limits": {"bubble_fraction": [0.1, 0.05]}}),
        ("batch_range", {"batch_range": [64, 32]}),
    ],
)
def test_ends_in_the_wrong_order_are_shown_and_said(field: str, asked: dict[str, Any]):
    answer = search({"model": "llama2-7b", "gpu": "a100-80gb", "num_nodes": 1, **asked})
    assert isinstance(answer, InputProblems)
    (problem,) = answer.problems
    assert problem.field == field
    assert "the least first" in problem.message
    assert "[64, 32]" in problem.message or "[0.1, 0.05]" in problem.message
