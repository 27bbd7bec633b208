"""Things that really happened to people who served models (D): weights, cache and refusals, by id.

Each case is a public thread; the figures are the ones it prints or the arithmetic that explains them. What
vLLM itself printed (`ROWS`): pull requests and issues of that project, by number.
"""

from typing import Any

import pytest

from app.services.serving import serve

GIB = 2**30
GB = 1e9


def served(**inputs: Any) -> dict[str, Any]:
    found = serve(inputs)
    assert isinstance(found, dict), found
    assert found["legal"], found["violations"]
    return found


def shape(heads: int, kv: int, ffn: int, vocab: int, layers: int, **more: Any) -> dict[str, Any]:
    return {
        "num_layers": layers,
        "hidden_size": heads * 128,
        "num_attention_heads": heads,
        "num_kv_heads": kv,
        "ffn_hidden_size": ffn,
        "vocab_size": vocab,
        "gated_mlp": True,
        "linear_bias": False,
        "normalization": "rmsnorm",
        "position_embeddings": "rope",
        "tied_embeddings": False,
        **more,
    }


QWEN_CODER = shape(
    96,
    8,
    8192,
    151936,
    62,
    hidden_size=6144,
    head_dim=128,
    num_experts=160,
    experts_per_token=8,
    moe_ffn_hidden_size=2560,
)


def test_d01_eight_billion_and_its_tokens() -> None:
    found = served(model="llama3-8b", gpu="h100-80gb", num_gpus=1)
    assert found["memory"]["stages"][0]["weights_bytes"] / GIB == pytest.approx(14.96, rel=0.01)
    assert found["kv_bytes_per_token"] == 131_072
    for room, tokens in ((3.81, 31_211), (2.89, 23_675)):
        assert room * GIB // found["kv_bytes_per_token"] == pytest.approx(tokens, rel=0.002)


def test_d03_405b_in_eight_bits() -> None:
    """56.7 GiB a device: its embedding, head, first and last layer and attention stay in 16 bits.

    Ours quantizes all matrices of the layers: an eighth less than that checkpoint.
    """
    found = served(model="llama3-405b", gpu="h100-80gb", num_gpus=8, tensor_parallel=8, weight_format="fp8")
    (stage,) = found["memory"]["stages"]
    assert stage["kv_bytes_per_token"] == 64_512
    assert 405.85 / 8 * GB < stage["weights_bytes"] < 56.7 * 1.03 * GIB


@pytest.mark.parametrize(("width", "weights", "length"), [(8, "fp8", 4096), (4, "int4", 1024)])
def test_d04_405b_runs_with_short_requests(width: int, weights: str, length: int) -> None:
    asked = {"model": "llama3-405b", "gpu": "a100-80gb", "num_gpus": width, "tensor_parallel": width}
    quantized = {"weight_format": weights, "quant_group_size": 128 if weights == "int4" else 0}
    found = served(**asked, **quantized, max_model_len=length)
    assert found["memory"]["fits"] in ("yes", "borderline")
    assert found["kv_capacity_tokens"] >= length
    if width == 8:
        need = 131_072 * found["memory"]["stages"][0]["kv_bytes_per_token"]
        assert need / GIB == pytest.approx(7.9, abs=0.05)
    else:
        assert 48 <= found["memory"]["stages"][0]["weights_bytes"] / GIB <= 54


