"""Whatever somebody writes: the same question, or every problem with where it is and what to do."""

import math
from urllib.parse import parse_qsl

import pytest

from app.calculator.fields import BY_PATH, FIELDS
from app.calculator.layout import Recompute, Schedule
from app.catalog import load_catalog
from app.services.input_write import to_json, to_query, values_of
from app.services.inputs import InputProblem, InputProblems, Inputs, parse_inputs
from tests.pace import pace

CATALOG = load_catalog()
NESTED = {
    "model": "gpt3-175b",
    "cluster": {"gpu": "a100-80gb", "num_nodes": 128},
    "layout": {"tensor_parallel": 8, "pipeline_parallel": 16, "recompute": "full"},
    "training": {"global_batch_size": 1536, "micro_batch_size": 2},
}
FLAT = {
    "model": "gpt3-175b",
    "gpu": "a100-80gb",
    "num_nodes": 128,
    "tensor_parallel": 8,
    "pipeline_parallel": 16,
    "recompute": "full",
    "global_batch_size": 1536,
    "micro_batch_size": 2,
}
QUERY = {key: str(value) for key, value in FLAT.items()}


def read(raw, verb="estimate") -> Inputs:
    found = parse_inputs(raw, CATALOG, verb)
    assert isinstance(found, Inputs), found
    return found


def problems(raw) -> tuple[InputProblem, ...]:
    found = parse_inputs(raw, CATALOG)
    assert isinstance(found, InputProblems)
    return found.problems


def refused(raw, verb="estimate") -> dict[str, str]:
    found = parse_inputs(raw, CATALOG, verb)
    assert isinstance(found, InputProblems), found
    return {problem.field: problem.message for problem in found.problems}


def test_nested_flat_and_query_are_the_same_question():
    assert read(NESTED) == read(FLAT) == read(QUERY)


def test_paths_may_be_written_out():
    assert read({**FLAT, "layout.zero_stage": 1}).layout.zero_stage == 1


def test_defaults_follow_from_the_rest():
    found = read({"model": "llama3-8b", "num_nodes": 4, "tensor_parallel": 8, "pipeline_parallel": 2})
    assert found.layout.data_parallel == 2
    assert found.training.seq_length == 8192
    assert found.training.global_batch_size == 4 * 2 * 1 * 2
    assert found.cluster.num_gpus == 32
    assert found.layout.schedule is Schedule.ONE_F_ONE_B
    assert found.layout.recompute is Recompute.NONE


def test_more_chunks_mean_interleaving():
    assert read({**FLAT, "virtual_pipeline_stages": 2}).layout.schedule is Schedule.INTERLEAVED
    assert (
        read({**FLAT, "virtual_pipeline_stages": 2, "schedule": "1f1b"}).layout.schedule
        is Schedule.ONE_F_ONE_B
    )


def test_devices_without_bf16_compute_in_fp16():
    assert read({"model": "gpt-1.7b", "gpu": "v100-32gb"}).training.compute_dtype == "fp16"
    assert read({"model": "gpt-1.7b", "gpu": "a100-80gb"}).training.compute_dtype == "bf16"


def test_overrides_of_a_catalog_model_derive_again():
    found = read(
        {"model": {"id": "gpt3-175b", "num_layers": 48, "hidden_size": 6144, "num_attention_heads": 48}}
    )
    assert (found.model.num_layers, found.model.head_dim, found.model.ffn_hidden_size) == (48, 128, 24576)
    assert found.model_id == "gpt3-175b"
    assert found.model.name == "GPT-3 175B, changed"


def test_flat_overrides_of_a_catalog_model():
    assert read({"model": "gpt3-175b", "num_layers": 48}).model.num_layers == 48


def test_a_whole_model():
    shape = {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}
    found = read(
        {"model": {**shape, "vision": {"num_layers": 1, "hidden_size": 8, "num_attention_heads": 2}}}
    )
    assert found.model.num_kv_heads == 4
    assert found.model.vision is not None
    assert found.model.vision.hidden_size == 8


def test_a_partly_used_node():
    found = read({"model": "gpt-1.7b", "num_gpus": 12})
    assert (found.cluster.num_nodes, found.cluster.num_gpus) == (2, 12)


