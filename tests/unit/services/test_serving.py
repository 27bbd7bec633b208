"""The serve verb: the puzzles of the serving course come out as checked."""

import pytest

from app.services.inputs import InputProblems
from app.services.serving import serve

GIB = 2**30
H70 = {"model": "llama3-70b", "gpu": "h100-80gb", "num_nodes": 1}


def served(**inputs):
    found = serve(inputs)
    assert isinstance(found, dict), found
    return found


@pytest.mark.parametrize(("width", "tokens"), [(2, 22818), (4, 476262), (8, 1383149)])
def test_cache_of_70b(width, tokens):
    found = served(**H70, tensor_parallel=width, max_model_len=4096)
    assert found["kv_capacity_tokens"] == pytest.approx(tokens, rel=3e-3)
    assert (found["max_concurrency"] >= 32) is (width > 2)


@pytest.mark.parametrize(("width", "rate"), [(2, 47.5), (4, 95.0), (8, 189.9)])
def test_decode_bound_of_70b(width, rate):
    assert served(**H70, tensor_parallel=width)["decode_bound"] == pytest.approx(rate, rel=1e-3)


def test_two_nodes_puzzle():
    model = {"model": "llama3-405b", "gpu": "h100-80gb", "num_nodes": 2}
    one_node = served(**model, tensor_parallel=8)
    wide = served(**model, tensor_parallel=16)
    deep = served(**model, tensor_parallel=8, pipeline_parallel=2)
    assert one_node["memory"]["fits"] == "no"
    assert one_node["memory"]["stages"][0]["weights_bytes"] / GIB == pytest.approx(94.5, rel=1e-3)
    assert one_node["kv_capacity_tokens"] == 0
    assert deep["memory"]["fits"] == wide["memory"]["fits"] == "yes"
    assert deep["kv_capacity_tokens"] >= 500_000 > wide["kv_capacity_tokens"]
    assert deep["kv_capacity_tokens"] == pytest.approx(2 * wide["kv_capacity_tokens"], rel=0.03)


def test_two_cards_puzzle():
    model = {"model": "qwen2.5-72b", "gpu": "h100-80gb", "num_gpus": 2}
    plain = served(**model, tensor_parallel=2)
    eight_bit = served(**model, tensor_parallel=2, weight_format="fp8")
    four_bit = served(**model, tensor_parallel=1, weight_format="int4", quant_group_size=128)
    cut_groups = served(**model, tensor_parallel=2, weight_format="int4", quant_group_size=128)
    assert plain["kv_capacity_tokens"] < 12_000
    assert eight_bit["kv_capacity_tokens"] >= 200_000
    assert four_bit["kv_capacity_tokens"] < 150_000
    assert [v["code"] for v in cut_groups["violations"]] == ["quant_groups_not_divisible"]


def test_six_cards_puzzle():
    model = {"model": "qwen2.5-32b", "gpu": "a6000", "num_gpus": 6}
    assert served(**model, tensor_parallel=6)["violations"][0]["code"] == "heads_not_divisible"
    for width, depth in ((2, 3), (1, 6)):
        found = served(**model, tensor_parallel=width, pipeline_parallel=depth)
        assert found["legal"]
        assert found["devices_used"] == 6
        assert found["kv_capacity_tokens"] >= 150_000


def test_both_targets_puzzle():
    model = {**H70, "weight_format": "fp8", "max_model_len": 8192}
    passes = served(**model, tensor_parallel=4, data_parallel=2)
    narrow = served(**model, tensor_parallel=2, data_parallel=4)
    assert passes["decode_bound"] >= 120 > narrow["decode_bound"]
    assert passes["max_concurrency"] >= 130
    assert passes["replicas"] == 2


def test_replicas_beyond_the_cluster_are_refused():
    found = served(**H70, tensor_parallel=8, data_parallel=2)
    (broken,) = found["violations"]
    assert (broken["code"], broken["dividend"], broken["divisor"]) == ("too_many_devices", 16, 8)
    assert broken["nearest_legal"] == [1]
    assert found["memory"] is None


def test_latent_cache_is_not_divided():
    one, eight = (served(model="deepseek-v3", gpu="h200", num_nodes=1, tensor_parallel=t) for t in (1, 8))
    assert one["kv_bytes_per_token"] == 61 * (512 + 64) * 2
    assert (
        eight["memory"]["stages"][0]["kv_bytes_per_token"] == one["memory"]["stages"][0]["kv_bytes_per_token"]
    )


