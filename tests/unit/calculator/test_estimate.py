"""The door: the whole answer of one question, in the API's words."""

import json
import math

import pytest

from app.calculator.expressions import evaluate_expression
from app.services.estimation import estimate, is_problem

ISSUE_2 = {
    "model": "gpt3-175b",
    "cluster": {"gpu": "a100-80gb", "num_nodes": 128},
    "layout": {
        "tensor_parallel": 8,
        "pipeline_parallel": 16,
        "data_parallel": 8,
        "micro_batch_size": 1,
        "recompute": "full",
    },
    "training": {"global_batch_size": 1536},
}
PARTS = ("weights", "gradients", "optimizer", "activations", "logits", "buffers", "overhead")
TIME_PARTS = [
    "compute_s",
    "recompute_s",
    "tensor_parallel_s",
    "context_parallel_s",
    "expert_parallel_s",
    "pipeline_p2p_s",
    "bubble_s",
    "data_parallel_s",
    "optimizer_s",
    "other_s",
]
QUESTIONS = {
    "gpt": ISSUE_2,
    "llama, sharded": {
        "model": "llama3-8b",
        "gpu": "h100-80gb",
        "zero_stage": 3,
        "recompute": "selective",
        "kernels": "compiled",
    },
    "experts": {
        "model": "mixtral-8x7b",
        "num_nodes": 8,
        "tensor_parallel": 2,
        "sequence_parallel": True,
        "pipeline_parallel": 4,
        "expert_parallel": 8,
        "virtual_pipeline_stages": 4,
        "zero_stage": 1,
    },
    "latent attention": {
        "model": "deepseek-v3",
        "gpu": "h800-80gb",
        "num_nodes": 61,
        "pipeline_parallel": 61,
        "expert_parallel": 8,
        "grad_bytes": 2,
    },
    "encoder-decoder": {"model": "t5-11b", "tensor_parallel": 4, "pipeline_parallel": 2},
    "gpipe": {"model": "gpt-7.5b", "pipeline_parallel": 4, "schedule": "gpipe"},
    "zero bubble": {"model": "gpt-7.5b", "pipeline_parallel": 4, "schedule": "zb-h1"},
    "context": {
        "model": "llama2-7b",
        "context_parallel": 4,
        "flash_attention": False,
        "recompute": "selective",
    },
    "uneven": {"model": "llama3-8b", "pipeline_parallel": 4, "layers_per_stage": [7, 9, 9, 7]},
}


@pytest.fixture(scope="module", params=QUESTIONS.values(), ids=QUESTIONS.keys())
def answer(request):
    found = estimate(request.param)
    assert not is_problem(found), found
    assert found["legal"], found["violations"]
    return found


def test_parts_of_every_stage_sum_to_its_total(answer):
    for stage in answer["memory"]["stages"]:
        assert sum(stage[f"{part}_bytes"] for part in PARTS) == stage["total_bytes"]


def test_peak_is_the_fullest_stage(answer):
    memory = answer["memory"]
    assert memory["peak_bytes"] == max(stage["total_bytes"] for stage in memory["stages"])
    assert memory["headroom_bytes"] == memory["usable_bytes"] - memory["peak_bytes"]


def test_parts_of_the_step_sum_to_it(answer):
    time = answer["time"]
    assert math.fsum(time[part] for part in TIME_PARTS) == pytest.approx(time["step_s"], rel=1e-12)
    assert all(time[part] >= 0 for part in TIME_PARTS)


