"""The decision procedure, step by step, against the engine's own numbers and worked examples."""

from dataclasses import replace
from typing import Any

import pytest

from app.calculator.advisor import advise
from app.calculator.advisor_options import BatchRange, Situation
from app.calculator.answer import answer_of
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.inputs import Inputs, parse_inputs

GIB = 2**30
STEPS = ("sharding_first", "tensor_width", "pipeline_depth", "micro_batches", "global_batch", "balance")


def situation(
    batch: tuple[int, float] | None = None, fixed: tuple[str, ...] = (), **inputs: Any
) -> Situation:
    found = parse_inputs({"gpu": "a100-80gb", **inputs}, load_catalog())
    assert isinstance(found, Inputs), found
    least, most = batch or (1, float("inf"))
    return Situation(
        model=found.model,
        cluster=found.cluster,
        training=found.training,
        base=found.layout,
        batches=BatchRange(least=least, most=most),
        constants=load_constants(),
        fixed=frozenset(fixed),
    )


def steps(advice: Any) -> dict[str, Any]:
    return {step.id: step for step in advice.steps}


def estimate(asked: Situation, option: Any) -> dict[str, Any]:
    training = replace(asked.training, global_batch_size=option.global_batch_size)
    return answer_of(asked.model, asked.cluster, training, option.layout, asked.constants, working=False)


CASES = [
    situation(model="gpt-18.4b", num_nodes=2),
    situation((1536, 1536), model="gpt3-175b", num_nodes=128),
    situation((64, 256), ("zero_stage",), model="gpt-76.1b", num_nodes=8, zero_stage=0),
    situation((512, 512), model="llama3-405b", gpu="h100-80gb", num_nodes=64),
    situation((4096, 4096), model="deepseek-v3", gpu="h100-80gb", num_nodes=64),
    situation((64, 64), model="llama2-7b", num_gpus=6),
    situation((36, 36), model="gpt-76.1b", num_nodes=8),
]


@pytest.mark.parametrize("asked", CASES, ids=lambda asked: asked.model.name)
def test_the_layout_is_legal_fits_and_its_numbers_are_the_engines(asked: Situation) -> None:
    advice = advise(asked)
    assert [step.id for step in advice.steps] == list(STEPS)
    option = advice.option
    assert option is not None
    answer = estimate(asked, option)
    assert answer["legal"], answer["violations"]
    assert answer["memory"]["peak_bytes"] == option.peak_bytes <= option.usable_bytes
    assert answer["time"]["step_s"] == option.step_s
    assert answer["throughput"]["tokens_per_s"] == option.tokens_per_s
    assert answer["time"]["bubble_fraction"] == option.bubble_fraction
    assert asked.batches.least <= option.global_batch_size <= asked.batches.most
    assert option.layout.tensor_parallel <= asked.cluster.gpus_per_node


def test_bookkeeping_is_enough_for_18_billion_on_16_devices() -> None:
    """A14, puzzle `no-surgery`: copies alone do not fit, ZeRO 2 or 3 does; no cut is needed."""
    advice = advise(situation(model="gpt-18.4b", num_nodes=8, recompute="full"))
    first = steps(advice)["sharding_first"]
    assert first.numbers["surgery"] is False
    assert first.changes["zero_stage"] in (2, 3)
    assert first.numbers["zero_0_peak_bytes"] > 80 * GIB > first.numbers["zero_2_peak_bytes"]
    assert advice.option is not None
    assert (advice.option.layout.tensor_parallel, advice.option.layout.pipeline_parallel) == (1, 1)


def test_76_billion_without_sharding_takes_eight_and_four() -> None:
    """A10, the worked example with ZeRO locked to 0: t = 8 is not enough, p = 2 is not, p = 4 is."""
    asked = situation((64, 256), ("zero_stage",), model="gpt-76.1b", num_nodes=8, zero_stage=0)
    found = steps(advise(asked))
    width, depth = found["tensor_width"], found["pipeline_depth"]
    assert width.changes == {"tensor_parallel": 8}
    assert [option["good"] for option in width.options] == [False] * 4
    by_depth = {option["pipeline_parallel"]: option["good"] for option in depth.options}
    assert by_depth[1] is False
    assert by_depth[2] is False
    assert by_depth[4] is True
    assert depth.changes == {"pipeline_parallel": 4}


def test_the_width_is_the_smallest_that_fits_and_stays_in_the_node() -> None:
    asked = situation((1536, 1536), model="gpt3-175b", num_nodes=128)
    width = steps(advise(asked))["tensor_width"]
    good = [option["tensor_parallel"] for option in width.options if option["good"]]
    assert width.changes["tensor_parallel"] == min(good)
    assert max(option["tensor_parallel"] for option in width.options) <= 8


def test_heads_cap_the_width() -> None:
    """32 KV heads on six devices: 3 and 6 divide no heads."""
    width = steps(advise(situation((64, 64), model="llama2-7b", num_gpus=6)))["tensor_width"]
    legal = {option["tensor_parallel"]: option["legal"] for option in width.options}
    assert legal == {1: True, 2: True, 3: False, 6: False}


def test_several_micro_batches_for_each_stage_where_the_batch_allows_them() -> None:
    advice = advise(situation((512, 512), model="llama3-405b", gpu="h100-80gb", num_nodes=64))
    numbers = steps(advice)["micro_batches"].numbers
    assert numbers["per_stage"] >= 4
    assert steps(advice)["global_batch"].numbers["feasible"] is True


