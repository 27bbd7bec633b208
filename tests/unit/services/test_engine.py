"""What lessons ask of the engine: verbs, published names, paths, arithmetic; and what it says to mistakes."""

import inspect

import pytest

from app.calculator.names import NAMES
from app.curriculum.engine import Engine, EngineError
from app.services.engine import CalculatorEngine

ENGINE: Engine = CalculatorEngine()
GPT = {"model": "gpt-1.7b", "num_gpus": 1, "micro_batch_size": 4, "global_batch_size": 16}
PUBLISHED = [
    "memory.model_states_bytes",
    "memory.activation_bytes_per_layer",
    "memory.activation_bytes_first_stage",
    "memory.logits_bytes",
    "schedules.bubble_fraction",
    "schedules.bubble_over_ideal",
    "schedules.in_flight_micro_batches",
    "collectives.wire_bytes",
    "collectives.all_reduce_s",
    "communication.tensor_parallel_bytes_per_layer",
    "communication.pipeline_bytes_per_boundary",
    "communication.zero_bytes_per_step",
    "compute.model_flop",
    "compute.hardware_flop",
    "layout.legal_tensor_parallel",
    "balancing.balance",
    "balancing.even_split_slowest_s",
    "serving.kv_bytes_per_token",
    "serving.kv_bytes_per_token_per_device",
    "serving.weights_bytes_per_device",
    "serving.kv_capacity_tokens",
    "serving.max_concurrency",
    "serving.decode_bound_tokens_per_s",
]
VALUES = [  # the courses' own figures
    ("memory.model_states_bytes", {"params": 7e9, "grad_bytes": 2}, 112e9),
    ("memory.model_states_bytes", {"params": 7e9}, 126e9),
    (
        "memory.model_states_bytes",
        {"model": "llama2-7b", "zero_stage": 3, "data_parallel": 4, "grad_bytes": 2},
        16 * 6738415616 / 4,
    ),
    ("memory.logits_bytes", {"seq_length": 1024, "vocab_size": 50304, "micro_batch_size": 4}, 786 * 2**20),
    ("memory.logits_bytes", {"model": "llama3-8b"}, 4 * 8192 * 128256),
    ("schedules.bubble_fraction", {"pipeline_parallel": 64, "num_micro_batches": 512}, 63 / 575),
    (
        "schedules.bubble_fraction",
        {
            "pipeline_parallel": 8,
            "num_micro_batches": 32,
            "virtual_pipeline_stages": 2,
            "schedule": "interleaved",
        },
        7 / 71,
    ),
    (
        "schedules.bubble_fraction",
        {"pipeline_parallel": 8, "num_micro_batches": 32, "schedule": "zb-h1"},
        7 / 103,
    ),
    ("schedules.bubble_over_ideal", {"pipeline_parallel": 4, "num_micro_batches": 8}, 3 / 8),
    ("schedules.in_flight_micro_batches", {"pipeline_parallel": 4, "num_micro_batches": 8}, 4),
    (
        "schedules.in_flight_micro_batches",
        {"pipeline_parallel": 4, "num_micro_batches": 8, "schedule": "gpipe"},
        8,
    ),
    ("schedules.in_flight_micro_batches", {"pipeline_parallel": 4, "num_micro_batches": 8, "stage": 3}, 1),
    ("collectives.wire_bytes", {"op": "all_reduce", "group_size": 8, "bytes": 15e9}, 26.25e9),
    ("collectives.wire_bytes", {"op": "reduce_scatter", "group_size": 8, "bytes": 8}, 7),
    ("collectives.wire_bytes", {"op": "send", "group_size": 2, "bytes": 8}, 8),
    ("collectives.all_reduce_s", {"group_size": 8, "bytes": 15e9, "bandwidth_bytes_per_s": 25e9}, 1.05),
    (
        "collectives.all_reduce_s",
        {"group_size": 8, "bytes": 0, "latency_s": 1e-5, "bandwidth_bytes_per_s": 1},
        14e-5,
    ),
    (
        "communication.tensor_parallel_bytes_per_layer",
        {"hidden_size": 12288, "seq_length": 2048, "micro_batch_size": 1, "tensor_parallel": 8},
        352321536,
    ),
    (
        "communication.tensor_parallel_bytes_per_layer",
        {"model": "gpt3-175b", "tensor_parallel": 8},
        352321536,
    ),
    ("communication.pipeline_bytes_per_boundary", {"model": "gpt3-175b"}, 100663296),
    ("communication.zero_bytes_per_step", {"params": 7.5e9, "data_parallel": 8}, 26.25e9),
    ("communication.zero_bytes_per_step", {"params": 7.5e9, "data_parallel": 8, "zero_stage": 2}, 26.25e9),
    ("communication.zero_bytes_per_step", {"params": 7.5e9, "data_parallel": 8, "zero_stage": 3}, 39.375e9),
    ("compute.model_flop", {"model": "gpt-22b", "global_batch_size": 4}, 1.1436e15),
    (
        "compute.hardware_flop",
        {
            "model": "gpt-1008b",
            "num_nodes": 384,
            "tensor_parallel": 8,
            "pipeline_parallel": 64,
            "global_batch_size": 3072,
            "recompute": "full",
        },
        5.139051377527358e19,
    ),
    ("layout.legal_tensor_parallel", {"model": "gpt3-175b", "limit": 16}, [1, 2, 3, 4, 6, 8, 12, 16]),
    ("balancing.balance", {"piece_s": [0.1, *[1] * 24, 2.4], "num_stages": 4}, 7.0),
    ("balancing.even_split_slowest_s", {"piece_s": [1, 1, 1, 1, 4], "num_stages": 2}, 5.0),
    ("serving.kv_bytes_per_token", {"model": "llama3-70b"}, 327680),
    ("serving.kv_bytes_per_token_per_device", {"model": "llama3-405b", "tensor_parallel": 16}, 64512),
    (
        "serving.kv_bytes_per_token_per_device",
        {"model": "llama3-405b", "tensor_parallel": 8, "pipeline_parallel": 2},
        32256,
    ),
    ("serving.weights_bytes_per_device", {"model": "llama3-405b", "tensor_parallel": 8}, 94.5 * 2**30),
    ("serving.kv_capacity_tokens", {"model": "llama3-70b", "gpu": "h100-80gb", "tensor_parallel": 4}, 476262),
    (
        "serving.max_concurrency",
        {"model": "llama3-70b", "gpu": "h100-80gb", "tensor_parallel": 4, "max_model_len": 4096},
        116,
    ),
    (
        "serving.decode_bound_tokens_per_s",
        {"model": "llama3-70b", "gpu": "h100-80gb", "tensor_parallel": 4},
        94.96,
    ),
]


