"""Values at which something tips: at the value it does, just beside it it does not."""

from dataclasses import replace
from typing import Any

import pytest

from app.calculator.answer import answer_of
from app.calculator.break_even import (
    Asked,
    batch_that_hides_gradients,
    memory_for_fewer_stages,
    micro_batches_for_bubble,
)
from app.calculator.break_even_tensor import tensor_across_nodes, unaffordable
from app.calculator.sensitivity import LABELS, scaled, sensitivity
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.inputs import Inputs, parse_inputs

PIPELINE = {
    "model": "gpt3-175b", "gpu": "a100-80gb", "num_nodes": 32, "tensor_parallel": 8, "pipeline_parallel": 16,
    "micro_batch_size": 1, "recompute": "full", "zero_stage": 1, "global_batch_size": 128,
}  # fmt: skip


def asked(**changes: Any) -> Asked:
    found = parse_inputs({**PIPELINE, **changes}, load_catalog())
    assert isinstance(found, Inputs), found
    return Asked(
        model=found.model,
        cluster=found.cluster,
        training=found.training,
        layout=found.layout,
        constants=load_constants(),
    )


def steps_at(case: Asked, found: Any, bytes_per_s: float) -> tuple[float, float]:
    link = replace(case.cluster.inter_node, bandwidth_bytes_per_s=bytes_per_s)
    cluster = replace(case.cluster, inter_node=link)
    batch = found.numbers["global_batch_size"]
    told = []
    for name in ("narrow", "wide"):
        sizes = {key: value for key, value in found.numbers[name].items() if key != "step_s"}
        layout = replace(case.layout, **sizes)
        told.append(float(case.told(layout, batch=batch, cluster=cluster).time.step_s[0]))
    return told[0], told[1]


def test_the_wide_group_costs_no_more_from_the_break_even_on() -> None:
    """Few micro-batches on many stages: halving the stages pays for the slow link from some bandwidth on."""
    case = asked(global_batch_size=32)
    found = tensor_across_nodes(case)
    assert found.value is not None
    inside, across = steps_at(case, found, found.value * 1.01)
    assert across <= inside
    inside, across = steps_at(case, found, found.value * 0.95)
    assert across > inside


def test_where_no_bandwidth_is_enough_it_says_so() -> None:
    found = tensor_across_nodes(asked(pipeline_parallel=1, num_nodes=2, global_batch_size=64))
    assert found.value is None
    free = found.numbers["free_network"]
    assert free["wide_step_s"] > free["narrow_step_s"]
    assert "No bandwidth closes that" in found.says


def test_one_node_has_no_network() -> None:
    assert "no two whole nodes" in tensor_across_nodes(asked(num_nodes=1, pipeline_parallel=1)).says


@pytest.mark.parametrize(("p", "least"), [(2, 10), (4, 28), (8, 64), (16, 136)])
def test_micro_batches_for_a_bubble_under_a_tenth(p: int, least: int) -> None:
    """(p − 1)/(m + p − 1) < 0.1 exactly from m = 9(p − 1) + 1 on."""
    found = micro_batches_for_bubble(asked(pipeline_parallel=p))
    assert found.value == least
    assert found.numbers["bubble_fraction"] < 0.1


def test_interleaving_needs_fewer_and_whole_rounds() -> None:
    found = micro_batches_for_bubble(
        asked(pipeline_parallel=8, virtual_pipeline_stages=3, schedule="interleaved")
    )
    assert found.value is not None
    assert found.value % 8 == 0
    assert found.value < 64


def test_one_stage_has_no_bubble() -> None:
    assert micro_batches_for_bubble(asked(pipeline_parallel=1)).value == 1


def waiting(case: Asked, batch: int) -> float:
    time = case.told(case.layout, batch=batch).time
    return float(time.data_parallel_s[0] / time.step_s[0])


def test_the_batch_that_hides_gradients_is_the_smallest() -> None:
    case = asked(model="llama2-7b", num_nodes=16, tensor_parallel=1, pipeline_parallel=1, recompute="none")
    found = batch_that_hides_gradients(case)
    assert found.value is not None
    unit = case.layout.micro_batch_size * case.layout.data_parallel
    assert found.value % unit == 0
    assert waiting(case, int(found.value)) <= 0.05 < waiting(case, int(found.value) - unit)