def test_a_batch_that_is_too_small_binds_and_says_what_gives() -> None:
    asked = situation((16, 16), model="llama3-405b", gpu="h100-80gb", num_nodes=64)
    advice = advise(asked)
    step = steps(advice)["global_batch"]
    assert step.numbers["feasible"] is False
    assert "binds" in step.because
    says = [way["says"] for way in step.numbers["what_gives"]]
    assert any(said.startswith("Accept a batch of") for said in says)
    assert any(said.startswith("Cut otherwise") for said in says)
    larger = step.numbers["what_gives"][0]
    assert larger["global_batch_size"] == step.numbers["smallest_batch_for_several"]


def test_no_copies_where_a_batch_is_smaller_than_the_cluster() -> None:
    """1,024 whole copies would fit; a batch of 512 makes pairs of devices share one."""
    advice = advise(situation((512, 512), model="llama2-7b", num_nodes=128))
    assert steps(advice)["sharding_first"].numbers["surgery"] is True
    assert "batch" in steps(advice)["sharding_first"].decision
    assert advice.option is not None
    assert advice.option.layout.data_parallel <= 512


def test_a_batch_that_no_width_inside_a_node_takes_is_dealt_out_beyond_it() -> None:
    """Seven sequences on 1,024 devices: at most 7 copies, and with tensor 8 no depth uses the rest."""
    asked = situation((7, 7), model="gpt3-175b", num_nodes=128)
    advice = advise(asked)
    assert advice.option is not None
    assert advice.option.layout.tensor_parallel > 8
    answer = estimate(asked, advice.option)
    assert answer["legal"]
    assert answer["memory"]["fits"] == "yes"
    step = steps(advice)["global_batch"]
    assert "another cut takes it" in step.decision
    assert "No width inside a node" in step.because


def test_the_procedure_does_not_speak_for_layouts_that_it_has_not_tried() -> None:
    """11 devices share 7 heads' worth of work in no way that width and depth could."""
    advice = advise(situation((7, 7), model="gpt3-175b", num_nodes=127))
    assert not advice.feasible
    step = steps(advice)["global_batch"]
    assert "that the procedure tries" in step.because
    assert "No layout of this cluster" not in step.because


def test_what_cannot_fit_is_said() -> None:
    advice = advise(situation(model="gpt3-175b", num_nodes=1))
    assert not advice.feasible
    assert "No depth closes the gap" in steps(advice)["pipeline_depth"].because
    assert steps(advice)["global_batch"].decision == "Infeasible whatever the batch"


def test_a_decision_of_ones_own_stands_and_the_rest_goes_on() -> None:
    asked = situation(
        (64, 128), ("tensor_parallel", "recompute"), model="gpt-76.1b", num_nodes=8,
        tensor_parallel=16, recompute="full",
    )  # fmt: skip
    advice = advise(asked)
    width = steps(advice)["tensor_width"]
    assert width.by_you
    assert "The procedure would take tensor" in width.because
    assert "leaves the node" in width.because
    assert advice.option is not None
    assert advice.option.layout.tensor_parallel == 16
    assert advice.option.layout.recompute.name == "FULL"
    assert not steps(advice)["pipeline_depth"].by_you


def test_uneven_depths_are_allowed_and_balanced() -> None:
    """405B has 126 layers: eight stages of 15 and 16, moved by the engine's seconds only where it pays."""
    advice = advise(situation((512, 512), model="llama3-405b", gpu="h100-80gb", num_nodes=64))
    assert advice.option is not None
    split = advice.option.layout.layers_per_stage
    assert split is not None
    assert sum(split) == 126
    numbers = steps(advice)["balance"].numbers
    assert numbers["best_slowest_s"] <= numbers["slowest_s"]
    assert numbers["loss_per_step_s"] == pytest.approx(
        (advice.option.num_micro_batches - 1) * (numbers["slowest_s"] - numbers["best_slowest_s"])
    )


def test_a_large_vocabulary_moves_layers_off_the_ends() -> None:
    asked = situation(
        (256, 256), ("pipeline_parallel",), model={"id": "gpt-1.7b", "vocab_size": 100_000},
        num_nodes=1, pipeline_parallel=4,
    )  # fmt: skip
    advice = advise(asked)
    balance = steps(advice)["balance"]
    assert advice.option is not None
    assert balance.changes["layers_per_stage"] == list(advice.option.layout.layers_per_stage or ())
    split = balance.changes["layers_per_stage"]
    assert split[-1] < max(split)
    assert advice.option.step_s < balance.numbers["step_s"]


def test_consequences_name_a_source_and_a_condition_and_give_no_advice() -> None:
    advice = advise(situation((256, 256), model="gpt-18.4b", num_nodes=2, total_tokens=3e11))
    numbers = steps(advice)["global_batch"].numbers
    assert numbers["tokens_per_step"] == 256 * 2048
    assert numbers["steps"] == 572205  # 3e11 / 524,288, rounded up
    told = numbers["consequences"]
    assert {one["id"] for one in told} >= {"critical_batch", "learning_rate_adam", "warm_up_of_the_batch"}
    for one in told:
        assert one["source"]
        assert one["condition"]
        assert not any(word in one["says"].lower() for word in ("should", "recommend", "we advise"))


@pytest.mark.parametrize(
    ("batches", "unit", "wanted", "found"),
    [
        (BatchRange(), 6, 20, 24),
        (BatchRange(least=100), 6, 20, 102),
        (BatchRange(least=64, most=64), 6, 6, None),
        (BatchRange(least=64, most=64), 8, 500, 64),
        (BatchRange(least=10, most=50), 8, 500, 48),
        (BatchRange(least=10, most=11), 4, 4, None),
    ],
)
def test_the_batch_of_a_range(batches: BatchRange, unit: int, wanted: int, found: int | None) -> None:
    assert batches.batch(unit, wanted) == found