def test_every_published_name_is_there():
    assert set(PUBLISHED) <= set(NAMES)


@pytest.mark.parametrize(
    ("name", "arguments", "value"), VALUES, ids=[f"{i} {row[0]}" for i, row in enumerate(VALUES)]
)
def test_named_numbers(name, arguments, value):
    found = ENGINE.value(name, arguments)
    assert found.value == pytest.approx(value, rel=2e-3)
    assert found.unit
    assert found.source


def test_every_name_is_asked_for():
    assert {row[0] for row in VALUES} | {
        "memory.activation_bytes_per_layer",
        "memory.activation_bytes_first_stage",
    } == set(PUBLISHED)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_declared_arguments_are_the_functions_own(name):
    taken = [p for p in inspect.signature(name.function).parameters if p != "question"]
    assert sorted(taken) == sorted(argument.name for argument in name.arguments)
    assert all(argument.help for argument in name.arguments)


def test_paths_of_the_answer():
    whole = ENGINE.answer("estimate", GPT)
    assert ENGINE.value("memory.peak_bytes", GPT).value == whole["memory"]["peak_bytes"]
    assert (
        ENGINE.value("memory.stages.0.weights_bytes", GPT).value
        == whole["memory"]["stages"][0]["weights_bytes"]
    )
    assert ENGINE.value("memory.peak_bytes", GPT).unit == "bytes"
    assert ENGINE.value("fits", GPT).value == whole["memory"]["fits"]
    assert ENGINE.value("legal", GPT).value is True
    assert ENGINE.value("time.bubble_fraction", GPT).unit == "fraction"


def test_paths_and_bare_keys_of_the_inputs():
    assert ENGINE.value("layout.tensor_parallel", GPT).value == 1
    assert ENGINE.value("zero_stage", GPT).value == 0
    assert ENGINE.value("num_nodes", GPT).value == 1
    assert ENGINE.value("cluster.num_gpus", GPT).value == 1
    assert ENGINE.value("recompute", GPT).value == "none"
    assert ENGINE.value("cluster.gpu", GPT).value == "a100-80gb"
    assert ENGINE.value("model.num_layers", GPT).value == 24
    assert ENGINE.value("peak_flops.bf16", GPT).value == 312e12


