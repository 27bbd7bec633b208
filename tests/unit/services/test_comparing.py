"""Side by side: what is held, what is counted anew, and why the layouts differ."""

from typing import Any

import pytest

from app.catalog import load_catalog
from app.services.comparing import counterpart, side_by_side
from app.services.inputs import Inputs, parse_inputs

SHARED: dict[str, Any] = {
    "model.id": "gpt3-175b",
    "cluster.gpu": "a100-80gb",
    "cluster.num_nodes": 32,
    "layout.tensor_parallel": 8,
    "layout.pipeline_parallel": 8,
    "layout.micro_batch_size": 1,
    "layout.zero_stage": 1,
    "layout.recompute": "full",
    "training.global_batch_size": 256,
}


def sides(*own: dict[str, Any], hold: bool = True) -> Any:
    return side_by_side(SHARED, ({}, *own), load_catalog(), hold_batch=hold)


def test_a_larger_micro_batch_at_a_held_batch_raises_bubble_and_efficiency() -> None:
    one, other = sides({"layout.micro_batch_size": 4})
    assert one.answer["batch"]["global_batch_size"] == other.answer["batch"]["global_batch_size"] == 256
    assert (one.answer["batch"]["num_micro_batches"], other.answer["batch"]["num_micro_batches"]) == (64, 16)
    assert other.answer["time"]["bubble_fraction"] > one.answer["time"]["bubble_fraction"]
    assert 0 < one.computing_fraction < other.computing_fraction < 1
    assert other.changed == ("micro-batch 1 → 4",)
    assert " % slower: " in other.cause
    assert "bubble +" in other.cause
    assert "activations +" in other.memory_cause


def test_a_width_changes_and_the_replicas_fill_the_cluster() -> None:
    _, other = sides({"layout.tensor_parallel": 4})
    assert other.inputs.layout.data_parallel == 8
    assert set(other.changed) == {"tensor 8 → 4", "data 4 → 8"}


def test_a_batch_of_ones_own_counts_only_where_it_is_not_held() -> None:
    change = {"training.global_batch_size": 512}
    assert sides(change)[1].answer["batch"]["global_batch_size"] == 256
    free = sides(change, hold=False)[1]
    assert free.answer["batch"]["global_batch_size"] == 512
    assert "faster" in free.cause  # per token: the same layout with a smaller bubble


def test_the_same_layout_ties() -> None:
    assert sides({})[1].cause == "As fast"
    assert sides({})[1].memory_cause == "As much memory"


def test_what_is_illegal_or_unreadable_stands_beside_the_others() -> None:
    _, illegal, unreadable = sides({"layout.tensor_parallel": 7}, {"layout.zero_stage": "many"})
    assert not illegal.answer["legal"]
    assert illegal.computing_fraction is None
    assert unreadable.inputs is None
    assert unreadable.problems[0][0] == "layout.zero_stage"


@pytest.mark.parametrize("model", ["gpt3-175b", "llama2-7b"])
def test_a_counterpart_differs(model: str) -> None:
    inputs = parse_inputs({**SHARED, "model.id": model}, load_catalog())
    assert isinstance(inputs, Inputs)
    changes = counterpart(inputs)
    assert changes
    assert "layout.data_parallel" not in changes