def test_traffic_of_every_micro_batch_is_hidden_by_larger_ones_only() -> None:
    case = asked(model="gpt-18.4b", num_nodes=8, tensor_parallel=1, pipeline_parallel=1, zero_stage=3)
    found = batch_that_hides_gradients(case)
    assert "every micro-batch" in found.says
    assert found.numbers["micro_batch_size"] > 1


def test_one_copy_exchanges_nothing() -> None:
    found = batch_that_hides_gradients(asked(num_nodes=16))
    assert "one copy" in found.says


def test_the_memory_for_fewer_stages_is_what_they_hold() -> None:
    case = asked(pipeline_parallel=4, global_batch_size=256)
    found = memory_for_fewer_stages(case)
    assert found.value is not None
    device = replace(case.cluster.device, memory_bytes=found.value)
    shallower = asked(pipeline_parallel=2, global_batch_size=256)
    cluster = replace(shallower.cluster, device=device)
    answer = answer_of(
        case.model, cluster, shallower.training, shallower.layout, case.constants, working=False
    )
    assert answer["memory"]["headroom_bytes"] == pytest.approx(0, abs=1)
    assert found.numbers["pipeline_parallel"] == 2


def test_every_answer_is_plain_json() -> None:
    for found in unaffordable(asked()).values():
        told = found.to_json()
        assert told["question"].endswith("?")
        assert told["says"]
        assert isinstance(told["value"], float | int | None)


def test_a_resource_is_scaled_alone() -> None:
    cluster = asked().cluster
    for resource in LABELS:
        more = scaled(cluster, resource, 1.1)
        assert more != cluster
        assert scaled(more, resource, 1 / 1.1).device.memory_bytes == pytest.approx(
            cluster.device.memory_bytes
        )


def test_sensitivities_are_the_engines_steps() -> None:
    case = asked()
    gains = {gain.resource: gain for gain in sensitivity(case)}
    assert set(gains) == set(LABELS)
    peak = gains["peak"]
    faster = scaled(case.cluster, "peak", 1.1)
    assert peak.step_s_after == float(case.told(case.layout, cluster=faster).time.step_s[0])
    assert peak.step_s_after < peak.step_s == float(case.told(case.layout).time.step_s[0])
    assert all(0 <= gain.gain_fraction < 0.1 + 1e-9 for name, gain in gains.items() if name != "memory")
    shares = [gain.gain_fraction for gain in sensitivity(case)]
    assert shares == sorted(shares, reverse=True)


def test_more_memory_buys_time_only_by_another_layout() -> None:
    """DeepSeek-V3 with ZeRO 3: a tenth more memory holds micro-batches of four, and gathers half as often."""
    case = asked(
        model="deepseek-v3", gpu="h100-80gb", num_nodes=64, tensor_parallel=1, pipeline_parallel=1,
        expert_parallel=16, zero_stage=3, micro_batch_size=2, global_batch_size=4096,
    )  # fmt: skip
    gain = {one.resource: one for one in sensitivity(case)}["memory"]
    assert gain.gain_fraction > 0.05
    assert "micro-batch 4" in gain.how


def test_a_batch_that_the_shallower_pipeline_cannot_deal_out_is_said() -> None:
    """Four stages leave three copies; 1,538 sequences are two copies' batch only."""
    case = asked(
        model="gpt-neox-20b", gpu="a100-40gb", num_nodes=12, pipeline_parallel=6, recompute="none",
        global_batch_size=1538, layers_per_stage=[7, 7, 7, 8, 8, 7],
    )  # fmt: skip
    found = memory_for_fewer_stages(case)
    assert found.numbers["global_batch_size"] % 3 == 0
    assert f"{found.numbers['global_batch_size']:,}" in found.says
    assert "1,538 does not divide over 3" in found.says
    unchanged = memory_for_fewer_stages(asked())
    assert "does not divide" not in unchanged.says


def test_a_compared_pair_says_its_batch_and_its_layers() -> None:
    """126 layers on 8 stages are uneven; so are they on the 4 of the wide group."""
    case = asked(
        model="llama3-405b", gpu="h100-80gb", num_nodes=24, pipeline_parallel=8, global_batch_size=24,
        layers_per_stage=[16, 16, 16, 16, 16, 16, 15, 15],
    )  # fmt: skip
    found = tensor_across_nodes(case)
    wide = found.numbers["wide"]
    assert sum(wide["layers_per_stage"]) == 126
    assert len(wide["layers_per_stage"]) == wide["pipeline_parallel"]
    assert ("for both" in found.says) == (found.numbers["global_batch_size"] != 24)