def test_arithmetic_over_arguments_and_answers():
    assert ENGINE.value("4*b*s*h/1e6", {"b": 1, "s": 2048, "h": 4096}).value == pytest.approx(33.554432)
    states = ENGINE.value("memory.stages.0.weights_bytes + memory.stages.0.optimizer_bytes", GPT).value
    whole = ENGINE.answer("estimate", GPT)["memory"]["stages"][0]
    assert states == whole["weights_bytes"] + whole["optimizer_bytes"]
    assert ENGINE.value("params", {"params": 7e9}).value == 7e9


def test_other_verbs():
    serving = {"model": "llama3-70b", "gpu": "h100-80gb", "tensor_parallel": 4, "max_model_len": 4096}
    assert ENGINE.value("max_concurrency", serving, "serve").value == 116
    assert ENGINE.value("fits", serving, "serve").value == "yes"
    assert ENGINE.value("max_model_len", serving, "serve").value == 4096
    schedule = {"schedule": "1f1b", "num_stages": 4, "num_micro_batches": 8}
    assert ENGINE.value("bubble_fraction", schedule, "schedule").value == pytest.approx(3 / 11)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("memory.peak_byte", GPT, "did you mean memory.peak_bytes?"),
        ("memory.model_state_bytes", GPT, "did you mean memory.model_states_bytes?"),
        ("nothing", GPT, "there is no number called nothing"),
        ("memory.model_states_bytes", {"parms": 3}, "did you mean params?"),
        ("memory.model_states_bytes", {"parms": 3}, "params is missing"),
        ("memory.model_states_bytes", {"params": "many"}, "params cannot be"),
        ("memory.model_states_bytes", {"params": True}, "params cannot be"),
        ("memory.model_states_bytes", {"params": 1e9, "optimizer": "lion"}, "write one of adam"),
        (
            "memory.model_states_bytes",
            {"params": 1e9, "data_parallel": 0, "zero_stage": 1},
            "division by zero",
        ),
        ("memory.model_states_bytes", {"model": "llama-6b"}, "Did you mean"),
        ("memory.activation_bytes_per_layer", {"hidden_sise": 4}, "Did you mean hidden_size?"),
        (
            "schedules.bubble_fraction",
            {"pipeline_parallel": 4, "num_micro_batches": 8, "schedule": "x"},
            "1f1b",
        ),
        (
            "schedules.in_flight_micro_batches",
            {"pipeline_parallel": 2, "num_micro_batches": 8, "stage": 2},
            "0 to 1",
        ),
        ("collectives.wire_bytes", {"op": "broadcast", "group_size": 2, "bytes": 1}, "all_reduce"),
        ("layout.legal_tensor_parallel", {"model": "gpt-1.7b", "rule_of": "jax"}, "torchtitan"),
        ("memory.peak_bytes", {"model": "gpt-1.7"}, "Did you mean gpt-1.7b?"),
        ("x + 1", {}, "no number called x"),
        ("__import__('os').system('true')", {}, "only min, max"),
        ("1 +", {}, "not plain arithmetic"),
    ],
)
def test_mistakes_are_told(name, arguments, said):
    with pytest.raises(EngineError) as found:
        ENGINE.value(name, arguments)
    assert said in str(found.value)


def test_an_unknown_verb():
    with pytest.raises(EngineError, match="estimate, serve"):
        ENGINE.answer("train", GPT)


def test_numbers_of_one_layout_ask_the_verb_once(monkeypatch):
    """A puzzle's requirements are numbers of one answer; another layout is another question."""
    asked = []
    engine = CalculatorEngine()
    estimate = engine._verbs["estimate"]
    monkeypatch.setitem(engine._verbs, "estimate", lambda inputs: asked.append(1) or estimate(inputs))
    layout = {"model": "gpt3-175b", "num_nodes": 8, "tensor_parallel": 8, "pipeline_parallel": 8}
    first = [
        engine.value(name, layout).value for name in ("fits", "time.bubble_fraction", "global_batch_size")
    ]
    assert first == [
        engine.value(name, layout).value for name in ("fits", "time.bubble_fraction", "global_batch_size")
    ]
    assert len(asked) == 1
    engine.value("fits", {**layout, "pipeline_parallel": 4})
    engine.value("fits", layout)
    assert len(asked) == 3