def test_device_overrides():
    found = read({"model": "gpt-1.7b", "cluster": {"peak_flops": {"bf16": 1e15}, "memory_bytes": 24e9}})
    assert found.cluster.device.peak_flops_bf16 == 1e15
    assert found.cluster.usable_bytes < 24e9


def test_zero_group_and_rank_order():
    found = read({**FLAT, "zero_group": 8, "rank_order": "data,tensor,context,pipeline"})
    assert found.layout.zero_group == 8
    assert found.layout.rank_order == ("data", "tensor", "context", "pipeline")
    assert read({**FLAT, "zero_group": "global"}).layout.zero_group == 0


def test_layers_per_stage_as_list_or_text():
    listed = read({"model": "llama3-8b", "pipeline_parallel": 4, "layers_per_stage": [7, 9, 9, 7]})
    written = read({"model": "llama3-8b", "pipeline_parallel": 4, "layers_per_stage": "7,9,9,7"})
    assert listed == written
    assert listed.layout.layers_per_stage == (7, 9, 9, 7)


def test_null_where_nothing_is_stated():
    found = read({**FLAT, "layers_per_stage": None, "total_tokens": None, "encoder_seq_length": None})
    assert found == read(FLAT)


def test_all_problems_at_once():
    found = refused(
        {
            "model": {"id": "gpt3-17b"},
            "cluster": {"gpus": 8, "num_nodes": True, "gpu": "a100"},
            "layout": {"tensor_paralel": 8, "zero_stage": 7, "recompute": "all"},
            "training": {"seq_length": -1, "grad_bytes": math.nan},
            "trainig": {},
        }
    )
    assert set(found) == {
        "model",
        "cluster.gpus",
        "cluster.num_nodes",
        "cluster.gpu",
        "layout.tensor_paralel",
        "layout.zero_stage",
        "layout.recompute",
        "training.seq_length",
        "training.grad_bytes",
        "trainig",
    }
    assert "Did you mean gpt3-175b?" in found["model"]
    assert "Did you mean layout.tensor_parallel?" in found["layout.tensor_paralel"]
    assert "Did you mean training?" in found["trainig"]
    assert "from 0 to 3" in found["layout.zero_stage"]


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        math.nan,
        math.inf,
        -math.inf,
        -1,
        0,
        1.5,
        "eight",
        "",
        "1e9",
        "٣",
        "0x10",
        [],
        {},
        10**400,
        "9" * 400,
    ],
)
def test_values_that_are_no_group_size(value):
    assert "layout.tensor_parallel" in refused({**FLAT, "tensor_parallel": value})


@pytest.mark.parametrize("value", ["8", 8.0, " 8 ", "8.0", "+8"])
def test_values_that_are(value):
    assert read({**FLAT, "tensor_parallel": value}).layout.tensor_parallel == 8


@pytest.mark.parametrize("raw", [None, 3, "gpt3-175b", [], [FLAT], True])
def test_not_an_object(raw):
    assert refused(raw)


def test_nothing_said():
    assert set(refused({})) == {"model"}


@pytest.mark.parametrize("section", ["cluster", "layout", "training"])
def test_a_section_that_is_no_object(section):
    assert section in refused({"model": "gpt-1.7b", section: 3})


def test_said_twice():
    found = refused({**NESTED, "tensor_parallel": 4})
    assert "twice" in found["layout.tensor_parallel"]
    assert read({**NESTED, "tensor_parallel": 8}) == read(NESTED)


@pytest.mark.parametrize(
    ("shape", "field"),
    [
        ({"hidden_size": 65}, "model.num_attention_heads"),
        ({"num_kv_heads": 3}, "model.num_kv_heads"),
        ({"attention": "mla"}, "model.attention"),
        ({"num_experts": 8}, "model.experts_per_token"),
        ({"num_experts": 4, "experts_per_token": 5}, "model.experts_per_token"),
        ({"experts_per_token": 2}, "model.num_experts"),
        ({"num_dense_layers": 5}, "model.num_dense_layers"),
        ({"vision": {"num_layers": 2}}, "model.vision"),
        ({"vision": 3}, "model.vision"),
    ],
)
def test_shapes_that_contradict_themselves(shape, field):
    whole = {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}
    assert field in refused({"model": {**whole, **shape}})