def test_everything_is_plain_json(answer):
    def plain(value):
        if isinstance(value, dict):
            return all(type(k) is str and plain(v) for k, v in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (str, bool, int, float)

    assert plain(answer)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_working_adds_up(answer):
    """Every line's numbers give its value, and its value is the one in the answer."""

    def refuse(name):
        raise KeyError(name)

    def follow(path):
        place = answer
        for part in path.split("."):
            place = place[int(part)] if isinstance(place, list) else place.get(part)
            if place is None:
                return None
        return place

    keys = [line["key"] for line in answer["working"]]
    assert len(keys) == len(set(keys))
    for line in answer["working"]:
        assert evaluate_expression(line["substituted"], refuse) == pytest.approx(line["value"], rel=1e-9), (
            line
        )
        stated = follow(line["key"])
        assert stated is None or stated == line["value"]
        assert line["unit"]
        assert line["source"]


def numbers_of(value, path=""):
    """Path of every number of an answer."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_of(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from numbers_of(inner, f"{path}.{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def test_every_number_has_its_working(answer):
    told = {key: value for key, value in answer.items() if key not in {"working", "violations"}}
    keys = {line["key"] for line in answer["working"]}
    numbers = {path for path in numbers_of(told) if not path.endswith(".stage")}  # a name, not a quantity
    assert numbers <= keys, numbers - keys


def test_issue_2_memory_and_bubble():
    answer = estimate(ISSUE_2)
    stages = answer["memory"]["stages"]
    assert [stage["in_flight_micro_batches"] for stage in stages] == list(range(16, 0, -1))
    assert all(stage["num_layers"] == 6 for stage in stages)
    assert answer["batch"]["num_micro_batches"] == 192
    assert answer["time"]["bubble_fraction"] == 15 / 207
    assert answer["memory"]["fits"] == "yes"


def test_issue_2_rate_and_binding():
    answer = estimate(ISSUE_2)
    assert 0.30 < answer["throughput"]["mfu"] < 0.60
    assert answer["binding"]["resource"] in (
        ["memory", "intra_node_link", "inter_node_link", "compute", "bubble", "batch"]
    )
    assert any(character.isdigit() for character in answer["binding"]["because"])


def test_issue_2_seven_ranks_break_every_rule():
    answer = estimate({**ISSUE_2, "layout": {**ISSUE_2["layout"], "tensor_parallel": 7}})
    assert answer["legal"] is False
    assert answer["memory"] is None
    assert answer["time"] is None
    found = {v["code"]: (v["dividend"], v["divisor"], v["remainder"]) for v in answer["violations"]}
    assert found == {
        "world_size_not_divisible": (1024, 112, 16),
        "heads_not_divisible": (96, 7, 5),
        "ffn_not_divisible": (49152, 7, 5),
    }
    assert answer["violations"][1]["nearest_legal"] == [6, 8]


def test_memory_verdict_says_who_put_which_stage_over():
    answer = estimate(
        {
            "model": "gpt-76.1b",
            "num_nodes": 4,
            "tensor_parallel": 8,
            "pipeline_parallel": 4,
            "global_batch_size": 64,
            "sequence_parallel": True,
            "schedule": "gpipe",
        }
    )
    assert answer["binding"]["resource"] == "memory"
    assert "activations" in answer["binding"]["because"]
    assert "over by" in answer["binding"]["because"]


def test_too_few_micro_batches_make_the_batch_binding():
    answer = estimate(
        {
            "model": "gpt-7.5b",
            "num_nodes": 2,
            "tensor_parallel": 2,
            "pipeline_parallel": 4,
            "data_parallel": 2,
            "global_batch_size": 8,
            "recompute": "full",
        }
    )
    assert answer["binding"]["resource"] == "batch"


def test_a_slow_network_binds():
    answer = estimate(
        {
            "model": "gpt-18.4b",
            "num_nodes": 2,
            "tensor_parallel": 16,
            "recompute": "full",
            "global_batch_size": 16,
            "inter_node_bandwidth_bytes_per_s": 1e9,
        }
    )
    assert answer["communication"]["tensor_parallel"]["link"] == "inter_node"
    assert answer["binding"]["resource"] == "inter_node_link"


def test_tensor_parallel_beyond_a_node_is_legal_and_slower():
    inside, across = (
        estimate(
            {
                "model": "gpt-18.4b",
                "num_nodes": 2,
                "tensor_parallel": t,
                "recompute": "full",
                "global_batch_size": 16,
            }
        )
        for t in (8, 16)
    )
    assert across["legal"]
    assert across["time"]["tensor_parallel_s"] > 2 * inside["time"]["tensor_parallel_s"]


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(0.94, "yes"), (0.96, "borderline"), (1.04, "borderline"), (1.06, "no")]
)
def test_borderline_is_five_percent_around_usable(ratio, verdict):
    question = {"model": "gpt-1.7b", "num_gpus": 1, "micro_batch_size": 4}
    peak = estimate(question)["memory"]["peak_bytes"]
    reserved = 85899345920.0 - 79.2 * 2**30
    answer = estimate({**question, "memory_bytes": peak / ratio + reserved})
    assert answer["memory"]["fits"] == verdict