def test_d05_copies_do_not_share_a_cache() -> None:
    """Eight copies of the attention: each needs the whole cache of a request."""
    shared = {"model": QWEN_CODER, "gpu": "h20", "num_gpus": 8, "weight_format": "fp8", "expert_parallel": 8}
    copies = served(**shared, data_parallel=8, max_model_len=262_144)
    split = served(**shared, tensor_parallel=8, max_model_len=262_144)
    each = copies["memory"]["stages"][0]["kv_bytes_per_token"]
    assert each == 253_952
    assert 262_144 * each / GIB == 62.0
    assert [int(room * GIB // each) for room in (48.66, 55.65)] == pytest.approx(
        [205_740, 235_295], rel=0.001
    )
    assert 262_144 * split["memory"]["stages"][0]["kv_bytes_per_token"] / GIB == 7.75


def test_d06_a_stage_caches_its_own_layers_only() -> None:
    found = served(
        model="qwen3-30b-a3b",
        gpu="rtx-3090",
        num_gpus=2,
        pipeline_parallel=2,
        layers_per_stage=[16, 32],
        weight_format="fp8",
        max_model_len=262_144,
    )
    first, second = found["memory"]["stages"]
    assert 262_144 * found["kv_bytes_per_token"] / GIB == 24.0
    assert 262_144 * first["kv_bytes_per_token"] / GIB == 8.0
    assert 262_144 * second["kv_bytes_per_token"] / GIB == 16.0
    assert 3.18 * GIB // first["kv_bytes_per_token"] == pytest.approx(104_202, rel=0.001)
    assert found["kv_capacity_tokens"] == min(s["kv_capacity_tokens"] for s in (first, second))


def test_d08_a_second_node_frees_more_than_it_adds() -> None:
    """Where weights nearly fill the card, twice the devices give at least four times the cache."""
    shared = {"model": "llama3-405b", "gpu": "h100-80gb", "tensor_parallel": 8, "weight_format": "fp8"}
    one = served(**shared, num_nodes=1, memory_utilization=0.7)
    two = served(**shared, num_nodes=2, pipeline_parallel=2, memory_utilization=0.7)
    assert one["memory"]["stages"][0]["weights_bytes"] > 0.8 * one["memory"]["limit_bytes"]
    assert two["kv_capacity_tokens"] >= 4 * one["kv_capacity_tokens"] > 0


def test_d09_72b_over_the_edge() -> None:
    model = shape(64, 64, 24576, 152064, 80, seq_length=32768)
    found = served(model=model, gpu="a100-40gb", num_gpus=4, tensor_parallel=4)
    (stage,) = found["memory"]["stages"]
    assert stage["weights_bytes"] / GIB == pytest.approx(33.7, rel=0.03)
    assert stage["kv_bytes_per_token"] == 655_360
    assert found["memory"]["limit_bytes"] / GIB == pytest.approx(35.4, rel=0.01)
    assert found["memory"]["fits"] == "no"
    assert found["kv_capacity_tokens"] < 3_000


@pytest.mark.parametrize(("width", "weights", "per_token"), [(1, 24.2, 819_200), (2, 12.1, 409_600)])
def test_d11_what_is_used_is_the_setting_not_the_need(width: int, weights: float, per_token: int) -> None:
    found = served(model="llama2-13b", gpu="a100-40gb", num_gpus=width, tensor_parallel=width)
    (stage,) = found["memory"]["stages"]
    assert stage["weights_bytes"] / GIB == pytest.approx(weights, rel=0.01)
    assert stage["kv_bytes_per_token"] == per_token
    taken = stage["weights_bytes"] + stage["overhead_bytes"] + stage["kv_budget_bytes"]
    assert taken == pytest.approx(found["memory"]["limit_bytes"])
    assert found["memory"]["limit_bytes"] / GB == pytest.approx(38, rel=0.02)


@pytest.mark.parametrize(("weights", "low", "high"), [("fp8", 19, 22), ("bf16", 39, 42)])
def test_d13_671b_on_four_nodes(weights: str, low: float, high: float) -> None:
    found = served(
        model="deepseek-v3",
        gpu="h100-80gb",
        num_nodes=4,
        tensor_parallel=8,
        pipeline_parallel=4,
        weight_format=weights,
        memory_utilization=0.85,
    )
    assert found["memory"]["fits"] == "yes"
    held = [stage["weights_bytes"] / GIB for stage in found["memory"]["stages"]]
    assert low <= sorted(held)[1] <= high
    assert min(stage["kv_budget_bytes"] for stage in found["memory"]["stages"]) > 10 * GB


def test_d16_bytes_of_a_token() -> None:
    for weights in ("bf16", "int8"):
        found = served(model="qwen2.5-7b", gpu="a100-80gb", num_gpus=1, weight_format=weights)
        assert found["kv_bytes_per_token"] == 57_344
    assert 3072 * found["kv_bytes_per_token"] / GB == pytest.approx(0.176, rel=0.01)


# What vLLM printed: model, devices, format, utilization, weights in GiB (None: not printed), tokens that fit,
# bytes of a token on a device, and how near ours comes. The two far ones kept 6 to 12 GiB a device for their
# profile run (a release of 2023; large graphs of a mixture of experts), which ours does not know.
ROWS = [
    ("pr2031 7B", "llama2-7b", 1, "bf16", 0.9, None, 117_616, 524_288, 0.03),
    ("pr2031 70B", "llama2-70b", 4, "bf16", 0.9, None, 333_840, 81_920, 0.50),
    ("issue9802", "llama3-8b", 4, "bf16", 0.9, None, 2_115_600, 32_768, 0.03),
    ("pr10511", "llama3-8b", 1, "bf16", 0.9, 14.96, 436_552, 131_072, 0.03),
    ("pr12569", "llama3-70b", 1, "int8", 0.98, 67.72, 22_098, 327_680, 0.20),
    ("issue21348, SGLang", "qwen3-235b-a22b", 4, "fp8", 0.93, 55.0, 367_404, 48_128, 0.05),
]


@pytest.mark.parametrize(
    ("model", "width", "weights", "utilization", "weights_gib", "tokens", "per_token", "near"),
    [row[1:] for row in ROWS],
    ids=[row[0] for row in ROWS],
)
def test_tokens_that_engines_printed(  # noqa: PLR0917
    model: str,
    width: int,
    weights: str,
    utilization: float,
    weights_gib: float | None,
    tokens: int,
    per_token: int,
    near: float,
) -> None:
    found = served(
        model=model,
        gpu="a100-80gb" if weights == "bf16" else "h100-80gb",
        num_gpus=width,
        tensor_parallel=width,
        weight_format=weights,
        memory_utilization=utilization,
    )
    (stage,) = found["memory"]["stages"]
    assert stage["kv_bytes_per_token"] == per_token
    assert found["kv_capacity_tokens"] == pytest.approx(tokens, rel=near)
    if weights_gib is not None:
        assert stage["weights_bytes"] / GIB == pytest.approx(weights_gib, rel=0.01)