def test_uneven_stages_and_the_weakest_decides():
    found = served(**H70, tensor_parallel=2, pipeline_parallel=2, layers_per_stage=[30, 50])
    first, last = found["memory"]["stages"]
    assert first["kv_capacity_tokens"] > last["kv_capacity_tokens"] == found["kv_capacity_tokens"]


def test_what_needs_and_what_reserves():
    found = served(
        **H70, tensor_parallel=4, prompt_len=1000, output_len=24, concurrency=10, max_model_len=4096
    )
    assert found["needed_tokens"] == 10240
    assert found["reserved_tokens"] == 40960
    assert found["max_concurrency_of_these_requests"] > found["max_concurrency"]


def test_bad_inputs_are_told():
    found = serve({"model": "llama3-70b", "memory_utilization": 1.5, "weight_format": "fp4"})
    assert isinstance(found, InputProblems)
    assert {problem.field for problem in found.problems} == {
        "serving.memory_utilization",
        "serving.weight_format",
    }


def test_one_request_reads_only_the_experts_it_visits():
    """Mixtral: 2 of 8 experts. Many requests visit them all: more tokens, but not as many times more."""
    found = served(model="mixtral-8x7b", gpu="a100-80gb", num_gpus=4, tensor_parallel=4)
    all_weights = 2.039e12 / found["memory"]["stages"][0]["weights_bytes"]
    active = 2.039e12 / (2 * found["parameters"]["active"] / 4)
    assert all_weights < found["decode_bound_tokens_per_s"] == pytest.approx(active, rel=0.01)
    few = served(model="mixtral-8x7b", gpu="a100-80gb", num_gpus=4, tensor_parallel=4, concurrency=8)
    assert (
        found["decode_bound_tokens_per_s"]
        < few["throughput_at_concurrency_tokens_per_s"]
        < 4 * found["decode_bound_tokens_per_s"]
    )


def test_latency_of_one_and_throughput_of_many_are_two_numbers():
    found = served(**H70, tensor_parallel=8, concurrency=64)
    assert (
        found["decode_bound_tokens_per_s"]
        < found["throughput_at_concurrency_tokens_per_s"]
        < 64 * found["decode_bound_tokens_per_s"]
    )
    assert found["throughput_at_concurrency_tokens_per_s"] < found["throughput_bound_tokens_per_s"]


def test_throughput_never_beats_the_arithmetic():
    """2 FLOP a weight and token at the peak of all devices."""
    found = served(
        model="llama2-7b", gpu="h100-80gb", num_gpus=8, data_parallel=8, prompt_len=1, output_len=1
    )
    most = 8 * 989.4e12 / (2 * found["parameters"]["active"])
    assert found["throughput_bound_tokens_per_s"] <= most * 1.001


def test_replicas_against_a_wider_server():
    found = served(**H70, tensor_parallel=8)
    by_width = {one["tensor_parallel"]: one for one in found["alternatives"]}
    assert {width: one["replicas"] for width, one in by_width.items()} == {1: 8, 2: 4, 4: 2, 8: 1}
    assert by_width[1]["fits"] == "no"
    assert by_width[1]["throughput_bound_tokens_per_s"] == 0
    assert by_width[8]["max_concurrency"] == found["max_concurrency"]
    for name in ("decode_bound_tokens_per_s", "throughput_bound_tokens_per_s"):
        assert by_width[8][name] == found[name]
    other = served(**H70, tensor_parallel=4, data_parallel=2)
    assert by_width[4]["decode_bound_tokens_per_s"] == other["decode_bound_tokens_per_s"]
    assert by_width[4]["throughput_bound_tokens_per_s"] == other["throughput_bound_tokens_per_s"]


def test_widths_that_break_a_rule_are_no_alternative():
    found = served(model="qwen2.5-7b", gpu="a100-80gb", num_gpus=8, data_parallel=8)
    assert [one["tensor_parallel"] for one in found["alternatives"]] == [1, 2, 4]


def test_an_illegal_layout_has_every_number_and_none_of_them():
    legal, illegal = served(**H70, tensor_parallel=8), served(**H70, tensor_parallel=3)
    assert set(legal) == set(illegal)
    assert illegal["violations"]
    assert all(illegal[name] is None for name in set(legal) - LEGALITY)


LEGALITY = {"legal", "violations", "parameters", "devices_used"}


def test_an_encoder_is_held_but_not_read_by_every_token():
    found = served(model="t5-11b", gpu="a100-80gb", num_gpus=1)
    held = found["memory"]["stages"][0]["weights_bytes"]
    assert held == pytest.approx(2 * found["parameters"]["total"], rel=0.01)
    assert 2.039e12 / found["decode_bound_tokens_per_s"] < 0.7 * held