def test_missing_parts_of_a_shape():
    assert set(refused({"model": {"num_layers": 2, "hidden_size": 64}})) == {
        "model.num_attention_heads",
        "model.vocab_size",
    }


def test_more_devices_than_the_nodes_have():
    assert "cluster.num_gpus" in refused({"model": "gpt-1.7b", "num_nodes": 1, "num_gpus": 9})


@pytest.mark.parametrize(
    "raw",
    [
        {"model": {"num_layers": 10**9, "hidden_size": 1, "num_attention_heads": 1, "vocab_size": 1}},
        {**FLAT, "pipeline_parallel": 10**6},
        {**FLAT, "layers_per_stage": [1] * 200_000},
        {**FLAT, "layers_per_stage": "1," * 200_000},
        {f"name{i}": i for i in range(100_000)},
        {"model": "x" * 10_000_000},
        {"cluster": {"gpu": "x" * 10_000_000}},
        {**FLAT, "num_nodes": 100_000, "gpus_per_node": 1_024},
    ],
    ids=["layers", "stages", "list", "text", "names", "long id", "long gpu", "devices"],
)
def test_hostile_sizes_are_refused_quickly(raw):
    assert pace(lambda: refused(raw)) < 2
    found = refused(raw)
    assert all(len(message) < 400 for message in found.values())


@pytest.mark.parametrize(
    "field", [f for f in FIELDS if f.kind in ("integer", "number")], ids=lambda f: f.path
)
def test_bounds_of_every_field_hold(field):
    base = {
        "model": {
            "id": "deepseek-v3",
            "vision": {"num_layers": 1, "hidden_size": 8, "num_attention_heads": 1},
        }
    }
    for value in (field.minimum - 1, field.maximum * 2 + 1):
        raw = dict(base)
        if field.path.startswith("model."):
            raw = {"model": "deepseek-v3"}
        assert field.path in refused({**raw, field.path: value})


def test_every_field_says_what_it_means():
    for field in BY_PATH.values():
        assert field.help
        assert field.kind != "choice" or field.choices or field.path == "cluster.gpu"


ROUND_TRIPS = [
    FLAT,
    {"model": "llama3-8b"},
    {"model": "gpt-1.7b", "gpu": "v100-32gb", "num_gpus": 3, "compute_dtype": "fp16"},
    {"model": {"id": "gpt3-175b", "num_layers": 48}, "zero_group": 8, "zero_stage": 2},
    {"model": {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}},
    {
        "model": {
            "num_layers": 2,
            "hidden_size": 64,
            "num_attention_heads": 4,
            "vocab_size": 100,
            "vision": {"num_layers": 1, "hidden_size": 8, "num_attention_heads": 2},
        },
        "layers_per_stage": [1, 1],
        "pipeline_parallel": 2,
        "rank_order": ["data", "tensor", "context", "pipeline"],
    },
    {"model": "mixtral-8x7b", "virtual_pipeline_stages": 2, "pipeline_parallel": 2, "schedule": "1f1b"},
    {"model": "t5-11b", "encoder_seq_length": 1024, "total_tokens": 1e12, "sequence_parallel": True},
    {"model": "gpt-1.7b", "cluster": {"peak_flops": {"bf16": 1.5e14}, "inter_node_latency_s": 2.5e-6}},
]


@pytest.mark.parametrize("raw", ROUND_TRIPS)
def test_written_back_and_read_again(raw):
    first = read(raw)
    again = read(dict(parse_qsl(to_query(first, CATALOG))))
    assert values_of(again) == values_of(first)
    assert read(to_json(first, CATALOG)).layout == first.layout
    assert values_of(read(to_json(first, CATALOG))) == values_of(first)


def test_the_query_is_short():
    assert to_query(read(FLAT), CATALOG) == (
        "model=gpt3-175b&gpu=a100-80gb&num_nodes=128&tensor_parallel=8&pipeline_parallel=16&data_parallel=8"
        "&micro_batch_size=2&recompute=full&global_batch_size=1536"
    )


def test_serving_inputs():
    found = read(
        {"model": "llama3-70b", "gpu": "h100-80gb", "weight_format": "fp8", "tensor_parallel": 2}, "serve"
    )
    assert found.serving is not None
    assert (found.serving.weight_format, found.serving.max_model_len) == ("fp8", 8192)
    assert found.layout.data_parallel == 1


def test_each_verb_has_its_own_inputs():
    assert "weight_format" in refused({"model": "gpt-1.7b", "weight_format": "fp8"})
    assert "global_batch_size" in refused({"model": "gpt-1.7b", "global_batch_size": 8}, "serve")


def test_an_empty_field_of_a_form_is_left_out():
    empty = {"layers_per_stage": "", "total_tokens": "", "data_parallel": "", "schedule": ""}
    assert read({**FLAT, **empty}) == read(FLAT)


def test_experts_without_a_width_are_as_wide_as_the_mlp():
    shape = {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}
    experts = {"num_experts": 4, "experts_per_token": 1, "moe_ffn_hidden_size": 0}
    assert read({"model": {**shape, **experts}}).model.moe_ffn_hidden_size == 256


def test_a_name_of_unusual_size():
    assert "model.id" in refused({"model": "x" * 201})


@pytest.mark.parametrize(
    ("raw", "field", "said"),
    [
        ({"model": "gpt3-175b", "gpu": "h100"}, "cluster.gpu", "h100-80gb or h100-96gb?"),
        ({"model": "gpt3-175b", "gpu": "A100"}, "cluster.gpu", "a100-40gb or a100-80gb?"),
        ({"model": "llama3"}, "model", "llama3-8b, llama3-70b or llama3-405b?"),
        ({"model": "GPT3-175B"}, "model", "gpt3-175b?"),
        ({"model": "gpt3-175b", "layout": {"num_nodes": 4}}, "layout.num_nodes", "cluster.num_nodes is one."),
        (
            {"model": "gpt3-175b", "layout": {"tensor": 4}},
            "layout.tensor",
            "Did you mean layout.tensor_parallel?",
        ),
    ],
)
def test_what_was_probably_meant(raw, field, said):
    (problem,) = problems(raw)
    assert problem.field == field
    assert said in problem.message


def test_a_name_like_no_other_gets_no_guess():
    (problem,) = problems({"model": "gpt3-175b", "layout": {"foo": 1}})
    assert "mean" not in problem.message


def test_a_model_that_is_no_name_is_one_problem():
    assert [p.field for p in problems({"model": 7})] == ["model.id"]


def test_a_contradiction_is_told_beside_other_problems():
    shape = {"num_layers": 2, "hidden_size": 7, "num_attention_heads": 3, "vocab_size": 9}
    found = {p.field for p in problems({"model": shape, "zero_stage": 9, "gpu": "h900"})}
    assert found == {"model.num_attention_heads", "layout.zero_stage", "cluster.gpu"}


def test_a_missing_part_that_could_not_be_read_is_told_once():
    shape = {"num_layers": "x", "hidden_size": 8, "num_attention_heads": 2, "vocab_size": 9}
    assert [p.field for p in problems({"model": shape})] == ["model.num_layers"]


@pytest.mark.parametrize(
    ("inputs", "gigabytes_per_s"),
    [
        ({}, 50),
        ({"nics_per_node": 4}, 25),
        ({"nics_per_node": 1}, 6.25),
        ({"gpus_per_node": 4, "nics_per_node": 4}, 50),
        ({"nics_per_node": 4, "inter_node_bandwidth_bytes_per_s": 50e9}, 50),
    ],
)
def test_devices_share_the_adapters_of_their_node(inputs, gigabytes_per_s):
    found = read({"model": "llama3-8b", "gpu": "h100-80gb", "num_nodes": 4, **inputs})
    assert found.cluster.inter_node.bandwidth_bytes_per_s == gigabytes_per_s * 1e9
    query = dict(parse_qsl(to_query(found, CATALOG)))
    assert read(query).cluster == found.cluster
    assert read(to_json(found, CATALOG)).cluster == found.cluster
